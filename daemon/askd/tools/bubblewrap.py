"""bubblewrap: the argv that runs a command in namespaces of its own, and whether that works.

The whole file system is seen read-only; what may be written is put over it, and so is
emptiness over what must not be seen. It builds lists of words, and tries one out.

Options: bwrap(1), https://github.com/containers/bubblewrap
"""

import json
import os
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import trio

from askd.processes.confinement import Confinement
from askd.processes.grants import go_around, is_beneath
from askd.processes.supervise import LAUNCHER, CannotStart, Command, open_child

PATH = os.defpath
"""Where system programs are, if nobody says."""

TEMPORARY = ("/tmp", "/var/tmp")
"""Stand for others than the machine's own."""

SHARED_MEMORY = "/dev/shm"

INSIDE = str(LAUNCHER.with_name("inside.py"))
INTERPRETER = (os.path.realpath(sys.executable), "-I", "-S", "-X", "utf8")
NEEDED = (os.path.realpath(sys.base_prefix), os.path.realpath(LAUNCHER.parent.parent))
"""The last step of the way in is a program of ours: directories that it has to see."""

SET_ON_THE_WAY = frozenset({"PWD", "LC_CTYPE"})
"""Variables that bubblewrap, and Python where nothing says a language, add by themselves."""

PROBE_S = 10.0
"""For `true` in a sandbox; it takes 5 ms."""

TEMPORARY_BYTES = 2 << 30
"""What a command's temporary files may take: they are in memory."""

HELP_LIMIT_BYTES = 64 * 1024

NEWER = frozenset({"--size", "--bind-fd", "--ro-bind-fd"})
"""Options that not every bubblewrap in use knows; read from its help."""

Kind = Literal["write", "read", "temporary", "empty", "nothing"]
"""What stands at a place: written, only read, temporary files, emptiness, an empty file."""


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """A bubblewrap that works here: its path, and the newer options that it knows."""

    program: str
    options: frozenset[str] = frozenset()

    def wrap(
        self,
        argv: Sequence[str],
        confinement: Confinement,
        *,
        cwd: str,
        cwd_fd: int | None = None,
        names: Iterable[str] = (),
        runtime: str | None = None,
    ) -> list[str]:
        """The words that run `argv` in `cwd`, confined, and with the variables `names` alone."""
        words = [self.program, "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"]
        # Else both would be in memory without a limit of their own.
        words += [*self._make_temporary(SHARED_MEMORY), "--remount-ro", "/dev"]
        for path, kind in lay_out(confinement, cwd=cwd, runtime=runtime):
            by_fd = cwd_fd is not None and path == cwd
            match kind:
                case "write":
                    words += self._bind("--bind", path, cwd_fd if by_fd else None)
                case "read":
                    words += self._bind("--ro-bind", path, cwd_fd if by_fd else None)
                case "temporary":
                    words += self._make_temporary(path)
                case "empty":
                    words += ["--tmpfs", path, "--remount-ro", path]
                case "nothing":
                    words += ["--ro-bind", os.devnull, path]
        words += ["--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
        words += ["--unshare-cgroup-try", "--cap-drop", "ALL"]
        words += [] if confinement.network else ["--unshare-net"]
        words += ["--die-with-parent", "--new-session", "--chdir", cwd, "--"]
        plan = {
            "writable": [*confinement.writable, *TEMPORARY],
            "foreign": sorted(SET_ON_THE_WAY - {*names}),
        }
        return [*words, *INTERPRETER, INSIDE, json.dumps(plan), *argv]

    def _make_temporary(self, path: str) -> list[str]:
        size = ["--size", str(TEMPORARY_BYTES)] if "--size" in self.options else []
        return [*size, "--tmpfs", path, "--chmod", "1777", path]

    def _bind(self, option: str, path: str, fd: int | None) -> list[str]:
        if fd is None:
            return [option, path, path]
        if f"{option}-fd" in self.options:
            return [f"{option}-fd", str(fd), path]
        # An older one: it asks the descriptor for its path, a moment before it uses that.
        return [option, f"/proc/self/fd/{fd}", path]


def lay_out(
    confinement: Confinement, *, cwd: str, runtime: str | None
) -> Iterator[tuple[str, Kind]]:
    """What stands where, in the order in which it has to be put there: parents first.

    At one place, what takes away wins. The working directory is among them, for it can lie in
    one that others are put over, and is meant by its descriptor.
    """
    places: dict[str, Kind] = dict.fromkeys(TEMPORARY, "temporary")
    for path in (runtime, f"/run/user/{os.getuid()}"):
        if path is not None and path not in places:
            places[path] = "empty"
    # What the last step inside runs on, where the others would have been put over it.
    covered = tuple(places)
    for path in NEEDED:
        if any(is_beneath(path, each) for each in covered):
            places[path] = "read"
    places |= dict.fromkeys(confinement.writable, "write")
    kept = (*confinement.read_only, *confinement.hidden)
    for path in kept:
        _pin_parents(path, kept, places)
    places |= dict.fromkeys(confinement.read_only, "read")
    if cwd != "/":
        places.setdefault(cwd, "write" if _is_writable(cwd, confinement) else "read")
    for path in confinement.hidden:
        places[path] = "empty" if os.path.isdir(path) else "nothing"
    gone = [each for each in confinement.hidden if places[each] == "empty"]
    for path in sorted(places, key=lambda path: (path.count("/"), path)):
        # On a read-only file system nothing can be put where nothing is, nor in what is empty.
        is_gone = any(path != each and is_beneath(path, each) for each in gone)
        if _is_there(path) and not is_gone and not _is_its_own(path):
            yield path, places[path]


def _is_its_own(path: str) -> bool:
    """Whether the sandbox has this place made for itself: the machine's would cover that.

    The root is there, read-only; the machine's /dev would have no device in it, and by its
    /proc other processes could be seen, and what they see.
    """
    return path in ("/", "/dev") or is_beneath(path, "/proc")


def _is_writable(path: str, confinement: Confinement) -> bool:
    return any(is_beneath(path, each) for each in confinement.writable) and not any(
        is_beneath(path, each) for each in confinement.read_only
    )


def _pin_parents(path: str, kept: Sequence[str], places: dict[str, Kind]) -> None:
    """See to it that a place inside of what is writable stays where it is.

    A mount goes along when a directory above it is renamed, and another could then be made in
    its place; what is mounted itself cannot be renamed. On a link nothing can be mounted: the
    directory that holds it is read-only, and all else in it is as it was.
    """
    tops = [each for each, kind in places.items() if kind == "write" and is_beneath(path, each)]
    if not tops:
        return
    parent = os.path.dirname(path)
    if os.path.islink(path) and path not in tops:
        for each in go_around(parent, kept):
            places.setdefault(each, "write")
        places[parent] = "read"
    while len(parent) > len(min(tops, key=len)):
        places.setdefault(parent, "write")
        parent = os.path.dirname(parent)


def _is_there(path: str) -> bool:
    try:
        return not stat.S_ISLNK(os.lstat(path).st_mode)
    except OSError:
        return False


async def find_bubblewrap(path: str) -> Bubblewrap | None:
    """The one of a PATH, if it runs a command as confined as `wrap` wants it; else None."""
    program = shutil.which("bwrap", path=path)
    if program is None or not os.path.isabs(program):
        return None
    status, said = await _run([program, "--help"])
    if status != 0:
        return None
    found = Bubblewrap(program, NEWER & frozenset(said.split()))
    status, _ = await _run(found.wrap(["true"], Confinement(), cwd="/"))
    return found if status == 0 else None


async def _run(argv: Sequence[str]) -> tuple[int | None, str]:
    """Status and standard output; None: it did not start, or did not end."""
    command = Command(argv=argv, env={"PATH": PATH})
    output = b""
    try:
        with trio.move_on_after(PROBE_S):
            async with open_child(command) as child:
                await child.stdin.aclose()
                while data := await child.stdout.receive_some():
                    output = (output + data)[:HELP_LIMIT_BYTES]
                return await child.wait(), output.decode("utf-8", "replace")
    except CannotStart:
        pass
    return None, ""
