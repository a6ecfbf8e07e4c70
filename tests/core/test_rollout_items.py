"""Items as the Responses API has them, in both directions; leniently inwards."""

import base64
import hashlib
from typing import Any

import pytest
from hypothesis import given

from askd.core import rollout_items as theirs
from askd.core.items import (
    AssistantMessage,
    Blob,
    Copy,
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
from tests.core.values import ITEMS, JSON

PNG = b"\x89PNG\r\n\x1a\n and so on"
DIGEST = hashlib.sha256(PNG).hexdigest()
URL = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
IMAGE = Blob(DIGEST, len(PNG), "image/png")


@given(ITEMS)
def test_any_item_can_be_written(item: Item) -> None:
    for each in theirs.encode_item(item, {}):
        assert isinstance(each["type"], str)


@given(JSON)
def test_any_content_can_be_read(content: Any) -> None:
    theirs.read_parts(content, {})
    for name in ("function_call", "custom_tool_call", "local_shell_call", "message", "reasoning"):
        item = {"type": name, "arguments": content, "action": content, "summary": content}
        theirs.read_call(item)
        theirs.read_reasoning(item)
        theirs.read_chat_message({"role": "user", "content": content, "tool_calls": content})
    theirs.read_snapshot({"ghost_commit": content}, worktree="/w", at=1.0)


def test_an_answer_is_one_message_and_its_calls() -> None:
    sealed = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}
    message = AssistantMessage(
        "m",
        (Text("I look."),),
        (Reasoning("aloud"), Reasoning("sealed", sealed)),
        (ToolCall("call_1", "shell", '{"a": 1}'),),
    )
    reasoning, text, call = theirs.encode_item(message, {})
    assert reasoning == sealed
    assert text["content"] == [{"type": "output_text", "text": "I look."}]
    assert theirs.read_call(call) == message.calls[0]


def test_an_image_goes_out_and_comes_back() -> None:
    (message,) = theirs.encode_item(UserMessage("u", (Text("see"), IMAGE)), {DIGEST: PNG})
    assert message["content"] == [
        {"type": "input_text", "text": "see"},
        {"type": "input_image", "image_url": URL},
    ]
    blobs: dict[str, bytes] = {}
    assert theirs.read_parts(message["content"], blobs) == (Text("see"), IMAGE)
    assert blobs == {DIGEST: PNG}


def test_content_that_is_not_there_is_named() -> None:
    (message,) = theirs.encode_item(UserMessage("u", (IMAGE,)), {})
    assert message["content"][0]["text"] == f"[image/png, {len(PNG)} bytes, not shown]"
    text = Blob("d", 2, "text/plain")
    (message,) = theirs.encode_item(UserMessage("u", (text,)), {"d": b"hi"})
    assert message["content"] == [{"type": "input_text", "text": "hi"}]


@pytest.mark.parametrize(
    ("image", "part"),
    [
        ("https://example.com/a.png", Text("[image: https://example.com/a.png]")),
        ({"url": "https://example.com/a.png"}, Text("[image: https://example.com/a.png]")),
        ("data:image/png;base64,!!", Text("[image: data:image/png;base64,!!]")),
        ("data:image/png;base64,AAAA", Text("[an image of a kind that is not known]")),
    ],
)
def test_an_image_that_is_not_in_the_file_is_named(image: Any, part: Text) -> None:
    assert theirs.read_parts([{"type": "input_image", "image_url": image}], {}) == (part,)


def test_what_people_alone_see_is_not_told() -> None:
    assert theirs.encode_item(Notice("n", "/help"), {}) == []
    assert theirs.encode_item(Unknown({"type": "from_tomorrow"}), {}) == []
    (summary,) = theirs.encode_item(Summary("s", "so far"), {})
    assert summary["role"] == "user"


def test_a_foreign_item_is_kept_and_given_back() -> None:
    item = {"type": "web_search_call", "id": "ws_1", "action": {"query": "x"}}
    assert theirs.encode_item(theirs.keep_foreign(item), {}) == [item]


def test_outputs_are_text_unless_there_is_an_image() -> None:
    (plain,) = theirs.encode_item(ToolOutput("o", "c", "shell", (Text("4"),)), {})
    assert plain == {"type": "function_call_output", "call_id": "c", "output": "4"}
    (rich,) = theirs.encode_item(ToolOutput("o", "c", "see", (IMAGE,)), {DIGEST: PNG})
    assert rich["output"] == [{"type": "input_image", "image_url": URL}]


def test_a_snapshot_goes_out_and_comes_back() -> None:
    snapshot = Snapshot("", "/w", "abc", "parent", ("new.txt", "data/"), 1.0)
    (ghost,) = theirs.encode_item(snapshot, {})
    assert ghost["ghost_commit"]["preexisting_untracked_dirs"] == ["data"]
    assert theirs.encode_item(Snapshot("", "/w", "", copies=(Copy("a"),)), {}) == []
    assert theirs.read_snapshot(ghost, worktree="/w", at=1.0) == snapshot
    assert theirs.read_snapshot({"ghost_commit": {"id": 3}}, worktree="/w", at=1.0) is None


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({"type": "function_call", "name": "f", "arguments": {"a": 1}, "call_id": "c"}, '{"a": 1}'),
        ({"type": "function_call", "name": "f", "call_id": "c"}, "{}"),
        (
            {"type": "custom_tool_call", "name": "f", "input": "ls", "call_id": "c"},
            '{"input": "ls"}',
        ),
        ({"type": "local_shell_call", "action": {"command": []}, "id": "c"}, '{"command": []}'),
    ],
)
def test_calls_of_every_kind_have_json_arguments(item: dict[str, Any], expected: str) -> None:
    call = theirs.read_call(item)
    assert call is not None
    assert (call.call_id, call.arguments) == ("c", expected)


@pytest.mark.parametrize(
    ("item", "context"),
    [
        ({"role": "user", "content": "hello"}, False),
        ({"role": "developer", "content": "hello"}, True),
        ({"role": "user", "content": " <environment_context>\n"}, True),
        ({"role": "user", "content": "# AGENTS.md instructions for /x"}, True),
        ({"role": "user", "content": "<environment>"}, False),
    ],
)
def test_the_programs_own_words_are_told_from_the_users(
    item: dict[str, Any], context: bool
) -> None:
    assert theirs.is_context(item, theirs.read_parts(item["content"], {})) is context


def test_what_the_program_says_of_a_message_counts_more_than_its_words() -> None:
    words = "<environment_context> what is that?"
    parts = (Text(words),)
    for kinds, context in (["user.text"], False), (["environments.environment_context"], True):
        item = {
            "role": "user",
            "internal_chat_message_metadata_passthrough": {"content_item_kinds": kinds},
        }
        assert theirs.is_context(item, parts) is context


def test_a_chat_message_with_calls_is_a_message_and_calls() -> None:
    function = {"name": "f", "arguments": "{}"}
    message = {
        "role": "assistant",
        "content": "x",
        "tool_calls": [{"id": "c", "function": function}],
    }
    said, called = theirs.read_chat_message(message)
    assert (said["type"], called["call_id"], called["name"]) == ("message", "c", "f")
    (answer,) = theirs.read_chat_message({"role": "tool", "tool_call_id": "c", "content": "4"})
    assert (answer["type"], answer["output"]) == ("function_call_output", "4")
    assert theirs.read_chat_message({"role": "narrator", "content": "x"}) == []
