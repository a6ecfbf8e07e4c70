"""Events become the messages that a person would say there were."""

from typing import Any

from ask.transcript import (
    Call,
    Change,
    Message,
    Unreadable,
    describe_blob,
    encode_message,
    read_content,
    read_entries,
    read_item,
    read_messages,
)
from askd.core.conversation import count_messages
from askd.core.events import decode_body

Map = dict[str, Any]
ENVELOPE = ("seq", "at", "version")


def number(*events: Map) -> list[Map]:
    """The events with seq and time, as the daemon sends them."""
    return [{"seq": n, "at": 100.0 + n, "version": 1, **e} for n, e in enumerate(events, 1)]


def prompt(turn_id: str, text: str) -> Map:
    item = {
        "type": "user_message",
        "id": f"{turn_id}.0",
        "parts": [{"type": "text", "text": text}],
    }
    return {"type": "prompt_accepted", "turn_id": turn_id, "key": turn_id, "items": [item]}


def started(turn_id: str, attempt: int = 1) -> Map:
    return {"type": "turn_started", "turn_id": turn_id, "attempt": attempt}


def answer(turn_id: str, text: str, **fields: Any) -> Map:
    item = {
        "type": "assistant_message",
        "id": f"{turn_id}.1",
        "parts": [{"type": "text", "text": text}],
    }
    return {"type": "item_added", "turn_id": turn_id, "completion": 1, "item": item, **fields}


def notice(text: str) -> Map:
    item = {"type": "notice", "id": text, "text": text}
    return {"type": "item_added", "turn_id": None, "item": item}


def said(*events: Map) -> list[str]:
    return [
        f"{each.role}: {read_content(each, describe_blob)}"
        for each in read_messages(number(*events))
    ]


def test_a_turn_is_a_question_and_its_answer() -> None:
    assert said(prompt("a", "why?"), started("a"), answer("a", "because")) == [
        "user: why?",
        "assistant: because",
    ]


def test_a_queued_prompt_stands_behind_the_answer_that_runs() -> None:
    events = [prompt("a", "1"), started("a"), prompt("b", "2"), answer("a", "one")]
    assert said(*events) == ["user: 1", "assistant: one", "user: 2"]
    assert said(*events, notice("n"), started("b"), answer("b", "two")) == [
        "user: 1",
        "assistant: one",
        "system: n",
        "user: 2",
        "assistant: two",
    ]


def test_a_withdrawn_prompt_was_never_said() -> None:
    withdrawn = {"type": "prompt_withdrawn", "turn_id": "b"}
    assert said(prompt("a", "1"), prompt("b", "2"), withdrawn) == ["user: 1"]


def test_messages_are_counted_as_the_daemon_counts_them() -> None:
    events = number(
        {"type": "conversation_created", "id": "c"},
        prompt("a", "1"),
        started("a"),
        answer("a", "x", status="superseded"),
        answer("a", "x", status="interrupted"),
        notice("n"),
        {
            "type": "item_added",
            "turn_id": None,
            "item": {"type": "summary", "id": "s", "text": "s"},
        },
        prompt("b", "2"),
        {"type": "prompt_withdrawn", "turn_id": "b"},
    )
    bodies = [decode_body({k: v for k, v in e.items() if k not in ENVELOPE}) for e in events]
    assert len(read_messages(events)) == sum(count_messages(body) for body in bodies) == 3


def test_a_superseded_text_is_replaced() -> None:
    assert said(
        prompt("a", "1"),
        started("a"),
        answer("a", "on", status="superseded"),
        started("a", attempt=2),
        answer("a", "one"),
    ) == ["user: 1", "assistant: one"]


def test_an_item_of_a_turn_that_was_never_accepted_is_shown() -> None:
    assert said(answer("lost", "still here")) == ["assistant: still here"]


def test_what_is_unknown_is_passed_over() -> None:
    unknown = {"type": "item_added", "turn_id": "a", "item": {"type": "hologram", "id": "h"}}
    assert said({"type": "tomorrow"}, prompt("a", "1"), unknown) == ["user: 1"]


def test_content_that_could_not_be_sent_is_said_to_be_missing() -> None:
    left_out = {"turn_id": "a", "left_out": "The content is not shown."}
    assert said({"type": "prompt_accepted", **left_out}, {"type": "item_added", **left_out}) == [
        "system: The content is not shown.",
        "system: The content is not shown.",
    ]


def test_calls_outputs_and_interruptions_are_kept() -> None:
    item = {
        "type": "assistant_message",
        "id": "a.1",
        "calls": [{"call_id": "c1", "name": "add", "arguments": "{}"}],
    }
    event = {"type": "item_added", "at": 5.0, "turn_id": "a", "status": "interrupted"}
    message = read_item(item, event)
    assert message is not None
    assert message.calls == (Call("c1", "add", "{}"),)
    assert message.interrupted
    assert encode_message(message, "") == {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "c1", "name": "add", "arguments": "{}"}],
        "at": 5.0,
    }
    output = read_item(
        {"type": "tool_output", "id": "a.1.0", "call_id": "c1", "name": "add", "parts": []}, event
    )
    assert output is not None
    assert encode_message(output, "4") == {
        "role": "tool",
        "content": "4",
        "tool_call_id": "c1",
        "at": 5.0,
    }


def test_parts_are_set_apart_and_blobs_are_named() -> None:
    item = {
        "type": "user_message",
        "id": "u",
        "parts": [
            {"type": "text", "text": "what failed?"},
            {"type": "text", "text": "line\n", "name": "stdin"},
            {"type": "blob", "sha256": "ab", "bytes": 300_000, "media_type": "text/plain"},
        ],
    }
    message = read_item(item, {"at": 1})
    assert message is not None
    assert read_content(message, describe_blob) == (
        "what failed?\n\nline\n\n[file text/plain, 300000 bytes]"
    )
    assert describe_blob({"name": "a.txt", "bytes": 3, "media_type": "text/plain"}) == (
        "[file a.txt, text/plain, 3 bytes]"
    )
    assert describe_blob({"bytes": 3, "media_type": "image/png"}) == "[image image/png, 3 bytes]"


def test_pinned_messages_say_so() -> None:
    def pin(kind: str, item_id: str | None) -> Map:
        return {"type": kind, **({} if item_id is None else {"item_id": item_id})}

    events = number(
        prompt("t", "hi"),
        answer("t", "hello"),
        pin("item_pinned", "t.1"),
        pin("item_pinned", "t.0"),
        pin("item_unpinned", "t.0"),
        pin("item_pinned", None),  # the conversation itself
    )
    asked, answered = read_messages(events)
    assert (asked.pinned, answered.pinned) == (False, True)
    assert encode_message(answered, "hello")["pinned"] is True
    assert "pinned" not in encode_message(asked, "hi")


def unreadable(of_type: str = "item_added", why: str = "bad") -> Map:
    return {"type": "unreadable", "of_type": of_type, "why": why, "text": "{"}


def places(*events: Map) -> list[str]:
    return [
        f"{entry.role}: {read_content(entry, describe_blob)}"
        if isinstance(entry, Message)
        else f"{entry.seq}: {entry.of_type if isinstance(entry, Unreadable) else entry.kind}"
        for entry in read_entries(number(*events))
    ]


def test_what_cannot_be_read_stands_in_its_place_and_is_no_message() -> None:
    events = [
        *(prompt("a", "1"), started("a"), unreadable(), answer("a", "one")),
        *({"type": "turn_finished", "turn_id": "a"}, unreadable("titled"), prompt("b", "2")),
    ]
    assert places(*events) == ["user: 1", "3: item_added", "assistant: one", "6: titled", "user: 2"]
    assert said(*events) == ["user: 1", "assistant: one", "user: 2"]
    queued = [prompt("a", "1"), prompt("b", "2"), started("b"), unreadable(), answer("b", "two")]
    assert places(*queued) == ["user: 1", "user: 2", "4: item_added", "assistant: two"]
    assert read_entries(number(unreadable("unknown", "why"))) == [Unreadable(1, "unknown", "why")]


def test_a_change_of_the_view_stands_where_it_was_made() -> None:
    framed = {"type": "summary", "id": "s", "text": "A frame for models:\nThey met.\nAll is well."}
    told = {"type": "summary", "id": "n", "text": "2 earlier messages (9 tokens) were summarized:"}
    sizes = {"tokens_before": 90, "tokens_after": 40}
    changes: list[Map] = [
        {"kind": "compact", "summary": framed, "model": "a/b", **sizes},
        {"kind": "prune", "summary": told, "tokens_before": None},
        {"kind": "clear"},
        {"kind": "undo", "restored": "v"},
    ]
    events = [
        {"type": "view_changed", "seq": seq, "at": 0.0, **each}
        for seq, each in enumerate(changes, start=1)
    ]
    assert read_entries(events) == [
        Change(1, "compact", "They met.\nAll is well.", (90, 40), "a/b"),
        Change(2, "prune", "2 earlier messages (9 tokens) were summarized:"),
        Change(4, "undo"),
    ]
    assert read_messages(events) == []


def test_a_snapshot_stands_in_its_turn_and_outside_of_one() -> None:
    def taken(seq: int, turn_id: str | None, **more: str) -> Map:
        item = {"type": "snapshot", "id": "0123456789ab", "worktree": "/w", "commit": ""}
        return {"type": "item_added", "seq": seq, "turn_id": turn_id, "item": item, **more}

    prompt = {"type": "user_message", "id": "t.0", "parts": [{"type": "text", "text": "do it"}]}
    events: list[Map] = [
        {"type": "prompt_accepted", "seq": 2, "turn_id": "t", "items": [prompt], "at": 0.0},
        taken(3, "t"),
        taken(4, "t", status="superseded"),
        taken(5, None),
    ]
    (message, within, outside) = read_entries(events)
    assert message == read_messages(events)[0]
    assert within == Change(3, "snapshot", "0123456789ab of /w")
    assert outside == Change(5, "snapshot", "0123456789ab of /w")
