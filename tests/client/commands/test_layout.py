"""Names, messages and the transcript, to the letter."""

import os
import pty
from pathlib import Path
from typing import Any

import pytest

from ask.commands import layout
from ask.transcript import Call, Change, Entry, Message, Unreadable

GOLDEN = Path(__file__).resolve().parents[2] / "data" / "history_show.txt"
UPDATED_AT = 1_767_225_600.0


def summary(**fields: Any) -> dict[str, Any]:
    return {
        "id": "0a1b2c3d-0000-4000-8000-000000000000",
        "name": None,
        "title": "The answer to everything",
        "model": "openai/gpt-5",
        "state": "stored",
        "message_count": 2,
        "updated_at": UPDATED_AT,
        **fields,
    }


def text(content: str) -> tuple[dict[str, Any], ...]:
    return ({"type": "text", "text": content},)


MESSAGES = [
    Message("user", 1, "a.0", parts=text("What is 2 + 2?\nUse a calculator.")),
    Message(
        "assistant",
        2,
        "a.1",
        parts=text("I shall calculate."),
        calls=(Call("call_xyz123", "calculator", "{}"),),
    ),
    Message("tool", 3, "a.1.0", parts=text("4"), call_id="call_xyz123"),
    Message("assistant", 4, "a.2", calls=(Call("c1", "one", "{}"), Call("c2", "two", "{}"))),
    Message("assistant", 5, "a.3", parts=text("x" * 600)),
    Message("system", 6, "n", parts=text("User viewed help")),
    Message("user", 7, "b.0"),
]


def test_a_transcript_is_as_in_the_golden_file() -> None:
    lines = layout.lay_out_history(summary(), MESSAGES, None)
    assert "\n".join(lines) + "\n" == GOLDEN.read_text()


def test_what_cannot_be_read_is_named_and_moves_no_index() -> None:
    entries: list[Entry] = [
        *MESSAGES[:5],
        Unreadable(8, "item_added", "Expecting value"),
        MESSAGES[5],
        Unreadable(10, "unknown", "it is missing"),
        Unreadable(11, "unknown", "it is missing"),
        Unreadable(12, "titled", "it is missing"),
        MESSAGES[6],
    ]
    lines = layout.lay_out_history(summary(), entries, None)
    assert lines[3:6] == [
        "Messages: 7 total",
        "Unreadable records: 4 (kept, not shown to the model)",
        "=" * 80,
    ]
    tail = [
        "",
        "[6] SYSTEM",
        "    Content: User viewed help",
        "",
        "[!] UNREADABLE (seq 10 to 11, unknown)",
        "    Reason: it is missing",
        "",
        "[!] UNREADABLE (seq 12, titled)",
        "    Reason: it is missing",
        "",
        "[7] USER",
        "    Content: (empty)",
    ]
    first = ["", "[!] UNREADABLE (seq 8, item_added)", "    Reason: Expecting value"]
    assert lines[-15:] == first + tail
    healthy = layout.lay_out_history(summary(), MESSAGES, None)
    assert [line for line in lines if line.startswith("[") and "!" not in line] == [
        line for line in healthy if line.startswith("[")
    ]
    assert layout.lay_out_history(summary(), entries, 2)[-12:] == tail


def test_the_last_messages_keep_their_indices() -> None:
    lines = layout.lay_out_history(summary(model=None, title=None), MESSAGES, 2)
    assert lines == [
        "Conversation: (untitled)",
        "ID: 0a1b2c3d-0000-4000-8000-000000000000",
        "Model: unknown",
        "Messages: 7 total",
        "Showing: last 2 messages",
        "=" * 80,
        "",
        "[6] SYSTEM",
        "    Content: User viewed help",
        "",
        "[7] USER",
        "    Content: (empty)",
    ]


def test_columns_are_those_of_the_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "77")
    ours, theirs = pty.openpty()
    reader, writer = os.pipe()
    assert (layout.find_columns(theirs), layout.find_columns(writer)) == (77, None)
    for each in (ours, theirs, reader, writer):
        os.close(each)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("openai/gpt-5", "openai (gpt-5)"),
        ("work/org/model", "work (org/model)"),
        ("bare", "bare"),
        (None, "unknown"),
    ],
)
def test_a_model_is_its_provider_and_its_name(model: str | None, expected: str) -> None:
    assert layout.name_model(model) == expected


def test_what_is_pinned_is_marked() -> None:
    (head, *_) = layout.lay_out_message(3, Message("user", 1, "a.0", pinned=True))
    assert head == "[3] USER (pinned)"


def test_changes_of_the_view_stand_between_messages_and_count_as_none() -> None:
    said = [
        Message("user", 0.0, f"m{n}", parts=({"type": "text", "text": f"line {n}"},))
        for n in (1, 2)
    ]
    entries: list[Entry] = [
        said[0],
        Change(3, "compact", "They met.\nAll is well.", (90, 40), "a/b"),
        Change(4, "undo"),
        Change(5, "snapshot", "0123456789ab of /w"),
        said[1],
        Change(9, "prune", "1 earlier messages (9 tokens) were summarized:", (90, 40)),
    ]
    summary = {"id": "c", "name": "work", "model": "a/b"}
    lines = layout.lay_out_history(summary, entries, None)
    assert lines[3] == "Messages: 2 total"
    assert lines[5:] == [
        "",
        "[1] USER",
        "    Content: line 1",
        "",
        "[~] SUMMARY (90 -> 40 tokens, by a/b)",
        "    Content: They met.",
        "    All is well.",
        "",
        "[~] TAKEN BACK",
        "",
        "[~] SNAPSHOT",
        "    Content: 0123456789ab of /w",
        "",
        "[2] USER",
        "    Content: line 2",
        "",
        "[~] PRUNED (90 -> 40 tokens)",
        "    Content: 1 earlier messages (9 tokens) were summarized:",
    ]


def test_an_answer_may_be_painted_and_nothing_else_keeps_what_a_terminal_obeys() -> None:
    said = [
        Message("user", 1, "a.0", parts=({"type": "text", "text": "*why*\x1b[2J"},)),
        Message("assistant", 2, "a.1", parts=({"type": "text", "text": "*so*\x1b[2J\n\nyes"},)),
    ]
    lines = layout.lay_out_history(
        summary(name="w\x1b[2J"),
        said,
        None,
        paint=lambda text: [f"\x1b[1m{text[:4]}\x1b[0m", "", "e"],
    )
    indent = layout.INDENT
    assert lines[-7:] == [
        f"{indent}Content: *why*",
        "",
        "[2] ASSISTANT",
        f"{indent}Content:",
        f"{indent}\x1b[1m*so*\x1b[0m",
        "",
        f"{indent}e",
    ]
    assert "\x1b[2J" not in "".join(lines)
