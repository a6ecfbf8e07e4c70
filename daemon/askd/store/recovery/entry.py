"""What is seen to before a daemon opens its database: what somebody who was killed left there.

It must be called by whoever owns the data directory: then nobody is at work on
what it removes. It opens no database and removes none that is whole.
"""

import glob
import logging
from pathlib import Path

from askd.errors import StorageFailed
from askd.store.recovery import placing
from askd.store.recovery.mirrors import find_files, find_owner

logger = logging.getLogger(__name__)

LOOKED_AT = 100
"""Files that are opened to find one of ours: where there is one, the first few are."""


def enter(database: Path, mirror: Path) -> None:
    """Remove what is unfinished, and warn if a database is missing. Raises `StorageFailed`.

    Args:
        mirror: the directory of the rollouts.
    """
    refuse_directory(database)
    try:
        drop_unfinished(database)
    except OSError as error:
        logger.warning("What a repair left cannot be removed: %s: %s", error.filename, error)
    if _is_new(database) and has_rollouts(mirror):
        logger.warning(
            "There is no database, but there are rollouts in %s: a new one is made without them."
            " Bring them back: ask doctor --rebuild",
            mirror,
        )


def refuse_directory(database: Path) -> None:
    """Raise `StorageFailed` if a directory is where the database belongs."""
    if database.is_dir():
        raise StorageFailed(
            f"{database} is a directory; the database belongs there. Move it away, then: "
            "ask doctor --rebuild, or go on without what was stored."
        )


def drop_unfinished(database: Path) -> None:
    """Remove databases that were being made when whoever made them was killed."""
    placing.drop_links(database)
    for suffix in placing.UNFINISHED:
        placing.clear(database.with_name(database.name + suffix))
    for partial in database.parent.glob(f"{glob.escape(database.name)}.backup-*.partial"):
        partial.unlink(missing_ok=True)


def has_rollouts(mirror: Path) -> bool:
    """Whether one of the first files of a directory is a rollout of ours."""
    try:
        for number, path in enumerate(find_files(mirror)):
            if find_owner(path) is not None:
                return True
            if number >= LOOKED_AT:
                return False
    except OSError:
        pass  # the mirror will say what is wrong there
    return False


def _is_new(database: Path) -> bool:
    try:
        return database.stat().st_size == 0
    except OSError:
        return True
