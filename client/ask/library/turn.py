"""One turn, from its acceptance to its end, as a program sees it.

A connection that is lost is made again, the same key repeated, and what comes is
passed on once. It shows nothing and takes over no signal.
"""

import json
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Any

from ask.connection import ANSWER_LIMIT_S, Client, ConnectionLost, RpcError
from ask.endings import End, end_unsaved, judge_end
from ask.exits import DONE, FAILED, STORAGE, TIME_LIMIT, Failed
from ask.fast.run import STOP_AFTER_S
from ask.library.errors import NotFound, make_error, translated
from ask.library.events import (
    Event,
    Finished,
    Outcome,
    Question,
    Started,
    TextDelta,
    Usage,
    encode_answer,
)
from ask.library.link import Link
from ask.library.prompts import Draft
from ask.library.stream import Stream
from ask.said import Said
from ask.schemas import strip_fence

STOP_LIMIT_S = 5.0
"""A turn whose time is over is asked to stop, and its end is waited for this long."""
_NOT_ENDED = "The time limit was reached, and the daemon has not ended the turn."


class Turn:
    """A turn: iterate over it for its events, the last of which is `Finished`.

    It is accepted and stored by the time you have it, and goes on whether you read it
    or not. If the daemon goes away, reading waits for the next one and goes on where it
    was; after 30 seconds without any it raises `ConnectionLost`, and reading again tries
    again. Leaving the `with` block of the turn, or of its client, by Ctrl-C interrupts
    it; leaving in any other way does not.

    Attributes:
        id: the turn's.
        conversation_id: where it is.
        key: the same key with the same prompt is this turn again; None: it is not known.
        seq: the event of its prompt.
        position: how many turns were before it.
        created: the conversation is new.
        warning: what is not as it was asked for; None: nothing.
        finished: its end, once that was read.
    """

    def __init__(
        self,
        link: Link,
        accepted: dict[str, Any],
        *,
        draft: Draft | None = None,
        connection: Client | None = None,
    ) -> None:
        self.id: str = accepted["turn_id"]
        self.conversation_id: str = accepted["conversation_id"]
        self.seq: int = accepted["seq"]
        self.position: int = accepted.get("position", 0)
        self.created: bool = accepted.get("created", False)
        self.warning: str | None = accepted.get("warning")
        self.key = None if draft is None else draft.key
        self.finished: Finished | None = None
        self._link = link
        self._draft = draft
        self._said = Said()
        self._started = False
        self._interrupted = False
        self._late_at: float | None = None
        self._stream = Stream(
            link,
            self.conversation_id,
            seq=self.seq - 1,
            interactive=draft is not None and draft.is_interactive,
            connection=connection,
        )

    # ---- what is known of it --------------------------------------------------------

    @property
    def text(self) -> str:
        """The answer, as far as it was read: to the last tool, or to a person who steered since."""
        return self._said.answer

    @property
    def outcome(self) -> Outcome | None:
        """How it ended; None: its end was not read yet."""
        return None if self.finished is None else self.finished.outcome

    @property
    def usage(self) -> Usage | None:
        """What it took; None: its end was not read yet, or nobody counted."""
        return None if self.finished is None else self.finished.usage

    # ---- reading it -----------------------------------------------------------------

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        if self.finished is not None:
            raise StopIteration
        self._link.check()
        with translated(self.conversation_id, self.id, self.text):
            event = self._read()
        if isinstance(event, Question):
            self._decide(event)
        return event

    def wait(self) -> Finished:
        """Read it to its end, however it ends."""
        for _ in self:
            pass
        assert self.finished is not None
        return self.finished

    def result(self) -> str:
        """Read it to its end: the answer.

        Raises:
            Error: it did not end well, or the answer was cut; `text` is what there is of it.
        """
        end = self.wait()
        if end.code != DONE:
            message = end.message or f"The turn was {end.outcome}."
            data = {"reason": end.reason or str(end.outcome)}
            raise make_error(end.code, message, data=data, **self._where())
        return self.text

    def json(self) -> Any:
        """Read it to its end: the answer as the value that its JSON stands for.

        Raises:
            Error: as `result`; or the answer is no JSON, which it cannot be with a `schema`.
        """
        text = self.result()
        try:
            return json.loads(strip_fence(text))
        except ValueError:
            data = {"reason": "schema_mismatch"}
            message = "The answer is no JSON."
            raise make_error(FAILED, message, data=data, **self._where()) from None

    def interrupt(self) -> None:
        """Stop it; one that is still queued is taken back. Go on reading: its end will come."""
        self._link.check()
        if self.finished is None:
            self._interrupted = True
            self._stop()

    def close(self) -> None:
        """Read no more of it for now; it goes on."""
        self._stream.close()

    def __enter__(self) -> "Turn":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # A job is its own master.
        ours = self._draft is not None and self.finished is None
        if ours and isinstance(error, KeyboardInterrupt):
            self._link.interrupt(self._reference)
        self.close()

    # ---- how that is done -----------------------------------------------------------

    def _read(self) -> Event:
        while True:
            left = self._time_left()
            if left is not None and left <= 0:
                self._be_late()
                continue
            try:
                event = self._stream.wait(left, renew=self._renew)
            except RpcError as error:
                if error.reason != "conversation_not_found" or not self._is_ephemeral:
                    raise
                message = "The daemon ended, and the ephemeral conversation with it."
                raise ConnectionLost(message) from None
            if event is None or event.turn_id not in (None, self.id):
                continue
            return self._note(event)

    def _note(self, event: Event) -> Event:
        if event.seq is not None:
            self._said.take_event(event.raw)
        match event:
            case Started():
                self._started = True
            case TextDelta():
                self._said.take_piece(event.item_id, event.text)
            case Finished():
                event = self.finished = self._judge(event)
                self.close()
            case _:
                pass
        return event

    def _judge(self, event: Finished) -> Finished:
        """The end as the one who asked sees it: who stopped it says which code it has."""
        if event.seq is None and event.code == STORAGE:
            end: End = end_unsaved(event.raw, self.text)
        else:
            late = self._late_at is not None
            end = judge_end(event.raw, self.text, interrupted=self._interrupted, late=late)
        return replace(event, code=end.code, message=end.message)

    def _decide(self, question: Question) -> None:
        decide = None if self._draft is None else self._draft.on_question
        decision = None if decide is None else decide(question)
        if decision is not None:
            with suppress(NotFound):  # somebody else was faster
                self._link.call("question/answer", encode_answer(question, decision))

    def _renew(self, connection: Client) -> None:
        """On a new connection the same key brings the caller's secrets again."""
        if self._draft is not None and not self._is_ephemeral:
            self._draft.send(connection, limit_s=ANSWER_LIMIT_S)
        if self._interrupted or self._late_at is not None:
            connection.send("turn/interrupt", self._reference)

    def _time_left(self) -> float | None:
        """Until we act: a turn that runs is first left to the daemon, which keeps its limit."""
        if self._draft is None or self._draft.deadline is None:
            return None
        if self._late_at is not None:
            return self._late_at + STOP_LIMIT_S - time.monotonic()
        spare = STOP_AFTER_S if self._started else 0.0
        return self._draft.deadline + spare - time.monotonic()

    def _be_late(self) -> None:
        if self._late_at is not None:
            raise Failed(TIME_LIMIT, _NOT_ENDED, data={"reason": "time_limit"})
        self._late_at = time.monotonic()
        self._stop()

    def _stop(self) -> None:
        self._stream.send("turn/interrupt", self._reference)

    @property
    def _is_ephemeral(self) -> bool:
        return self._draft is not None and bool(self._draft.params.get("ephemeral"))

    @property
    def _reference(self) -> dict[str, str]:
        return {"conversation_id": self.conversation_id, "turn_id": self.id}

    def _where(self) -> dict[str, str]:
        return {**self._reference, "text": self.text}
