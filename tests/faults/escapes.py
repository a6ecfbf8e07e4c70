"""A small world for commands that try to leave it, and what an escape is.

Around a workspace stand the things that no confined command may reach: files beside it,
a directory that plays ask's own, a process with a secret, sockets that listen. A case is
one command and a look at the world afterwards; it knows nothing of what confines.
"""

import contextlib
import fcntl
import os
import pty
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path

import trio

from askd.processes.confinement import Confiner
from askd.processes.supervise import Command, open_child
from askd.tools.sandbox import Sandbox

ESCAPED = "ESCAPED"
"""What a command prints that has reached what it must not."""

PYTHON = os.path.realpath(sys.executable)
"""The interpreter itself: a virtual environment may lie beneath /tmp, which sandboxes hide."""
NOT_FOUND = 127
"""What a command ends with that was never run."""

SECRET = "a-secret-of-somebody-else"
CONTENT = "as it was"
DIRECTORIES = (
    "work/.git/hooks", "work/sub/.git", "work/plain", "work/gitdir", "work/other", "work/deep/own",
    "outside", "own",
)  # fmt: skip
FILES = (
    "work/.git/config", "work/sub/.git/config", "work/gitdir/config", "work/file", "outside/file",
)  # fmt: skip
SECRETS = ("own/config.toml", "own/askd.db", "own/auth.json", "work/deep/own/auth.json")

PATIENCE_S = 30.0

PROBED: dict[Confiner, Sandbox] = {}

ENV = {"PATH": os.environ["PATH"]}


@dataclass(frozen=True, slots=True)
class World:
    """Where a command runs, and what is around it. `home` holds all that is files."""

    home: Path
    victim: subprocess.Popen[bytes]
    pathname: socket.socket
    datagrams: socket.socket
    abstract: socket.socket
    loopback: socket.socket
    udp: socket.socket
    fifo: int
    terminal: int
    env: Mapping[str, str]

    @property
    def workspace(self) -> Path:
        """The only directory that a command may write to."""
        return self.home / "work"

    @property
    def outside(self) -> Path:
        """A directory beside it, with one file."""
        return self.home / "outside"

    @property
    def own(self) -> Path:
        """Plays ask's own: configuration, data, keys and the socket."""
        return self.home / "own"

    @property
    def git(self) -> Path:
        """Read-only inside of the workspace."""
        return self.workspace / ".git"


Look = Callable[[World], bool]


@dataclass(frozen=True, slots=True)
class Case:
    """One attempt: a script for `sh`, or for Python, and whether the world shows that it worked.

    Without `look`, what it prints says so. `control`: unconfined it does work, else this is a
    test of nothing; False where that would harm the machine, or needs what is not here.
    """

    name: str
    shell: str = ""
    python: str = ""
    look: Look | None = None
    control: bool = True

    @property
    def argv(self) -> list[str]:
        """What is run."""
        return [PYTHON, "-c", self.python] if self.python else ["sh", "-c", self.shell]


@dataclass(slots=True)
class Ended:
    """What became of a command."""

    status: int
    output: str
    trouble: str = field(repr=True, default="")


def find_base() -> Path:
    """Where a world may stand: not beneath /tmp, which some sandboxes hide as a whole."""
    for each in (Path.home(), Path(__file__).parents[2], Path("/var/lib")):
        if os.access(each, os.W_OK) and not each.resolve().is_relative_to("/tmp"):
            return each.resolve()
    raise AssertionError("no directory here is writable but /tmp")


@contextmanager
def make_world() -> Iterator[World]:
    """A fresh one; nothing of it stays."""
    with contextlib.ExitStack() as stack:
        home = Path(tempfile.mkdtemp(prefix=".askd-test-", dir=find_base()))
        stack.callback(shutil.rmtree, home, ignore_errors=True)
        for each in DIRECTORIES:
            (home / each).mkdir(parents=True)
        for each in FILES:
            (home / each).write_text(CONTENT)
        for each in SECRETS:
            (home / each).write_text(SECRET)
        (home / "work/other/.git").symlink_to("../gitdir")
        (home / "work/link").symlink_to(home / "outside")
        (home / "work/dangling").symlink_to(home / "outside/new")

        def bind(family: int, kind: int, address: str | tuple[str, int]) -> socket.socket:
            one = stack.enter_context(socket.socket(family, kind))
            one.setblocking(False)
            one.bind(address)
            if kind == socket.SOCK_STREAM:
                one.listen()
            return one

        pathname = bind(socket.AF_UNIX, socket.SOCK_STREAM, str(home / "outside/askd.sock"))
        datagrams = bind(socket.AF_UNIX, socket.SOCK_DGRAM, str(home / "outside/log.sock"))
        abstract = bind(socket.AF_UNIX, socket.SOCK_STREAM, f"\0{home}")
        loopback = bind(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
        udp = bind(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0))
        os.mkfifo(home / "outside/fifo")
        fifo = os.open(home / "outside/fifo", os.O_RDWR | os.O_NONBLOCK)
        stack.callback(os.close, fifo)
        terminal, slave = pty.openpty()
        fcntl.fcntl(terminal, fcntl.F_SETFL, os.O_NONBLOCK)
        stack.callback(os.close, terminal)
        stack.callback(os.close, slave)
        # It has a file open for writing, and a directory of others: both can be had through /proc.
        with (home / "outside/held").open("w") as held:
            victim = subprocess.Popen(
                ["sleep", "600"], cwd=home / "outside", env={"KEY": SECRET}, stdout=held
            )
        stack.callback(victim.wait)
        stack.callback(victim.kill)
        yield World(
            home=home,
            victim=victim,
            pathname=pathname,
            datagrams=datagrams,
            abstract=abstract,
            loopback=loopback,
            udp=udp,
            fifo=fifo,
            terminal=terminal,
            env={
                **ENV,
                "OUT": str(home / "outside"),
                "OWN": str(home / "own"),
                "WS": str(home / "work"),
                "VICTIM": str(victim.pid),
                "PORT": str(loopback.getsockname()[1]),
                "UDP": str(udp.getsockname()[1]),
                "TTY": os.ttyname(slave),
                "MARK": home.name,
            },
        )


@asynccontextmanager
async def confined(
    world: World, confiner: Confiner, argv: list[str], *, network: bool = False
) -> AsyncIterator[Command]:
    """The command in the world's workspace, which is open while the block runs."""
    if confiner not in PROBED:
        PROBED[confiner] = Sandbox(confiner)
        assert await PROBED[confiner].find() == confiner, f"{confiner} does not work here"
    # Looking costs as much as a case: it is done once, for all worlds.
    sandbox = copy(PROBED[confiner])
    sandbox._hidden = (str(world.own), str(world.workspace / "deep/own"))
    fd = os.open(world.workspace, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield await sandbox.confine(
            argv,
            env=world.env,
            cwd=str(world.workspace),
            cwd_fd=fd,
            writable=[str(world.workspace)],
            read_only=[str(world.workspace / each) for each in (".git", "sub/.git", "other/.git")],
            network=network,
        )
    finally:
        os.close(fd)


async def run(command: Command) -> Ended:
    """Run it to its end."""
    output, trouble = bytearray(), bytearray()

    async def drain(stream: trio.abc.ReceiveStream, into: bytearray) -> None:
        async for piece in stream:
            into += piece

    with trio.fail_after(PATIENCE_S):
        async with open_child(command) as child, trio.open_nursery() as nursery:
            nursery.start_soon(drain, child.stdout, output)
            nursery.start_soon(drain, child.stderr, trouble)
            await child.stdin.aclose()
            status = await child.wait()
    return Ended(status, output.decode("utf-8", "replace"), trouble.decode("utf-8", "replace"))


def has_escaped(case: Case, world: World, ended: Ended) -> bool:
    """Whether the command has reached what it must not."""
    if case.look is not None:
        return case.look(world)
    return ESCAPED in ended.output or SECRET in ended.output


SIGNAL_LIMIT_S = 2.0
"""A killed process that is not gone by then was not killed; the machine may be busy."""


def is_dead(world: World) -> bool:
    """Whether the process beside the workspace was ended; a signal takes a moment to arrive."""
    with contextlib.suppress(ChildProcessError, subprocess.TimeoutExpired):
        world.victim.wait(SIGNAL_LIMIT_S)
        return True
    return False


def receives(one: socket.socket | int) -> bool:
    """Whether something has come in, from whomever."""
    try:
        return bool(os.read(one if isinstance(one, int) else one.fileno(), 1))
    except BlockingIOError:
        return False
