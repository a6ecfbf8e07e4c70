"""What was said, in the order of the turns, as the client reads it too."""

from typing import Any

from hypothesis import given

from ask.transcript import encode_message, read_content, read_messages
from askd.core.conversation import fold
from askd.core.events import Event, ItemAdded, PromptAccepted, PromptWithdrawn, TurnStarted
from askd.core.items import AssistantMessage, Blob, Notice, Text, ToolCall, ToolOutput, UserMessage
from askd.core.spoken import encode_spoken
from askd.server.fitting import fit_event
from tests.core.rollouts import spoken
from tests.core.values import logs


def prompt(turn_id: str, text: str) -> PromptAccepted:
    return PromptAccepted(turn_id, "k", (UserMessage(f"{turn_id}.0", (Text(text),)),))


def read(*bodies: Any, contents: dict[str, bytes] | None = None) -> list[dict[str, Any]]:
    events = [Event("c", seq, float(seq), body) for seq, body in enumerate(bodies, start=1)]
    return [encode_spoken(each) for each in spoken(events, contents)]


def test_a_queued_prompt_stands_behind_what_was_running() -> None:
    said = read(
        prompt("t", "one"), TurnStarted("t", 1), prompt("u", "two"), prompt("v", "three"),
        ItemAdded("t", AssistantMessage("t.1", (Text("1"),))), PromptWithdrawn("v"),
        ItemAdded(None, Notice("n", "/help")), TurnStarted("u", 1),
        ItemAdded("u", AssistantMessage("u.1", (Text("old"),)), 1, "superseded"),
        ItemAdded("u", AssistantMessage("u.2", (Text("2"),))), TurnStarted("u", 2),
    )  # fmt: skip
    assert [each["content"] for each in said] == ["one", "1", "/help", "two", "2"]


def test_calls_and_outputs_and_attachments() -> None:
    call = ToolCall("c1", "calc", "{}")
    said = read(
        ItemAdded("t", AssistantMessage("m", calls=(call,))),
        ItemAdded("t", ToolOutput("o", "c1", "calc", (Text("4"),))),
        ItemAdded("t", UserMessage("u", (Blob("d", 2, "text/plain"),))),
        contents={"d": b"hi"},
    )
    calls = [{"id": "c1", "name": "calc", "arguments": "{}"}]
    assert said == [
        {"role": "assistant", "content": "", "tool_calls": calls, "at": 1.0},
        {"role": "tool", "content": "4", "tool_call_id": "c1", "at": 2.0},
        {"role": "user", "content": "hi", "at": 3.0},
    ]


@given(logs())
def test_the_client_finds_the_same_messages(log: list[Event]) -> None:
    ours = [(each.role, each.at) for each in spoken(log)]
    theirs = read_messages([fit_event(event).value for event in log])
    assert ours == [(each.role, each.at) for each in theirs]
    assert all(encode_message(each, read_content(each, lambda part: "")) for each in theirs)
    assert fold("c", log).last_seq == len(log)
