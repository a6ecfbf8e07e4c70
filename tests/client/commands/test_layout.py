"""Rows, groups and the transcript, to the letter."""

from pathlib import Path
from typing import Any

import pytest

from ask.commands import layout
from ask.transcript import Call, Message

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
    row = layout.lay_out_row(summary(name="work", message_count=1))
    cells = [cell for cell in row.split("  ") if cell]
    assert cells[0] == "0a1b2c3d"
    assert [cell.strip() for cell in cells[1:3]] == ["work", "openai (gpt-5)"]
    assert cells[-1] == "1 message"
    busy = layout.lay_out_row(summary(queued=2, ephemeral=True))
    assert busy.endswith("2 messages  2 queued  ephemeral")


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
    headings = [line for line in layout.lay_out_groups(grouped) if line and line[0] != " "]
    assert headings == ["Needs you", "Working", "Idle", "Recent"]
    assert layout.lay_out_groups([]) == []
