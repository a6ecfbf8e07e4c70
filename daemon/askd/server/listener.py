"""The listening socket: bound so that nobody else can reach it, and kept where it is found.

It never widens a mode, never removes a path that is not its own, and never
takes a path from a daemon that answers there. It accepts; what is said on a
connection is not its business.
"""

import contextlib
import errno
import logging
import os
import secrets
import socket
import stat
import struct
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import trio

from askd.core import outcome
from askd.errors import AskdError

PATH_LIMIT_BYTES = 107
"""What fits `sockaddr_un.sun_path` with its final zero, on Linux."""
BACKLOG = 1024
"""Clients that the kernel holds while we are busy; it caps this at `net.core.somaxconn`."""
WATCH_INTERVAL_S = 2.0
"""How often the path is looked at: a cleaner of temporary files must not make us unreachable."""
FAREWELL_S = 1.0
"""An unlinked socket is closed this long after its successor listens: nobody finds it any more."""
ACCEPT_PAUSE_S = 0.1
"""After `accept` failed for lack of descriptors or memory; trio's servers use the same."""
PROBE_S = 1.0

log = logging.getLogger(__name__)

Serve = Callable[[trio.SocketStream], Awaitable[None]]
Admit = Callable[[], Awaitable[None]]


class BadSocket(AskdError):
    """The socket cannot be bound where it should be."""

    code = outcome.NO_DAEMON
    reason = "bad_socket"


@dataclass(frozen=True, slots=True)
class Identity:
    """Which file a path leads to."""

    device: int
    inode: int


@dataclass(slots=True)
class Door:
    """A listening socket. `path` None: it was passed to us, and its path is not ours."""

    socket: trio.socket.SocketType
    path: Path | None = None
    identity: Identity | None = None
    closed: bool = False

    @property
    def address(self) -> str:
        """Where clients find it."""
        return str(self.path or self.socket.getsockname())

    def close(self) -> None:
        """Stop listening, and unlink the path if it still leads here; within trio."""
        if self.closed:
            return
        self.closed = True
        if self.path is not None and identify(self.path) == self.identity:
            with contextlib.suppress(OSError):
                self.path.unlink()
        self.socket.close()


def open_door(path: Path) -> Door:
    """Bind and listen at `path`, mode 0600 in a directory 0700.

    A dead socket there is replaced. Raises `BadSocket` if the path is too long,
    the directory is not private, or somebody answers there.
    """
    temporary = path.with_name(f".{secrets.token_hex(3)}")
    if max(len(os.fsencode(path)), len(os.fsencode(temporary))) > PATH_LIMIT_BYTES:
        raise BadSocket(
            f"The socket's path is longer than {PATH_LIMIT_BYTES} bytes: {path}. "
            "Set ASK_SOCKET or ASK_HOME to a shorter one."
        )
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        listening.setblocking(False)
        with _private_umask():
            make_directory(path.parent)
            if is_answered(path):
                raise BadSocket(f"Another daemon answers at {path}; it has other data than this.")
            listening.bind(os.fspath(temporary))
        try:
            os.chmod(temporary, 0o600)
            # Whoever finds the path finds somebody listening, so listening comes first.
            listening.listen(BACKLOG)
            os.rename(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        listening.close()
        raise BadSocket(f"The socket {path} cannot be made: {error.strerror}.") from None
    except BaseException:
        listening.close()
        raise
    return Door(trio.socket.from_stdlib_socket(listening), path, identify(path))


def open_first_door(paths: Sequence[Path]) -> Door:
    """Listen at the first of these places that can be used; raise the first one's `BadSocket`."""
    first: BadSocket | None = None
    for path in paths:
        try:
            return open_door(path)
        except BadSocket as error:
            first = first or error
    assert first is not None, "no place to listen at"
    raise first


def adopt_door(passed: socket.socket) -> Door:
    """Serve a socket that listens already; it is never unlinked and never bound again."""
    return Door(trio.socket.from_stdlib_socket(passed))


@contextlib.contextmanager
def _private_umask() -> Iterator[None]:
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def make_directory(path: Path) -> None:
    """Create the socket's directory, or check that nobody but us can enter it."""
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700, parents=True)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise BadSocket(f"{path} is not a directory.")
    if found.st_uid != os.geteuid():
        raise BadSocket(f"{path} belongs to somebody else (uid {found.st_uid}).")
    if found.st_mode & 0o077:
        raise BadSocket(
            f"{path} can be entered by others (mode {stat.S_IMODE(found.st_mode):o}). "
            f"Make it private: chmod 700 {path}"
        )


def identify(path: Path) -> Identity | None:
    """Which file is there, links not followed; None: nothing, or nothing we may see."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return Identity(found.st_dev, found.st_ino)


def is_answered(path: Path) -> bool:
    """Whether somebody listens at `path`."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) as probe:
        probe.settimeout(PROBE_S)
        try:
            probe.connect(os.fspath(path))
        except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
            return False
        except OSError as error:
            # A full backlog is somebody; a file that is no socket is nobody.
            return error.errno in (errno.EAGAIN, errno.EACCES) or isinstance(error, TimeoutError)
    return True


def read_peer(stream: trio.SocketStream) -> tuple[int, int]:
    """The process at the other end and its user, as the kernel says: pid and uid."""
    packed = stream.socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid, uid, _ = struct.unpack("3i", packed)
    return pid, uid


async def serve_door(door: Door, serve: Serve, *, admit: Admit) -> None:
    """Accept until cancelled, and bind the path again whenever it is lost.

    `serve` gets each connection in a task of its own and must not raise. `admit` is
    awaited before each accept: while it waits, the kernel holds the clients.
    """
    # Here live the connections and a task for each socket that accepts; who cancels us ends them.
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_accept_all, door.socket, serve, admit, nursery)
        while True:
            await _wait_until_lost(door)
            old = door.socket
            await _bind_again(door)
            nursery.start_soon(_accept_all, door.socket, serve, admit, nursery)
            nursery.start_soon(_say_farewell, old)


async def _wait_until_lost(door: Door) -> None:
    while True:
        await trio.sleep(WATCH_INTERVAL_S)
        lost = door.path is not None and identify(door.path) != door.identity
        if lost and not door.closed:
            return


async def _bind_again(door: Door) -> None:
    assert door.path is not None
    said = False
    while True:
        try:
            fresh = open_door(door.path)
        except BadSocket as error:
            if not said:
                log.warning("The socket was lost and cannot be bound again: %s", error)
            said = True
            await trio.sleep(WATCH_INTERVAL_S)
        else:
            log.warning("The socket was lost and is bound again: %s", door.path)
            door.socket, door.identity = fresh.socket, fresh.identity
            return


async def _say_farewell(old: trio.socket.SocketType) -> None:
    try:
        await trio.sleep(FAREWELL_S)  # its backlog is accepted meanwhile
    finally:
        old.close()


async def _accept_all(
    listening: trio.socket.SocketType, serve: Serve, admit: Admit, nursery: trio.Nursery
) -> None:
    listener = trio.SocketListener(listening)
    while True:
        await admit()
        try:
            stream = await listener.accept()
        except trio.ClosedResourceError:
            return
        except OSError as error:
            # Out of descriptors or memory, or a client that was gone before it was accepted: the
            # backlog keeps the others, and so does the daemon.
            log.warning("A connection could not be accepted: %s", error)
            await trio.sleep(ACCEPT_PAUSE_S)
        else:
            nursery.start_soon(serve, stream)
