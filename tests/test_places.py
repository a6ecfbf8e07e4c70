"""Every directory of a user is among the places, wherever it was put."""

from pathlib import Path

from ask.paths import Paths
from askd.places import find_cache, find_places
from askd.settings import RolloutSettings, Settings


def test_the_places_of_a_home() -> None:
    paths = Paths.of({"ASK_HOME": "/home/ada/ask"})
    places = find_places(paths, Settings())
    assert places.database == Path("/home/ada/ask/data/ask.db")
    assert (places.data, places.state) == (paths.data, paths.state)
    assert (places.archive, places.rollouts) == (paths.archive, paths.rollouts)
    assert places.log_file == paths.log_file
    assert list(places.caches) == [find_cache(paths)] == [paths.state / "models.json"]


def test_rollouts_that_are_written_elsewhere() -> None:
    settings = Settings(rollouts=RolloutSettings(directory="/srv/rollouts"))
    places = find_places(Paths.of({"ASK_HOME": "/home/ada/ask"}), settings)
    assert places.rollouts == Path("/srv/rollouts")
