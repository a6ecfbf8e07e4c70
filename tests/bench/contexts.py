"""What it costs to find what a model sees of a long log, whole or broken in every way.

Pure functions in this process, beside the least that any reader of such a log has
to do: to parse its events as JSON. Each kind of log is measured at one length and
at twice that; what takes more than twice as long does not scale.
"""

import gc
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from askd.core.context import build_context
from askd.core.conversation import fold
from askd.core.events import (
    Body,
    CompletionFinished,
    ConversationCreated,
    Event,
    ItemAdded,
    ItemPinned,
    PromptAccepted,
    TurnFinished,
    TurnStarted,
    ViewChanged,
)
from askd.core.items import AssistantMessage, Text, ToolCall, ToolOutput, UserMessage
from askd.core.pairs import heal
from askd.store.bodies import encode_text
from tests.bench.rows import Row

EVENTS = 10_000
LINEAR = 2.3
"""Of twice the events: twice the time, and a little for what the machine does meanwhile."""
TEXT = "Of all that was said, this is as long as a message of a few lines is. " * 6
ID = "00000000-0000-4000-8000-000000000000"
Make = Callable[[int], list[Body]]


def talk(count: int) -> list[Body]:
    """Questions and answers, five events a turn."""
    bodies: list[Body] = []
    for turn in range(count // 5):
        bodies += begin(f"t{turn}")
        bodies.append(ItemAdded(f"t{turn}", AssistantMessage(f"t{turn}.1", (Text(TEXT),)), 1))
        bodies += end(f"t{turn}")
    return bodies


def work(count: int) -> list[Body]:
    """One turn that calls a tool again and again."""
    bodies = begin("t")
    for step in range((count - 4) // 2):
        bodies += exchange("t", step, call_id=f"call-{step}")
    return bodies + end("t")


def same_ids(count: int) -> list[Body]:
    """As `work`, by a model that gives all its calls one id, and answers that come later."""
    added = work(count)
    bodies = [each for each in added if not is_output(each)]
    outputs = [each for each in added if is_output(each)]
    return [_rename(each, "call") for each in (*bodies[:-2], *outputs, *bodies[-2:])]


def broken(count: int) -> list[Body]:
    """As `work`, with answers that are missing, doubled, displaced, and those of nothing."""
    bodies: list[Body] = []
    held: list[Body] = []
    for place, body in enumerate(work(count)):
        if not is_output(body):
            bodies.append(body)
        elif place % 5 == 0:
            held.append(body)
        elif place % 5 == 1:
            bodies += [body, body]
        elif place % 5 == 2:
            bodies.append(_rename(body, f"nobody-{place}"))
    return bodies[:-2] + held + bodies[-2:]


def parallel(count: int) -> list[Body]:
    """One message with thousands of calls, every second of an id that was there before."""
    number = count - 5
    calls = tuple(ToolCall(f"call#{k // 2}", "read", "{}") for k in range(number))
    asking = ItemAdded("t", AssistantMessage("t.1", (), calls=calls), 1)
    outputs = [
        ItemAdded("t", ToolOutput(f"t.{k}.o", call.call_id, "read", (Text("x"),)), 1)
        for k, call in enumerate(calls)
    ]
    return [*begin("t"), asking, *outputs, *end("t")]


def pinned(count: int) -> list[Body]:
    """As `work`, every tenth message pinned, and all the rest cleared."""
    bodies = work(count * 9 // 10)
    messages = [each for each in bodies if isinstance(each, ItemAdded)][::10]
    pins = [ItemPinned(each.item.id) for each in messages]
    return [*bodies, *pins, ViewChanged("v", "clear", through_turn="t")]


def pruned(count: int) -> list[Body]:
    """As `work`, a few outputs of it at a time replaced by a line, until none is left."""
    bodies = work(count * 9 // 10)
    outputs = [each.item.id for each in bodies if isinstance(each, ItemAdded) and is_output(each)]
    changes = [
        ViewChanged(f"v{place}", "prune", stubbed_items=tuple(outputs[place : place + 5]))
        for place in range(0, len(outputs), 5)
    ]
    return [*bodies, *changes]


def cleared(count: int) -> list[Body]:
    """Turns that are cleared after each, every tenth clear taken back."""
    bodies: list[Body] = []
    for turn in range(count // 6):
        bodies += talk_once(f"t{turn}")
        change = ViewChanged(f"v{turn}", "clear", through_turn=f"t{turn}")
        if turn % 10 == 9:
            change = ViewChanged(f"v{turn}", "undo", restored=f"v{turn - 1}")
        bodies.append(change)
    return bodies


LOGS: dict[str, Make] = {
    "questions and answers": talk,
    "one turn of tool calls": work,
    "calls of one id, answered at the end": same_ids,
    "answers missing, doubled, displaced and of nothing": broken,
    "one message of all calls, ids doubled": parallel,
    "pinned messages of a cleared turn": pinned,
    "tool outputs that were pruned": pruned,
    "clears and their undos": cleared,
}


def talk_once(turn_id: str) -> list[Body]:
    """One turn of `talk`."""
    answer = ItemAdded(turn_id, AssistantMessage(f"{turn_id}.1", (Text(TEXT),)), 1)
    return [*begin(turn_id), answer, *end(turn_id)]


def begin(turn_id: str) -> list[Body]:
    """A prompt and its start."""
    prompt = UserMessage(f"{turn_id}.0", (Text(TEXT),))
    return [PromptAccepted(turn_id, turn_id, (prompt,)), TurnStarted(turn_id, 1)]


def exchange(turn_id: str, step: int, *, call_id: str) -> list[Body]:
    """A call and its output."""
    call = ToolCall(call_id, "read", '{"path": "notes.md"}')
    asking = AssistantMessage(f"{turn_id}.{step}", (Text(TEXT),), calls=(call,))
    output = ToolOutput(f"{turn_id}.{step}.o", call_id, "read", (Text(TEXT),))
    return [ItemAdded(turn_id, asking, step + 1), ItemAdded(turn_id, output, step + 1)]


def end(turn_id: str) -> list[Body]:
    """A turn's good end."""
    return [CompletionFinished(turn_id, 1, "end"), TurnFinished(turn_id, "completed", 0)]


def is_output(body: Body) -> bool:
    """Whether a body brings a tool's output."""
    return isinstance(body, ItemAdded) and isinstance(body.item, ToolOutput)


def _rename(body: Body, call_id: str) -> Body:
    if not isinstance(body, ItemAdded):
        return body
    match body.item:
        case ToolOutput() as output:
            return replace(body, item=replace(output, call_id=call_id))
        case AssistantMessage(calls=calls) as message:
            renamed = tuple(replace(call, call_id=call_id) for call in calls)
            return replace(body, item=replace(message, calls=renamed))
        case _:
            return body


def measure_contexts(rounds: int) -> Iterator[Row]:
    """For each kind of log its cost beside plain parsing, and how it grows."""
    for name, make in LOGS.items():
        one, two = make_events(make(EVENTS)), make_events(make(2 * EVENTS))
        texts = [encode_text(event.body) for event in one]
        samples = [
            [
                time_once(partial(see, one)),
                time_once(partial(see, two)),
                time_once(partial(parse, texts)),
            ]
            for _ in range(rounds)
        ]
        # The least of each: all that comes on top of it is the machine's.
        seen_s, twice_s, parsed_s = (min(column) for column in zip(*samples, strict=True))
        cost, growth = seen_s / parsed_s, twice_s / seen_s
        yield Row(
            f"what a model sees of {len(one):,} events, against their JSON parsed: {name}",
            f"{cost:.2f}×",
            "reported",
            None,
            ratio=cost,
        )
        name, limit = "the same of twice the events", f"≤ {LINEAR}×"
        yield Row(name, f"{growth:.2f}×", limit, growth <= LINEAR, ratio=growth)


def make_events(bodies: Sequence[Body]) -> list[Event]:
    """The log that holds these."""
    first = ConversationCreated(ID)
    return [Event(ID, seq, float(seq), body) for seq, body in enumerate([first, *bodies], start=1)]


def see(events: Sequence[Event]) -> None:
    """Fold the log, build the context, and heal it once more, as is done before a request."""
    context = build_context(fold(ID, events), None, system=None)
    healed, faults = heal(context.items)
    if faults or len(healed) != len(context.items):
        raise RuntimeError("a context that was healed is not whole")


def parse(texts: Sequence[str]) -> None:
    """What every reader of these events does at the least."""
    for text in texts:
        json.loads(text)


def time_once(what: Callable[[], None]) -> float:
    """Seconds of one call; a collection of garbage in its midst would look like growth."""
    gc.collect()
    gc.disable()
    try:
        started = time.perf_counter()
        what()
        return time.perf_counter() - started
    finally:
        gc.enable()
