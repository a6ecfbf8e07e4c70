"""What turns files into objects is somebody's program: it runs confined, and names no object."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from askd.processes.confinement import Confiner
from askd.tools.sandbox import Sandbox
from askd.tools.snapshots.git import CannotRecord, Git
from askd.tools.snapshots.objects import find_reach, keep_tree
from askd.tools.snapshots.worktree import (
    State,
    Worktree,
    commit,
    find_changes,
    find_worktree,
    lay_out,
    read_state,
    remove_ref,
    show_changes,
)
from tests.fakes.snapshots import Repository
from tests.faults.escapes import find_base

ID = "0123456789ab"
CONFINERS: tuple[Confiner, ...] = ("bubblewrap", "landlock")


@pytest.fixture
def home() -> Iterator[Path]:
    """Not beneath /tmp, which some sandboxes hide as a whole."""
    made = Path(tempfile.mkdtemp(prefix=".askd-test-", dir=find_base()))
    yield made
    shutil.rmtree(made)


async def make_git(home: Path, confiner: Confiner) -> Git:
    sandbox = Sandbox(confiner)
    assert await sandbox.find() == confiner, "it does not work here"
    return Git(environment={"PATH": os.environ["PATH"], "HOME": str(home)}, sandbox=lambda: sandbox)


async def read(git: Git, top: Path, scratch: Path) -> tuple[Worktree, State]:
    worktree = await find_worktree(git, str(top))
    assert worktree is not None
    await trio.Path(scratch).mkdir()
    return worktree, await read_state(git, worktree, scratch, keep=True)


def find_trapped(home: Path) -> list[Path]:
    return list(home.rglob("trapped"))


@pytest.mark.parametrize("confiner", CONFINERS)
async def test_filters_of_a_repository_do_no_more_than_a_command(
    home: Path, confiner: Confiner
) -> None:
    """A confined command can make a repository where none is: what it names runs confined."""
    repository = Repository(home / "w")
    trap = f"touch {home}/trapped {home}/w/trapped {home}/w/.git/hooks/trapped; tr a-z A-Z"
    repository.git("config", "filter.trap.clean", trap)
    repository.git("config", "filter.trap.smudge", f"{trap}; touch trapped")
    repository.write(".gitattributes", "f filter=trap\n")
    repository.write("f", "content\n")
    git = await make_git(home, confiner)
    worktree, state = await read(git, repository.top, home / "s")
    digest = await commit(git, worktree, state, id=ID, at=0)
    assert repository.git("show", f"{digest}:f") == "CONTENT\n", "it ran"
    out = await lay_out(git, worktree, home / "s", digest, ["f"])
    assert (out / "f").read_text() == "CONTENT\n"
    assert await trio.to_thread.run_sync(find_trapped, home) == []
    repository.git("fsck", "--strict")


HOSTILE = {
    "hooks elsewhere": "mkdir h; echo 'touch {mark}' > h/reference-transaction; "
    "cp h/* h/post-index-change; chmod +x h/*; git config core.hooksPath $PWD/h",
    "hooks of the configuration": "git config hook.x.command 'touch {mark}'; "
    "git config hook.x.event reference-transaction",
    "a monitor": "git config core.fsmonitor 'touch {mark}'",
    "a filter that is included": "printf '[filter \"x\"]\nclean = touch {mark}; cat' > inc; "
    "git config include.path $PWD/inc; echo 'f filter=x' > .gitattributes",
    "a filter that stays": "git config filter.x.process 'touch {mark}'; "
    "git config filter.x.clean cat; echo 'f filter=x' > .gitattributes",
    "a configuration of one work tree": "git config extensions.worktreeConfig true; "
    "git config --worktree filter.x.clean 'touch {mark}; cat'; echo 'f filter=x' > .gitattributes",
    "a diff": "git config diff.x.textconv 'touch {mark}; cat'; "
    "git config diff.external 'touch {mark}'; echo 'f diff=x' > .gitattributes",
    "a pager": "git config core.pager 'touch {mark}'; git config alias.add '!touch {mark}'",
    "a repository inside": "git init -q sub; cd sub; echo a > a; git add -A; git commit -qm a; "
    "cd ..; git add sub; git commit -qm b; echo b > sub/a; cd sub; "
    "git config core.fsmonitor 'touch {mark}'; git config filter.x.clean 'touch {mark}; cat'; "
    "echo '* filter=x' > .gitattributes",
    "something to fetch": "git add -A; git commit -qm a; git config extensions.partialClone o; "
    "git config core.repositoryformatversion 1; git config remote.o.promisor true; "
    "git config remote.o.url 'ext::touch {mark}'; git config protocol.ext.allow always; "
    "rm -f .git/objects/$(git rev-parse HEAD^{{tree}} | sed 's,..,&/,')",
}
"""What a repository can be made to run by git; `mark` lies where no command may write."""


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
async def test_nothing_that_a_repository_says_runs_outside(home: Path, make: str) -> None:
    """A snapshot, a look at what has changed since, and its files: all that is done with one."""
    repository = Repository(home / "w")
    repository.write("f", "content\n")
    repository.sh(make.format(mark=home / "trapped"))
    (home / "trapped").unlink(missing_ok=True)
    git = await make_git(home, "landlock")
    # Some of these cannot be recorded, and nothing of them is; that is no error here.
    with contextlib.suppress(CannotRecord):
        worktree, state = await read(git, repository.top, home / "s")
        digest = await commit(git, worktree, state, id=ID, at=0)
        repository.write("f", "changed\n")
        _, later = await read(git, repository.top, home / "t")
        changes = await find_changes(git, worktree, later, digest)
        await show_changes(git, worktree, later, digest, limit=1000)
        await lay_out(git, worktree, home / "t", digest, [each.path for each in changes])
        await remove_ref(git, worktree.git_dir, ID)
    assert await trio.to_thread.run_sync(find_trapped, home) == []


@pytest.mark.parametrize("confiner", CONFINERS)
async def test_another_work_tree_of_a_repository_that_lies_elsewhere(
    home: Path, tmp_path: Path, confiner: Confiner
) -> None:
    repository = Repository(tmp_path / "main")
    repository.write("f", "content\n")
    repository.commit()
    repository.git("worktree", "add", "-q", str(home / "w"))
    (home / "w/f").write_text("changed\n")
    git = await make_git(home, confiner)
    worktree, state = await read(git, home / "w", home / "s")
    digest = await commit(git, worktree, state, id=ID, at=0)
    assert repository.git("show", f"{digest}:f") == "changed\n"


async def test_an_object_cannot_pass_for_another(tmp_path: Path) -> None:
    """A filter writes to our objects whatever it wants, under whatever name."""
    repository = Repository(tmp_path / "w")
    repository.write("f", "good\n")
    git = Git(environment={"PATH": os.environ["PATH"], "HOME": str(tmp_path)})
    worktree = await find_worktree(git, str(repository.top))
    assert worktree is not None
    scratch = tmp_path / "s"
    scratch.mkdir()
    state = await read_state(git, worktree, scratch, keep=False)
    other = tmp_path / "other"
    other.write_text("evil\n")
    good = repository.git("hash-object", "f").strip()
    forged = scratch / "objects" / good[:2] / good[2:]
    evil = Repository(tmp_path / "o")
    name = evil.git("hash-object", "-w", str(other)).strip()
    forged.chmod(0o600)
    forged.write_bytes((evil.top / ".git/objects" / name[:2] / name[2:]).read_bytes())
    with contextlib.suppress(CannotRecord):
        await keep_tree(git, state.tree, scratch, at=worktree.top, env=state.env)
    assert not (repository.top / ".git/objects" / good[:2] / good[2:]).exists()


def test_only_the_store_of_git_lfs_is_written_to(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "w")
    git_dir = repository.top / ".git"
    scratch = tmp_path / "s"
    assert find_reach(str(git_dir), scratch).writes == [str(scratch)]
    (git_dir / "lfs").mkdir()
    reach = find_reach(str(git_dir), scratch)
    assert reach.writes == [str(scratch), str(git_dir / "lfs")]
    assert str(git_dir / "config") in reach.reads
    assert str(git_dir / "lfs") not in reach.reads
    (git_dir / "lfs").rmdir()
    (git_dir / "lfs").symlink_to(tmp_path)
    assert find_reach(str(git_dir), scratch).writes == [str(scratch)]
    with pytest.raises(CannotRecord, match="cannot be read"):
        find_reach(str(tmp_path / "gone"), scratch)
