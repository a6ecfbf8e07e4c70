"""One turn, from its acceptance to its end: shown as it comes, however the connection fares.

A lost connection is made again, the same key repeated, and only what is beyond
the own offset is shown. Ctrl-C stops the turn; a second one, SIGTERM or a closed
terminal leaves, and the turn goes on. It builds no prompt, and reads input only
through the `Person` who is asked something.
"""

import os
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from ask.asides import Asides
from ask.blobs import read_answer
from ask.connection import Client, ConnectionLost, RpcError
from ask.endings import End, end_unsaved, judge_end
from ask.exits import INTERRUPTED, TERMINATED, Failed
from ask.fast.caller import queued
from ask.fast.codec import Answer
from ask.fast.run import DETACHED, GRACE_S, STOP_AFTER_S, Carried
from ask.listener import NoDaemon, Unreachable
from ask.patience import Patience
from ask.person import Person
from ask.render import Screen
from ask.said import Said
from ask.signals import TimeIsUp, catch_signals, limit_time

RECONNECT_LIMIT_S = 30.0
"""A daemon that restarts is looked for this long."""
RECONNECT_PAUSE_S = 0.2
STOP_LIMIT_S = 5.0
"""A turn whose time is over is asked to stop, and its end is waited for this long."""
_NOT_ACCEPTED = "The time limit was reached before the daemon took the prompt."
_NOT_ENDED = "The time limit was reached, and the daemon has not ended the turn."


@dataclass(slots=True)
class Follower:
    """Follows one turn.

    Attributes:
        connect: makes a connection, starting a daemon if there is none.
        start: sends the prompt (again) on a connection: its `TurnStartResult`.
        durable: the turn outlives the daemon; one that is ephemeral does not.
        person: who sits at the terminal and can answer questions; None: nobody.
    """

    connect: Callable[[], Client]
    start: Callable[[Client], dict[str, Any]]
    screen: Screen
    carried: Carried
    as_json: bool = False
    silent: bool = False
    durable: bool = True
    person: Person | None = None
    _client: Client | None = None
    _said: Said = field(default_factory=Said)
    _signals: list[int] = field(default_factory=list)
    _asides: Asides = field(init=False)
    _sent: bool = False
    _looking: bool = False
    _late: float | None = None
    _left: End | None = None

    def __post_init__(self) -> None:
        self._asides = Asides(self.screen, as_json=self.as_json, silent=self.silent)

    def run(self) -> End:
        """Follow the turn to its end.

        Raises:
            Failed: the daemon refused the prompt, or cannot be reached any more.
            TimeIsUp: the daemon kept the prompt waiting beyond its time limit.
            StdoutClosed, StdoutFailed: the answer cannot be written; the turn goes on.
        """
        carried = self.carried
        if carried.progress is not None:
            self._take("progress" if "kind" in carried.progress else "compaction", carried.progress)
        try:
            with catch_signals(self._note_signal) as wake:
                begun = carried.answer is not None
                if not begun:
                    with limit_time(carried.deadline, _NOT_ACCEPTED):
                        self._begin()
                last = None if carried.deadline is None else carried.deadline + GRACE_S
                with limit_time(last, _NOT_ENDED):
                    if begun and not self._is_over():
                        self._resume()
                    self._let_go()
                    while not self._is_over() and self._left is None:
                        self._step(wake)
                self._asides.tell(self.answer, at_end=True)
        finally:
            self._let_go()
            self.screen.end_side()
            if self.person is not None:
                self.person.leave()
            self._close()
        return self._left or self._end()

    @property
    def answer(self) -> Answer:
        """What has come of the turn."""
        assert self.carried.answer is not None
        return self.carried.answer

    def _is_over(self) -> bool:
        return self.answer.ended is not None or self.carried.unsaved is not None

    # ---- the connection ------------------------------------------------------------

    def _begin(self) -> None:
        """Send the prompt; again if the connection is lost before the answer."""
        patience = Patience(RECONNECT_LIMIT_S, RECONNECT_PAUSE_S)
        while True:
            try:
                self._client = self.connect()
                self._sent = True
                accepted = self.start(self._client)
                break
            except (ConnectionLost, RpcError, Unreachable) as error:
                self._retry(error, patience)
        self.carried.answer = Answer(accepted)
        self.screen.say_verbosely(
            f"turn {accepted['turn_id']} of conversation {accepted['conversation_id']}"
        )
        if accepted.get("position"):
            self.screen.say(queued(accepted["position"]).rstrip())
        if self.carried.interrupted:
            self._stop()

    def _resume(self) -> None:
        """Connect again, repeat the key, and subscribe from where we are."""
        patience = Patience(RECONNECT_LIMIT_S, RECONNECT_PAUSE_S)
        self._sent = self._looking = True
        while True:
            self._close()
            try:
                self._client = self.connect()
                if self.durable:
                    self.start(self._client)
                self._subscribe(self._client)
                break
            except (ConnectionLost, RpcError, Unreachable) as error:
                self._retry(error, patience)
        self._looking = False
        if (self.carried.interrupted or self._late is not None) and not self._is_over():
            self._stop()

    def _close(self) -> None:
        if self._client is not None:
            self._client.close()

    def _let_go(self) -> None:
        """The short way's connection stood for its person until there was this one."""
        if self.carried.held is not None:
            os.close(self.carried.held)
            self.carried.held = None

    def _retry(self, error: Failed, patience: Patience) -> None:
        """Wait a moment if connecting again may help; raise what cannot be helped."""
        self._close()
        if isinstance(error, RpcError) and error.reason != "draining":
            if self.durable or error.reason != "conversation_not_found":
                raise error
            raise NoDaemon("The daemon ended, and the ephemeral conversation with it.") from None
        if isinstance(error, Unreachable) and not self._sent:
            raise error  # there has been no connection yet
        self.screen.say_verbosely("the connection was lost, connecting again")
        time.sleep(patience.find_pause(error))

    def _subscribe(self, client: Client) -> None:
        after = self.answer.seq
        while True:
            page = client.call(
                "conversation/subscribe",
                {
                    "conversation_id": self.answer.conversation_id,
                    "after_seq": max(after, 0),
                    "interactive": self.person is not None,
                },
            )
            for event in page["data"]:
                self._take("event", event)
            if page.get("next_after_seq") is None:
                break
            after = page["next_after_seq"]
        for item in page.get("live", ()):
            delta = {"conversation_id": self.answer.conversation_id, "offset": 0, **item}
            self._take("delta", delta)

    # ---- what comes ----------------------------------------------------------------

    def _step(self, wake: int) -> None:
        """Wait for one thing to happen, and act on it."""
        assert self._client is not None
        limits = [each for each in (self.screen.tick(), self._time_left()) if each is not None]
        person = self.person
        typed = None if person is None else person.show()
        try:
            found = self._client.poll(min(limits, default=None), wake=wake, typed=typed)
            if found is not None:
                self._take(*found)
            if person is not None:
                person.read(self._client)
        except ConnectionLost:
            self._resume()
        left = self._time_left()
        if left is not None and left <= 0 and not self._is_over():
            if self._late is not None:
                raise TimeIsUp(_NOT_ENDED)
            self._late = time.monotonic()
            self._stop()
        self._heed_signals(wake)

    def _take(self, method: str, params: Mapping[str, Any]) -> None:
        answer = self.answer
        if method == "event" and self.person is not None and params["seq"] > answer.seq:
            self.person.take(params)
        if method == "gap":
            assert self._client is not None
            self._subscribe(self._client)
            return
        if params.get("turn_id", answer.turn_id) != answer.turn_id:
            if method == "event":
                answer.read_event(params)  # another turn's: it only counts
            return
        if method == "delta":
            self._take_delta(params)
        elif method == "event":
            self._take_event(params)
        elif method == "turn_unsaved":
            self.carried.unsaved = dict(params)
            self._record({"type": "turn_unsaved", **params})
        elif method == "progress":
            self._record({"type": "progress", **params})
            self._asides.take_progress(params)
        elif method == "compaction":
            self._record({"type": "compaction", **params})
            self._asides.take_change(str(params.get("text", "")), answer)

    def _take_delta(self, delta: Mapping[str, Any]) -> None:
        answer = self.answer
        text = answer.read_delta(delta)
        if delta.get("kind") == "reasoning":
            text = self._take_thought(delta["item_id"], delta["offset"], delta["text"])
        elif not self.as_json and not self.silent:
            self.screen.show(text)
        if text and self.as_json:
            self._record({"type": "delta", **delta})

    def _take_thought(self, item_id: str, offset: int, text: str) -> str:
        """What is new of an item's reasoning, shown where that is shown."""
        if self.answer.waits is not None:
            return ""
        new = self._said.take_thought(item_id, offset, text)
        line_open = self.answer.line_open and not self.silent
        if not self.as_json and self.screen.show_reasoning(new, line_open=line_open):
            self.answer.line_open = False
        return new

    def _take_event(self, event: Mapping[str, Any]) -> None:
        if event["seq"] <= self.answer.seq:
            return
        if self._client is not None:
            event = read_answer(self._client, event)
        item = event.get("item") or {}
        says = item.get("type") == "assistant_message" and event.get("status") != "superseded"
        if says and item["id"] not in self.answer.shown:
            # What was thought before anybody listened; once it has spoken, that is of the past.
            thoughts = "".join(str(each.get("text", "")) for each in item.get("reasoning", ()))
            self._take_thought(str(item["id"]), 0, thoughts)
        text = self.answer.read_event(event)
        self._record(event)
        self._said.take_event(event)
        if not self.as_json and not self.silent:
            self.screen.show(text)
        self._asides.take_event(event, self.answer)

    def _record(self, record: Mapping[str, Any]) -> None:
        if self.as_json:
            self.screen.show_record(record)

    # ---- how it ends ---------------------------------------------------------------

    def _end(self) -> End:
        if self.carried.unsaved is not None:
            return end_unsaved(self.carried.unsaved, self._said.answer)
        return judge_end(
            self.answer.ended or {},
            self._said.answer,
            interrupted=self.carried.interrupted,
            late=self._late is not None,
        )

    def _time_left(self) -> float | None:
        """Until we act: a turn that runs is first left to the daemon, which keeps its limit."""
        deadline = self.carried.deadline
        if deadline is None:
            return None
        if self._late is not None:
            return self._late + STOP_LIMIT_S - time.monotonic()
        return deadline + (STOP_AFTER_S if self.answer.started else 0.0) - time.monotonic()

    def _stop(self) -> None:
        """Interrupt the turn; one that is still queued is withdrawn by that."""
        assert self._client is not None
        answer = self.answer
        reference = {"conversation_id": answer.conversation_id, "turn_id": answer.turn_id}
        with suppress(ConnectionLost, RpcError):  # the next read finds out, and it is sent again
            self._client.send("turn/interrupt", reference)

    def _note_signal(self, number: int, frame: FrameType | None) -> None:
        carried = self.carried
        if carried.answer is not None and not self._looking:
            self._signals.append(number)
        elif number == signal.SIGINT and self._sent and not carried.interrupted:
            carried.interrupted = True  # it is stopped as soon as it is accepted
        elif number == signal.SIGINT:
            raise Failed(INTERRUPTED, "Interrupted.")
        else:
            raise Failed(TERMINATED, "Terminated.")

    def _heed_signals(self, wake: int) -> None:
        try:
            os.read(wake, 64)
        except BlockingIOError:
            return
        while self._signals:
            number = self._signals.pop(0)
            if number != signal.SIGINT:
                self._left = End(TERMINATED, left=True)
            elif self.carried.interrupted:
                self.screen.break_line()
                self.screen.say(DETACHED.rstrip())
                self._left = End(INTERRUPTED, left=True)
            else:
                self.carried.interrupted = True
                self._stop()
