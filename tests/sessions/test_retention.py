"""The task: it removes what is old, in pauses, and stops for a setting or a doubtful clock."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from askd.core.events import ConversationCreated
from askd.errors import StorageFailed
from askd.sessions.retention import BATCH, DAY_S, EVERY_S, Keep, Retention
from askd.store.log import Write
from tests.fakes.sessions import Room, open_room

NOW = 1e9


class Ages:
    """Answers what the store's rows say."""

    def __init__(self, room: Room) -> None:
        self.room = room
        self.asked = 0
        self.broken = False

    async def find_expired(self, *, before_at: float, after_id: str, limit: int) -> list[str]:
        self.asked += 1
        rows = sorted(self.room.store.rows(), key=lambda row: row.id)
        old = [row.id for row in rows if row.id > after_id and row.updated_at < before_at]
        return old[:limit]

    async def find_newest(self) -> float | None:
        if self.broken:
            raise StorageFailed("The disk is gone.")
        return max((row.updated_at for row in self.room.store.rows()), default=None)


class World:
    """A room, its retention, and a clock that a test moves."""

    def __init__(self, room: Room, file: Path, keep: Keep | None) -> None:
        self.room = room
        self.ages = Ages(room)
        self.at = NOW
        self.keep = keep
        self.file = file
        room.store.now = lambda: self.at
        self.retention = self.make()

    def make(self) -> Retention:
        """As after a start of the daemon."""
        return Retention(
            self.room.sessions,
            ages=self.ages,
            keep=lambda: self.keep,
            belief_file=self.file,
            now=lambda: self.at,
        )

    async def add(self, id: str, *, days: float, name: str | None = None) -> None:
        """A conversation that is so many days old."""
        self.at, now = self.at - days * DAY_S, self.at
        body = ConversationCreated(id, name)
        await self.room.store.append(Write(conversation_id=id, bodies=[body], create=True))
        self.at = now

    def left(self) -> set[str]:
        return {row.id for row in self.room.store.rows()}


async def test_what_is_old_goes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with open_room() as room:
        world = World(room, tmp_path / "r.json", Keep(30, archive=True))
        await world.add("old", days=31)
        await world.add("named", days=31, name="work")
        await world.add("young", days=1)
        assert await world.retention.remove_old() == 1
        assert world.left() == {"named", "young"}
        assert room.store.expired == [("old", True)]
        (line,) = [r.getMessage() for r in caplog.records if "Removed" in r.getMessage()]
        assert line.endswith("30 days: removed=1, archived=yes, stayed=1")


async def test_many_go_in_batches_with_pauses(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_room() as room:
        world = World(room, tmp_path / "r.json", Keep(30))
        for number in range(2 * BATCH + 10):
            await world.add(f"{number:04}", days=40)
        await world.add("young", days=1)
        assert await world.retention.remove_old() == 2 * BATCH + 10
        assert world.left() == {"young"}
        assert world.ages.asked == 4


async def test_nothing_is_looked_at_while_nothing_is_set(tmp_path: Path) -> None:
    async with open_room() as room:
        world = World(room, tmp_path / "r.json", None)
        await world.add("old", days=4000)
        assert await world.retention.remove_old() == 0
        assert (world.ages.asked, world.file.exists()) == (0, False)


async def test_a_setting_that_changes_counts_at_once(tmp_path: Path) -> None:
    async with open_room() as room:
        world = World(room, tmp_path / "r.json", Keep(30))
        for id in ("a", "b", "c"):
            await world.add(id, days=40)
        await world.add("young", days=1)
        expire_row = room.store.expire

        async def expire_one(conversation_id: str, **asked: Any) -> bool:
            world.keep = None
            return await expire_row(conversation_id, **asked)

        room.store.expire = expire_one  # type: ignore[method-assign]  # in the middle of a run
        assert await world.retention.remove_old() == 1
        assert world.left() == {"b", "c", "young"}


async def test_a_clock_that_leaps_removes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_room() as room:
        world = World(room, tmp_path / "r.json", Keep(30))
        await world.add("young", days=1)
        await world.retention.remove_old()
        world.at += 400 * DAY_S
        for _ in range(3):
            assert await world.make().remove_old() == 0, "another start changes nothing"
        assert world.left() == {"young"}
        told = [r for r in caplog.records if r.levelno == logging.WARNING]
        assert len(told) == 1
        assert "The clock is far ahead" in told[0].getMessage()
        world.at -= 400 * DAY_S
        assert await world.make().remove_old() == 0
        assert json.loads(world.file.read_text()) == {"believed_at": NOW, "doubted_at": None}
        world.at += 400 * DAY_S
        await world.make().remove_old()
        world.at += DAY_S
        assert await world.make().remove_old() == 1, "it has stood by it for a day"


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"believed_at": "x", "doubted_at": 1}'])
async def test_a_file_that_makes_no_sense_is_none(tmp_path: Path, content: str) -> None:
    async with open_room() as room:
        world = World(room, tmp_path / "r.json", Keep(30))
        world.file.write_text(content)
        await world.add("old", days=31)
        assert await world.retention.remove_old() == 0, "by the log it is long ago"
        await world.add("young", days=0)
        world.file.write_text(content)
        assert await world.retention.remove_old() == 1


async def until_left(world: World, wanted: set[str]) -> None:
    for _ in range(500):
        if world.left() == wanted:
            return
        await trio.sleep(EVERY_S / 2)
    raise AssertionError(f"still there: {world.left() - wanted}")


async def test_it_runs_soon_and_every_hour_and_outlives_a_bad_disk(
    tmp_path: Path, autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    # The clock does not know of the threads that read and write a file: it waits for them a bit.
    autojump_clock.autojump_threshold = 0.01
    async with open_room() as room:
        world = World(room, tmp_path / "r.json", Keep(30))
        await world.add("old", days=31)
        await world.add("young", days=1)
        world.ages.broken = True
        async with trio.open_nursery() as nursery:
            nursery.start_soon(world.retention.run)
            await trio.sleep(60)
            assert "cannot be removed now: The disk is gone." in caplog.text
            assert world.left() == {"old", "young"}
            world.ages.broken = False
            began = trio.current_time()
            await until_left(world, {"young"})
            await world.add("late", days=31)
            await until_left(world, {"young"})
            assert trio.current_time() - began > EVERY_S
            nursery.cancel_scope.cancel()
