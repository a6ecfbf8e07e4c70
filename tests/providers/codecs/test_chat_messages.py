"""The `messages` of "openai-chat": pairs, roles, images, and what is repaired on the way."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.core.items import (
    Blob,
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
from askd.providers.codecs.chat_messages import BEGINNING, IMAGES_OF_TOOLS, encode_messages
from askd.providers.codecs.sent_calls import NINE_IDS
from tests.fakes.chat_answers import find_violation
from tests.fakes.codec_streams import PICTURE, assistant, histories, output, user

PICTURE_PART = {"type": "image_url", "image_url": {"url": "data:image/png;base64,UE5H"}}


def encode(*items: Item, system: str | None = None, **options: Any) -> list[dict[str, Any]]:
    """What the provider "work" is sent."""
    request = ModelRequest(model="m", items=items, images={"aa": b"PNG"}, **options)
    return encode_messages(request, provider="work", system=system)


def test_exchange_is_paired_as_the_dialect_demands() -> None:
    calls = (ToolCall("c1", "f", '{"x":1}'), ToolCall("c2", "g", ""))
    messages = encode(
        user("Go"), assistant("Looking.", *calls), output("c1", "one"), output("c2", "two")
    )
    assert messages[1:] == [
        {
            "role": "assistant",
            "content": "Looking.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"x":1}'}},
                {"id": "c2", "type": "function", "function": {"name": "g", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {"role": "tool", "tool_call_id": "c2", "content": "two"},
    ]
    assert find_violation({"messages": messages}) is None


def test_calls_alone_have_no_content() -> None:
    assert encode(user("Go"), assistant("", ToolCall("c1", "f", "{}")))[1]["content"] is None


def test_neighbours_of_one_role_are_merged() -> None:
    items: list[Item] = [
        user("One."),
        user("Two."),
        assistant("A."),
        assistant("B."),
        user("Three."),
    ]
    assert [(m["role"], m["content"]) for m in encode(*items, system="S")] == [
        ("system", "S"), ("user", "One.\n\nTwo."), ("assistant", "A.\n\nB."), ("user", "Three."),
    ]  # fmt: skip


def test_merging_never_parts_calls_from_their_outputs() -> None:
    asked = assistant("Looking.", ToolCall("c1", "f", "{}"))
    items: list[Item] = [
        user("Go"),
        assistant("Well."),
        asked,
        output("c1"),
        assistant("Done."),
        user("Ok"),
    ]
    messages = encode(*items)
    assert [m["role"] for m in messages] == ["user", "assistant", "tool", "assistant", "user"]
    assert messages[1]["content"] == "Well.\n\nLooking."
    assert find_violation({"messages": messages}) is None


def test_what_is_not_for_models_is_not_sent() -> None:
    items: list[Item] = [
        Notice("n", "/help"), Snapshot("s", "/w", "c0ffee"), Unknown({"type": "new"}),
        assistant("", thoughts=[Reasoning("Hmm.")]), user("Hi"),
    ]  # fmt: skip
    assert encode(*items) == [{"role": "user", "content": "Hi"}]


def test_summary_is_sent_as_the_users_words() -> None:
    assert encode(Summary("s", "Before."), user("Now.")) == [
        {"role": "user", "content": "Before.\n\nNow."}
    ]


def test_attachments_come_with_where_they_are_from() -> None:
    sent = encode(UserMessage("u", (Text("Why?"), Text("boom\n", "stdin"))))
    assert sent[0]["content"] == "<stdin>\nboom\n</stdin>\n\nWhy?"


# ---- the beginning --------------------------------------------------------------


def test_first_message_is_a_users() -> None:
    messages = encode(assistant("A."), user("Hi"), system="S")
    assert [(m["role"], m["content"]) for m in messages] == [
        ("system", "S"), ("user", BEGINNING), ("assistant", "A."), ("user", "Hi"),
    ]  # fmt: skip


def test_system_prompt_for_a_template_without_one() -> None:
    assert encode(user("Hi"), system="S", system_as_user=True) == [
        {"role": "user", "content": "S\n\nHi"}
    ]
    assert encode(assistant("A."), system="S", system_as_user=True)[0] == {
        "role": "user",
        "content": "S",
    }
    assert encode(system="S", system_as_user=True) == [{"role": "user", "content": "S"}]
    assert encode(user("Hi"), system_as_user=True) == [{"role": "user", "content": "Hi"}]


def test_system_prompt_goes_ahead_of_an_image_too() -> None:
    seen = UserMessage("u", (Text("What?"), PICTURE))
    assert encode(seen, system="S", system_as_user=True)[0]["content"] == [
        {"type": "text", "text": "S"}, PICTURE_PART, {"type": "text", "text": "What?"},
    ]  # fmt: skip


# ---- images ---------------------------------------------------------------------


def test_images_stand_before_the_words() -> None:
    assert encode(UserMessage("u", (Text("What?"), PICTURE)))[0]["content"] == [
        PICTURE_PART,
        {"type": "text", "text": "What?"},
    ]


def test_image_without_its_content_is_named() -> None:
    gone = Blob("bb", 3, "image/png", "gone.png")
    content = encode(UserMessage("u", (Text("What?"), gone)))[0]["content"]
    assert "image/png, 3 bytes, not shown" in content


def test_messages_with_and_without_images_merge() -> None:
    content = encode(user("One."), UserMessage("u", (PICTURE,)), user("Two."))[0]["content"]
    assert content == [
        {"type": "text", "text": "One."}, PICTURE_PART, {"type": "text", "text": "Two."},
    ]  # fmt: skip


def test_image_of_a_tool_follows_all_outputs() -> None:
    calls = (ToolCall("c1", "f", "{}"), ToolCall("c2", "f", "{}"))
    shot = ToolOutput("o", "c1", "f", (Text("Here."), PICTURE))
    messages = encode(user("Go"), assistant("", *calls), shot, output("c2"), user("And?"))
    assert find_violation({"messages": messages}) is None
    assert [m["role"] for m in messages] == ["user", "assistant", "tool", "tool", "user"]
    assert messages[2]["content"] == "Here."
    assert messages[4]["content"] == [
        {"type": "text", "text": IMAGES_OF_TOOLS}, PICTURE_PART, {"type": "text", "text": "And?"},
    ]  # fmt: skip


# ---- calls ----------------------------------------------------------------------


@pytest.mark.parametrize("call_id", ["c" * 65, "c#2", "with space", "ü"])
def test_ids_that_servers_refuse_are_changed_in_both_places(call_id: str) -> None:
    messages = encode(user("Go"), assistant("", ToolCall(call_id, "f", "{}")), output(call_id))
    assert find_violation({"messages": messages}) is None
    sent = messages[1]["tool_calls"][0]["id"]
    assert sent == messages[2]["tool_call_id"] != call_id
    assert len(sent) <= 64


def test_ids_for_mistral_have_nine_characters() -> None:
    request = ModelRequest(
        model="m",
        items=[user("Go"), assistant("", ToolCall("call_1", "f", "{}")), output("call_1")],
    )
    messages = encode_messages(request, provider="work", system=None, call_ids=NINE_IDS)
    assert NINE_IDS.fullmatch(messages[1]["tool_calls"][0]["id"])
    assert find_violation({"messages": messages}) is None


def test_name_and_arguments_of_a_broken_call_are_made_fit() -> None:
    broken = ToolCall("c1", "read file!", '{"path": "/e')
    function = encode(user("Go"), assistant("", broken))[1]["tool_calls"][0]["function"]
    assert function["name"] == "read_file_"
    assert json.loads(function["arguments"]) == {"unreadable_arguments": '{"path": "/e'}


# ---- reasoning ------------------------------------------------------------------

THOUGHT = Reasoning("Hmm.", {"type": "chat_reasoning", "field": "reasoning_content"})
CALL = ToolCall("c1", "f", "{}")


def test_reasoning_goes_back_while_the_prompt_is_being_answered() -> None:
    asked = assistant("", CALL, thoughts=[THOUGHT])
    assert encode(user("Go"), asked, output("c1"))[1]["reasoning_content"] == "Hmm."
    later = encode(user("Go"), asked, output("c1"), assistant("Done."), user("More"))
    assert "reasoning_content" not in later[1]


@pytest.mark.parametrize(
    ("provider", "model"), [("other", "m"), (None, "m"), ("work", "other-model")]
)
def test_reasoning_goes_nowhere_else(provider: str | None, model: str) -> None:
    asked = assistant("", CALL, thoughts=[THOUGHT], provider=provider, model=model)
    assert "reasoning_content" not in encode(user("Go"), asked, output("c1"))[1]


@pytest.mark.parametrize("model", [None, "m", "work/m"])
def test_model_may_be_named_with_its_provider_or_not_at_all(model: str | None) -> None:
    asked = assistant("", CALL, thoughts=[THOUGHT], model=model)
    assert encode(user("Go"), asked)[1]["reasoning_content"] == "Hmm."


def test_signature_goes_back_with_its_call() -> None:
    extra = {"google": {"thought_signature": "CpcB"}}
    signed = Reasoning("", {"type": "chat_reasoning", "calls": [[1, extra]]})
    asked = assistant("", CALL, ToolCall("c2", "f", "{}"), thoughts=[signed])
    calls = encode(user("Go"), asked, output("c1"), output("c2"), user("More"))[1]["tool_calls"]
    assert "extra_content" not in calls[0]
    assert calls[1]["extra_content"] == extra


# ---- all of it ------------------------------------------------------------------


@given(histories(raw=THOUGHT.raw), st.booleans(), st.sampled_from([None, "S"]))
def test_every_history_keeps_the_rules(
    items: list[Item], as_user: bool, system: str | None
) -> None:
    messages = encode(*items, system=system, system_as_user=as_user)
    json.dumps(messages)
    assert not messages or find_violation({"messages": messages}) is None
    roles = [m["role"] for m in messages if m["role"] != "system"]
    assert roles[:1] in ([], ["user"])
    for before, after in pairwise(messages):
        assert before["role"] != after["role"] or before["role"] == "tool"
