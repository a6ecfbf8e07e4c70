"""A connection to the daemon: requests, answers, notifications; blocking, with a limit on all.

It finds the daemon, starts one where there is none (`ask.spawn`), says hello and
replaces a daemon of an older protocol. It knows no method but `hello`, the ping
and `daemon/drain`, and it prints nothing of what it carries.
"""

import os
import socket
import sys
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ask.answers import Caller, ConnectionLost, RpcError, Silent, unpack
from ask.exits import Failed
from ask.fast import caller
from ask.hosts import find_host
from ask.listener import NoDaemon, reach
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
from ask.streams import find_travel, send_all, wait_readable

__all__ = [
    "ANSWER_LIMIT_S",
    "Caller",
    "Client",
    "ConnectionLost",
    "RpcError",
    "Silent",
    "connect",
]

if TYPE_CHECKING:
    from ask.links import Link

ANSWER_LIMIT_S = 30.0
"""The longest a daemon may take to answer a request that does not wait for a model."""
GREETING_LIMIT_S = 10.0
"""As long may a daemon take to say hello that must be running already: it does so at once."""
DYING_LIMIT_S = 2.0
"""A killed daemon's socket takes connections until the kernel has cleared it away: less time."""
DYING_PAUSE_S = 0.02
QUIET_S = 30.0
"""After this long without a notification the daemon is asked whether it still lives."""
RECEIVE_BYTES = 64 * 1024
DRAIN_LIMIT_S = 25.0
"""How long the turns of a daemon that is replaced may take to end (it takes 20 s at most)."""

UNREAD_ID = 0
"""The id of the answer to a message that the daemon could not read: it knows no better one."""


def connect(environ: Mapping[str, str] | None = None, *, start: bool = True) -> "Client":
    """Connect to the user's daemon; `start`: start one if there is none."""
    return Client.connect(environ, start=start)


class Client:
    """One connection. Use it as a context manager, from one thread.

    Attributes:
        hello: what the daemon answered to `hello`.
    """

    def __init__(self, stream: socket.socket, link: "Link | None" = None) -> None:
        self._stream = stream
        self._link = link
        self._stream.settimeout(ANSWER_LIMIT_S)
        self._reader = FrameReader()
        self._last_id = 0
        self._travel_s = 0.0
        self._answers: dict[int, Response] = {}
        self._notifications: deque[tuple[str, dict[str, Any]]] = deque()
        self.hello: dict[str, Any] = {}

    @classmethod
    def connect(
        cls,
        environ: Mapping[str, str] | None = None,
        *,
        start: bool = True,
        batch: bool = False,
        about: Mapping[str, Any] | None = None,
    ) -> "Client":
        """Connect and say hello.

        Args:
            batch: nobody is asked for a password on the way to another machine.
            about: what is to be said in the hello of this program.

        Raises:
            NoDaemon: none runs and `start` is false, it did not start, or it is
                another user's or speaks a newer protocol.
            Unreachable: the other machine that `ASK_HOST` names cannot be reached.
        """
        environ = os.environ if environ is None else environ
        host = find_host(environ)
        if host is not None:
            from ask.links import dial  # only for other machines

            return cls._greet_far(dial(host, environ, start=start, batch=batch), environ, about)
        paths = Paths.of(environ)
        # One that systemd, or another client, is just starting has its socket before it answers.
        limit_s = ANSWER_LIMIT_S if start else GREETING_LIMIT_S
        stale: str | None = None
        replaced = False
        dying_until = time.monotonic() + DYING_LIMIT_S
        while True:
            stream, place = reach(paths, environ, start=start, stale=stale)
            client = cls(stream)
            try:
                if client.greet(environ, limit_s=limit_s, about=about):
                    return client
                if replaced:
                    hint = "If systemd starts it, tell it of this ask: ask daemon install"
                    raise NoDaemon("A daemon of another protocol could not be replaced.", hint=hint)
                client._drain()
                replaced = True
            except Silent:
                client.close()
                raise Silent((paths.read_owner() or {}).get("pid")) from None
            except ConnectionLost:
                client.close()
                if client.hello or time.monotonic() > dying_until:
                    raise
                time.sleep(DYING_PAUSE_S)  # it died before it said a word: its successor may
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

    @classmethod
    def _greet_far(
        cls, link: "Link", environ: Mapping[str, str], about: Mapping[str, Any] | None
    ) -> "Client":
        client = cls(link.stream, link)
        try:
            if not client.greet(environ, about=about):
                raise link.explain_protocol(client.hello)
        except BaseException:
            client.close()
            raise
        return client

    def greet(
        self,
        environ: Mapping[str, str],
        *,
        limit_s: float = ANSWER_LIMIT_S,
        about: Mapping[str, Any] | None = None,
    ) -> bool:
        """Say hello; false: the daemon speaks an older protocol and should be replaced."""
        said = {**caller.introduce(environ), **(about or {})}
        try:
            greeting = self.send("hello", said)
            if self._link is not None:
                self._link.wait_open()
            self.hello = self.wait(greeting, limit_s=limit_s)
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
        self._travel_s = find_travel(len(frame)) if self._link is not None else 0.0
        try:
            send_all(self._stream, frame)
        except OSError as error:
            self._find_refusal()
            raise self._explain_loss() from error
        return self._last_id

    def _find_refusal(self) -> None:
        """It may have said why, before it left, what it read of a message makes no sense."""
        with suppress(NoDaemon):
            while UNREAD_ID not in self._answers and self._read(0.0):
                pass
        if UNREAD_ID in self._answers:
            unpack(self._answers.pop(UNREAD_ID))

    def wait(self, request: int, *, limit_s: float = ANSWER_LIMIT_S) -> dict[str, Any]:
        """Wait for the answer to an earlier `send`."""
        deadline = time.monotonic() + limit_s + self._travel_s
        while request not in self._answers and UNREAD_ID not in self._answers:
            if not self._read(deadline - time.monotonic()):
                if self._link is not None:
                    self._link.cut()  # the way is dead, and ssh has not noticed
                    if not self.hello and self._reader.unfinished:
                        raise self._link.explain_noise()
                raise Silent
            if self._link is not None:  # slow, and not silent: the answer is behind what comes
                deadline = max(deadline, time.monotonic() + min(limit_s, ANSWER_LIMIT_S))
        return unpack(self._answers.pop(request if request in self._answers else UNREAD_ID))

    def find_answer(self, request: int) -> dict[str, Any] | None:
        """The answer to an earlier `send` if it has come; raise `RpcError` if it is a refusal."""
        return unpack(self._answers.pop(request)) if request in self._answers else None

    def receive(self) -> tuple[str, dict[str, Any]]:
        """The next notification `(method, params)`, however long it takes.

        A silent daemon is pinged, and must answer. Raises `ConnectionLost`.
        """
        while True:
            found = self.poll(None)
            if found is not None:
                return found

    def poll(
        self,
        limit_s: float | None,
        *,
        wake: int | None = None,
        typed: int | None = None,
        heed_answers: bool = False,
    ) -> tuple[str, dict[str, Any]] | None:
        """The next notification, or None after `limit_s` or when something else can be read.

        `limit_s` None: as long as the daemon lives, which is asked when it is quiet.
        `wake` is a file descriptor, as of `signal.set_wakeup_fd`, `typed` one that a person
        types to; they are not read. `heed_answers`: what `find_answer` finds is something, too.
        """
        deadline = None if limit_s is None else time.monotonic() + limit_s
        while not self._notifications:
            left = QUIET_S if deadline is None else min(QUIET_S, deadline - time.monotonic())
            if self._read(left, wake, typed):
                if heed_answers and self._answers:
                    return None
                continue
            if wait_readable(0.0, wake, typed):
                return None
            if deadline is not None and time.monotonic() >= deadline:
                return None
            self.call("daemon/status")
        return self._notifications.popleft()

    def _explain_loss(self) -> NoDaemon:
        """What is raised when nothing comes any more: with a link, why, in the words of `ssh`."""
        if self._link is None:
            return ConnectionLost()
        why = self._link.explain()
        if not self.hello:
            return why  # there has been no daemon yet
        lost = ConnectionLost(f"The connection was lost. {why.message}")
        lost.hint = why.hint
        return lost

    def close(self) -> None:
        """Close the connection; turns go on."""
        if self._link is not None:
            self._link.close()
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
        if self._stream.fileno() not in wait_readable(limit_s, self._stream.fileno(), *wakes):
            return False
        try:
            data = self._stream.recv(RECEIVE_BYTES)
        except OSError as error:
            raise self._explain_loss() from error
        if not data:
            raise self._explain_loss()
        try:
            if self._link is not None and not self.hello:
                self._link.hear(data)
            messages = self._reader.feed(data)
        except BadFrame as error:
            if self._link is not None and not self.hello:
                raise self._link.explain_noise() from None
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
