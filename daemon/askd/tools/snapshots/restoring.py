"""Files put back as a snapshot has them, and taken away if it does not know them.

What git ignores, what is not in the snapshot and what could not be recorded just before
stays as it is, and is named. Nothing is written outside of the work tree, whatever has
taken the place of its directories (`places`). Which snapshot it is, is not asked here.
"""

import io
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import trio

from askd.core.items import Copy
from askd.tools.files.diffs import draw_changes, say_left_out
from askd.tools.snapshots import places
from askd.tools.snapshots.copies import FILE_BYTES, read_file
from askd.tools.snapshots.git import Git
from askd.tools.snapshots.places import BadPath
from askd.tools.snapshots.worktree import LINK, RUNS, Changed, State, Worktree, lay_out

IN_THE_WAY = "something is there that the snapshot before would not hold"
NOT_RECORDED = "it could not be recorded when the snapshot was taken"
ALTERED = "a secret was taken out of its copy"
LOST = "its copy is lost"
UNSAFE = "its place is none that can be written"


@dataclass(slots=True)
class Restored:
    """What became of each file. `left`: paths that are as they were, and why."""

    put: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    left: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Held:
    """A file as a copy has it. `content` None: there was none."""

    copy: Copy
    content: bytes | None


async def restore_tree(
    git: Git,
    worktree: Worktree,
    state: State,
    changes: Sequence[Changed],
    *,
    digest: str,
    kept: Collection[str],
) -> Restored:
    """Make a work tree that is as `state` says what a commit says.

    Args:
        changes: from the one to the other.
        kept: paths that were there and are not in the commit; with a `/` at the end, all below.

    Raises:
        CannotRecord: git could not give the files; nothing was changed.
    """
    wanted = [each.path for each in changes if not each.is_gone]
    out = await lay_out(git, worktree, state.scratch, digest, wanted)
    return await trio.to_thread.run_sync(_place, worktree.top, out, changes, kept)


def _place(top: str, out: Path, changes: Sequence[Changed], kept: Collection[str]) -> Restored:
    done = Restored()
    # What is in the way goes first: a file may have become a directory, or the other way round.
    for each in changes:
        if each.is_gone:
            _take_out(top, each.path, kept, done)
    for each in changes:
        if not each.is_gone:
            _put(top, each, out, done)
    return done


def _take_out(top: str, path: str, kept: Collection[str], done: Restored) -> None:
    if path in kept or any(f"{folder}/" in kept for folder in _find_folders(path)):
        done.left.append((path, NOT_RECORDED))
        return
    try:
        places.take_out(top, path, folders_too=True)
        done.removed.append(path)
    except (OSError, BadPath) as error:
        done.left.append((path, _explain(error)))


def _find_folders(path: str) -> list[str]:
    steps = path.split("/")[:-1]
    return ["/".join(steps[:count]) for count in range(1, len(steps) + 1)]


def _put(top: str, change: Changed, source: Path, done: Restored) -> None:
    path = change.path
    try:
        if change.is_new and places.is_there(top, path):
            done.left.append((path, IN_THE_WAY))
            return
        is_link, runs = change.mode == LINK, change.mode == RUNS
        places.copy_out(top, path, source, is_link=is_link, runs=runs)
        done.put.append(path)
    except (OSError, BadPath) as error:
        done.left.append((path, _explain(error)))


def _explain(error: OSError | BadPath) -> str:
    return (error.strerror or UNSAFE) if isinstance(error, OSError) else UNSAFE


# ---- copies ------------------------------------------------------------------------


def find_different(top: str, files: Sequence[Held]) -> list[Held]:
    """Those of these files that are not as their copies are."""
    return [each for each in files if _read(top, each.copy.path) != (True, each.content)]


def _read(top: str, path: str) -> tuple[bool, bytes | None]:
    """Whether it can be read what stands there, and the content; None: there is no file."""
    try:
        content, _ = read_file(top, path, limit=FILE_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return True, None
    except (OSError, BadPath):
        return False, None
    return content is not None, content


def restore_copies(top: str, files: Sequence[Held], *, kept: Collection[str]) -> Restored:
    """Put files back as their copies have them; `kept` are those that the state before lacks."""
    done = Restored()
    for each in files:
        path = each.copy.path
        if each.copy.altered or path in kept:
            done.left.append((path, ALTERED if each.copy.altered else IN_THE_WAY))
            continue
        try:
            if each.content is None and each.copy.part is not None:
                done.left.append((path, LOST))
            elif each.content is None:
                places.take_out(top, path, folders_too=False)
                done.removed.append(path)
            else:
                content = io.BytesIO(each.content)
                places.put_file(top, path, content, mode=each.copy.mode, runs=False)
                done.put.append(path)
        except (OSError, BadPath) as error:
            done.left.append((path, _explain(error)))
    return done


def show_copies(top: str, files: Sequence[Held], *, limit: int) -> tuple[str, bool]:
    """What would change if they were put back, as a diff for people; whether it was cut."""
    pieces: list[str] = []
    room = limit
    for each in files:
        is_read, now = _read(top, each.copy.path)
        lines: Iterable[str] = [f"{each.copy.path} cannot be read, or is too large\n"]
        if is_read:
            lines = _compare(each.copy.path, now, each.content)
        for line in lines:
            room -= len(line)
            if room < 0:
                return "".join(pieces), True
            pieces.append(line)
    return "".join(pieces), False


def _compare(path: str, now: bytes | None, then: bytes | None) -> Iterator[str]:
    if any(b"\0" in (each or b"") for each in (now, then)):
        yield f"Binary file {path} differs\n"
        return
    old, new = ("/dev/null" if each is None else path for each in (now, then))
    before, after = ((each or b"").decode("utf-8", "backslashreplace") for each in (now, then))
    lines, left_out = draw_changes(before, after)
    for line in chain((f"--- {old}", f"+++ {new}"), lines, say_left_out(left_out)):
        yield f"{line}\n"
