"""A connection to the daemon: requests, answers, notifications; blocking, with a limit on all.

It finds the daemon, starts one where there is none (`ask.spawn`), says hello and
replaces a daemon of an older protocol. It knows no method but `hello`, the ping
and `daemon/drain`, and it prints nothing of what it carries.
"""

import os
import select
import socket
import sys
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any

from ask.exits import Failed
from ask.fast import caller
from ask.listener import Listener, NoDaemon, find_listener
from ask.paths import Paths
from ask.protocol import PROTOCOL
from ask.protocol.frames import (
    BadFrame,
    FrameReader,
    MessageTooLarge,
    Notification,
    Response,
    encode_request,
)

ANSWER_LIMIT_S = 30.0
"""The longest a daemon may take to answer a request that does not wait for a model."""
GREETING_LIMIT_S = 10.0
"""As long may a daemon take to say hello that must be running already: it does so at once."""
QUIET_S = 30.0
"""After this long without a notification the daemon is asked whether it still lives."""
RECEIVE_BYTES = 64 * 1024
DRAIN_LIMIT_S = 25.0
"""How long the turns of a daemon that is replaced may take to end (it takes 20 s at most)."""

UNREAD_ID = 0
"""The id of the answer to a message that the daemon could not read: it knows no better one."""


class RpcError(Failed):
    """The daemon refused a request: `code` is an exit code, `data["reason"]` a word."""

    def __init__(self, code: int, message: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(code, message, data=data)

    @property
    def reason(self) -> str:
        """The word for programs, as in `ask.protocol.errors.REASONS`."""
        return str(self.data.get("reason", "internal"))


class ConnectionLost(NoDaemon):
    """The daemon went away in the middle; connecting again may help."""

    def __init__(self, message: str = "The connection to the daemon was lost.") -> None:
        super().__init__(message, hint="See what happened: ask daemon logs")


class Silent(ConnectionLost):
    """It is there and takes what is sent, and nothing comes back: stopped, or very busy."""

    def __init__(self, pid: object = None) -> None:
        known = "" if pid is None else f" (pid {pid})"
        super().__init__(f"The daemon{known} is running, and does not answer.")
        if pid is not None:
            self.hint = f"See what it does: ask daemon logs; or end it: kill -KILL {pid}"


def connect(environ: Mapping[str, str] | None = None, *, start: bool = True) -> "Client":
    """Connect to the user's daemon; `start`: start one if there is none."""
    return Client.connect(environ, start=start)


class Client:
    """One connection. Use it as a context manager, from one thread.

    Attributes:
        hello: what the daemon answered to `hello`.
    """

    def __init__(self, stream: socket.socket) -> None:
        self._stream = stream
        self._stream.settimeout(ANSWER_LIMIT_S)
        self._reader = FrameReader()
        self._last_id = 0
        self._answers: dict[int, Response] = {}
        self._notifications: deque[tuple[str, dict[str, Any]]] = deque()
        self.hello: dict[str, Any] = {}

    @classmethod
    def connect(cls, environ: Mapping[str, str] | None = None, *, start: bool = True) -> "Client":
        """Connect and say hello.

        Raises:
            NoDaemon: none runs and `start` is false, it did not start, or it is
                another user's or speaks a newer protocol.
        """
        environ = os.environ if environ is None else environ
        paths = Paths.of(environ)
        # One that systemd, or another client, is just starting has its socket before it answers.
        limit_s = ANSWER_LIMIT_S if start else GREETING_LIMIT_S
        stale: str | None = None
        replaced = False
        while True:
            stream, place = _reach(paths, environ, start=start, stale=stale)
            client = cls(stream)
            try:
                if client.greet(environ, limit_s=limit_s):
                    return client
                if replaced:
                    raise NoDaemon("A daemon of another protocol could not be replaced.")
                client._drain()
                replaced = True
            except Silent:
                client.close()
                raise Silent((paths.read_owner() or {}).get("pid")) from None
            except RpcError as error:
                client.close()
                noted = place != str(paths.sockets[0]) and stale is None
                if error.reason != "other_data" or not noted:
                    raise
                stale = place  # what our note names is another one's by now: ours is not there
            except BaseException:
                client.close()
                raise
            client.close()

    def greet(self, environ: Mapping[str, str], *, limit_s: float = ANSWER_LIMIT_S) -> bool:
        """Say hello; false: the daemon speaks an older protocol and should be replaced."""
        try:
            self.hello = self.call("hello", caller.introduce(environ), limit_s=limit_s)
        except RpcError as error:
            if error.reason != "wrong_protocol":
                raise
            self.hello = error.data
        theirs = self.hello.get("protocol")
        if theirs == PROTOCOL:
            return True
        if isinstance(theirs, int) and theirs > PROTOCOL:
            # It has the newer database too: replacing it would start nothing.
            raise NoDaemon(
                f"The daemon speaks protocol {theirs}, this ask speaks {PROTOCOL}.",
                hint="Update ask, or stop that daemon with the ask that started it.",
            )
        return False

    def call(
        self, method: str, params: dict[str, Any] | None = None, *, limit_s: float = ANSWER_LIMIT_S
    ) -> dict[str, Any]:
        """Send a request and wait for its answer; notifications wait in their queue meanwhile.

        Raises:
            RpcError: the daemon refused.
            ConnectionLost: it went away, or did not answer within `limit_s`.
        """
        return self.wait(self.send(method, params), limit_s=limit_s)

    def send(self, method: str, params: dict[str, Any] | None = None) -> int:
        """Send a request and do not wait; the id is for `wait`."""
        self._last_id += 1
        try:
            frame = encode_request(self._last_id, method, params or {})
        except MessageTooLarge as error:
            raise Failed(2, f"The request is too large: {error}.") from None
        except OverflowError:
            raise Failed(2, "The request holds a whole number beyond 64 bits.") from None
        try:
            self._stream.sendall(frame)
        except OSError as error:
            self._find_refusal()
            raise ConnectionLost() from error
        return self._last_id

    def _find_refusal(self) -> None:
        """It may have said why, before it left, what it read of a message makes no sense."""
        with suppress(ConnectionLost):
            while UNREAD_ID not in self._answers and self._read(0.0):
                pass
        if UNREAD_ID in self._answers:
            _unpack(self._answers.pop(UNREAD_ID))

    def wait(self, request: int, *, limit_s: float = ANSWER_LIMIT_S) -> dict[str, Any]:
        """Wait for the answer to an earlier `send`."""
        deadline = time.monotonic() + limit_s
        while request not in self._answers and UNREAD_ID not in self._answers:
            if not self._read(deadline - time.monotonic()):
                raise Silent
        return _unpack(self._answers.pop(request if request in self._answers else UNREAD_ID))

    def receive(self) -> tuple[str, dict[str, Any]]:
        """The next notification `(method, params)`, however long it takes.

        A silent daemon is pinged, and must answer. Raises `ConnectionLost`.
        """
        while True:
            found = self.poll(None)
            if found is not None:
                return found

    def poll(
        self, limit_s: float | None, *, wake: int | None = None, typed: int | None = None
    ) -> tuple[str, dict[str, Any]] | None:
        """The next notification, or None after `limit_s` or when something else can be read.

        `limit_s` None: as long as the daemon lives, which is asked when it is quiet.
        `wake` is a file descriptor, as of `signal.set_wakeup_fd`, `typed` one that a person
        types to; they are not read.
        """
        deadline = None if limit_s is None else time.monotonic() + limit_s
        while not self._notifications:
            left = QUIET_S if deadline is None else min(QUIET_S, deadline - time.monotonic())
            if self._read(left, wake, typed):
                continue
            if _wait_readable(0.0, wake, typed):
                return None
            if deadline is not None and time.monotonic() >= deadline:
                return None
            self.call("daemon/status")
        return self._notifications.popleft()

    def close(self) -> None:
        """Close the connection; turns go on."""
        self._stream.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _read(self, limit_s: float, *wakes: int | None) -> bool:
        """Take in what has come within `limit_s`; false: nothing, or woken."""
        if self._stream.fileno() not in _wait_readable(limit_s, self._stream.fileno(), *wakes):
            return False
        try:
            data = self._stream.recv(RECEIVE_BYTES)
        except OSError as error:
            raise ConnectionLost() from error
        if not data:
            raise ConnectionLost()
        try:
            messages = self._reader.feed(data)
        except BadFrame as error:
            raise ConnectionLost(f"The daemon sent what is no message: {error}.") from None
        for message in messages:
            if isinstance(message, Response):
                self._answers[message.id] = message
            elif isinstance(message, Notification):
                self._notifications.append((message.method, message.params))
        return True

    def _drain(self) -> None:
        """Ask a daemon of an older protocol to end, and wait until it has."""
        version = self.hello.get("version", "unknown")
        print(f"Replacing the older daemon (version {version}) ...", file=sys.stderr)
        self.call("daemon/drain", {"wait_s": DRAIN_LIMIT_S - 5}, limit_s=DRAIN_LIMIT_S)
        deadline = time.monotonic() + DRAIN_LIMIT_S
        try:
            while time.monotonic() < deadline:
                self._read(deadline - time.monotonic())
        except ConnectionLost:
            return
        raise NoDaemon("The older daemon does not end.", hint="Stop it: ask daemon stop")


def _wait_readable(limit_s: float, *descriptors: int | None) -> list[int]:
    """Which of these can be read (or are closed), after at most `limit_s`; None is none."""
    waiting = select.poll()  # unlike select, it takes descriptors beyond 1023
    for each in descriptors:
        if each is not None:
            waiting.register(each, select.POLLIN)
    return [ready for ready, _ in waiting.poll(max(limit_s, 0.0) * 1000)]


def _reach(paths: Paths, environ: Mapping[str, str], *, start: bool, stale: str | None) -> Listener:
    found = find_listener(paths, stale=stale)
    if found is not None:
        return found
    if not start:
        raise NoDaemon("No daemon is running.", hint="Start it: ask daemon start")
    from ask.spawn import start_daemon  # only where there is none

    return start_daemon(paths, environ, stale=stale)


def _unpack(answer: Response) -> dict[str, Any]:
    """What was answered; raises `RpcError` for a refusal."""
    error = answer.error
    if error is not None:
        data = error.get("data")
        raise RpcError(
            _code_of(error.get("code")),
            str(error.get("message", "The daemon refused.")),
            data if isinstance(data, dict) else None,
        )
    return answer.result if isinstance(answer.result, dict) else {}


def _code_of(value: object) -> int:
    return value if isinstance(value, int) and 0 < value < 256 else 1
