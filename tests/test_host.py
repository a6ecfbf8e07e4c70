"""The daemon as handlers see it: status, settings that reload, a stop that waits for nobody."""

import math
from pathlib import Path

import pytest
import trio

from ask.paths import Paths
from ask.protocol import CAPABILITIES, PROTOCOL
from ask.protocol.messages import HelloResult
from askd import __version__
from askd.errors import BadConfig, StorageFailed
from askd.host import (
    LOOK_INTERVAL_S,
    Daemon,
    describe_owner,
    describe_self,
    find_cache,
    find_places,
)
from askd.settings import RolloutSettings, Settings

IDENTITY = HelloResult(protocol=1, version="0", pid=42, boot_id="boot", capabilities=[])


async def one_job() -> int:
    return 1


def make_daemon(path: Path, applied: list[Settings] | None = None) -> Daemon:
    return Daemon(
        settings=Settings(),
        config_file=path,
        identity=IDENTITY,
        socket="/s",
        data=path.parent,
        count_sessions=lambda: 3,
        count_jobs=one_job,
        apply=(applied if applied is not None else []).append,
    )


def test_what_hello_answers_and_what_stands_beside_the_lock() -> None:
    identity = describe_self(42, boot_id="boot-1")
    assert (identity.pid, identity.boot_id) == (42, "boot-1")
    assert (identity.protocol, identity.version) == (PROTOCOL, __version__)
    assert identity.capabilities == list(CAPABILITIES)
    note = describe_owner(identity, "/run/s")
    assert (note.socket, note.pid, note.boot_id) == ("/run/s", 42, "boot-1")
    assert (note.protocol, note.version) == (PROTOCOL, __version__)


async def test_status_says_how_it_is(tmp_path: Path) -> None:
    status = await make_daemon(tmp_path / "c").status(clients=2)
    assert (status.pid, status.sessions, status.jobs, status.clients) == (42, 3, 1, 2)
    assert status.rss_bytes > 2**20
    assert status.uptime_s >= 0
    assert not status.draining


async def test_asked_twice_the_shorter_time_counts(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    daemon = make_daemon(tmp_path / "c")
    daemon.drain(30)
    daemon.stop(5)
    daemon.drain(60)
    assert daemon.draining
    await trio.sleep(1)
    assert math.isclose(await daemon.wait_stop(), 4)
    await trio.sleep(100)
    assert await daemon.wait_stop() == 0


async def test_the_deadline_can_come_nearer(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    daemon = make_daemon(tmp_path / "c")
    daemon.drain(100)
    started = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(daemon.wait_deadline)
        await trio.sleep(10)
        daemon.stop(5)
    assert math.isclose(trio.current_time() - started, 15)


async def test_a_changed_file_is_applied_and_a_bad_one_is_not(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    path = tmp_path / "config.toml"
    applied: list[Settings] = []
    daemon = make_daemon(path, applied)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(daemon.watch_config)
        path.write_text("title = 'off'\n")
        await trio.sleep(2 * LOOK_INTERVAL_S)
        assert [each.title for each in applied] == ["off"]
        path.write_text("title = 'off'\ncolour = 1\n")
        await trio.sleep(2 * LOOK_INTERVAL_S)
        answer = daemon.read_config()
        assert answer.settings["title"] == "off"
        assert "colour" in answer.warnings[0]
        assert "line 2" in answer.warnings[0]
        path.unlink()
        await trio.sleep(2 * LOOK_INTERVAL_S)
        assert daemon.read_config().warnings == []
        assert [each.title for each in applied] == ["off", "first-words"]
        nursery.cancel_scope.cancel()


async def test_a_written_setting_is_in_force_at_once(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    applied: list[Settings] = []
    daemon = make_daemon(path, applied)
    answer = await daemon.write_config("default_model", "a/b")
    assert answer.settings["default_model"] == "a/b"
    assert applied[0].default_model == "a/b"
    with pytest.raises(BadConfig):
        await daemon.write_config("nothing", 1)
    assert daemon.settings.default_model == "a/b"


async def test_a_file_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "in-the-way").write_text("")
    daemon = make_daemon(tmp_path / "in-the-way" / "config.toml")
    with pytest.raises(StorageFailed, match="cannot be written"):
        await daemon.write_config("default_model", "a/b")


async def test_the_data_directory_is_known_by_any_path(tmp_path: Path) -> None:
    daemon = make_daemon(tmp_path / "c")
    (tmp_path / "other").mkdir()
    (tmp_path / "link").symlink_to(tmp_path)
    assert daemon.serves(str(tmp_path))
    assert daemon.serves(str(tmp_path / "link"))
    assert not daemon.serves(str(tmp_path / "other"))
    assert not daemon.serves("/nowhere/at\0all")


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
