"""Snapshots are listed, compared and put back, and never while a turn is at work."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from askd.core.events import ItemAdded
from askd.core.items import Blob, Copy, Snapshot
from askd.errors import Busy, NotFound, RequestError, StorageFailed
from askd.sessions.live import LiveSession
from askd.sessions.restoring import DIFF_BYTES, Restoring, find_snapshot
from askd.sessions.snapshots import keep, record_workspace
from tests.fakes.log import FakeStore
from tests.fakes.sessions import Room, open_room, to
from tests.fakes.snapshots import FakeRefs, Repository, make_recorder
from tests.fakes.tools import SITE


@dataclass
class Desk:
    """A conversation with one turn, and who restores."""

    room: Room
    session: LiveSession
    turn_id: str
    restoring: Restoring

    async def record(self, top: Path, *writes: str) -> Snapshot:
        """Take a snapshot as the turn would; it."""
        await record_workspace(
            self.session,
            self.turn_id,
            site=replace(SITE, cwd=str(top)),
            writes=[writes],
            means=self.room.sessions.means,
            report=lambda kind, text: None,
        )
        items = [added.item for added in self.session.conversation.turns[self.turn_id].items]
        found = [each for each in items if isinstance(each, Snapshot)]
        return found[-1]


@asynccontextmanager
async def open_desk(home: Path) -> AsyncIterator[Desk]:
    store = FakeStore()
    refs = FakeRefs(store)
    async with open_room(store=store, recorder=make_recorder(home, refs)) as room:
        accepted = await room.ask("hello")
        await room.finish(accepted)
        restoring = Restoring(room.sessions, refs)
        yield Desk(room, accepted.session, accepted.turn_id, restoring)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "w")
    made.write("kept", "old\n")
    made.commit()
    return made


async def test_listed_shown_and_put_back(repository: Repository, tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        item = await desk.record(repository.top, "kept")
        repository.write("kept", "new\n")
        repository.write("made")
        objects = sorted((repository.top / ".git" / "objects").rglob("*"))
        ([listed], has_more) = await desk.restoring.list_some(desk.session.id, after=None, limit=5)
        assert (listed.item, listed.differ, listed.trouble, has_more) == (item, 2, None, False)
        compared = await desk.restoring.compare(desk.session, item)
        assert (compared.files, compared.is_cut) == (2, False)
        assert "-new\n+old\n" in compared.text
        assert sorted((repository.top / ".git" / "objects").rglob("*")) == objects
        outcome = await desk.restoring.restore(desk.session, item)
        assert (outcome.restored.put, outcome.restored.removed) == (["kept"], ["made"])
        assert repository.git("status", "--porcelain") == ""
        assert outcome.before is not None
        assert (outcome.before.worktree, len(repository.refs())) == (str(repository.top), 2)
        again = await desk.restoring.restore(desk.session, item)
        assert (again.before, again.restored.put) == (None, [])
        assert len(repository.refs()) == 2, "what is as it was needs no snapshot"
        await desk.restoring.restore(desk.session, outcome.before)
        assert (repository.top / "made").exists()


async def test_pages(repository: Repository, tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        for number in range(3):
            item = Snapshot(f"id{number:08}", "/nowhere", "0" * 40, at=float(number))
            await keep(desk.session, None, item)
        page = desk.restoring.list_some
        first, has_more = await page(desk.session.id, after=None, limit=2)
        assert ([each.item.id for each in first], has_more) == (["id00000002", "id00000001"], True)
        assert all("is no git work tree any more" in str(each.trouble) for each in first)
        last, has_more = await page(desk.session.id, after="id00000001", limit=2)
        assert ([each.item.id for each in last], has_more) == (["id00000000"], False)
        with pytest.raises(RequestError, match="cursor"):
            await page(desk.session.id, after="id", limit=2)


async def test_no_turn_runs_meanwhile(repository: Repository, tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        item = await desk.record(repository.top, "kept")
        repository.write("kept", "new\n")
        release = trio.Event()
        desk.room.models.script = lambda request: ["half", release]
        running = await desk.room.ask("more", target=to(desk.session))
        await wait_all_tasks_blocked()
        with pytest.raises(Busy):
            await desk.restoring.restore(desk.session, item)
        assert (repository.top / "kept").read_text() == "new\n"
        release.set()
        await desk.room.finish(running)
        await desk.restoring.restore(desk.session, item)


async def test_what_is_there_now_is_kept_before_anything_changes(
    repository: Repository, tmp_path: Path
) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    async with open_desk(tmp_path) as desk:
        item = await desk.record(repository.top, "kept")
        repository.write("kept", "new\n")
        copied = Snapshot("0123456789ab", str(plain), "", at=1.0, copies=(Copy("made"),))
        await keep(desk.session, None, copied)
        (plain / "made").write_text("made\n")
        desk.room.store.failing = True
        for each in (item, copied):
            with pytest.raises(StorageFailed):
                await desk.restoring.restore(desk.session, each)
        assert (repository.top / "kept").read_text() == "new\n"
        assert (plain / "made").exists()


async def test_what_is_too_large_to_be_kept_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "a").write_text("old")
    (plain / "b").write_text("old")
    async with open_desk(tmp_path) as desk:
        item = await desk.record(plain, "a", "b", "made")
        for name in ("a", "made"):
            (plain / name).write_text("new")
        (plain / "b").write_text("x" * 100)
        monkeypatch.setattr("askd.tools.snapshots.copies.FILE_BYTES", 50)
        compared = await desk.restoring.compare(desk.session, item)
        assert compared.files == 3
        outcome = await desk.restoring.restore(desk.session, item)
        assert [path for path, _ in outcome.restored.left] == ["b"]
        assert (plain / "a").read_text() == "old"
        assert not (plain / "made").exists()
        assert outcome.before is not None
        await desk.restoring.restore(desk.session, outcome.before)
        assert (plain / "a").read_text() == (plain / "made").read_text() == "new"


async def test_what_cannot_be_put_back_is_a_sentence(
    repository: Repository, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(repository.top)
    top = str(repository.top)
    blob = Blob("0" * 64, 1, "text/plain")
    items = {
        "is no git work tree": Snapshot("a", str(tmp_path / "gone"), "0" * 40),
        "is no git work tree any more": Snapshot("b", str(tmp_path / "link"), "0" * 40),
        "does not hold": Snapshot("c", top, "0" * 40),
        "does not hold this": Snapshot("d", top, "--output=/tmp/x"),
        "secret was taken out": Snapshot("e", top, "0" * 40, altered=True),
        "secret was": Snapshot("f", top, "", altered=True, copies=(Copy("x", blob),)),
        "is gone": Snapshot("g", str(tmp_path / "gone"), "", copies=(Copy("x"),)),
        "leads elsewhere": Snapshot("h", str(tmp_path / "link"), "", copies=(Copy("x"),)),
    }
    async with open_desk(tmp_path) as desk:
        for said, item in items.items():
            for act in (desk.restoring.compare, desk.restoring.restore):
                with pytest.raises(RequestError, match=said):
                    await act(desk.session, item)
    assert not await trio.Path("/tmp/x").exists()


async def test_found_by_an_id_or_its_beginning(repository: Repository, tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        for id in ("0123456789ab", "0123ffffffff"):
            await desk.session.append([ItemAdded(None, Snapshot(id, "/w", "0" * 40))])
        find = desk.restoring.find
        for conversation_id in (None, desk.session.id):
            session, item = await find("01234", conversation_id)
            assert (session, item.id) == (desk.session, "0123456789ab")
            with pytest.raises(NotFound, match="more than one snapshot: 0123") as caught:
                await find("0123", conversation_id)
            assert caught.value.reason == "snapshot_ambiguous"
            with pytest.raises(NotFound, match="Snapshot not found: id=beef"):
                await find("beef", conversation_id)
        with pytest.raises(NotFound):
            find_snapshot(desk.session.conversation, "012")
        with pytest.raises(NotFound):
            await find("01234", "no such conversation")


async def test_what_is_in_memory_only_is_found_too(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        accepted = await desk.room.ask("hello", ephemeral=True)
        await desk.room.finish(accepted)
        await keep(accepted.session, None, Snapshot("abcdef012345", "/w", "", copies=(Copy("x"),)))
        session, item = await desk.restoring.find("abcd", None)
        assert (session, item.id) == (accepted.session, "abcdef012345")


async def test_a_daemon_that_keeps_none_says_so(tmp_path: Path) -> None:
    async with open_room() as room:
        accepted = await room.ask("hello")
        await room.finish(accepted)
        restoring = Restoring(room.sessions, FakeRefs(room.store))
        item = Snapshot("a", str(tmp_path), "0" * 40)
        with pytest.raises(RequestError, match="not kept"):
            await restoring.compare(accepted.session, item)


async def test_a_long_diff_is_cut(repository: Repository, tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        item = await desk.record(repository.top, "kept")
        repository.write("kept", "line\n" * DIFF_BYTES)
        compared = await desk.restoring.compare(desk.session, item)
        assert compared.is_cut
        assert len(compared.text.encode()) <= DIFF_BYTES
