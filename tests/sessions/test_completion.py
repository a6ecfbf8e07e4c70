"""What a model is asked, whatever the log holds."""

import logging
from collections.abc import Iterator

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
    Blob,
    Item,
    Notice,
    Text,
    ToolCall,
    ToolOutput,
    UserMessage,
)
from askd.core.outcome import DONE
from askd.errors import NotFound, Refused
from askd.sessions.completion import resolve_blobs
from askd.sessions.targets import Target as At
from askd.store.log import Write
from tests.fakes.log import FakeStore
from tests.fakes.models import ScriptedModels, Step, texts_of
from tests.fakes.sessions import open_room, to


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


async def test_a_log_with_orphans_is_healed_for_the_model_and_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    store = await store_with(
        ToolOutput("t.0.1", "call_x", "f", (Text("lost"),)),
        AssistantMessage("t.1", (Text("hm"),), calls=(ToolCall("call_y", "g", "{}"),)),
    )
    async with open_room(store=store) as room:
        for words in ("second", "third"):
            accepted = await room.ask(words, target=At("id", "c"))
            assert (await room.finish(accepted)).code == DONE
        assert room.models.rejected == []
        first = room.models.requests[0].items
        assert [type(item).__name__ for item in first] == [
            "UserMessage",
            "AssistantMessage",
            "ToolOutput",
            "UserMessage",
        ]
        warnings = [record.message for record in caplog.records]
        assert warnings == [
            'Orphan tool message detected and dropped: tool_call_id=call_x, content_preview="lost"',
            "Tool call without output answered as interrupted: call_id=call_y, tool_name=g",
        ]
        # The log still holds what the model does not see.
        events = await store.load("c")
        assert any(
            isinstance(event.body, ItemAdded) and isinstance(event.body.item, ToolOutput)
            for event in events
        )


async def test_a_healthy_log_with_calls_warns_of_nothing(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    store = await store_with(
        AssistantMessage("t.1", calls=(ToolCall("call_y", "g", "{}"),)),
        ToolOutput("t.1.1", "call_y", "g", (Text("out"),)),
        AssistantMessage("t.2", (Text("so"),)),
        Notice("n", "/models"),
    )
    async with open_room(store=store) as room:
        await room.finish(await room.ask("second", target=At("id", "c")))
        assert texts_of(room.models.requests[0].items) == ["first", "", "out", "so", "second"]
    assert caplog.records == []


async def test_what_is_kept_and_what_is_healed_can_be_followed_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, "askd")
    store = await store_with(
        AssistantMessage("t.1", calls=(ToolCall("call_y", "g", "{}"),)),
        ToolOutput("t.1.1", "call_y", "g", (Text("out"),)),
        ToolOutput("t.1.2", "call_x", "f", (Text("lost"),)),
    )
    async with open_room(store=store) as room:
        await room.finish(await room.ask("second", target=At("id", "c")))
    debug = [each.message for each in caplog.records if each.levelno == logging.DEBUG]
    assert debug == [
        "Sanitized message sequence: dropped 1 orphans, kept 4 valid",
        "Preserved tool call pair: call_id=call_y, tool_name=g",
    ]


async def test_a_providers_refusal_is_an_error_in_the_log_and_the_prompt_can_be_sent_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    answers: Iterator[list[Step]] = iter(
        [[Refused("messages.3: tool_call_id is not known")], ["fine"]]
    )
    models = ScriptedModels(lambda request: next(answers))
    async with open_room(models=models) as room:
        first = await room.ask("hi")
        end = await room.finish(first)
        assert end.message == "messages.3: tool_call_id is not known"
        assert [r.message for r in caplog.records if r.levelno == logging.ERROR] == [
            "Request refused: messages.3: tool_call_id is not known"
        ]
        again = await room.ask("hi", target=to(first.session))
        assert (await room.finish(again)).code == DONE
        assert texts_of(models.requests[1].items) == ["hi"]


async def test_blobs_are_read_and_keep_their_names() -> None:
    blob = Blob("sha", 5, "text/plain", "notes.txt")

    async def read(sha256: str) -> bytes:
        if sha256 != "sha":
            raise NotFound("no such blob", reason="blob_not_found")
        return b"caf\xc3\xa9"

    spoken = UserMessage("u", (Text("see"), blob))
    heard = AssistantMessage("a", (Text("yes"),))
    assert await resolve_blobs([spoken, heard], read) == [
        UserMessage("u", (Text("see"), Text("café", "notes.txt"))),
        heard,
    ]
    with pytest.raises(NotFound):
        await resolve_blobs([UserMessage("u", (Blob("other", 1, "text/plain"),))], read)


async def test_what_is_no_text_is_refused_by_name() -> None:
    async def read(sha256: str) -> bytes:
        return b"\xff\xfe"

    with pytest.raises(Refused, match=r"photo\.png is no text \(image/png\)"):
        await resolve_blobs([UserMessage("u", (Blob("s", 2, "image/png", "photo.png"),))], read)
