"""Where a daemon listens: the best socket, else the one that the owner's note names.

It connects, makes sure that the other side is this user's, and says no word. Where nobody
listens it can have a daemon started (`ask.spawn`).
"""

import os
import socket
import struct
import time
from collections.abc import Mapping
from typing import NamedTuple

from ask.exits import NO_DAEMON, Failed
from ask.paths import Paths

CONNECT_LIMIT_S = 5.0
"""A listener whose queue is full is asked again this long."""

_PEER_CREDENTIALS = struct.Struct("3i")


class NoDaemon(Failed):
    """There is no daemon, it cannot be started, or it is not ours."""

    def __init__(self, message: str, *, hint: str | None = None, code: int = NO_DAEMON) -> None:
        super().__init__(code, message, hint=hint, data={"reason": "no_daemon"})


NOT_RUNNING = "No daemon is running."


class Unreachable(NoDaemon):
    """The daemon of another machine cannot be had.

    Attributes:
        lasting: trying again in a moment will not help.
        absent: the machine was reached, no daemon runs there, and none was to be started.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        code: int = NO_DAEMON,
        lasting: bool = True,
        absent: bool = False,
    ) -> None:
        super().__init__(message, hint=hint, code=code)
        self.lasting = lasting
        self.absent = absent


class Listener(NamedTuple):
    """A daemon that has been reached: the connection to it, and by which path."""

    stream: socket.socket
    place: str


def reach(paths: Paths, environ: Mapping[str, str], *, start: bool, stale: str | None) -> Listener:
    """As `find_listener`, but where it finds nobody a daemon is started, or none is had.

    Raises:
        NoDaemon: none runs and `start` is false, or it did not start.
    """
    found = find_listener(paths, stale=stale)
    if found is not None:
        return found
    if not start:
        raise NoDaemon(NOT_RUNNING, hint="Start it: ask daemon start")
    from ask.spawn import start_daemon  # only where there is none

    return start_daemon(paths, environ, stale=stale)


def find_listener(paths: Paths, *, stale: str | None = None) -> Listener | None:
    """Connect to the best socket, else to the one that the owner's note names; None: neither.

    `stale`: the note is out of date if it names this place; it is not gone by then.
    """
    places = [str(paths.sockets[0])]
    owner = paths.read_owner()
    if owner is not None and owner["socket"] != stale:
        places.append(owner["socket"])
    for place in dict.fromkeys(places):
        stream = _open(place)
        if stream is not None:
            return Listener(stream, place)
    return None


def _open(path: str) -> socket.socket | None:
    """Connect; None: nobody listens there. Raises `NoDaemon` when it is another user's."""
    deadline = time.monotonic() + CONNECT_LIMIT_S
    while True:
        stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        stream.settimeout(CONNECT_LIMIT_S)
        try:
            stream.connect(path)
        except BlockingIOError:
            stream.close()  # its queue is full: a herd is connecting
            if time.monotonic() > deadline:
                raise NoDaemon(f"The daemon at {path} accepts no connections.") from None
            time.sleep(0.01)
        except OSError as error:
            stream.close()
            if "too long" in str(error):
                raise NoDaemon(f"The socket's path is too long: {path}") from None
            return None
        else:
            _check_peer(stream, path)
            return stream


def _check_peer(stream: socket.socket, path: str) -> None:
    credentials = stream.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER_CREDENTIALS.size)
    _, uid, _ = _PEER_CREDENTIALS.unpack(credentials)
    if uid != os.getuid():
        stream.close()
        raise NoDaemon(f"The daemon at {path} belongs to another user (uid {uid}); not used.")
