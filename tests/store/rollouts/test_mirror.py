"""The mirror beside a real writer: what it follows, what it survives, what it never does."""

import errno
import json
import os
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from askd.core.events import ItemAdded, SettingsChanged, TurnStarted, ViewChanged
from askd.core.items import Notice
from askd.errors import StorageFailed
from askd.store.batch import Done
from askd.store.queries import Reader
from askd.store.rollouts import files as rollout_files
from askd.store.rollouts import mirror as mirror_module
from askd.store.rollouts import rows as rollouts
from askd.store.rollouts.copies import Copies, Step
from askd.store.rollouts.mirror import OFFSETS_S, Mirror, MirrorStatus
from askd.store.rollouts.rows import Place
from askd.store.rollouts.trouble import RETRY_S
from askd.store.writer import Writer
from tests.store.builders import Clock, add, answer, create, finish, note, prompt

LIMIT_S = 30.0
"""How long anything may take before the test is wrong; no test waits for it to pass."""
DAY = "1970/01/01/rollout-1970-01-01T00-16-40-"


@dataclass
class World:
    """A writer, its mirror, and where the files are."""

    home: Path
    writer: Writer
    mirror: Mirror
    reader: Reader
    scope: trio.CancelScope
    clock: Clock

    @property
    def directory(self) -> Path:
        return self.home / "rollouts"

    def path(self, id: str, directory: Path | None = None) -> Path:
        return (directory or self.directory) / f"{DAY}{id}.jsonl"

    async def turn(self, id: str, turn: str) -> None:
        """A turn as a session commits it, in its steps."""
        row = await self.reader.get(id)
        if row is None:
            await self.writer.append(create(id, prompt(turn)))
        else:
            await self.writer.append(add(id, prompt(turn)))
        await self.writer.append(add(id, TurnStarted(turn, 1, "openai/gpt-5")))
        await self.writer.append(add(id, answer(turn), finish(turn)))

    async def check(self, *ids: str, directory: Path | None = None) -> None:
        """The files of these hold their logs."""
        for id in ids:
            records = read(self.path(id, directory))
            seqs = [e["payload"]["seq"] for e in records if e["type"] == "ask_event"]
            assert seqs == [event.seq for event in await self.reader.load(id)]

    async def status(self) -> MirrorStatus:
        return await self.mirror.status()


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@asynccontextmanager
async def open_world(
    home: Path, *, enabled: bool = True, directory: Path | None = None
) -> AsyncIterator[World]:
    """Ended at once when the block is, as by a kill: what is not written is not written."""
    heard: list[Callable[..., None]] = []
    database = home / "ask.db"
    clock = Clock()
    writer = Writer(
        database,
        observe=lambda events: heard[0](events),
        now=clock,
        boot_id="b",
        rewritten=lambda: mirror.look(),
    )
    mirror = Mirror(writer, database=database, data=home, archive=home / "archive", version="9.9")
    heard.append(mirror.observe)
    mirror.configure(enabled=enabled, directory=directory or home / "rollouts")
    reader = Reader(database)
    async with trio.open_nursery() as storage:
        await storage.start(writer.run)
        async with trio.open_nursery() as rooms:
            await rooms.start(mirror.run)
            yield World(home, writer, mirror, reader, rooms.cancel_scope, clock)
            rooms.cancel_scope.cancel()
        reader.close()
        await writer.close()


async def test_a_turn_is_mirrored_at_its_end_and_not_before(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        await world.mirror.settle()
        await world.writer.append(create("c", prompt("t")))
        await world.writer.append(
            add("c", SettingsChanged(model="openai/gpt-5"), TurnStarted("t", 1))
        )
        await world.mirror.settle()
        assert not world.directory.exists()
        await world.writer.append(add("c", answer("t"), finish("t")))
        await world.mirror.settle()
        await world.check("c")
        assert read(world.path("c"))[0]["payload"]["model_provider"] == "openai"
        assert await world.status() == MirrorStatus(str(world.directory), 1, 0, None)


@pytest.mark.parametrize(
    "body",
    [note(), ViewChanged("v", "clear"), SettingsChanged(system="be brief")],
    ids=lambda body: body.TYPE,
)
async def test_what_changes_outside_of_turns_is_mirrored(tmp_path: Path, body: Any) -> None:
    async with open_world(tmp_path) as world:
        await world.writer.append(create("c"))
        await world.turn("d", "t")
        for id in "cd":
            await world.writer.append(add(id, body))
        await world.mirror.settle()
        await world.check("c", "d")


async def test_the_next_turn_in_the_queue_does_not_hide_the_end_of_this_one(
    tmp_path: Path,
) -> None:
    async with open_world(tmp_path) as world:
        await world.writer.append(create("c", prompt("t"), TurnStarted("t", 1), prompt("u")))
        await world.writer.append(add("c", answer("t"), finish("t"), TurnStarted("u", 1)))
        await world.mirror.settle()
        await world.check("c")


async def test_a_start_brings_up_what_is_behind(tmp_path: Path) -> None:
    async with open_world(tmp_path, enabled=False) as world:
        for number in range(5):
            await world.turn(f"c{number}", "t")
        await world.mirror.settle()
        assert not world.directory.exists()
        assert await world.status() == MirrorStatus(None, 0, 5, None)
    with patch.object(Copies, "find_behind", find_one_by_one):
        async with open_world(tmp_path) as world:
            await world.mirror.settle()
            await world.check(*(f"c{number}" for number in range(5)))
            assert (await world.status()).behind == 0
            world.path("c2").unlink()
            world.path("c3").write_bytes(b"short\n")
    async with open_world(tmp_path) as world:
        await world.mirror.settle()
        await world.check("c2", "c3")


def find_one_by_one(self: Any, after: Place) -> tuple[list[str], Place | None]:
    found, place = rollouts.list_rollouts(self._connect(), after=after, limit=1)
    return [each.conversation_id for each in found], place


async def test_what_is_behind_is_brought_up_from_the_newest_on(tmp_path: Path) -> None:
    ids = [f"c{number}" for number in range(5)]
    async with open_world(tmp_path, enabled=False) as world:
        for id in ids:
            await world.turn(id, "t")
        for id in ("c3", "c0", "c1"):
            world.clock.at += 60
            await world.turn(id, "u")
    advanced: list[str] = []
    advance = Copies.advance

    def note(self: Copies, conversation_id: str) -> Step:
        advanced.append(conversation_id)
        return advance(self, conversation_id)

    with (
        patch.object(Copies, "advance", note),
        patch.object(Copies, "find_behind", find_one_by_one),
    ):
        async with open_world(tmp_path) as world:
            await world.mirror.settle()
            await world.check(*ids)
    assert list(dict.fromkeys(advanced)) == ["c1", "c0", "c3", "c4", "c2"]


async def test_the_end_leaves_what_was_behind_to_the_next_start(tmp_path: Path) -> None:
    ids = [f"c{number}" for number in range(30)]
    async with open_world(tmp_path, enabled=False) as world:
        for id in ids:
            await world.turn(id, "t")
    held, let_go = threading.Event(), threading.Event()

    def find_and_wait(self: Any, after: Place) -> tuple[list[str], Place | None]:
        if after != rollouts.START:
            held.set()
            assert let_go.wait(LIMIT_S)
        return find_one_by_one(self, after)

    with patch.object(Copies, "find_behind", find_and_wait):
        async with open_world(tmp_path) as world:
            await wait_until(held.is_set)
            assert not world.path(ids[0]).exists()
            await world.turn(ids[0], "u")
            async with trio.open_nursery() as nursery:
                nursery.start_soon(world.mirror.finish)
                await wait_all_tasks_blocked()  # it has left the rest, and waits for the search
                let_go.set()
            await world.check(ids[0])
            assert (await world.status()).behind == len(ids) - 2
            assert world.mirror._copies.ahead() == {}
    async with open_world(tmp_path) as world:
        await world.mirror.settle()
        await world.check(*ids)


async def test_the_table_hears_of_files_now_and_then_and_not_each_time(
    tmp_path: Path, mock_clock: MockClock
) -> None:
    async with open_world(tmp_path) as world:
        await world.turn("c", "t")
        await wait_until(lambda: world.mirror._copies.ahead() == {"c": 5})
        before = world.writer.commits
        for number in range(10):
            await world.turn("c", f"t{number}")
        await wait_until(lambda: world.mirror._copies.ahead() == {"c": 45})
        assert world.writer.commits == before + 30  # those of the turns alone
        assert (await world.status()).behind == 0
        mock_clock.jump(OFFSETS_S)
        await wait_until(lambda: not world.mirror._copies.ahead())
        assert world.writer.commits == before + 31


async def wait_until(condition: Callable[[], bool]) -> None:
    """For work in threads, which no clock waits for."""
    until = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < until, "it never came"
        await trio.to_thread.run_sync(lambda: None)


async def test_many_turns_at_once_are_all_there_and_none_waits(tmp_path: Path) -> None:
    ids = [f"c{number}" for number in range(80)]
    async with open_world(tmp_path) as world:
        for turn in ("t", "u"):
            async with trio.open_nursery() as nursery:
                for id in ids:
                    nursery.start_soon(world.turn, id, turn)
        await world.mirror.settle()
        await world.check(*ids)
        assert await world.status() == MirrorStatus(str(world.directory), 80, 0, None)
        assert len(world.mirror._copies._copies) <= 64


async def test_a_long_conversation_does_not_hold_up_the_others(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        notes = [ItemAdded(None, Notice(f"n{number}", "x" * 500)) for number in range(3000)]
        await world.writer.append(create("long", *notes))
        await world.turn("c", "t")
        await wait_until(world.path("c").exists)
        assert not world.path("long").exists()
        await world.mirror.settle()
        await world.check("long", "c")


async def test_deletion_takes_the_file_or_moves_it_to_the_archive(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        for id in "abc":
            await world.turn(id, "t")
        await world.mirror.settle()
        await world.writer.delete("a")
        await world.writer.delete("b", archive=True)
        await world.mirror.settle()
        assert not world.path("a").exists()
        assert not world.path("b").exists()
        assert (tmp_path / "archive" / world.path("b").name).exists()
        await world.check("c")
    async with open_world(tmp_path, enabled=False) as world:
        await world.writer.delete("c")
        await world.mirror.settle()
        assert not world.directory.joinpath("1970").exists()


async def test_a_deletion_while_the_file_is_written_leaves_nothing(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        notes = [ItemAdded(None, Notice(f"n{number}", "x" * 500)) for number in range(1000)]
        await world.writer.append(create("c", *notes))
        draft = rollout_files.draft_of(world.path("c"))
        await wait_until(draft.exists)
        await world.writer.delete("c")
        await world.mirror.settle()
        assert [path for path in world.directory.rglob("*") if path.is_file()] == []


async def test_what_was_rewritten_is_written_anew(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        await world.turn("c", "t")
        await world.mirror.settle()

        def scrub(connection: Any, at: float) -> Any:
            connection.execute("UPDATE events SET body = replace(body, 'hello', 'xxxxx')")
            connection.execute("UPDATE rollouts SET seq = 0, bytes = 0")
            return Done(None)

        await world.writer.scrub(scrub)
        await world.mirror.settle()
        assert b"hello" not in world.path("c").read_bytes()
        await world.check("c")


async def test_another_directory_is_moved_to_at_once(tmp_path: Path) -> None:
    other = tmp_path / "other"
    async with open_world(tmp_path) as world:
        await world.turn("c", "t")
        await world.mirror.settle()
        world.mirror.configure(enabled=True, directory=other)
        await world.mirror.settle()
        await world.check("c", directory=other)
        assert (await world.status()).directory == str(other)
        assert not world.path("c").exists()
        await world.turn("c", "u")
        await world.mirror.settle()
        await world.check("c", directory=other)


@pytest.fixture
def full_disk() -> Iterator[Callable[[bool], None]]:
    """A disk that takes the first half of what is written, and no more."""
    write = os.write
    state = {"full": False}

    def write_half(descriptor: int, data: Any) -> int:
        if state["full"]:
            write(descriptor, data[: len(data) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")
        return int(write(descriptor, data))

    def fill(full: bool) -> None:
        state["full"] = full

    with patch.object(os, "write", write_half):
        yield fill


async def test_a_full_disk_is_said_once_and_costs_no_turn(
    tmp_path: Path,
    full_disk: Callable[[bool], None],
    caplog: pytest.LogCaptureFixture,
    mock_clock: MockClock,
) -> None:
    async with open_world(tmp_path) as world:
        await world.turn("a", "t")
        await world.mirror.settle()
        full_disk(True)
        for id in "abcdefghijklmn":
            await world.turn(id, "u")
        await world.mirror.settle()
        status = await world.status()
        assert (status.mirrored, status.behind) == (0, 14)
        assert status.trouble == (
            f"Rollouts cannot be written: {world.directory}: No space left on device."
        )
        assert caplog.text.count("No space left on device") == 1
        mock_clock.jump(RETRY_S)
        await world.mirror.settle()
        assert (await world.status()).behind == 14
        assert caplog.text.count("No space left on device") == 1
        full_disk(False)
        mock_clock.jump(2 * RETRY_S)
        await world.mirror.settle()
        await world.check(*"abcdefghijklmn")
        assert await world.status() == MirrorStatus(str(world.directory), 14, 0, None)
        full_disk(True)
        await world.turn("a", "v")
        await world.mirror.settle()
        assert caplog.text.count("No space left on device") == 2


async def test_one_bad_file_costs_the_others_nothing(tmp_path: Path, mock_clock: MockClock) -> None:
    async with open_world(tmp_path) as world:
        world.path("a").mkdir(parents=True)
        await world.turn("a", "t")
        await world.turn("b", "t")
        await world.mirror.settle()
        await world.check("b")
        status = await world.status()
        assert (status.mirrored, status.behind) == (1, 1)
        assert str(world.path("a")) in (status.trouble or "")
        world.path("a").rmdir()
        mock_clock.jump(RETRY_S)
        await world.mirror.settle()
        await world.check("a")
        assert (await world.status()).trouble is None


async def test_a_database_that_refuses_costs_the_file_only(
    tmp_path: Path, mock_clock: MockClock
) -> None:
    async with open_world(tmp_path) as world:
        apply = world.writer.apply

        async def refuse(change: Any) -> Any:
            await trio.lowlevel.checkpoint()
            raise StorageFailed("The disk is full.")

        with patch.object(world.writer, "apply", refuse):
            await world.turn("c", "t")
            await world.mirror.settle()
            assert (await world.status()).trouble == (
                "Rollouts cannot be written: The disk is full."
            )
            assert not world.path("c").exists()
        assert world.writer.apply == apply
        mock_clock.jump(RETRY_S)
        await world.mirror.settle()
        await world.check("c")
        with patch.object(world.writer, "apply", refuse):
            await world.turn("c", "u")
            await world.mirror.settle()  # the offset cannot be told: it is not tried for ever
        await world.check("c")


async def test_what_nobody_foresaw_ends_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_world(tmp_path) as world:
        with patch.object(world.mirror._copies, "advance", side_effect=ZeroDivisionError("oh")):
            await world.turn("c", "t")
            await world.mirror.settle()
        assert "ZeroDivisionError: oh" in caplog.text
        await world.turn("c", "u")
        await world.mirror.settle()
        await world.check("c")


async def test_the_end_waits_for_what_is_due(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        await world.turn("c", "t")
        await world.mirror.finish()
        await world.check("c")
        assert world.mirror._copies.ahead() == {}


async def test_the_end_does_not_wait_for_ever(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with open_world(tmp_path) as world:
        with patch.object(world.mirror, "settle", trio.sleep_forever):
            began = trio.current_time()
            await world.mirror.finish()
            assert trio.current_time() - began == mirror_module.FINISH_S


async def test_a_database_that_cannot_be_read_has_no_status_but_a_reason(tmp_path: Path) -> None:
    database = tmp_path / "ask.db"
    database.write_bytes(b"no database " * 100)
    async with open_world(tmp_path / "other") as world:
        mirror = Mirror(
            world.writer, database=database, data=tmp_path, archive=tmp_path, version="9.9"
        )
        with pytest.raises(StorageFailed, match="is damaged"):
            await mirror.status()
