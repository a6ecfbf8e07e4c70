"""What must hold of every conversation, whoever left in the middle of whatever."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import msgpack
import trio

from askd.core.conversation import fold
from askd.core.events import Event, ItemAdded, PromptAccepted, QuestionAnswered, TurnFinished
from askd.core.items import AssistantMessage, ToolOutput
from askd.sessions.live import LiveSession


class Watcher:
    """Sees what is published of a conversation: the `seq` and type of each event."""

    def __init__(self, session: LiveSession) -> None:
        self.session = session
        self.after_seq = session.conversation.last_seq
        self.seen: list[tuple[int, str]] = []
        self.has_gap = False
        session.subscribe(self)

    def offer(self, frame: bytes, *, droppable: bool) -> None:
        reader = msgpack.Unpacker()
        reader.feed(frame)
        for kind, method, (params,) in reader:
            assert kind == 2
            if method == "event":
                self.seen.append((params["seq"], params["type"]))

    def break_off(self) -> None:
        self.has_gap = True

    def leave(self) -> None:
        """Look no more."""
        self.session.unsubscribe(self)

    def judge(self, stored: Sequence[Event]) -> Iterator[str]:
        """What was published and is not stored, or the other way round."""
        kept = [(each.seq, each.body.TYPE) for each in stored if each.seq > self.after_seq]
        if self.seen != kept:
            yield f"{self.seen} was published and {kept} is stored"


def judge_log(stored: Sequence[Event], session: LiveSession | None) -> Iterator[str]:
    """What is wrong in the log of a conversation whose turns are over, and in its live state."""
    if [each.seq for each in stored] != list(range(1, len(stored) + 1)):
        yield f"the log is {[each.seq for each in stored]}"
    bodies = [each.body for each in stored]
    accepted = [each.turn_id for each in bodies if isinstance(each, PromptAccepted)]
    ended = Counter(each.turn_id for each in bodies if isinstance(each, TurnFinished))
    keys = Counter(each.key for each in bodies if isinstance(each, PromptAccepted))
    yield from (f"the prompt {key} was accepted {n} times" for key, n in keys.items() if n > 1)
    for turn_id in accepted:
        if ended[turn_id] != 1:
            yield f"the turn {turn_id} has {ended[turn_id]} ends"
    answers = Counter(each.question_id for each in bodies if isinstance(each, QuestionAnswered))
    yield from (f"a question has {n} answers" for n in answers.values() if n > 1)
    yield from _judge_calls(bodies)
    if not stored:
        return
    folded = fold(stored[0].conversation_id, stored)
    if session is not None and session.conversation.last_seq != folded.last_seq:
        yield f"in memory it ends with {session.conversation.last_seq}, not {folded.last_seq}"
    if session is not None and session.is_stale:
        yield "the session has missed events"


def _judge_calls(bodies: Sequence[Any]) -> Iterator[str]:
    calls: Counter[tuple[str, str]] = Counter()
    outputs: Counter[tuple[str, str]] = Counter()
    for body in bodies:
        if isinstance(body, ItemAdded) and body.turn_id and body.status != "superseded":
            if isinstance(body.item, AssistantMessage):
                calls.update((body.turn_id, each.call_id) for each in body.item.calls)
            elif isinstance(body.item, ToolOutput):
                outputs[body.turn_id, body.item.call_id] += 1
    if calls != outputs:
        yield f"calls {dict(calls)} have outputs {dict(outputs)}"


def count_tasks() -> int:
    """All of this run."""
    return trio.lowlevel.current_statistics().tasks_living


def find_descriptors() -> dict[str, str]:
    """All of this process, and what they are open on."""
    found = {}
    for number in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # that of the listing itself
            found[number] = os.readlink(f"/proc/self/fd/{number}")
    return found
