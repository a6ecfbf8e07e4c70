"""A sound database is said to be, a damaged one is not, and nobody waits for ever."""

from pathlib import Path

import pytest
import trio

from askd.errors import StorageFailed
from askd.store import checkup
from askd.store.checkup import Checkup, examine
from askd.store.queries import Reader
from askd.store.rollouts.mirror import MirrorStatus
from askd.store.surveys import Survey
from tests.store.builders import create, note, open_store
from tests.store.recovery import ruins

STATUS = MirrorStatus("/r", 2, 1, "full")


class Mirrors:
    """As it is told."""

    def __init__(self, status: MirrorStatus | None = STATUS) -> None:
        self._status = status
        self.swept = 0

    async def status(self) -> MirrorStatus:
        await trio.lowlevel.checkpoint()
        if self._status is None:
            raise StorageFailed("The disk is gone.")
        return self._status

    def sweep(self) -> None:
        self.swept += 1


async def test_a_sound_database(path: Path) -> None:
    await ruins.build(path)
    reader = Reader(path)
    health = await Checkup(path, surveyor=reader, mirrors=Mirrors()).check()
    reader.close()
    sound = health.soundness
    assert (sound.problems, sound.strays, sound.complete) == ([], 0, True)
    assert (sound.conversations, sound.database_bytes) == (4, ruins.size(path))
    assert sound.wal_bytes == 0
    assert (health.survey.unreadable, health.survey.complete) == (0, True)
    assert health.rollouts == STATUS


async def test_files_that_are_gone_are_written_again(path: Path) -> None:
    await ruins.build(path)
    ruins.change(path, "INSERT INTO rollouts VALUES (?, 'rollouts/x.jsonl', 5, 500)", ruins.WORK)
    reader = Reader(path)
    mirrors = Mirrors(MirrorStatus(str(path.parent / "rollouts"), 1, 0, None))
    health = await Checkup(path, surveyor=reader, mirrors=mirrors).check()
    assert health.rollouts is not None
    assert (health.rollouts.missing, health.rollouts.strays, mirrors.swept) == (1, 0, 1)
    off = Mirrors(MirrorStatus(None, 0, 4, None))
    health = await Checkup(path, surveyor=reader, mirrors=off).check()
    reader.close()
    assert health.rollouts == MirrorStatus(None, 0, 4, None)
    assert off.swept == 0


async def test_a_running_store_is_looked_at_too(path: Path) -> None:
    async with open_store(path) as store:
        await store.writer.append(create("c", note()))
        health = await Checkup(path, surveyor=store.reader, mirrors=Mirrors()).check()
        assert health.soundness.complete
        assert health.soundness.wal_bytes > 0
        assert health.survey.records == 2


async def test_what_is_wrong_is_said(path: Path) -> None:
    await ruins.build(path)
    ruins.change(path, "UPDATE events SET body = '{' WHERE seq = 2")
    ruins.change(path, "DELETE FROM conversations WHERE id = ?", ruins.PLAY)
    reader = Reader(path)
    health = await Checkup(path, surveyor=reader, mirrors=Mirrors(None)).check()
    reader.close()
    assert health.soundness.strays > 0
    assert health.survey.unreadable == 3
    assert health.recoverable is False, "no file holds them"
    assert health.rollouts is None
    assert health.soundness.problems == ["The disk is gone."]


def test_damaged_pages_are_told_and_a_file_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "ask.db"
    ruins.change(path, "CREATE TABLE conversations (id TEXT)")
    for _ in range(3):
        ruins.change(path, "INSERT INTO conversations VALUES (hex(zeroblob(3000)))")
    content = bytearray(path.read_bytes())
    content[4096 + 10 : 8192] = b"\xff" * 4086
    path.write_bytes(content)
    found = examine(path, limit_s=5.0)
    assert found.problems
    assert all(len(each) <= 200 for each in found.problems)
    path.write_bytes(b"no database " * 1000)
    found = examine(path, limit_s=5.0)
    assert "damaged" in found.problems[0] or "not a database" in found.problems[0]
    assert not found.complete
    assert examine(tmp_path / "none", limit_s=5.0).problems


async def test_time_that_is_over_is_said(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await ruins.build(path)
    monkeypatch.setattr(checkup, "STEPS", 1)
    assert not examine(path, limit_s=-1.0).complete
    assert examine(path, limit_s=-1.0).problems == []


async def test_a_disk_that_hangs_does_not_keep_a_person(
    path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    class Hanging(Mirrors):
        async def status(self) -> MirrorStatus:
            await trio.sleep_forever()
            raise AssertionError

    class Refusing:
        async def count_unreadable(self, *, limit_s: float) -> Survey:
            await trio.lowlevel.checkpoint()
            raise StorageFailed("It cannot be read.")

    health = await Checkup(path, surveyor=Refusing(), mirrors=Hanging()).check()
    assert health.rollouts is None
    assert health.soundness.problems[-1] == "It cannot be read."


async def test_files_are_not_counted_while_the_database_cannot_be_opened(path: Path) -> None:
    reader = Reader(path)
    status = MirrorStatus(str(path.parent), 2, 1, None)
    health = await Checkup(path, surveyor=reader, mirrors=Mirrors(status)).check()
    reader.close()
    assert health.rollouts == status
    assert health.soundness.problems
