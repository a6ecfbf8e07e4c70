"""The sandbox: with what commands are confined on this machine, and a command so confined.

It looks once, lazily, by really running something, and then only builds commands:
`processes.supervise.open_child` starts them. What it cannot confine it says so about;
whether it may run all the same is not decided here.
"""

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, assert_never

import trio

from askd.processes.confinement import Confinement, Confiner
from askd.processes.grants import is_beneath
from askd.processes.supervise import CannotStart, Command, open_child
from askd.tools import bubblewrap
from askd.tools.base import CannotRun
from askd.tools.installed import INSTALLED

log = logging.getLogger(__name__)

Wanted = Literal["auto", "bubblewrap", "landlock", "none"]

PROCESSES = 512
"""Processes of one command at a time: a build with many jobs stays below, a fork bomb ends."""

GRACE_S = 1.0
"""For a command to end well when its time is over: nothing of it is left three seconds after."""

RLIMITS: Mapping[str, int] = {
    "CORE": 0,  # a dump holds whatever the command had in memory, and fills disks
    "NOFILE": 4096,
    "FSIZE": 4 << 30,
    "CPU": 3600,  # seconds of one process; the wall clock is the caller's to watch
}
"""For each command, where the kernel's own limit is not lower still."""

LOCKED = ("sh", "-c", "! mkdir /tmp/askd-probe-$$ 2> /dev/null")
"""Succeeds if it cannot write where everybody may."""

KEEPS: Mapping[Confiner, str] = {
    "bubblewrap": (
        "bubblewrap: it reads your files but not ask's own, writes only to {places}, "
        "sees no other process, and reaches no Unix socket"
    ),
    "landlock": (
        "Landlock and seccomp: it reads your files but not ask's own (their names it can see), "
        "writes only to {places}, cannot signal or "
        "trace other processes (it can see them), and reaches no Unix socket. In a directory that "
        "holds something protected, such as .git, it cannot make new files, only change those "
        "that are there"
    ),
    "none": "not confined: it could reach anything that you can, also this daemon",
}


class Sandbox:
    """Confines commands with the first means that works here.

    `wanted`: one means alone, or `auto`. `hidden`: directories and files that no command may
    read: ask's own configuration, data and state, keys, the directory of the socket; those that
    are not there yet are looked for again at each call. `path`: where `bwrap` is looked for,
    the daemon's own PATH and never a caller's. `runtime`: the directory of the user's sockets,
    XDG_RUNTIME_DIR; empty beside what is writable there.
    """

    def __init__(
        self,
        wanted: Wanted = "auto",
        *,
        hidden: Sequence[str] = (),
        path: str = bubblewrap.PATH,
        runtime: str | None = None,
    ) -> None:
        self._wanted = wanted
        self._hidden = tuple(hidden)
        self._path = path
        self._runtime = runtime
        self._found: Confiner | None = None
        self._bubblewrap: bubblewrap.Bubblewrap | None = None
        self._looking = trio.Lock()

    async def find(self) -> Confiner:
        """With what commands are confined; looked for once, which takes some milliseconds."""
        async with self._looking:
            if self._found is None:
                self._found = await self._look()
        return self._found

    def describe(self, *, network: bool = False, writable: Sequence[str] = ()) -> str:
        """What a confined command is kept from, a sentence for people. `find` comes before.

        `writable`: in words, the places that it may write to beside temporary files.
        """
        assert self._found is not None, "describe() before find()"
        if self._found == "none":
            return f"{KEEPS['none']}."
        reach = "the network is open to it" if network else "it has no network"
        *others, last = (*writable, "temporary files of its own")
        places = f"{', '.join(others)} and to {last}" if others else last
        return f"Confined by {KEEPS[self._found].format(places=places)}; {reach}."

    async def confine(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str,
        cwd_fd: int | None = None,
        writable: Sequence[str] = (),
        read_only: Sequence[str] = (),
        network: bool = False,
    ) -> Command:
        """The command that runs `argv` in `cwd` and is kept to what is said here.

        Paths are absolute. `cwd_fd`, an open descriptor of `cwd`, is what is really meant; it
        has to be open until `open_child` has been entered. Nothing is writable that is not
        named, `cwd` included; `read_only`, what is hidden and what the daemon is installed in win
        over it. TMPDIR is set to a directory of the command's own. The command sees `env` and
        nothing else. Where nothing here confines, the command is the plain one: ask `find` before.

        Under bubblewrap, the status of a command that a signal ended is 128 + its number, and
        of a program that is not there 127, with a sentence on standard error.

        Raises:
            CannotRun: `cwd` lies in what is hidden.
        """
        found = await self.find()
        hidden, place = _find_there(self._hidden), _real(cwd)
        if any(is_beneath(place, each) for each in hidden):
            raise CannotRun(f"{cwd} belongs to ask itself; nothing runs there confined.")
        plain = Command(
            argv=argv,
            env=env,
            cwd=cwd,
            cwd_fd=cwd_fd,
            rlimits=RLIMITS,
            processes=PROCESSES,
            grace_s=GRACE_S,
        )
        confinement = Confinement(
            writable=[
                each
                for each in map(_real, writable)
                if not any(is_beneath(each, other) for other in (*hidden, *INSTALLED))
            ],
            read_only=[
                *(real for each in read_only for real in _resolve(each)),
                *_find_within(INSTALLED, map(_real, writable)),
            ],
            hidden=hidden,
            network=network,
        )
        match found:
            case "none":
                return plain
            case "bubblewrap":
                return self._wrap(plain, confinement, place)
            case "landlock":
                return replace(plain, confinement=replace(confinement, private_tmp=True))
            case _:
                assert_never(found)

    def _wrap(self, plain: Command, confinement: Confinement, cwd: str) -> Command:
        assert self._bubblewrap is not None
        argv = self._bubblewrap.wrap(
            plain.argv,
            confinement,
            cwd=cwd,
            cwd_fd=plain.cwd_fd,
            names=plain.env,
            runtime=self._runtime,
        )
        return replace(plain, argv=argv, env={**plain.env, "TMPDIR": "/tmp"}, wraps=True)

    async def _look(self) -> Confiner:
        if self._wanted in ("auto", "bubblewrap"):
            self._bubblewrap = await bubblewrap.find_bubblewrap(self._path)
            if self._bubblewrap is not None:
                return "bubblewrap"
        if self._wanted in ("auto", "landlock") and await _try_landlock():
            return "landlock"
        return "none"


async def _try_landlock() -> bool:
    """Whether something runs under Landlock and its filter, and what it must not do fails."""
    command = Command(argv=LOCKED, env={"PATH": bubblewrap.PATH}, confinement=Confinement())
    with trio.move_on_after(bubblewrap.PROBE_S):
        try:
            async with open_child(command) as child:
                return await child.wait() == 0
        except CannotStart as error:
            log.info("Landlock does not work here: reason=%s", error)
    return False


def _find_within(places: Sequence[str], directories: Iterable[str]) -> list[str]:
    within = list(directories)
    return [each for each in places if any(is_beneath(each, other) for other in within)]


def _find_there(paths: Sequence[str]) -> list[str]:
    return [real for each in paths if os.path.exists(real := _real(each))]


def _resolve(path: str) -> set[str]:
    """Where something really is; a link and what it leads to, for each could be another's."""
    parent, name = os.path.split(path)
    return {_real(path), os.path.join(_real(parent), name)}


def _real(path: str) -> str:
    return os.path.realpath(path)
