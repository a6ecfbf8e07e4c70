"""How a client of the library reaches its daemon: one connection for requests, one per follower.

A connection that is lost is made again by the next request; what was asked on it is
asked again only if that cannot do anything twice. One thread of one process uses it.
"""

import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from ask.connection import ANSWER_LIMIT_S, Client, ConnectionLost, RpcError
from ask.exits import Failed
from ask.library.errors import misuse, translated
from ask.listener import NoDaemon, Unreachable
from ask.patience import Patience
from ask.whereabouts import lend

T = TypeVar("T")

RECONNECT_LIMIT_S = 30.0
"""A daemon that went away is looked for this long: a restart takes a few seconds."""
RECONNECT_PAUSE_S = 0.2
LEAVE_LIMIT_S = 2.0
"""How long leaving may wait for the daemon to take an interruption."""
LONG_LIMIT_S = 3600.0
"""For requests that may take as long as there is data, or as another server lets them."""

PAGE = 200
"""Rows or events asked for at once; the daemon sends fewer if they are large."""

WAITS: dict[str, tuple[str, float]] = {
    "turn/wait": ("timeout_s", 60.0),
    "job/wait": ("timeout_s", 60.0),
    "conversation/compact": ("timeout_s", 660.0),
    "auth/wait": ("timeout_s", 30.0),
    "daemon/drain": ("wait_s", 20.0),
    "daemon/stop": ("wait_s", 20.0),
}
"""Requests that wait by themselves: the parameter that says how long, and its default."""
LONG = frozenset({
    "conversation/delete", "conversation/scrub", "conversation/import", "conversation/export",
    "daemon/check", "mcp/test", "mcp/open", "mcp/resource", "mcp/resources", "mcp/prompt",
    "mcp/prompts", "model/list", "model/refresh", "snapshot/list", "snapshot/diff",
    "snapshot/restore", "tool/list", "auth/status",
})  # fmt: skip
"""Requests that take long where there is much, or where others are asked."""
REPEATABLE = frozenset({
    "auth/status", "backup/list", "blob/read", "config/read", "conversation/context",
    "conversation/list", "conversation/read", "conversation/search", "daemon/check",
    "daemon/status", "job/list", "job/read", "job/stats", "job/wait", "mcp/list", "mcp/logs",
    "model/list", "schedule/list", "schedule/read", "snapshot/diff", "snapshot/list", "tool/list",
    "turn/wait", "usage/read",
})  # fmt: skip
"""Requests that only look: they are asked again when the connection is lost."""


class Link:
    """A client's way to its daemon.

    Args:
        environ: where the daemon is looked for, and what the daemon is told of the caller.
        start: start a daemon where there is none.
    """

    def __init__(self, environ: Mapping[str, str], *, start: bool) -> None:
        self.environ = environ
        self.start = start
        self._connection: Client | None = None
        self._closed = False
        self._process = os.getpid()
        self._thread = threading.get_ident()

    def check(self) -> None:
        """Refuse a use that would mix up two threads or two processes, or that comes too late."""
        if self._closed:
            raise misuse("This client is closed.")
        if os.getpid() != self._process:
            raise misuse("This client belongs to another process: open one after the fork.")
        if threading.get_ident() != self._thread:
            raise misuse("This client belongs to another thread: each thread opens its own.")

    def open(self) -> Client:
        """A new connection, for one follower.

        Raises:
            exits.Failed: there is no daemon, and none can be started.
        """
        return Client.connect(self.environ, start=self.start)

    def greet(self) -> None:
        """Make the connection for requests, so that what is wrong with it is known at once."""
        with translated():
            self._connection = self.open()

    def call(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        limit_s: float | None = None,
    ) -> dict[str, Any]:
        """Ask the daemon, and translate what it refuses; `limit_s` None: as the method takes."""
        self.check()
        given = {} if params is None else dict(params)
        limit_s = find_limit(method, given) if limit_s is None else limit_s
        was_sent = False

        def attempt() -> dict[str, Any]:
            nonlocal was_sent
            was_sent = False
            connection = self._find_connection()
            was_sent = True
            return self._call_once(connection, method, given, limit_s)

        with translated():
            return self.persist(attempt, may_repeat=lambda: not was_sent or method in REPEATABLE)

    def list_rows(
        self, method: str, params: Mapping[str, Any], *, limit: int | None
    ) -> list[dict[str, Any]]:
        """What a method lists, page by page, at most `limit`; None: all of it."""
        rows: list[dict[str, Any]] = []
        cursor: str | None = None
        while limit is None or len(rows) < limit:
            wanted = PAGE if limit is None else min(PAGE, limit - len(rows))
            page = self.call(method, {**params, "cursor": cursor, "limit": wanted})
            rows += page["data"]
            cursor = page.get("next_cursor")
            if cursor is None:
                break
        return rows

    def persist(
        self,
        attempt: Callable[[], T],
        *,
        until: float | None = None,
        may_repeat: Callable[[], bool] = lambda: True,
    ) -> T:
        """Do it, and again while the daemon is away.

        Args:
            attempt: raises `ConnectionLost`, or a refusal, when the daemon is not there.
            until: how long, in seconds of `time.monotonic`; None: as long as a restart takes.
            may_repeat: whether doing twice what was attempted does no harm. It is asked where
                nobody knows whether it was done: after a connection was lost, not a refusal.
        """
        patience = Patience(RECONNECT_LIMIT_S, RECONNECT_PAUSE_S)
        while True:
            try:
                return attempt()
            except (NoDaemon, RpcError) as error:
                is_late = until is not None and time.monotonic() > until
                if is_late or not self.may_return(error):
                    raise
                if not isinstance(error, RpcError) and not may_repeat():
                    raise
                pause_s = patience.find_pause(error)
            time.sleep(pause_s)

    def describe_caller(self) -> dict[str, Any]:
        """Whose variables and keys a request may use: `{env, secrets}`, by the tables of names."""
        return lend(self.environ)

    def close(self) -> None:
        """Close the connection. Closing twice is no error; in a fork it takes nothing away."""
        self._closed = True
        self._drop()

    def interrupt(self, reference: Mapping[str, str]) -> None:
        """Stop a turn on the way out, on a connection of its own, if the daemon is there."""
        with suppress(Failed), Client.connect(self.environ, start=False) as connection:
            connection.call("turn/interrupt", dict(reference), limit_s=LEAVE_LIMIT_S)

    def may_return(self, error: Failed) -> bool:
        """Whether a daemon may be there in a moment, after this error."""
        if isinstance(error, RpcError):
            return error.reason == "draining"
        if isinstance(error, Unreachable):
            return not error.lasting
        # None runs just now: another one may be about to be started by somebody else.
        return isinstance(error, ConnectionLost) or not self.start

    def _find_connection(self) -> Client:
        """The connection for requests, or a new one if it was lost since."""
        self._drop_if_lost()
        if self._connection is None:
            self._connection = self.open()
        return self._connection

    def _call_once(
        self, connection: Client, method: str, params: dict[str, Any], limit_s: float
    ) -> dict[str, Any]:
        try:
            return connection.call(method, params, limit_s=limit_s)
        except RpcError:
            raise
        except BaseException:
            # A Ctrl-C may have come between reading and keeping what was read.
            self._drop()
            raise

    def _drop_if_lost(self) -> None:
        """Notice what was lost while nobody asked anything: nothing is lost with it."""
        try:
            if self._connection is not None:
                self._connection.poll(0.0)
        except ConnectionLost:
            self._drop()

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def find_limit(method: str, params: Mapping[str, Any]) -> float:
    """How long the answer to a request may take, in seconds."""
    if method in LONG:
        return LONG_LIMIT_S
    if method not in WAITS:
        return ANSWER_LIMIT_S
    name, default = WAITS[method]
    asked = params.get(name)
    return ANSWER_LIMIT_S + (asked if isinstance(asked, int | float) else default)
