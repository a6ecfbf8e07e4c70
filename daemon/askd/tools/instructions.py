"""Reading the instructions of a project: `AGENTS.md`, or what the settings name in its place.

In the caller's directory and those above it, up to the top of the git work tree, one file
a directory. What is no regular file, no UTF-8, somebody else's, or lies elsewhere is left
out with a sentence. It never waits for what it opens, and where a disk does not answer, a
thread waits and nobody else.
"""

import codecs
import errno
import functools
import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import trio

from askd.core.instructions import InstructionFile
from askd.processes.grants import is_beneath
from askd.tools.base import CannotRun, Site
from askd.tools.beneath import open_beneath
from askd.tools.files.places import describe_kind, show_path
from askd.tools.project import Project, open_project
from askd.tools.workspace import open_workspace, read_path

TOTAL_BYTES = 32 * 1024
"""Of all files together, as Codex has it (`project_doc_max_bytes`): about 8,000 tokens, which are
part of every request."""

THREADS = 4
"""That may wait for disks that do not answer; whoever comes then goes on without."""

Own = Callable[[], Sequence[str]]
"""Directories and files that nothing is read from, absolute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What there is, the outermost first; `complaints`: a sentence about each left out."""

    files: tuple[InstructionFile, ...] = ()
    complaints: tuple[str, ...] = ()


class _Unusable(Exception):
    """A file is there and is left out; the message says why, in a few words."""


class InstructionReader:
    """Reads what is there now, each time. `own`: what a link must not lead to."""

    def __init__(self, own: Own = lambda: ()) -> None:
        self._own = own
        self._threads = trio.CapacityLimiter(THREADS)

    async def read(self, site: Site, names: Sequence[str]) -> Found:
        """What the caller's project has. A cancelled wait leaves its thread behind."""
        if site.cwd is None:
            return Found()
        find = functools.partial(find_instructions, site, tuple(names), self._own)
        return await trio.to_thread.run_sync(find, limiter=self._threads, abandon_on_cancel=True)


def find_instructions(site: Site, names: Sequence[str], own: Own = lambda: ()) -> Found:
    """The same, in this thread.

    What is nearest to the caller comes first where there is no room for all: it is what was
    written about the very place.

    Args:
        names: paths below a directory; the first that there is counts.
    """
    found: list[InstructionFile] = []
    complaints: list[str] = []
    room = TOTAL_BYTES
    try:
        with open_workspace(site) as workspace, open_project(workspace) as project:
            for directory in reversed(project.directories) if project is not None else ():
                assert project is not None
                read = _Directory(project, directory, own, complaints).read(names, room)
                if read is not None:
                    found.append(read)
                    room -= read.bytes
    except (CannotRun, OSError):
        # It is gone, or may not be looked at: whatever needs it says so in its own words.
        return Found()
    return Found(files=tuple(reversed(found)), complaints=tuple(reversed(complaints)))


class _Directory:
    """One directory of a project, looked at once."""

    def __init__(self, project: Project, path: str, own: Own, complaints: list[str]) -> None:
        self._project = project
        self._path = path
        self._own = own
        self._complaints = complaints

    def read(self, names: Sequence[str], room: int) -> InstructionFile | None:
        """The first of the names that can be used."""
        for name in names:
            relative = name if self._path == "." else f"{self._path}/{name}"
            whole = os.path.join(self._project.path, relative)
            try:
                found = self._read_file(relative, whole, room)
            except FileNotFoundError:
                continue
            except _Unusable as reason:
                self._complaints.append(f"{show_path(whole)} is left out: {reason}.")
            except OSError as error:
                self._complaints.append(f"{show_path(whole)} is left out: {_explain(error)}.")
            else:
                if found is not None:
                    return found
        return None

    def _read_file(self, relative: str, whole: str, room: int) -> InstructionFile | None:
        """The file, as far as there is room; None: it is empty."""
        # First as a mere place, which touches nothing: a named pipe would wait for a writer.
        place = open_beneath(self._project.fd, relative, os.O_PATH)
        try:
            status = os.fstat(place)
            self._check(place, status, whole)
            flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
            content = os.open(f"/proc/self/fd/{place}", flags)
        finally:
            os.close(place)
        try:
            data = _read_bytes(content, room + 1)
        finally:
            os.close(content)
        text = _decode(data[:room], is_whole=len(data) <= room)
        if len(data) <= room:
            return InstructionFile(whole, text) if text.strip() else None
        if not text.strip():
            raise _Unusable("there is no room for it beside the others")
        return InstructionFile(whole, text, max(status.st_size - len(text.encode()), 1))

    def _check(self, place: int, status: os.stat_result, whole: str) -> None:
        if not stat.S_ISREG(status.st_mode):
            raise _Unusable(f"it is {describe_kind(status.st_mode)}")
        if status.st_uid not in self._project.owners:
            raise _Unusable("it belongs to somebody else")
        real = read_path(place)
        # Only a link leads to what is ours; who follows none need not know where that is.
        if real != whole and any(is_beneath(real, each) for each in self._own()):
            raise _Unusable("it is a link to what is ask's own")


def _read_bytes(file: int, most: int) -> bytes:
    pieces: list[bytes] = []
    while most > 0 and (piece := os.read(file, most)):
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)


def _decode(data: bytes, *, is_whole: bool) -> str:
    """UTF-8, with or without a mark at its beginning; half a character at a cut is left out."""
    try:
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(data, final=is_whole)
    except UnicodeDecodeError:
        raise _Unusable("it is not in UTF-8") from None
    if "\0" in text:
        raise _Unusable("it is no text")
    return text


def _explain(error: OSError) -> str:
    if error.errno in (errno.EXDEV, errno.ELOOP):
        return "it is a link that leads out of the project, or one that is not followed"
    return os.strerror(error.errno) if error.errno else "it cannot be read"
