"""Rows, groups and the transcript, to the letter."""

import os
import pty
from pathlib import Path
from typing import Any

import pytest

from ask.commands import layout
from ask.graphemes import find_width
from ask.terminal import strip_controls
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


def test_a_row_says_id_name_model_time_and_messages() -> None:
    (row,) = layout.lay_out_rows([summary(name="work", message_count=1)], None)
    cells = [cell for cell in row.split("  ") if cell]
    assert cells[0] == "0a1b2c3d"
    assert [cell.strip() for cell in cells[1:3]] == ["work", "openai (gpt-5)"]
    assert cells[-1] == "1 message"
    (busy,) = layout.lay_out_rows([summary(queued=2, ephemeral=True)], None)
    assert busy.endswith("2 messages  2 queued  ephemeral")


NAMES = [
    "work",
    "a title that is much longer than its column could ever be",
    "\u6771\u4eac\u306e\u5929\u6c17\u306f\u3069\u3046\u3067\u3059\u304b\u6559\u3048\u3066",
    "wo\u202e\u202e\u202e\u202e\u202ex",
    "e\u0301" * 40,
]
MODEL = "provider/a-model-with-a-name-that-does-not-end"


@pytest.mark.parametrize("columns", [64, 72, 80, 100])
def test_on_a_terminal_a_row_is_one_line(columns: int) -> None:
    rows = [summary(name=name, message_count=1234) for name in NAMES]
    rows.append(summary(model=MODEL))
    lines = layout.lay_out_rows(rows, columns)
    assert max(find_width(strip_controls(line)) for line in lines) <= columns
    assert [find_width(line) for line in lines[1:-1]] == [find_width(lines[0])] * (len(lines) - 2)
    assert "..." in lines[1]
    assert lines[0].split()[1] == "work"
    grouped = layout.lay_out_groups(rows, columns)
    assert max(find_width(strip_controls(line)) for line in grouped) <= columns


def test_the_name_gives_way_before_the_model() -> None:
    (line,) = layout.lay_out_rows([summary(model="provider/some-model")], 72)
    assert "  The an...  provider (some-model)  " in line


def test_where_there_is_no_terminal_nothing_is_cut() -> None:
    rows = [summary(name=name, model=MODEL) for name in NAMES]
    lines = layout.lay_out_rows(rows, None)
    for name, line in zip(NAMES, lines, strict=True):
        assert strip_controls(name) in line
        assert layout.name_model(MODEL) in line


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


def test_groups_come_in_the_order_of_need() -> None:
    rows = [
        summary(id="s" * 36, state="stored", updated_at=9.0),
        summary(id="i" * 36, state="idle", updated_at=1.0),
        summary(id="j" * 36, state="idle", updated_at=2.0),
        summary(id="n" * 36, state="needs_you"),
        summary(id="w" * 36, state="working"),
        summary(id="i" * 36, state="stored", updated_at=1.0),
    ]
    grouped = layout.group_summaries(rows)
    assert [str(each["id"])[0] for each in grouped] == ["n", "w", "j", "i", "s"]
    headings = [line for line in layout.lay_out_groups(grouped, None) if line and line[0] != " "]
    assert headings == ["Needs you", "Working", "Idle", "Recent"]
    assert layout.lay_out_groups([], None) == []


def test_what_is_pinned_is_marked() -> None:
    (row,) = layout.lay_out_rows([summary(pinned=True)], None)
    assert row.endswith("2 messages  pinned")
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
        "[2] USER",
        "    Content: line 2",
        "",
        "[~] PRUNED (90 -> 40 tokens)",
        "    Content: 1 earlier messages (9 tokens) were summarized:",
    ]
