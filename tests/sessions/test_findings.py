"""Each fault of a log is said once per load, and a log that is whole says nothing."""

import logging

import pytest

from askd.core.events import (
    Body,
    ConversationCreated,
    ItemAdded,
    PromptAccepted,
    TurnFinished,
    TurnStarted,
)
from askd.core.items import (
    AssistantMessage,
    Item,
    Notice,
    Text,
    ToolCall,
    ToolOutput,
    UserMessage,
)
from askd.core.outcome import DONE
from askd.sessions.targets import Target as At
from askd.store.log import Write
from tests.fakes.log import FakeStore
from tests.fakes.sessions import open_room

ORPHAN = 'Orphan tool message detected and dropped: tool_call_id=call_x, content_preview="lost"'
UNANSWERED = "Tool call without output answered as interrupted: call_id=call_y, tool_name=g"
PAIR = "Preserved tool call pair: call_id=call_y, tool_name=g"
SANITIZED = "Sanitized message sequence: dropped 1 orphans, kept {} valid"

LOST = ToolOutput("t.0.1", "call_x", "f", (Text("lost"),))
ASKS = AssistantMessage("t.1", (Text("hm"),), calls=(ToolCall("call_y", "g", "{}"),))
ANSWER = ToolOutput("t.1.1", "call_y", "g", (Text("out"),))


async def store_with(*items: Item) -> FakeStore:
    """A conversation `c` of one finished turn with these items, whatever they are."""
    store = FakeStore()
    bodies: list[Body] = [
        ConversationCreated("c"),
        PromptAccepted("t", "k", (UserMessage("t.0", (Text("first"),)),)),
        TurnStarted("t", 1),
        *(ItemAdded("t", item, 1) for item in items),
        TurnFinished("t", "completed", DONE),
    ]
    await store.append(Write(conversation_id="c", bodies=bodies, create=True))
    return store


def said(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    """What the rooms of the daemon have logged since the last time: level, line."""
    lines = [(r.levelname, r.message) for r in caplog.records if r.name.startswith("askd")]
    caplog.clear()
    return lines


async def resume(store: FakeStore, *prompts: str) -> None:
    """Load the conversation and go on with it."""
    async with open_room(store=store) as room:
        for words in prompts:
            await room.finish(await room.ask(words, target=At("id", "c")))
        assert room.models.rejected == []


async def test_a_fault_is_a_warning_once_per_load(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    store = await store_with(LOST, ASKS)
    for _ in range(2):
        await resume(store, "second", "third")
        assert said(caplog) == [("WARNING", ORPHAN), ("WARNING", UNANSWERED)]


async def test_a_healthy_log_with_calls_that_is_resumed_twice_warns_of_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = await store_with(
        ASKS, ANSWER, AssistantMessage("t.2", (Text("so"),)), Notice("n", "/models")
    )
    for level in (logging.INFO, logging.DEBUG):
        caplog.set_level(level)
        for _ in range(2):
            await resume(store, "second", "third")
            lines = said(caplog)
            assert not any("rphan" in line or "dropp" in line for _, line in lines)
            assert {each for each, _ in lines} <= {"DEBUG"}


async def test_on_load_the_findings_are_for_those_who_look_closely(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, "askd")
    store = await store_with(ASKS, ANSWER, LOST)
    await resume(store)
    assert said(caplog) == []
    async with open_room(store=store) as room:
        await room.sessions.get("c")
        assert said(caplog) == [
            ("DEBUG", ORPHAN),
            ("DEBUG", SANITIZED.format(3)),
            ("DEBUG", PAIR),
        ]
        # It was not said yet to those who do not look.
        await room.finish(await room.ask("second", target=At("id", "c")))
        assert said(caplog) == [
            ("WARNING", ORPHAN),
            ("DEBUG", SANITIZED.format(4)),
            ("DEBUG", PAIR),
        ]
        await room.finish(await room.ask("third", target=At("id", "c")))
        assert said(caplog) == [("DEBUG", SANITIZED.format(6)), ("DEBUG", PAIR)]


async def test_nobody_pays_for_what_is_not_shown(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO, "askd")
    monkeypatch.setattr("askd.sessions.findings.build_context", None)
    await resume(await store_with(LOST), "second")
    assert said(caplog) == [("WARNING", ORPHAN)]
