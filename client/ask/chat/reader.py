"""The one thread of a chat that owns its socket: it reads, and sends what others ask for.

What the daemon says is put in a queue, made whole (`ask.feed`); requests come by another and
are answered while news goes on. A lost connection is told, made again, and the conversation
read on from the last event. It shows nothing, and decides nothing but that.
"""

import math
import os
import queue
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, NamedTuple

from ask.blobs import read_answer
from ask.connection import ANSWER_LIMIT_S, Client, ConnectionLost, RpcError, Silent
from ask.exits import Failed
from ask.feed import Feed, Found, Gone, Heard, Lost, Missed, News, Report
from ask.listener import NoDaemon, Unreachable
from ask.patience import Patience

Map = dict[str, Any]
PAGE = 200
RECONNECT_LIMIT_S = 60.0
"""How long it is tried to have a daemon again where one is needed; a restart takes seconds."""
RECONNECT_PAUSE_S = 0.2
CLOSE_LIMIT_S = 2.0
"""Longer nobody waits at the end of a chat."""
FAREWELL_LIMIT_S = 1.0
"""As long is an answer waited for when the chat is over: a daemon gives it at once."""
DEADLINES_S = 1.0
"""How often somebody looks whether an answer has taken too long."""


class Ended(NoDaemon):
    """The chat is over: nothing is asked any more, and nothing is tried again."""

    def __init__(self) -> None:
        super().__init__("The chat is over.")


class _Order(NamedTuple):
    method: str
    params: Map
    limit_s: float
    answer: "Future[Map]"
    starts: bool = True


class Reader:
    """One conversation's connection.

    Args:
        connect: makes a connection; `start` says whether it may start a daemon.
        wake: called, in the thread, after something was put into `reports`.
        interactive: a person is there who could answer questions.

    Attributes:
        reports: what was heard, the oldest first.
        needed: something is being answered: a daemon that is lost is started again.
    """

    def __init__(
        self,
        connect: Callable[[bool], Client],
        wake: Callable[[], None],
        *,
        interactive: bool = True,
        limit_s: float = RECONNECT_LIMIT_S,
    ) -> None:
        self._connect = connect
        self._wake = wake
        self._interactive = interactive
        self._limit_s = limit_s
        self.reports: queue.SimpleQueue[Report] = queue.SimpleQueue()
        self.needed = False
        self._orders: queue.SimpleQueue[_Order] = queue.SimpleQueue()
        self._held: list[_Order] = []  # taken while there was no connection; older than those
        self._waiting: dict[int, tuple[_Order, float]] = {}
        self._bell, self._ring = os.pipe()
        os.set_blocking(self._bell, False)
        os.set_blocking(self._ring, False)
        self._lock = threading.Lock()
        self._wanted: tuple[str, int] | None = None
        self._conversation_id: str | None = None
        self._feed = Feed()
        self._ending = False
        self._is_lost = False
        self._pressing = 0  # orders that wait and want a daemon started
        self._thread = threading.Thread(target=self._run, name="reader", daemon=True)

    # ---- for other threads ---------------------------------------------------------

    def start(self, client: Client) -> None:
        """Begin with this connection, which is the thread's from now on."""
        self._client = client
        self._thread.start()

    def close(self) -> None:
        """End the thread and its connection; turns go on."""
        self._ending = True
        self._ring_bell()
        if self._thread.is_alive():
            self._thread.join(CLOSE_LIMIT_S)
            if self._thread.is_alive():
                return  # it is on its way to another machine: that ends with the process
        with self._lock:
            bell, ring, self._bell, self._ring = self._bell, self._ring, -1, -1
        for each in (bell, ring):
            if each >= 0:
                os.close(each)

    def follow(self, conversation_id: str, after_seq: int) -> None:
        """Hear everything of a conversation that comes after an event."""
        self._wanted = (conversation_id, after_seq)
        self._ring_bell()

    def call(
        self,
        method: str,
        params: Map | None = None,
        *,
        limit_s: float = ANSWER_LIMIT_S,
        starts: bool = True,
    ) -> Map:
        """As `Client.call`, from any thread but the reader's own.

        `starts`: a daemon is started for it, if there is none any more.

        Raises:
            RpcError: the daemon refused.
            ConnectionLost: it went away before it answered, or did not in time.
            Ended: the reader was closed, or cannot go on.
        """
        if not starts and self._is_lost:
            raise ConnectionLost()
        order = _Order(method, params or {}, limit_s, Future(), starts)
        self._give(order)
        try:
            return order.answer.result(timeout=limit_s + self._limit_s)
        except TimeoutError:
            raise Silent() from None

    def tell(self, method: str, params: Map) -> None:
        """As `call`, but nobody waits: it is said even if the reader is closed right after."""
        self._give(_Order(method, params, ANSWER_LIMIT_S, Future()))

    def _give(self, order: _Order) -> None:
        with self._lock:
            over = self._ending
            if not over:
                self._pressing += order.starts
                self._orders.put(order)
        if over:
            _settle(order, Ended())  # and no other: what was given before is still said
        else:
            self._ring_bell()

    def _ring_bell(self) -> None:
        with self._lock:
            if self._ring >= 0:
                with suppress(BlockingIOError):  # it rings already
                    os.write(self._ring, b"!")

    # ---- the thread ----------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._go()
        except Failed as error:
            self._post(Gone(error))
        finally:
            self._ending = True
            self._client.close()
            self._give_up_sent(Ended())
            self._give_up()

    def _go(self) -> None:
        while not self._ending:
            try:
                self._serve()
            except ConnectionLost as lost:
                self._give_up_sent(lost)
                self._post(Lost())
                self._reconnect(lost)

    def _post(self, report: Report) -> None:
        self.reports.put(report)
        self._wake()

    def _serve(self) -> None:
        """Do what one connection lets be done, until the end or the connection's."""
        while not self._ending:
            self._take_wish()
            self._take_orders()
            self._take_answers()
            limit_s = DEADLINES_S if self._waiting else None
            found = self._client.poll(limit_s, wake=self._bell, heed_answers=True)
            if found is None:
                with suppress(BlockingIOError):
                    os.read(self._bell, 4096)
                continue
            method, fields = found
            if fields.get("conversation_id") != self._conversation_id:
                continue
            try:
                self._pass_on(self._feed.take(method, fields))
            except Missed:
                self._subscribe()
        self._take_orders()  # what was asked for is still said, though nobody waits for it
        self._hear_out()

    def _hear_out(self) -> None:
        """Wait until what was said last has been answered, so that it was read, or for a moment.

        A daemon that is just writing when the connection closes may read nothing more of it.
        """
        until = time.monotonic() + FAREWELL_LIMIT_S
        self._take_answers()
        while any(order.starts for order, _ in self._waiting.values()):
            left = until - time.monotonic()
            if left <= 0:
                return
            self._client.poll(left, heed_answers=True)  # news is for nobody any more
            self._take_answers()

    def _take_wish(self) -> None:
        if self._wanted is not None:
            (self._conversation_id, seq), self._wanted = self._wanted, None
            self._feed = Feed(seq=seq)
            self._subscribe()

    def _take_orders(self) -> None:
        while self._held or not self._orders.empty():
            order = self._held.pop(0) if self._held else self._orders.get()
            with self._lock:
                self._pressing -= order.starts
            try:
                sent = self._client.send(order.method, order.params)
            except ConnectionLost as lost:
                order.answer.set_exception(lost)
                raise
            except Failed as error:
                order.answer.set_exception(error)
                continue
            self._waiting[sent] = (order, time.monotonic() + order.limit_s)

    def _take_answers(self) -> None:
        for sent, (order, deadline) in list(self._waiting.items()):
            try:
                found: Map | Failed | None = self._client.find_answer(sent)
            except RpcError as error:
                found = error
            if found is not None:
                del self._waiting[sent]
                _settle(order, found)
            elif time.monotonic() > deadline:
                if order.starts:
                    raise Silent()
                _settle(order, Silent())  # nobody needs it; the connection is as good as before

    def _give_up_sent(self, error: Failed) -> None:
        """What was sent may have been done or not: whoever asked decides whether to ask again."""
        for order, _ in self._waiting.values():
            _settle(order, error)
        self._waiting.clear()

    def _give_up(self) -> None:
        """Nobody takes orders any more; whoever gives one later finds that out at once."""
        with self._lock, suppress(queue.Empty, IndexError):
            while True:
                _settle(self._held.pop() if self._held else self._orders.get_nowait(), Ended())

    def _reconnect(self, lost: ConnectionLost) -> None:
        """Find a daemon again, or start one if somebody waits for it.

        Nobody does while nothing is asked: a daemon that was stopped stays so.
        """
        self._client.close()
        self._is_lost = True
        deadline, patience = math.inf, Patience(math.inf, RECONNECT_PAUSE_S)
        while not self._ending:
            pause_s = RECONNECT_PAUSE_S
            while not self._orders.empty():
                order = self._orders.get()
                if order.starts:
                    self._held.append(order)
                else:
                    _settle(order, lost)  # nobody needs it enough to wait
            starts = self.needed or self._pressing > 0
            if starts and deadline == math.inf:
                deadline = time.monotonic() + self._limit_s
            try:
                self._client = self._connect(starts)
                self._subscribe()
            except RpcError as error:
                if error.reason != "draining":
                    raise
            except NoDaemon as error:
                if isinstance(error, Unreachable):
                    pause_s = patience.find_pause(error)
                elif time.monotonic() > deadline:
                    raise lost from None
            else:
                self._is_lost = False
                self._post(Found())
                return
            time.sleep(pause_s)

    def _subscribe(self) -> None:
        """Read on from the last event that was seen, up to the present."""
        if self._conversation_id is None:
            return
        while True:
            page = self._client.call(
                "conversation/subscribe",
                {
                    "conversation_id": self._conversation_id,
                    "after_seq": self._feed.seq,
                    "limit": PAGE,
                    "interactive": self._interactive,
                },
            )
            self._pass_on(self._feed.take_page(page["data"], page["live"]))
            if page.get("next_after_seq") is None:
                return

    def _pass_on(self, news: list[News]) -> None:
        if news:
            self._post(Heard([self._complete(each) for each in news]))

    def _complete(self, news: News) -> News:
        """An answer too large for an event is read, so that it can be shown."""
        fields: Mapping[str, Any] = news.fields
        if news.method == "event" and fields.get("type") == "item_added":
            return News("event", read_answer(self._client, fields))
        return news


def _settle(order: _Order, found: Map | Failed) -> None:
    """Hand over what came, unless it came too late."""
    if order.answer.done():
        return
    if isinstance(found, Failed):
        order.answer.set_exception(found)
    else:
        order.answer.set_result(found)
