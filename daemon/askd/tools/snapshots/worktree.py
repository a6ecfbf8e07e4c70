"""A git work tree: recorded as a commit, compared with one, and never touched by either.

All is done in an index of our own. The user's index, HEAD, branches and files stay as
they are; objects are added to the repository, and a ref below `refs/ask/` that holds
them. What the user's git ignores is not recorded, nor are submodules.
"""

import os
import re
import shutil
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import trio

from askd.processes.grants import is_beneath
from askd.tools.snapshots.git import (
    CannotRecord,
    Git,
    GitFailed,
    split_nul,
)
from askd.tools.snapshots.objects import find_reach, keep_tree

REF = "refs/ask/{id}"
UNTRACKED_BYTES = 10 * 1024 * 1024
"""A file that git does not know yet is left out above this: what a tool makes is smaller."""
UNTRACKED_TOTAL_BYTES = 256 * 1024 * 1024
"""More than this is somebody's data, which we would store a second time."""
LEFT_OUT_MAX = 500
"""Of each the path is kept, so that it stays where it is; they must fit one event."""
GITLINK = b"160000"
DIGEST = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
RUNS = "100755"
LINK = "120000"
MESSAGE = "The work tree before a turn of ask's\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Worktree:
    """Where a work tree is and what belongs to it; all paths are absolute.

    Attributes:
        top: its directory.
        git_dir: the repository's, which all its work trees share.
        head: the commit that is checked out; None: there is none yet.
    """

    top: str
    git_dir: str
    index: str
    objects: str
    head: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What a work tree holds: a tree of git's, and what is not in it.

    Attributes:
        left_out: untracked files and repositories (with a `/` at the end), by their paths.
        submodules: how many there are.
        scratch: a directory of ours; `index` in it is as this state is.
        env: the variables with which git sees the objects of the state.
    """

    tree: str
    left_out: tuple[str, ...]
    submodules: int
    scratch: Path
    env: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A path that differs between two states.

    Attributes:
        is_new, is_gone: only the later one has it, only the earlier.
        mode: git's, in the later one: a file (`RUNS`: a program) or a link (`LINK`).
    """

    path: str
    is_new: bool
    is_gone: bool
    mode: str


def find_top(cwd: str) -> tuple[str, str | None]:
    """A directory without links, and that of the work tree it is in, as far as names say it."""
    place = Path(os.path.realpath(cwd))
    for each in (place, *place.parents):
        if os.path.lexists(each / ".git"):
            return str(place), str(each)
    return str(place), None


async def find_worktree(git: Git, cwd: str) -> Worktree | None:
    """The work tree that a directory is in; None: it is in none.

    Raises:
        CannotRecord: git refuses to have to do with it, or its paths cannot be read.
    """
    place, near = await trio.to_thread.run_sync(find_top, cwd)
    if near is None:
        return None
    asked = ("--show-toplevel", "--git-common-dir", "--git-path", "index", "--git-path", "objects")
    try:
        said = await git.run("rev-parse", "--path-format=absolute", *asked, "HEAD", at=near)
    except GitFailed as error:
        if "dubious ownership" in str(error):
            raise CannotRecord(
                f"{near} belongs to somebody else, and git keeps away from it (safe.directory)."
            ) from None
        # Without a commit HEAD is none; it is repeated as it was asked for.
        said = error.output
        if not said:
            return None
    lines = os.fsdecode(said).removesuffix("\n").split("\n")
    if len(lines) != len(("top", "git_dir", "index", "objects", "head")):
        raise CannotRecord(f"The paths of the repository at {near} cannot be read.")
    top, git_dir, index, objects, head = lines
    if not is_beneath(place, top):
        return None  # core.worktree: it is elsewhere
    return Worktree(
        top=top,
        git_dir=git_dir,
        index=index,
        objects=objects,
        head=None if head == "HEAD" else head,
    )


async def read_state(git: Git, worktree: Worktree, scratch: Path, *, keep: bool) -> State:
    """What the work tree holds now.

    Args:
        scratch: an empty directory of ours.
        keep: add what is new to the repository's objects; else it goes with `scratch`.

    Raises:
        CannotRecord: it cannot be recorded; a sentence says why.
    """
    index, objects = scratch / "index", scratch / "objects"
    objects.mkdir()
    env = {
        "GIT_INDEX_FILE": str(index),
        "GIT_OBJECT_DIRECTORY": str(objects),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": _quote(worktree.objects),
    }
    await trio.to_thread.run_sync(_copy_index, Path(worktree.index), index)
    reach = await trio.to_thread.run_sync(find_reach, worktree.git_dir, scratch)
    listed = await git.run(
        *("ls-files", "-z", "-t", "-s", "-o", "--exclude-standard"),
        at=worktree.top,
        more=env,
        filters=reach,
    )
    submodules, left_out = await trio.to_thread.run_sync(_look_through, listed, worktree.top)
    excluded = [*submodules, *(path.rstrip(b"/") for path in left_out)]
    wanted = b"\0".join([b".", *(b":(exclude,literal)" + path for path in excluded)])
    from_file = ("--pathspec-from-file=-", "--pathspec-file-nul")
    await git.run("add", "-A", *from_file, at=worktree.top, data=wanted, more=env, filters=reach)
    # Who writes an index looks anew at files that changed when it was written: filters run.
    said = await git.run("write-tree", at=worktree.top, more=env, filters=reach)
    tree = said.decode().strip()
    if keep:
        await keep_tree(git, tree, scratch, at=worktree.top, env=env)
    return State(
        tree=tree,
        left_out=tuple(sorted(os.fsdecode(path) for path in left_out)),
        submodules=len(submodules),
        scratch=scratch,
        env=env,
    )


def _quote(path: str) -> str:
    """As a list of object directories has a path that may hold a colon."""
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _copy_index(source: Path, target: Path) -> None:
    try:
        # With its time: what was changed in the same second is told from that.
        shutil.copy2(source, target)
    except FileNotFoundError:
        pass  # nothing was ever added
    except OSError as error:
        raise CannotRecord(f"{source} cannot be read: {error.strerror}.") from None


def _look_through(listed: bytes, top: str) -> tuple[list[bytes], list[bytes]]:
    """The submodules of a list of files, and what of the untracked is left out."""
    submodules: list[bytes] = []
    left_out: list[bytes] = []
    total = 0
    for record in split_nul(listed):
        tag, _, rest = record.partition(b" ")
        if tag != b"?":
            if rest.startswith(GITLINK):
                submodules.append(rest.partition(b"\t")[2])
        elif rest.endswith(b"/"):
            left_out.append(rest)  # a repository of its own
        else:
            size = _measure(os.path.join(os.fsencode(top), rest))
            if size is None or size > UNTRACKED_BYTES:
                left_out.append(rest)
            else:
                total += size
    if total > UNTRACKED_TOTAL_BYTES:
        raise CannotRecord(f"{total // 1024 // 1024} MiB of files in it are not known to git.")
    if len(left_out) > LEFT_OUT_MAX:
        raise CannotRecord(f"{len(left_out)} large files in it are not known to git.")
    return submodules, left_out


def _measure(path: bytes) -> int | None:
    """The bytes of a file or link; None: it is gone, or is none that can be read."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    if stat.S_ISREG(found.st_mode) and not os.access(path, os.R_OK):
        return None
    return found.st_size


async def commit(git: Git, worktree: Worktree, state: State, *, id: str, at: float) -> str:
    """Make a commit of a state and hold it by its ref; its digest."""
    parents = () if worktree.head is None else ("-p", worktree.head)
    date = f"@{int(at)} +0000"
    dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    made = await git.run(
        "commit-tree", state.tree, *parents, at=worktree.top, data=MESSAGE.encode(), more=dates
    )
    digest = made.decode().strip()
    # The last word says that the ref is not there yet.
    await git.run("update-ref", REF.format(id=id), digest, "", at=worktree.top)
    return digest


async def has_commit(git: Git, worktree: Worktree, digest: str) -> bool:
    """Whether the repository holds a commit; what is no digest, and could be an option, is none."""
    if not DIGEST.fullmatch(digest):
        return False
    try:
        await git.run("cat-file", "-e", f"{digest}^{{commit}}", at=worktree.top)
    except GitFailed:
        return False
    return True


async def find_changes(
    git: Git, worktree: Worktree, state: State, digest: str
) -> Sequence[Changed]:
    """What would be another with this commit's files in the place of the state's."""
    said = await git.run(
        *("diff-tree", "-r", "-z", "--no-renames", "--raw", "--ignore-submodules=all"),
        *(state.tree, digest),
        at=worktree.top,
        more=state.env,
    )
    words = split_nul(said)
    changes = []
    for facts, path in zip(words[::2], words[1::2], strict=True):
        _, mode, _, _, kind = facts.decode().split(" ")
        changes.append(
            Changed(path=os.fsdecode(path), is_new=kind == "A", is_gone=kind == "D", mode=mode)
        )
    return changes


async def show_changes(
    git: Git, worktree: Worktree, state: State, digest: str, *, limit: int
) -> tuple[str, bool]:
    """The same as a diff for people, at most `limit` bytes; whether it was cut."""
    said = await git.run(
        *("diff-tree", "-p", "-r", "--no-renames", "--no-color", "--no-ext-diff"),
        *("--no-textconv", "--ignore-submodules=all", state.tree, digest),
        at=worktree.top,
        more=state.env,
        limit=limit,
        cut=True,
    )
    text = said[:limit].decode("utf-8", "replace")
    return text, len(said) > limit


async def lay_out(
    git: Git, worktree: Worktree, scratch: Path, digest: str, paths: Sequence[str]
) -> Path:
    """Write files of a commit into a directory of ours, as a checkout would; that directory."""
    index, out = scratch / "wanted-index", scratch / "wanted"
    reach = await trio.to_thread.run_sync(find_reach, worktree.git_dir, scratch)
    out.mkdir()
    env = {"GIT_INDEX_FILE": str(index)}
    await git.run("read-tree", digest, at=worktree.top, more=env, filters=reach)
    await git.run(
        *("checkout-index", "-z", "--stdin", "--ignore-skip-worktree-bits", f"--prefix={out}/"),
        at=worktree.top,
        data=b"".join(os.fsencode(path) + b"\0" for path in paths),
        more=env,
        filters=reach,
    )
    return out


async def remove_ref(git: Git, git_dir: str, id: str) -> None:
    """Let go of a snapshot; one that is gone already is no error. Raises `CannotRecord`."""
    await git.run("update-ref", "-d", REF.format(id=id), at=git_dir, more={"GIT_DIR": git_dir})
