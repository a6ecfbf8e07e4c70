"""Refs that nobody needs go; one that is being taken stays; a repository is nobody's error."""

import os
from pathlib import Path

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from askd.errors import StorageFailed
from askd.sessions import snapshot_refs
from askd.sessions.snapshot_refs import SnapshotRefs
from askd.tools.snapshots.git import CannotRecord
from tests.fakes.log import FakeStore
from tests.fakes.snapshots import FakeRefs, Repository


class Git:
    """Repositories that let go of refs, or do not."""

    def __init__(self, refs: SnapshotRefs, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[str] = []
        self.refuses = False
        monkeypatch.setattr(refs.recorder, "let_go", self.let_go)

    async def let_go(self, git_dir: str, id: str) -> None:
        await trio.lowlevel.checkpoint()
        self.asked.append(id)
        if self.refuses:
            raise CannotRecord("git: no space left")


@pytest.fixture
def table() -> FakeRefs:
    return FakeRefs(FakeStore())


@pytest.fixture
def refs(table: FakeRefs, tmp_path: Path) -> SnapshotRefs:
    return SnapshotRefs(table, environment={}, scratch=tmp_path / "scratch")


async def test_a_ref_of_nobodys_goes(refs: SnapshotRefs, table: FakeRefs, tmp_path: Path) -> None:
    repository = Repository(tmp_path / "w")
    repository.write("a")
    repository.git("update-ref", "refs/ask/one", repository.commit())
    git_dir = str(repository.top / ".git")
    made = SnapshotRefs(table, environment={"PATH": os.environ["PATH"]}, scratch=tmp_path / "s")
    for id in ("one", "was never made"):
        await table.claim(id.replace(" ", "-"), git_dir)
    assert await made.remove_left_over() == 2
    assert repository.refs() == []
    assert table.claimed == {}


async def test_whoever_deletes_something_wakes_it(
    refs: SnapshotRefs, table: FakeRefs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Git(refs, monkeypatch)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(refs.run)
        await wait_all_tasks_blocked(0.05)
        await table.claim("one", str(tmp_path))
        refs.look()
        await wait_all_tasks_blocked(0.05)
        assert table.claimed == {}
        nursery.cancel_scope.cancel()


async def test_what_is_being_taken_stays(
    refs: SnapshotRefs, table: FakeRefs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = Git(refs, monkeypatch)
    await table.claim("now", str(tmp_path))
    await table.claim("then", str(tmp_path))
    refs.recorder.taking.add("now")
    assert await refs.remove_left_over() == 1
    assert git.asked == ["then"]
    assert set(table.claimed) == {"now"}


async def test_a_repository_that_is_gone_is_forgotten(
    refs: SnapshotRefs, table: FakeRefs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = Git(refs, monkeypatch)
    await table.claim("one", str(tmp_path / "gone"))
    assert await refs.remove_left_over() == 1
    assert git.asked == []


async def test_one_that_refuses_is_said_once_and_tried_again(
    refs: SnapshotRefs,
    table: FakeRefs,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    git = Git(refs, monkeypatch)
    git.refuses = True
    await table.claim("one", str(tmp_path))
    assert await refs.remove_left_over() == await refs.remove_left_over() == 0
    assert git.asked == ["one", "one"]
    assert len(caplog.records) == 1
    git.refuses = False
    assert await refs.remove_left_over() == 1
    assert table.claimed == {}


async def test_a_table_that_cannot_be_read_ends_nothing(
    refs: SnapshotRefs, table: FakeRefs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Git(refs, monkeypatch)
    await table.claim("one", str(tmp_path))
    found = table.find_left_over
    troubles: list[Exception] = [StorageFailed("The disk is gone."), RuntimeError("odd")]

    async def fail() -> list[tuple[str, str]]:
        await trio.lowlevel.checkpoint()
        if troubles:
            raise troubles.pop()
        return await found()

    monkeypatch.setattr(table, "find_left_over", fail)
    gone = trio.Event()
    forget = table.forget

    async def note(id: str) -> None:
        await forget(id)
        gone.set()

    monkeypatch.setattr(table, "forget", note)
    monkeypatch.setattr(snapshot_refs, "AGAIN_S", 0.01)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(refs.run)
        await gone.wait()
        nursery.cancel_scope.cancel()
    assert troubles == []


async def test_what_a_killed_daemon_left_goes_at_the_start(
    refs: SnapshotRefs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scratch" / "tmpx").mkdir(parents=True)
    looked = trio.Event()

    async def look() -> int:
        looked.set()
        return 0

    monkeypatch.setattr(refs, "remove_left_over", look)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(refs.run)
        await looked.wait()
        nursery.cancel_scope.cancel()
    assert not await trio.Path(tmp_path / "scratch").exists()
