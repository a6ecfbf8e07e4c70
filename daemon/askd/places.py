"""Where a secret may stand, by the paths and the settings of one user.

It names places and opens none.
"""

from pathlib import Path

from ask.paths import Paths
from askd.settings import Settings
from askd.store.scrubber import Places

CACHE = "models.json"
"""What providers said of their models; asked for again when it is gone."""


def find_places(paths: Paths, settings: Settings) -> Places:
    """The database and every directory beside it in which something is written."""
    return Places(
        database=paths.database,
        data=paths.data,
        state=paths.state,
        log_file=paths.log_file,
        archive=paths.archive,
        rollouts=Path(settings.rollouts.directory or paths.rollouts),
        caches=[find_cache(paths)],
    )


def find_cache(paths: Paths) -> Path:
    """The file in which lists of models are kept."""
    return paths.state / CACHE
