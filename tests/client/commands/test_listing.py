"""Conversations as rows and in groups, to the letter, at every width."""

import re
from datetime import datetime
from typing import Any

import pytest

from ask.commands import listing
from ask.commands.layout import name_model
from ask.graphemes import find_width
from ask.terminal import strip_controls
from tests.client.commands.test_layout import UPDATED_AT, summary


def test_a_row_says_id_name_model_time_and_messages() -> None:
    (row,) = listing.lay_out_rows([summary(name="work", message_count=1)], None)
    cells = [cell for cell in row.split("  ") if cell]
    assert cells[0] == "0a1b2c3d"
    assert [cell.strip() for cell in cells[1:3]] == ["work", "openai (gpt-5)"]
    assert cells[-1] == "1 message"
    (busy,) = listing.lay_out_rows([summary(queued=2, ephemeral=True)], None)
    assert busy.endswith("2 messages  2 queued  ephemeral")


NAMES = [
    "work",
    "a title that is much longer than its column could ever be",
    "\u6771\u4eac\u306e\u5929\u6c17\u306f\u3069\u3046\u3067\u3059\u304b\u6559\u3048\u3066",
    "wo\u202e\u202e\u202e\u202e\u202ex",
    "e\u0301" * 40,
]
MODEL = "provider/a-model-with-a-name-that-does-not-end"


@pytest.mark.parametrize("columns", [20, 40, 48, 56, 64, 72, 80, 100, 200, 300])
def test_on_a_terminal_a_row_is_one_line(columns: int) -> None:
    rows = [summary(name=name, message_count=1234) for name in NAMES]
    rows.append(summary(model=MODEL))
    lines = listing.lay_out_rows(rows, columns)
    assert max(find_width(strip_controls(line)) for line in lines) <= columns
    assert [find_width(line) for line in lines[1:-1]] == [find_width(lines[0])] * (len(lines) - 2)
    assert "..." in lines[1]
    assert lines[0].split()[1] == "work"
    grouped = listing.lay_out_groups(rows, columns)
    assert max(find_width(strip_controls(line)) for line in grouped) <= columns


DAY, CLOCK = datetime.fromtimestamp(UPDATED_AT).strftime("%m-%d %H:%M").split()
DATE = f"{datetime.fromtimestamp(UPDATED_AT).year}-{DAY}"
BY = "provider (some-model)"


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        (100, ["The answer to everything", BY, f"{DATE} {CLOCK}", "2 messages", "1 queued"]),
        (80, ["The answer to ev...", BY, f"{DATE} {CLOCK}", "1 queued"]),
        (71, ["The answer to...", "provider (some-mo...", f"{DAY} {CLOCK}", "1 queued"]),
        (50, ["The answer to...", f"{DAY} {CLOCK}", "1 queued"]),
        (45, ["The answe...", f"{DAY} {CLOCK}", "1 queued"]),
        (40, ["The answer to eve...", "1 queued"]),
        (36, ["The answer to...", "1 queued"]),
        (20, ["The ans..."]),
    ],
)
def test_the_least_important_is_left_out_first(columns: int, shown: list[str]) -> None:
    (line,) = listing.lay_out_rows([summary(model="provider/some-model", queued=1)], columns)
    assert re.split(" {2,}", line.rstrip()) == ["0a1b2c3d", *shown]


def test_one_row_with_much_to_say_does_not_narrow_the_others() -> None:
    crowded = {"queued": 12, **attach("pts/10", "pts/11"), "pinned": True}
    rows = [summary(**crowded), summary(name="idle")]
    lines = listing.lay_out_rows(rows, 78)
    assert lines[0].endswith(f"  openai (gpt-5)  {DAY} {CLOCK}  12 queued  pinned")
    assert lines[1].endswith(f"  openai (gpt-5)  {DAY} {CLOCK}")
    assert listing.lay_out_rows(rows, 92)[0].endswith("12 queued  2 attached")
    assert listing.lay_out_rows(rows, 200)[0].endswith("12 queued  at pts/10, pts/11  pinned")


def attach(*ttys: str | None, more: int = 0) -> dict[str, Any]:
    rows = [{"client": "a\x1b[31m\nb", "tty": tty, "pid": 1} for tty in ttys]
    return {"attached": len(rows) + more, "clients": rows}


def test_who_is_attached_is_named_while_they_are_few() -> None:
    fields = [attach(), attach("pts/3"), attach("pts/3", None), attach("a", "b", "c")]
    fields.append(attach("a", "b", more=40))
    lines = listing.lay_out_rows([summary(**each) for each in fields], None)
    assert lines[0].endswith("2 messages")
    assert [line.rpartition("messages  ")[2] for line in lines[1:]] == [
        "at pts/3",
        "at pts/3, a b",
        "3 attached",
        "42 attached",
    ]


def test_where_there_is_no_terminal_nothing_is_cut() -> None:
    rows = [summary(name=name, model=MODEL) for name in NAMES]
    lines = listing.lay_out_rows(rows, None)
    for name, line in zip(NAMES, lines, strict=True):
        assert strip_controls(name) in line
        assert name_model(MODEL) in line


def test_groups_come_in_the_order_of_need() -> None:
    rows = [
        summary(id="s" * 36, state="stored", updated_at=9.0),
        summary(id="i" * 36, state="idle", updated_at=1.0),
        summary(id="j" * 36, state="idle", updated_at=2.0),
        summary(id="n" * 36, state="needs_you"),
        summary(id="w" * 36, state="working"),
        summary(id="i" * 36, state="stored", updated_at=1.0),
    ]
    grouped = listing.group_summaries(rows)
    assert [str(each["id"])[0] for each in grouped] == ["n", "w", "j", "i", "s"]
    headings = [line for line in listing.lay_out_groups(grouped, None) if line and line[0] != " "]
    assert headings == ["Needs you", "Working", "Idle", "Recent"]
    assert listing.lay_out_groups([], None) == []


def test_what_is_pinned_is_marked() -> None:
    (row,) = listing.lay_out_rows([summary(pinned=True)], None)
    assert row.endswith("2 messages  pinned")
