"""A conversation's events as the lines that Codex reads, and as our own between them."""

from typing import Any

from hypothesis import given

from askd.core.events import (
    Body,
    CompletionFinished,
    ConversationCreated,
    Event,
    ItemAdded,
    PromptAccepted,
    TurnFinished,
    TurnStarted,
    ViewChanged,
)
from askd.core.items import (
    AssistantMessage,
    Blob,
    Notice,
    Reasoning,
    Summary,
    Text,
    ToolCall,
    ToolOutput,
    UserMessage,
)
from askd.core.outcome import Usage
from askd.core.rollout import RolloutWriter, encode_event, split_model
from askd.core.rollout_items import Contents
from askd.core.rollout_lines import encode_line
from tests.core.values import logs


def write(*bodies: Body, contents: Contents | None = None) -> list[dict[str, Any]]:
    writer = RolloutWriter("c", provider="openai", version="9.9")
    records = []
    for seq, body in enumerate(bodies, start=1):
        records += writer.feed(Event("c", seq, float(seq), body), contents or {})
    return records


def told(*bodies: Body, contents: Contents | None = None) -> list[tuple[str, dict[str, Any]]]:
    """What is there for Codex, as (type, payload)."""
    ours = ("ask_event", "ask_blob")
    records = write(*bodies, contents=contents)
    return [(each["type"], each["payload"]) for each in records if each["type"] not in ours]


def prompt(turn_id: str, text: str = "go") -> PromptAccepted:
    return PromptAccepted(turn_id, "k", (UserMessage(f"{turn_id}.0", (Text(text),)),), cwd="/w")


def say(turn_id: str, text: str = "yes", *calls: ToolCall) -> ItemAdded:
    message = AssistantMessage(f"{turn_id}.1", (Text(text),), (Reasoning("hm"),), calls)
    return ItemAdded(turn_id, message, 1)


@given(logs())
def test_any_log_can_be_written_and_holds_each_event(log: list[Event]) -> None:
    writer = RolloutWriter("c", provider="openai", version="9.9")
    found = []
    for event in log:
        for record in writer.feed(event, {}):
            assert encode_line(record).count(b"\n") == 1
            if record["type"] == "ask_event":
                found.append(record["payload"])
            else:
                assert "ask" in record
            assert "ordinal" not in record
    assert found == [encode_event(event) for event in log]


def test_a_turn_is_written_as_codex_reads_it() -> None:
    call = ToolCall("call_1", "calc", '{"a": 2}')
    lines = told(
        ConversationCreated("c", "work"),
        prompt("t", "2+2?"),
        TurnStarted("t", 1, "openai/gpt-5"),
        say("t", "I look.", call),
        CompletionFinished("t", 1, "calls", Usage(5, 2, 1)),
        ItemAdded("t", ToolOutput("t.1.1", "call_1", "calc", (Text("4"),)), 1),
        TurnFinished("t", "completed", 0),
    )
    assert [kind if kind != "event_msg" else payload["type"] for kind, payload in lines] == [
        "session_meta",
        "turn_context",
        "user_message",
        "response_item",
        "agent_reasoning",
        "agent_message",
        "response_item",
        "response_item",
        "token_count",
        "response_item",
    ]
    meta = lines[0][1]
    assert (meta["id"], meta["source"], meta["originator"]) == ("c", "exec", "askd")
    assert meta["model_provider"] == "openai"
    assert "history_mode" not in meta
    assert (lines[1][1]["model"], lines[1][1]["cwd"]) == ("gpt-5", "/w")
    assert lines[2][1]["message"] == "2+2?"
    assert lines[3][1]["content"] == [{"type": "input_text", "text": "2+2?"}]
    called = lines[7][1]
    assert (called["type"], called["arguments"]) == ("function_call", '{"a": 2}')
    assert lines[8][1]["info"]["total_token_usage"]["total_tokens"] == 7
    assert lines[9][1] == {"type": "function_call_output", "call_id": "call_1", "output": "4"}


def test_totals_add_up() -> None:
    ends = [CompletionFinished("t", n, "end", Usage(n)) for n in (1, 2)]
    infos = [payload["info"] for _, payload in told(ConversationCreated("c"), *ends)[1:]]
    assert [each["total_token_usage"]["input_tokens"] for each in infos] == [1, 3]
    assert [each["last_token_usage"]["input_tokens"] for each in infos] == [1, 2]


def test_a_prompt_that_waits_is_written_when_its_turn_begins() -> None:
    lines = told(
        prompt("t", "first"),
        TurnStarted("t", 1, "a/b"),
        prompt("u", "second"),
        say("t"),
        TurnFinished("t", "completed", 0),
        TurnStarted("u", 1, None),
        TurnStarted("u", 2, None),
    )
    texts = [payload["message"] for _, payload in lines if "message" in payload]
    assert texts == ["first", "yes", "second"]
    models = [payload["model"] for kind, payload in lines if kind == "turn_context"]
    assert models == ["b", "unknown"]


def test_what_was_never_said_is_not_written() -> None:
    lines = told(
        prompt("t"),
        TurnFinished("t", "withdrawn", 1),
        ItemAdded("u", AssistantMessage("u.1", (Text("old"),)), 1, "superseded"),
        ItemAdded(None, Notice("n", "/help")),
    )
    assert lines == []


def test_an_interrupted_turn_says_so() -> None:
    lines = told(prompt("t"), TurnStarted("t", 1), TurnFinished("t", "interrupted", 1))
    assert lines[-1] == ("event_msg", {"type": "turn_aborted", "reason": "interrupted"})


def test_a_change_of_the_view_replaces_the_history() -> None:
    said: list[Body] = [
        prompt("t"),
        TurnStarted("t", 1),
        say("t"),
        TurnFinished("t", "completed", 0),
    ]
    clear = ViewChanged("v", "clear", "t", summary=Summary("s", "so far"))
    back = ViewChanged("w", "undo", restored="v")
    *_, cleared, restored = told(*said, clear, back)
    assert cleared[1]["message"] == "so far"
    (told_after,) = cleared[1]["replacement_history"]
    assert told_after["content"] == [{"type": "input_text", "text": "so far"}]
    assert [each["role"] for each in restored[1]["replacement_history"]] == ["user", "assistant"]


def test_a_message_that_joins_a_turn_is_a_users() -> None:
    lines = told(ItemAdded("t", UserMessage("t.x", (Text("also"),))))
    assert [payload.get("type") for _, payload in lines] == ["user_message", "message"]


def test_a_blob_is_written_once_and_before_the_event_that_names_it() -> None:
    body = ItemAdded("t", UserMessage("u", (Blob("d", 2, "text/plain"),)))
    records = write(body, body, contents={"d": b"hi"})
    assert [each["type"] for each in records] == [
        "ask_blob", "ask_event", "event_msg", "response_item",
        "ask_event", "event_msg", "response_item",
    ]  # fmt: skip
    assert records[2]["payload"]["message"] == "hi"


def test_a_model_is_a_provider_and_a_name() -> None:
    assert split_model("openai/gpt-5") == ("openai", "gpt-5")
    assert split_model("gpt-5") == ("unknown", "gpt-5")
    assert split_model(None) == ("unknown", "unknown")
