"""A work tree is recorded as it is, and is afterwards what it was, down to its index."""

import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from askd.tools.snapshots import worktree as trees
from askd.tools.snapshots.git import CannotRecord, Git
from askd.tools.snapshots.worktree import (
    State,
    Worktree,
    commit,
    find_changes,
    find_worktree,
    has_commit,
    lay_out,
    read_state,
    remove_ref,
    show_changes,
)
from tests.fakes.snapshots import Repository

ID = "0123456789ab"


@pytest.fixture
def git(tmp_path: Path) -> Git:
    """git as the daemon runs it, with nobody's settings."""
    return Git(environment={"PATH": os.environ["PATH"], "HOME": str(tmp_path)})


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """One with a commit, and something uncommitted of each kind."""
    made = Repository(tmp_path / "w")
    made.write("kept", "kept\n")
    made.write("changed", "old\n")
    made.write("gone", "gone\n")
    made.write(".gitignore", "ignored\n")
    made.commit()
    made.write("changed", "new\n")
    (made.top / "gone").unlink()
    made.write("sub/made", "made\n")
    made.write("ignored", "mine\n")
    made.write("staged", "staged\n")
    made.git("add", "staged")
    made.write("staged", "staged, then changed\n")
    return made


@asynccontextmanager
async def reading(
    git: Git, top: Path, scratch: Path, *, keep: bool = True
) -> AsyncIterator[tuple[Worktree, State]]:
    worktree = await find_worktree(git, str(top))
    assert worktree is not None
    made = Path(await trio.to_thread.run_sync(tempfile.mkdtemp, "", "", scratch.parent))
    yield worktree, await read_state(git, worktree, made, keep=keep)
    shutil.rmtree(made)


async def record(git: Git, top: Path, scratch: Path) -> str:
    async with reading(git, top, scratch) as (worktree, state):
        return await commit(git, worktree, state, id=ID, at=1_000_000.0)


def listed(repository: Repository, digest: str) -> dict[str, str]:
    """The content of each file of a commit."""
    names = repository.git("ls-tree", "-r", "-z", "--name-only", digest).split("\0")[:-1]
    return {name: repository.git("show", f"{digest}:{name}") for name in names}


async def test_all_that_git_does_not_ignore_is_recorded_and_nothing_is_touched(
    git: Git, repository: Repository, tmp_path: Path
) -> None:
    before = repository.read_index()
    head, status = repository.git("rev-parse", "HEAD"), repository.git("status", "--porcelain")
    index = repository.read_index()  # a status may refresh it
    digest = await record(git, repository.top, tmp_path / "s")
    assert repository.read_index() == index
    assert len(before) == len(index)
    assert listed(repository, digest) == {
        ".gitignore": "ignored\n",
        "kept": "kept\n",
        "changed": "new\n",
        "sub/made": "made\n",
        "staged": "staged, then changed\n",
    }
    assert repository.refs() == [f"refs/ask/{ID}"]
    assert repository.git("rev-parse", f"{digest}^") == head == repository.git("rev-parse", "HEAD")
    assert repository.git("log", "-1", "--format=%an %at", digest) == "ask 1000000\n"
    assert repository.git("status", "--porcelain") == status
    assert not list((repository.top / ".git").rglob("*.lock"))
    repository.git("fsck", "--strict")


async def test_hooks_monitors_and_signatures_have_no_say(
    git: Git, repository: Repository, tmp_path: Path
) -> None:
    trap = "#!/bin/sh\ntouch " + str(tmp_path / "trapped") + "\nexit 1\n"
    hooks = ("pre-commit", "post-index-change", "reference-transaction", "post-commit")
    for name in hooks:
        hook = repository.write(f".git/hooks/{name}", trap)
        hook.chmod(0o755)
    monitor = repository.write(".git/monitor", trap)
    monitor.chmod(0o755)
    for key, value in {
        "core.fsmonitor": str(monitor),
        "commit.gpgSign": "true",
        "gpg.program": str(monitor),
        "core.splitIndex": "true",
        "diff.external": str(monitor),
    }.items():
        repository.git("config", key, value)
    async with reading(git, repository.top, tmp_path / "s") as (worktree, state):
        digest = await commit(git, worktree, state, id=ID, at=1.0)
        await show_changes(git, worktree, state, digest, limit=1000)
        await remove_ref(git, worktree.git_dir, ID)
    assert not (tmp_path / "trapped").exists()
    assert not list((repository.top / ".git").glob("sharedindex*"))


async def test_a_look_leaves_nothing_in_the_repository(
    git: Git, repository: Repository, tmp_path: Path
) -> None:
    digest = await record(git, repository.top, tmp_path / "s")
    repository.write("another", "another\n")
    repository.write("kept", "kept, changed\n")
    objects = sorted((repository.top / ".git" / "objects").rglob("*"))
    odd = tmp_path / 'with:colon "and quotes"'
    odd.mkdir()
    for scratch in (tmp_path / "s", odd / "s"):
        async with reading(git, repository.top, scratch, keep=False) as (worktree, state):
            changes = await find_changes(git, worktree, state, digest)
            text, is_cut = await show_changes(git, worktree, state, digest, limit=10_000)
    assert {(each.path, each.is_new, each.is_gone) for each in changes} == {
        ("another", False, True),
        ("kept", False, False),
    }
    assert "-kept, changed\n+kept\n" in text
    assert not is_cut
    assert sorted((repository.top / ".git" / "objects").rglob("*")) == objects


async def test_objects_of_a_repository_with_an_odd_name(git: Git, tmp_path: Path) -> None:
    repository = Repository(tmp_path / 'a:b "c\\d')
    repository.write("a")
    repository.commit()
    repository.write("b")
    async with reading(git, repository.top, tmp_path / "s", keep=False) as (worktree, state):
        assert await find_changes(git, worktree, state, str(worktree.head))


async def test_a_diff_is_cut_where_it_is_too_long(
    git: Git, repository: Repository, tmp_path: Path
) -> None:
    digest = await record(git, repository.top, tmp_path / "s")
    repository.write("kept", "line\n" * 10_000)
    async with reading(git, repository.top, tmp_path / "s", keep=False) as (worktree, state):
        text, is_cut = await show_changes(git, worktree, state, digest, limit=1000)
    assert is_cut
    assert len(text) == 1000


async def test_from_a_directory_within_all_of_the_work_tree_is_recorded(
    git: Git, repository: Repository, tmp_path: Path
) -> None:
    digest = await record(git, repository.top / "sub", tmp_path / "s")
    assert "kept" in listed(repository, digest)


async def test_a_repository_without_a_commit(git: Git, tmp_path: Path) -> None:
    repository = Repository(tmp_path / "w")
    repository.write("a", "first\n")
    digest = await record(git, repository.top, tmp_path / "s")
    assert listed(repository, digest) == {"a": "first\n"}
    assert repository.git("log", "--format=%P", digest) == "\n"
    assert not (repository.top / ".git" / "index").exists()


async def test_one_whose_digests_are_longer(git: Git, tmp_path: Path) -> None:
    repository = Repository(tmp_path / "w", "--object-format=sha256")
    repository.write("a", "first\n")
    repository.commit()
    digest = await record(git, repository.top, tmp_path / "s")
    assert len(digest) == 64
    async with reading(git, repository.top, tmp_path / "s", keep=False) as (worktree, state):
        assert await find_changes(git, worktree, state, digest) == []


async def test_a_linked_work_tree_has_its_own_files_and_the_same_refs(
    git: Git, repository: Repository, tmp_path: Path
) -> None:
    linked = tmp_path / "linked"
    repository.git("worktree", "add", "-q", str(linked))
    (linked / "own").write_text("own\n")
    digest = await record(git, linked, tmp_path / "s")
    assert "own" in listed(repository, digest)
    assert "sub/made" not in listed(repository, digest)
    assert repository.refs() == [f"refs/ask/{ID}"]
    worktree = await find_worktree(git, str(linked))
    assert worktree is not None
    shutil.rmtree(linked)
    await remove_ref(git, worktree.git_dir, ID)
    assert repository.refs() == []


async def test_submodules_and_repositories_within_are_left_alone(
    git: Git, repository: Repository, tmp_path: Path
) -> None:
    other = Repository(tmp_path / "other")
    other.write("theirs")
    other.commit()
    allow = ("-c", "protocol.file.allow=always")
    repository.git(*allow, "submodule", "--quiet", "add", str(other.top), "module")
    repository.commit()
    pinned = repository.git("ls-tree", "HEAD", "module")
    within = Repository(repository.top / "within")
    within.write("a")
    Repository(repository.top / "module").commit()
    async with reading(git, repository.top, tmp_path / "s") as (worktree, state):
        digest = await commit(git, worktree, state, id=ID, at=1.0)
        assert state.submodules == 1
        assert state.left_out == ("within/",)
        assert await find_changes(git, worktree, state, digest) == []
    assert repository.git("ls-tree", digest, "module") == pinned
    assert "within/a" not in repository.git("ls-tree", "-r", digest)


async def test_large_files_that_git_does_not_know_are_left_out(
    git: Git, repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trees, "UNTRACKED_BYTES", 100)
    repository.write("data/*[l]arge", "x" * 101)
    repository.write("data/l", "small\n")
    repository.write("kept", "x" * 101)
    async with reading(git, repository.top, tmp_path / "s") as (worktree, state):
        digest = await commit(git, worktree, state, id=ID, at=1.0)
    assert state.left_out == ("data/*[l]arge",)
    files = listed(repository, digest)
    assert files["data/l"] == "small\n", "a name is no pattern"
    assert files["kept"] == "x" * 101, "what git knows is recorded, however large"


@pytest.mark.parametrize("limit", ["UNTRACKED_TOTAL_BYTES", "LEFT_OUT_MAX"])
async def test_too_much_that_git_does_not_know_is_not_recorded(
    git: Git, repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    if limit == "LEFT_OUT_MAX":
        monkeypatch.setattr(trees, "UNTRACKED_BYTES", 0)
    monkeypatch.setattr(trees, limit, 0)
    with pytest.raises(CannotRecord, match="are not known to git"):
        await record(git, repository.top, tmp_path / "s")
    assert repository.refs() == []


async def test_names_of_every_kind(git: Git, tmp_path: Path) -> None:
    repository = Repository(tmp_path / "w")
    names = [b"-rf", b":(top)x", b"new\nline", b"\xff\xfe", "größe".encode(), b" ", b'"q"', b"a\tb"]
    for name in names:
        repository.write(os.fsdecode(name))
    (repository.top / "link").symlink_to("/etc/passwd")
    (repository.top / "nowhere").symlink_to("gone")
    program = repository.write("program")
    program.chmod(0o755)
    digest = await record(git, repository.top, tmp_path / "s")
    for name in names:
        (repository.top / os.fsdecode(name)).unlink()
    async with reading(git, repository.top, tmp_path / "s", keep=False) as (worktree, state):
        changes = await find_changes(git, worktree, state, digest)
        paths = [each.path for each in changes]
        assert {os.fsencode(each) for each in paths} == set(names)
        out = await lay_out(git, worktree, state.scratch, digest, paths)
        assert {os.fsencode(each) for each in os.listdir(out)} == set(names)
    modes = repository.git("ls-tree", digest, "link", "program")
    assert modes.startswith("120000")
    assert "100755" in modes


async def test_somebody_elses_repository_is_not_touched(
    git: Git, repository: Repository, tmp_path: Path
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    await trio.run_process(["chown", "-R", "12345", str(repository.top)])
    with pytest.raises(CannotRecord, match="belongs to somebody else"):
        await find_worktree(git, str(repository.top))


async def test_where_there_is_no_work_tree(
    git: Git, repository: Repository, tmp_path: Path
) -> None:
    bare = Repository(tmp_path / "bare", "--bare")
    for place in (tmp_path, bare.top):
        assert await find_worktree(git, str(place)) is None
    repository.git("config", "core.worktree", str(tmp_path / "s"))
    (tmp_path / "s").mkdir()
    assert await find_worktree(git, str(repository.top)) is None


async def test_a_commit_that_is_there_and_one_that_is_not(git: Git, repository: Repository) -> None:
    worktree = await find_worktree(git, str(repository.top))
    assert worktree is not None
    assert await has_commit(git, worktree, str(worktree.head))
    assert not await has_commit(git, worktree, "0" * 40)
    assert not await has_commit(git, worktree, "--output=/tmp/written")
    assert not await has_commit(git, worktree, "HEAD")


async def test_a_ref_is_not_made_twice_and_goes_once(
    git: Git, repository: Repository, tmp_path: Path
) -> None:
    await record(git, repository.top, tmp_path / "s")
    repository.write("kept", "another\n")
    with pytest.raises(CannotRecord):
        async with reading(git, repository.top, tmp_path / "t") as (worktree, state):
            await commit(git, worktree, state, id=ID, at=1.0)
    git_dir = str(repository.top / ".git")
    await remove_ref(git, git_dir, ID)
    assert repository.refs() == []
    await remove_ref(git, git_dir, ID)
