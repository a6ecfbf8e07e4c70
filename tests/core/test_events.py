"""Bodies at rest: their tags, the golden shape of each, and the items they carry."""

import typing

import pytest

from askd.core.events import (
    Event,
    ItemAdded,
    PromptAccepted,
    TurnFinished,
    TurnOptions,
    TurnStarted,
    UnknownBody,
    decode_body,
    encode_body,
)
from askd.core.items import Blob, Item, Text, Unknown, UserMessage, join_text
from askd.core.outcome import Usage
from askd.core.records import BadRecord
from tests.core.values import BODY_TYPES

# What is in people's databases: a tag that is renamed here makes their events unknown.
TAGS = {
    "conversation_created", "renamed", "settings_changed", "instructions_changed",
    "prompt_accepted", "prompt_steered", "prompt_withdrawn", "turn_started", "item_added",
    "completion_finished",
    "question_asked", "question_answered",
    "view_changed", "item_pinned", "item_unpinned", "titled",
    "unreadable", "turn_finished",
}  # fmt: skip
ITEM_TAGS = {
    "user_message", "assistant_message", "tool_output", "summary", "snapshot", "notice", "unknown",
}  # fmt: skip


def test_tags_are_those_in_the_log() -> None:
    assert {body.TYPE for body in BODY_TYPES} == TAGS
    assert {item.TYPE for item in typing.get_args(Item)} == ITEM_TAGS


def test_a_prompt_at_rest() -> None:
    prompt = PromptAccepted(
        "t",
        "k",
        (UserMessage("t.0", (Text("what failed?"), Text("boom", name="stdin"))),),
        TurnOptions(model="p/m", detach=True),
        cwd="/home/me",
    )
    assert encode_body(prompt) == {
        "type": "prompt_accepted",
        "turn_id": "t",
        "key": "k",
        "items": [
            {
                "id": "t.0",
                "type": "user_message",
                "parts": [
                    {"type": "text", "text": "what failed?"},
                    {"type": "text", "text": "boom", "name": "stdin"},
                ],
            }
        ],
        "options": {"model": "p/m", "detach": True},
        "cwd": "/home/me",
    }


def test_an_end_at_rest() -> None:
    end = TurnFinished("t", "completed", 9, Usage(1, 2), "length")
    assert encode_body(end) == {
        "type": "turn_finished",
        "turn_id": "t",
        "outcome": "completed",
        "code": 9,
        "usage": {"input_tokens": 1, "output_tokens": 2},
        "reason": "length",
    }


def test_a_body_of_tomorrow_is_kept() -> None:
    raw = {"type": "item_translated", "item_id": "x"}
    body = decode_body(raw)
    assert body == UnknownBody(raw)
    assert encode_body(body) == raw
    assert Event("c", 1, 0.0, body).type == "item_translated"
    assert Event("c", 1, 0.0, UnknownBody({})).type == "unknown"
    assert Event("c", 1, 0.0, TurnStarted("t", 1)).type == "turn_started"


def test_an_item_of_tomorrow_does_not_spoil_its_event() -> None:
    raw = {"type": "dream", "id": "x"}
    body = decode_body({"type": "item_added", "turn_id": "t", "item": raw})
    assert body == ItemAdded("t", Unknown(raw))


@pytest.mark.parametrize(
    "data",
    [
        {"type": "turn_started", "turn_id": "t"},
        {"type": "turn_started", "turn_id": 1, "attempt": 1},
        {"type": "turn_finished", "turn_id": "t", "outcome": "won", "code": 0},
        {"type": "item_added", "turn_id": "t", "item": None},
        {"type": "item_added", "turn_id": "t", "item": {"type": "summary", "id": "x"}},
        None,
        [],
        "turn_started",
    ],
)
def test_a_known_body_of_the_wrong_shape_is_refused(data: typing.Any) -> None:
    with pytest.raises(BadRecord):
        decode_body(data)


def test_text_of_parts_leaves_blobs_out() -> None:
    assert join_text((Text("a"), Blob("0" * 64, 3, "text/plain"), Text("b"))) == "ab"
