"""A conversation followed over a connection of its own, whatever becomes of that connection.

After a gap, or a daemon that went away and came back, it subscribes again from the
last event that it passed on; what it brings, it brings once and in order. It knows
nothing of what the events mean.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ask.blobs import read_answer
from ask.connection import Client, ConnectionLost
from ask.exits import Failed
from ask.feed import Feed, Missed, News
from ask.library.events import Event
from ask.library.link import PAGE, RECONNECT_LIMIT_S, Link
from ask.library.reading import Reader


class Stream:
    """What is new in one conversation.

    Args:
        seq: the last event that is not wanted any more.
        interactive: somebody will answer questions.
        connection: one that follows the conversation already.
    """

    _connection: Client | None = None

    def __init__(
        self,
        link: Link,
        conversation_id: str,
        *,
        seq: int,
        interactive: bool = False,
        connection: Client | None = None,
    ) -> None:
        self._link = link
        self._conversation_id = conversation_id
        self._seq = max(seq, 0)
        self._feed = Feed(seq=self._seq)
        self._reader = Reader()
        self._interactive = interactive
        self._connection = connection
        self._away_at: float | None = None
        self._found: deque[News] = deque()
        self._events: deque[Event] = deque()

    def wait(
        self, limit_s: float | None = None, *, renew: Callable[[Client], object] | None = None
    ) -> Event | None:
        """The next thing that is new; None: nothing is within `limit_s`.

        Args:
            limit_s: None waits on.
            renew: done on every new connection before it subscribes.

        Raises:
            exits.Failed: the daemon stayed away, or the conversation is gone. Calling it again
                tries again, and nothing is lost.
        """
        deadline = None if limit_s is None else time.monotonic() + max(limit_s, 0.0)
        try:
            while not self._events:
                if not self._found and not self._take(deadline, renew):
                    return None
                if self._found:
                    news = self._found.popleft()
                    self._events += self._reader.read(news)
                    if news.method == "event":
                        self._seq = int(news.fields["seq"])
        except BaseException:
            # A Ctrl-C may have come between reading something and keeping it.
            self._rewind()
            raise
        return self._events.popleft()

    def send(self, method: str, params: Mapping[str, Any]) -> None:
        """Say something to the daemon and wait for no answer; a lost connection hears nothing."""
        if self._connection is not None:
            try:
                self._connection.send(method, dict(params))
            except ConnectionLost:
                self.close()

    def close(self) -> None:
        """Follow it no more; turns go on."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __del__(self) -> None:
        self.close()

    def _rewind(self) -> None:
        """Go on, on another connection, after the last event that was passed on."""
        self.close()
        self._found.clear()
        self._feed = Feed(seq=self._seq)

    def _take(self, deadline: float | None, renew: Callable[[Client], object] | None) -> bool:
        """Take in what comes next; false: nothing came before `deadline`."""
        if self._connection is None:
            return self._return(deadline, renew)
        try:
            left = None if deadline is None else deadline - time.monotonic()
            found = self._connection.poll(left)
            if found is None:
                return False
            self._take_notification(*found)
        except ConnectionLost:
            self.close()  # the next one makes another
        return True

    def _return(self, deadline: float | None, renew: Callable[[Client], object] | None) -> bool:
        """Connect again; false: not before `deadline`, and it is not hopeless yet."""
        if self._away_at is None:
            self._away_at = time.monotonic()
        try:
            self._link.persist(lambda: self._connect(renew), until=deadline)
        except Failed as error:
            away_s = time.monotonic() - self._away_at
            is_early = deadline is not None and away_s < RECONNECT_LIMIT_S
            if is_early and self._link.may_return(error):
                return False
            self._away_at = None
            raise
        self._away_at = None
        return True

    def _take_notification(self, method: str, params: Mapping[str, Any]) -> None:
        if params.get("conversation_id") != self._conversation_id:
            return
        try:
            if method == "event":
                (params,) = self._complete([params])
            self._found += self._feed.take(method, params)
        except Missed:
            assert self._connection is not None
            self._subscribe(self._connection)

    def _connect(self, renew: Callable[[Client], object] | None) -> None:
        self.close()
        self._connection = self._link.open()
        if renew is not None:
            renew(self._connection)
        self._subscribe(self._connection)

    def _subscribe(self, connection: Client) -> None:
        """Read on from the last event, up to the present; from then on it comes by itself."""
        while True:
            page = connection.call(
                "conversation/subscribe",
                {
                    "conversation_id": self._conversation_id,
                    "after_seq": self._feed.seq,
                    "limit": PAGE,
                    "interactive": self._interactive,
                },
            )
            here = {"conversation_id": self._conversation_id}
            live = [{**here, **item} for item in page["live"]]
            self._found += self._feed.take_page(self._complete(page["data"]), live)
            if page.get("next_after_seq") is None:
                return

    def _complete(self, events: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """The events with long answers as text, which the log has beside them."""
        assert self._connection is not None
        return [
            read_answer(self._connection, event) if event["seq"] > self._feed.seq else event
            for event in events
        ]
