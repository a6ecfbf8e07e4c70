"""The `input` of "openai-responses": items in the order that the API demands."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.core.items import (
    Item,
    Notice,
    Reasoning,
    Snapshot,
    Summary,
    Text,
    ToolCall,
    ToolOutput,
    Unknown,
    UserMessage,
)
from askd.providers.base import ModelRequest
from askd.providers.codecs.chat_messages import BEGINNING
from askd.providers.codecs.responses_items import encode_input, encode_reasoning
from tests.fakes.codec_streams import PICTURE, any_json, assistant, histories, output, user
from tests.fakes.vendor_openai import OpenAIResponses

PICTURE_PART = {
    "type": "input_image",
    "image_url": "data:image/png;base64,UE5H",
    "detail": "auto",
}
RAW = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "Hm."}],
    "encrypted_content": "gAAA",
    "status": "completed",
}
THOUGHT = Reasoning("Hm.", RAW)


def encode(*items: Item, opening: str | None = None) -> list[dict[str, Any]]:
    """What the provider "work" is sent."""
    request = ModelRequest(model="m", items=items, images={"aa": b"PNG"})
    return encode_input(request, provider="work", opening=opening)


def text(role: str, *texts: str) -> dict[str, Any]:
    """A message of text parts."""
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": each} for each in texts]
    return {"type": "message", "role": role, "content": content}


def test_reasoning_goes_before_the_text_and_the_calls_of_its_answer() -> None:
    call = ToolCall("call_1", "f", '{"x":1}')
    sent = encode(user("Go"), assistant("Looking.", call, thoughts=[THOUGHT]), output("call_1"))
    assert sent == [
        text("user", "Go"),
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "Hm."}],
            "encrypted_content": "gAAA",
        },
        text("assistant", "Looking."),
        {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": '{"x":1}'},
        {"type": "function_call_output", "call_id": "call_1", "output": "ok"},
    ]


@pytest.mark.parametrize(
    ("provider", "model"), [("other", "m"), (None, None), ("work", "another-model")]
)
def test_reasoning_goes_to_nobody_else(provider: str | None, model: str | None) -> None:
    sent = encode(user("Go"), assistant("A.", thoughts=[THOUGHT], provider=provider, model=model))
    assert [item["type"] for item in sent] == ["message", "message"]


def test_reasoning_that_led_to_nothing_is_not_sent() -> None:
    assert encode(user("Go"), assistant("", thoughts=[THOUGHT])) == [text("user", "Go")]


def test_reasoning_that_the_server_could_not_understand_is_not_sent() -> None:
    for raw in (None, {}, {"type": "thinking", "signature": "x"}, {**RAW, "encrypted_content": ""}):
        assert encode_reasoning(Reasoning("Hm.", raw)) is None


def test_open_models_get_their_own_words_back() -> None:
    content = [{"type": "reasoning_text", "text": "Hm."}]
    raw = {"type": "reasoning", "id": "rs_1", "content": content, "encrypted_content": ""}
    assert encode_reasoning(Reasoning("Hm.", raw)) == {
        "type": "reasoning", "id": "rs_1", "summary": [], "content": content,
    }  # fmt: skip


def test_id_that_is_too_long_is_left_out() -> None:
    item = encode_reasoning(Reasoning("Hm.", {**RAW, "id": "x" * 65}))
    assert item is not None
    assert "id" not in item


def test_neighbours_of_one_role_are_one_message() -> None:
    sent = encode(Summary("s", "Before."), user("One."), user("Two."), assistant("A."))
    assert sent == [text("user", "Before.", "One.", "Two."), text("assistant", "A.")]


def test_first_words_are_a_users() -> None:
    assert encode(assistant("A."), user("Hi"))[0] == text("user", BEGINNING)
    assert encode(user("Hi"), opening="S") == [text("user", "S", "Hi")]
    assert encode(assistant("A."), opening="S")[0] == text("user", "S")
    assert encode(opening="S") == [text("user", "S")]
    assert encode() == []


def test_what_is_not_for_models_is_not_sent() -> None:
    hidden: list[Item] = [Notice("n", "/help"), Snapshot("s", "/w", "c0"), Unknown({"type": "x"})]
    assert encode(*hidden, user("Hi")) == [text("user", "Hi")]


def test_images_of_people_and_of_tools() -> None:
    shot = ToolOutput("o", "c1", "f", (Text("Here."), PICTURE))
    asked = assistant("", ToolCall("c1", "f", "{}"))
    sent = encode(UserMessage("u", (Text("What?"), PICTURE)), asked, shot)
    assert sent[0]["content"] == [PICTURE_PART, {"type": "input_text", "text": "What?"}]
    assert sent[2]["output"] == [PICTURE_PART, {"type": "input_text", "text": "Here."}]
    alone = encode(UserMessage("u", (PICTURE,)))
    assert alone[0]["content"] == [PICTURE_PART]


@pytest.mark.parametrize("call_id", ["c" * 65, "c#2"])
def test_call_and_output_keep_one_id(call_id: str) -> None:
    sent = encode(user("Go"), assistant("", ToolCall(call_id, "", "{oops")), output(call_id))
    call, answer = sent[1], sent[2]
    assert call["call_id"] == answer["call_id"] != call_id
    assert len(call["call_id"]) <= 64
    assert call["name"] == "unknown"
    assert json.loads(call["arguments"]) == {"unreadable_arguments": "{oops"}


@given(st.dictionaries(st.sampled_from(["id", "summary", "content", "encrypted_content"]),
                       any_json(["text", "type"])))  # fmt: skip
def test_whatever_was_stored_does_no_harm(raw: dict[str, Any]) -> None:
    encode_reasoning(Reasoning("Hm.", {**raw, "type": "reasoning"}))


@given(histories(raw=RAW))
def test_every_history_keeps_the_vendors_rules(items: list[Item]) -> None:
    sent = encode(*items)
    json.dumps(sent)
    assert not sent or OpenAIResponses().find_violation({"input": sent}) is None
    assert not sent or sent[0]["role"] == "user"
    roles = [item.get("role") for item in sent]
    assert all(one is None or one != other for one, other in pairwise(roles))
