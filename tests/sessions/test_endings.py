"""Ends that nobody runs to: every open call is answered, and the end comes last."""

import trio

from askd.core.conversation import fold
from askd.core.events import (
    Body,
    ConversationCreated,
    Event,
    ItemAdded,
    PromptAccepted,
    TurnFinished,
    TurnStarted,
)
from askd.core.items import AssistantMessage, Text, ToolCall, ToolOutput, UserMessage
from askd.core.outcome import STORAGE, Usage
from askd.core.turn import Interrupted
from askd.errors import StorageFailed
from askd.sessions.endings import UNSAVED, Waiting, end_turn, end_turn_as, end_unsaved

CALLS = AssistantMessage("t.1", calls=(ToolCall("one", "f", "{}"), ToolCall("two", "g", "{}")))
BEGUN: list[Body] = [
    ConversationCreated("c"),
    PromptAccepted("t", "k", (UserMessage("t.0", (Text("hi"),)),)),
]
ENDED = TurnFinished("t", "failed", 1, reason="internal", message="A bug.")


def end(*bodies: Body) -> list[Body]:
    events = [Event("c", seq, 0.0, body) for seq, body in enumerate([*BEGUN, *bodies], 1)]
    return end_turn_as(fold("c", events).turns["t"], ENDED)


def test_a_turn_that_has_not_started_just_ends() -> None:
    assert end() == [ENDED]


def test_open_calls_are_answered_first() -> None:
    answered = ItemAdded("t", ToolOutput("t.1.1", "one", "f", (Text("1"),)), 1)
    *outputs, last = end(TurnStarted("t", 1), ItemAdded("t", CALLS, 1), answered)
    assert last == ENDED
    assert [
        (body.item.id, body.item.synthetic)
        for body in outputs
        if isinstance(body, ItemAdded) and isinstance(body.item, ToolOutput)
    ] == [("t.1.2", "interrupted")]


def test_an_interrupt_writes_its_own_end() -> None:
    record = fold("c", [Event("c", n, 0.0, body) for n, body in enumerate(BEGUN, 1)]).turns["t"]
    assert end_turn(record, Interrupted(1, "interrupted", "By me.")) == [
        TurnFinished("t", "interrupted", 1, reason="interrupted", message="By me.")
    ]


def test_an_end_that_is_not_stored_says_why() -> None:
    end = end_unsaved("t", Usage(1, 2), StorageFailed("The disk is full."))
    assert end == TurnFinished(
        "t",
        "interrupted",
        STORAGE,
        usage=Usage(1, 2),
        reason="storage_failed",
        message=f"{UNSAVED}The disk is full.",
    )


async def test_who_waits_is_released_and_forgotten() -> None:
    waiting = Waiting()
    assert not waiting
    with waiting.place("a") as one, waiting.place("a") as two, waiting.place("b") as other:
        assert waiting
        waiting.release("a")
        await one.wait()
        await two.wait()
        assert not other.is_set()
        waiting.release_all()
        assert other.is_set()
        waiting.release("nobody")
    assert not waiting
    with trio.move_on_after(0), waiting.place("a") as never:
        await never.wait()
    assert not waiting
