"""A snapshot counts as being taken until it is kept, and no directory of ours outlives it."""

import errno
import os
from pathlib import Path

import pytest
import trio

from askd.errors import StorageFailed
from askd.tools.snapshots.git import CannotRecord
from askd.tools.snapshots.recorder import ID_BYTES, Recorder, explain_left_out
from tests.fakes.log import FakeStore
from tests.fakes.snapshots import FakeRefs, Repository, make_recorder


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "w")
    made.write("kept")
    made.commit()
    return made


@pytest.fixture
def refs() -> FakeRefs:
    return FakeRefs(FakeStore())


async def test_it_is_noted_before_the_ref_is_made(
    repository: Repository, refs: FakeRefs, tmp_path: Path
) -> None:
    recorder = make_recorder(tmp_path, refs)
    worktree = await recorder.find_worktree(str(repository.top))
    assert worktree is not None
    async with recorder.take(worktree, at=7.0) as taken:
        assert taken.item is not None
        id = taken.item.id
        assert recorder.taking == {id}
        assert refs.claimed == {id: str(repository.top / ".git")}
        assert repository.refs() == [f"refs/ask/{id}"]
        assert len(bytes.fromhex(id)) == ID_BYTES
        assert (taken.item.at, taken.item.paths, taken.warning) == (7.0, (), None)
    assert recorder.taking == set()
    assert os.listdir(tmp_path / "scratch") == []
    await recorder.let_go(worktree.git_dir, id)
    assert repository.refs() == []


async def test_where_it_cannot_be_noted_no_ref_is_made(
    repository: Repository, tmp_path: Path
) -> None:
    async def refuse(id: str, git_dir: str) -> None:
        await trio.lowlevel.checkpoint()
        raise StorageFailed("The disk is full.")

    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    recorder = Recorder(environment=environment, scratch=tmp_path / "scratch", claim=refuse)
    worktree = await recorder.find_worktree(str(repository.top))
    assert worktree is not None
    with pytest.raises(StorageFailed):
        async with recorder.take(worktree, at=7.0):
            raise AssertionError
    assert repository.refs() == []
    assert recorder.taking == set()
    assert os.listdir(tmp_path / "scratch") == []


async def test_without_a_place_of_our_own_there_is_a_sentence(
    repository: Repository, refs: FakeRefs, tmp_path: Path
) -> None:
    recorder = make_recorder(tmp_path, refs)
    (tmp_path / "scratch").write_text("in the way")
    with pytest.raises(CannotRecord, match="scratch: File exists"):
        async with recorder.open_scratch():
            raise AssertionError


async def test_a_disk_that_is_full_is_a_sentence_too(refs: FakeRefs, tmp_path: Path) -> None:
    with pytest.raises(CannotRecord, match="/s/index: No space left"):
        async with make_recorder(tmp_path, refs).open_scratch():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/s/index")
    assert os.listdir(tmp_path / "scratch") == []


async def test_a_ref_of_a_repository_that_is_gone(refs: FakeRefs, tmp_path: Path) -> None:
    with pytest.raises(CannotRecord):
        await make_recorder(tmp_path, refs).let_go(str(tmp_path / "gone"), "0123456789ab")


def test_what_is_left_out_is_said_shortly() -> None:
    assert explain_left_out((), 0) is None
    assert explain_left_out(("a",), 0) == "Not in the snapshot: a."
    assert explain_left_out(("a", "b", "c"), 1) == "Not in the snapshot: a and 2 more, 1 submodule."
    assert explain_left_out((), 2) == "Not in the snapshot: 2 submodules."
