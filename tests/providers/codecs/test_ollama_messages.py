"""What Ollama is sent of a conversation: messages that any model's template bears."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.core.items import (
    AssistantMessage,
    Blob,
    Item,
    Notice,
    Part,
    Reasoning,
    Snapshot,
    Summary,
    Text,
    ToolCall,
    ToolOutput,
    Unknown,
    UserMessage,
)
from askd.core.pairs import heal
from askd.providers.base import OPENING
from askd.providers.codecs.ollama_messages import encode_messages
from tests.core.values import ITEMS
from tests.fakes.vendor_ollama import Ollama

OPENED = {"role": "user", "content": OPENING}


def encode(
    *items: Item,
    system: str | None = None,
    system_as_user: bool = False,
    images: Mapping[str, bytes] | None = None,
) -> list[dict[str, Any]]:
    """The messages of these items."""
    return encode_messages(
        items, provider="work", images=images or {}, system=system, system_as_user=system_as_user
    )


def user(text: str, *parts: Part) -> UserMessage:
    """A user's message."""
    return UserMessage("u", (Text(text), *parts))


def assistant(
    text: str, *calls: ToolCall, thought: str = "", provider: str = "work"
) -> AssistantMessage:
    """An assistant's message."""
    thoughts = (Reasoning(thought),) if thought else ()
    parts = (Text(text),) if text else ()
    return AssistantMessage("a", parts, thoughts, calls, provider)


CALL = ToolCall("c", "f", '{"x": 1}')
OUTPUT = ToolOutput("o", "c", "f", (Text("ok"),))
ASKED = {
    "role": "assistant",
    "content": "",
    "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": {"x": 1}}}],
}
ANSWERED = {"role": "tool", "content": "ok", "tool_name": "f", "tool_call_id": "c"}


@given(st.lists(ITEMS, max_size=10), st.sampled_from([None, "Be brief."]), st.booleans())
def test_any_healed_conversation_is_one_that_templates_bear(
    items: list[Item], system: str | None, as_user: bool
) -> None:
    messages = encode(*heal(items)[0], system=system, system_as_user=as_user)
    assert Ollama().find_violation({"messages": messages}) is None
    if system and not as_user:
        assert messages.pop(0) == {"role": "system", "content": system}
    assert messages[0]["role"] == "user"
    waiting: list[str] = []
    for before, message in zip([{}, *messages], messages, strict=False):
        if message["role"] == "tool":
            waiting.remove(message["tool_call_id"])
            continue
        assert waiting == []
        assert message["role"] != before.get("role") or "tool_calls" in before
        waiting = [call["id"] for call in message.get("tool_calls", ())]
    assert waiting == []


def test_exchange_carries_the_arguments_as_an_object_and_the_name_twice() -> None:
    assert encode(user("Go"), assistant("", CALL), OUTPUT)[1:] == [ASKED, ANSWERED]


@pytest.mark.parametrize(
    ("arguments", "sent"), [("", {}), ("{", {"_raw": "{"}), ("[1]", {"_raw": "[1]"})]
)
def test_arguments_are_always_an_object(arguments: str, sent: Any) -> None:
    messages = encode(user("Go"), assistant("", ToolCall("c", "f", arguments)), OUTPUT)
    assert messages[1]["tool_calls"][0]["function"]["arguments"] == sent


def test_neighbours_of_one_role_are_one_message() -> None:
    messages = encode(
        user("One."), Summary("s", "Before."), assistant("A.", thought="a"),
        assistant("B.", CALL, thought="b"), OUTPUT,
    )  # fmt: skip
    assert messages == [
        {"role": "user", "content": "One.\n\nBefore."},
        {**ASKED, "content": "A.\n\nB.", "thinking": "ab"},
        ANSWERED,
    ]


def test_view_that_begins_with_an_answer_is_opened() -> None:
    assert encode(assistant("A.")) == [OPENED, {"role": "assistant", "content": "A."}]
    assert encode() == [OPENED]


def test_system_prompt_goes_first_or_into_the_users_words() -> None:
    spoken = user("Hi")
    assert encode(spoken, system="Be brief.")[0] == {"role": "system", "content": "Be brief."}
    assert encode(spoken, system="Be brief.", system_as_user=True) == [
        {"role": "user", "content": "Be brief.\n\nHi"}
    ]


def test_images_go_along() -> None:
    picture = Blob("aa", 3, "image/png", "cat.png")
    content = {"aa": b"PNG"}
    assert encode(user("What?", picture), user("And?", picture), images=content) == [
        {"role": "user", "content": "What?\n\nAnd?", "images": ["UE5H", "UE5H"]}
    ]
    shown = ToolOutput("o", "c", "f", (picture,))
    assert encode(user("Go"), assistant("", CALL), shown, images=content)[-1]["images"] == ["UE5H"]


def test_thinking_goes_back_while_the_model_is_at_work() -> None:
    at_work: list[Item] = [user("Go"), assistant("", CALL, thought="Hm."), OUTPUT]
    assert encode(*at_work)[1]["thinking"] == "Hm."
    done = encode(*at_work, assistant("Done.", thought="Fine."), user("Thanks"))
    assert not any("thinking" in message for message in done)


def test_thinking_of_another_provider_stays_here() -> None:
    messages = encode(user("Go"), assistant("", CALL, thought="Hm.", provider="other"), OUTPUT)
    assert "thinking" not in messages[1]


def test_what_is_not_for_models_is_left_out() -> None:
    hidden: list[Item] = [Notice("n", "/help"), Snapshot("s", "/w", "c"), Unknown({"id": "x"})]
    assert encode(*hidden, assistant(""), user("Hi")) == encode(user("Hi"))
