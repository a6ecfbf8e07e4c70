"""systemd from the inside: the socket that it passes, the state that it is told.

Works on the values that it is handed and never reads the environment; the
caller unsets `VARIABLES` before it starts a child. Without systemd every
function here does nothing and says so.
"""

import logging
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

import trio

from askd.core import outcome
from askd.errors import AskdError

FIRST_DESCRIPTOR = 3
"""Passed descriptors begin here: SD_LISTEN_FDS_START."""
SOCKET_NAME = "askd"
"""`FileDescriptorName=` in the unit."""
VARIABLES = (
    "LISTEN_FDS",
    "LISTEN_PID",
    "LISTEN_FDNAMES",
    "NOTIFY_SOCKET",
    "WATCHDOG_USEC",
    "WATCHDOG_PID",
    "JOURNAL_STREAM",
)
"""For this process alone: a child that inherited them would speak in our name."""
WATCHDOG_LEAST_US, WATCHDOG_NEVER_US = 1_000, 2**64 - 1
"""More often than each millisecond nobody means; USEC_INFINITY of systemd is for never."""

log = logging.getLogger(__name__)


class BadActivation(AskdError):
    """systemd passed something that cannot be served."""

    code = outcome.NO_DAEMON
    reason = "bad_socket"


def find_activated_socket(environ: Mapping[str, str], *, pid: int) -> socket.socket | None:
    """The listening Unix socket that this process was started with, or None.

    It is made close-on-exec: systemd passes it inheritable. Raises `BadActivation`
    if what was passed to us is none, or not exactly one of our name.
    """
    if environ.get("LISTEN_PID") != str(pid):
        return None  # meant for a parent of ours
    try:
        count = int(environ.get("LISTEN_FDS", "0"))
    except ValueError:
        raise BadActivation(f"LISTEN_FDS={environ['LISTEN_FDS']!r} is no number.") from None
    descriptors = range(FIRST_DESCRIPTOR, FIRST_DESCRIPTOR + count)
    for descriptor in descriptors:
        try:
            os.set_inheritable(descriptor, False)
        except OSError:
            raise BadActivation(f"LISTEN_FDS={count}, but {descriptor} is not open.") from None
    if not count:
        return None
    names = environ.get("LISTEN_FDNAMES", "").split(":") if count > 1 else [SOCKET_NAME]
    ours = [d for d, name in zip(descriptors, names, strict=False) if name == SOCKET_NAME]
    if len(ours) != 1:
        raise BadActivation(f"systemd passed {count} sockets; one must be named {SOCKET_NAME!r}.")
    return _check_socket(ours[0])


def _check_socket(descriptor: int) -> socket.socket:
    try:
        passed = socket.socket(fileno=descriptor)
    except OSError:
        raise BadActivation(f"File descriptor {descriptor} is not a socket.") from None
    listening = passed.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    if passed.family != socket.AF_UNIX or passed.type != socket.SOCK_STREAM or not listening:
        passed.detach()  # not ours to close
        raise BadActivation(f"File descriptor {descriptor} is not a listening Unix stream socket.")
    passed.setblocking(False)
    return passed


@dataclass(frozen=True, slots=True)
class Notifier:
    """Tells the service manager how we are; without `address` it tells nobody.

    Attributes:
        address: a datagram socket's path; one that begins with `@` is abstract.
        watchdog_s: how often it wants to hear that we are alive, or None. Say it
            twice as often.
    """

    address: str | None = None
    watchdog_s: float | None = None

    def ready(self) -> None:
        """We serve: recovery is over and the socket listens."""
        self.send("READY=1")

    def stopping(self) -> None:
        """We are on our way out and want no restart."""
        self.send("STOPPING=1")

    def watchdog(self) -> None:
        """We are alive; say it only after the writer has answered."""
        self.send("WATCHDOG=1")

    def status(self, text: str) -> None:
        """One line for `systemctl status`."""
        self.send(f"STATUS={' '.join(text.split())}")

    def extend(self, seconds: float) -> None:
        """A long drain: do not kill us before this many seconds from now."""
        self.send(f"EXTEND_TIMEOUT_USEC={int(seconds * 1_000_000)}")

    def send(self, state: str) -> None:
        """Send one assignment. Never waits, and never fails the caller."""
        if self.address is None:
            return
        path = "\0" + self.address[1:] if self.address.startswith("@") else self.address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
                sender.setblocking(False)
                sender.sendto(state.encode(), path)
        except OSError as error:
            log.debug("The service manager was not told %s: %s", state, error)


def find_notifier(environ: Mapping[str, str], *, pid: int) -> Notifier:
    """Who wants to be told, and how often."""
    address = environ.get("NOTIFY_SOCKET")
    if not address or address[0] not in "/@":
        return Notifier()
    watched = environ.get("WATCHDOG_PID", str(pid)) == str(pid)
    try:
        microseconds = int(environ.get("WATCHDOG_USEC", "0")) if watched else 0
    except ValueError:
        microseconds = 0
    is_meant = WATCHDOG_LEAST_US <= microseconds < WATCHDOG_NEVER_US
    return Notifier(address, microseconds / 1_000_000 if is_meant else None)


def is_journal(environ: Mapping[str, str], descriptor: int) -> bool:
    """Whether what is written there goes to the journal: JOURNAL_STREAM of systemd.exec(5)."""
    try:
        status = os.fstat(descriptor)
    except OSError:
        return False
    return environ.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"


async def feed_watchdog(notifier: Notifier, ping: Callable[[], Awaitable[None]]) -> None:
    """Say that we live, as long as `ping` answers: a wedged disk is worth a restart."""
    period_s = notifier.watchdog_s
    if period_s is None:
        return
    while True:
        with trio.move_on_after(period_s / 2) as waited:
            await ping()
        if not waited.cancelled_caught:
            notifier.watchdog()
        await trio.sleep(period_s / 2)
