"""A workspace is recorded once in a turn, before it is written; trouble stops nobody."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
import trio

from askd.core.items import Blob, Snapshot
from askd.errors import StorageFailed
from askd.sessions.live import LiveSession
from askd.sessions.rules import ToolRules
from askd.sessions.snapshots import find_taken, record_workspace
from askd.tools.base import Site
from askd.tools.snapshots import recorder as recorders
from askd.tools.snapshots.recorder import COPY_ONLY
from tests.fakes.log import FakeStore
from tests.fakes.sessions import Room, open_room
from tests.fakes.snapshots import FakeRefs, Repository, make_recorder
from tests.fakes.tools import SITE


@dataclass
class Turn:
    """A turn that has ended, of which a test says that it is about to write."""

    room: Room
    session: LiveSession
    turn_id: str
    refs: FakeRefs
    site: Site
    told: list[tuple[str, str]] = field(default_factory=list)
    rules: ToolRules = field(default_factory=ToolRules)

    async def record(self, *writes: tuple[str, ...]) -> list[Snapshot]:
        """Record; the snapshots that the turn has then."""
        means = replace(self.room.sessions.means, toolbox=lambda: self.rules)
        await record_workspace(
            self.session,
            self.turn_id,
            site=self.site,
            writes=writes,
            means=means,
            report=lambda kind, text: self.told.append((kind, text)),
        )
        return find_taken(self.session, self.turn_id)


@asynccontextmanager
async def begin(top: Path, *, ephemeral: bool = False) -> AsyncIterator[Turn]:
    store = FakeStore()
    refs = FakeRefs(store)
    recorder = make_recorder(top.parent, refs)
    async with open_room(store=store, recorder=recorder) as room:
        accepted = await room.ask("hello", ephemeral=ephemeral)
        await room.finish(accepted)
        found = await trio.Path(top).stat()
        site = replace(SITE, cwd=str(top), cwd_id=f"{found.st_dev}:{found.st_ino}")
        yield Turn(room, accepted.session, accepted.turn_id, refs, site)
        assert not recorder.taking
        assert not list((top.parent / "scratch").glob("*"))


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "w")
    made.write("kept")
    made.commit()
    made.write("made")
    return made


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """A directory of no repository."""
    top = tmp_path / "plain"
    top.mkdir()
    (top / "a").write_text("old")
    return top


async def test_a_work_tree_is_recorded_once_in_a_turn(repository: Repository) -> None:
    async with begin(repository.top) as turn:
        (first,) = await turn.record((), ("kept",))
        assert (first.worktree, first.base_head) == (
            str(repository.top),
            repository.git("rev-parse", "HEAD").strip(),
        )
        assert repository.refs() == [f"refs/ask/{first.id}"]
        assert turn.refs.claimed == {first.id: str(repository.top / ".git")}
        repository.write("kept", "changed")
        assert await turn.record(("kept",)) == [first]
        assert turn.told == []


async def test_with_nothing_to_write_or_switched_off_nothing_is_recorded(
    repository: Repository,
) -> None:
    async with begin(repository.top) as turn:
        assert await turn.record() == []
        turn.rules = ToolRules(snapshots=False)
        assert await turn.record(("kept",)) == []
        turn.rules, there = ToolRules(), turn.site
        for site in (
            replace(there, cwd=None),
            replace(there, cwd=f"{there.cwd}/gone"),
            replace(there, cwd_id="0:0"),
        ):
            turn.site = site
            assert await turn.record(("kept",)) == []
        assert turn.told == []
        assert repository.refs() == []


async def test_what_git_says_is_told_once_and_stops_nobody(repository: Repository) -> None:
    repository.write(".git/index", "broken")
    async with begin(repository.top) as turn:
        assert await turn.record(("kept",)) == []
        assert await turn.record(("kept",)) == [], "later it would not be what was before"
        ((kind, text),) = turn.told
        assert kind == "warning"
        assert text.startswith("No snapshot was taken, so this cannot be undone: git: ")
        assert turn.refs.claimed == {}


async def test_whoever_is_slow_is_not_waited_for(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorders, "TAKE_S", 0.3)
    repository.git("config", "filter.wait.clean", "sleep 30")
    repository.write(".gitattributes", "*.slow filter=wait\n")
    repository.write("a.slow")
    index = repository.read_index()
    async with begin(repository.top) as turn:
        with trio.fail_after(20):
            assert await turn.record(("kept",)) == []
        ((_, text),) = turn.told
        assert "took longer than 0.3 s" in text
    assert repository.read_index() == index
    assert repository.refs() == []


async def test_a_disk_that_is_full_is_an_error_and_the_ref_is_left_over(
    repository: Repository,
) -> None:
    async with begin(repository.top) as turn:
        turn.room.store.failing = True
        with pytest.raises(StorageFailed):
            await turn.record(("kept",))
        assert len(await turn.refs.find_left_over()) == 1


async def test_what_is_not_in_it_is_said(repository: Repository) -> None:
    Repository(repository.top / "within")
    async with begin(repository.top) as turn:
        (item,) = await turn.record(("kept",))
        assert item.paths == ("within/",)
        assert turn.told == [("warning", "Not in the snapshot: within/.")]


async def test_outside_of_git_files_are_copied_before_each_is_written(plain: Path) -> None:
    async with begin(plain) as turn:
        (first,) = await turn.record(("a", "b"), ("b",))
        assert [each.path for each in first.copies] == ["a", "b"]
        assert (first.commit, first.worktree) == ("", str(plain))
        part = first.copies[0].part
        assert isinstance(part, Blob)
        assert await turn.room.store.read_blob(part.sha256) == b"old"
        assert await turn.record(("a",)) == [first]
        (_, second) = await turn.record(("a", "c"))
        assert [each.path for each in second.copies] == ["c"]
        assert turn.told == []


async def test_of_commands_outside_of_git_is_said_once_that_nothing_records_them(
    plain: Path,
) -> None:
    async with begin(plain) as turn:
        assert await turn.record(()) == []
        assert await turn.record((), ("../out",)) == []
        assert turn.told == [("warning", COPY_ONLY)]


async def test_a_turn_keeps_so_many_bytes_and_names_the_rest(
    plain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorders, "TURN_BYTES", 5)
    (plain / "b").write_text("old")
    async with begin(plain) as turn:
        await turn.record(("a",))
        (_, second) = await turn.record(("b",))
        assert (second.copies, second.paths) == ((), ("b",))
        assert turn.told == [("warning", "Not in the snapshot: b.")]
        assert len(await turn.record(("b",))) == 2, "it is not tried again"


async def test_what_is_in_memory_only_leaves_nothing_in_a_repository(
    repository: Repository,
) -> None:
    async with begin(repository.top, ephemeral=True) as turn:
        (item,) = await turn.record(("kept",))
        assert (item.commit, [each.path for each in item.copies]) == ("", ["kept"])
        assert repository.refs() == []
        assert turn.refs.claimed == {}


async def test_whoever_is_cancelled_leaves_no_ref_that_nobody_knows(
    repository: Repository,
) -> None:
    async with begin(repository.top) as turn:
        for delay_s in (0.05, 0.15, 0.25, 0.35):
            with trio.move_on_after(delay_s):
                await turn.record(("kept",))
            held = {each.id for each in find_taken(turn.session, turn.turn_id)}
            known = held | {id for id, _ in await turn.refs.find_left_over()}
            assert {each.removeprefix("refs/ask/") for each in repository.refs()} <= known
            assert not list((repository.top / ".git").rglob("*.lock"))
