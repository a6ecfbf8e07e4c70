"""Schedules as text: when each comes, how it went, and what troubles it."""

import time
from collections.abc import Iterator

import pytest

from ask.commands.schedule_layout import (
    lay_out_schedule,
    lay_out_schedules,
    tell_last,
    tell_next,
    tell_span,
)
from ask.graphemes import find_width
from tests.client.commands.fake_log import NOW
from tests.client.commands.fake_schedules import schedule, slot


@pytest.fixture(autouse=True)
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Times are shown by the clock of whoever looks."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-5, "0 s"), (0.2, "0 s"), (59, "59 s"), (60, "1 min"), (3599, "1 h"), (3 * 3600, "3 h"),
        (47 * 3600, "47 h"), (48 * 3600, "2 days"), (10 * 365 * 86_400, "3650 days"),
    ],
)  # fmt: skip
def test_a_span_in_words(seconds: float, said: str) -> None:
    assert tell_span(seconds) == said


def test_when_it_comes_next() -> None:
    assert tell_next(schedule("a"), now=NOW) == "Thu 2026-01-01 02:00 (in 1 h)"
    assert tell_next(schedule("a", paused_at=NOW, next_at=None), now=NOW) == "paused"
    assert tell_next(schedule("a", next_at=None), now=NOW) == "never"
    assert tell_next(schedule("a", next_at=NOW + 5), now=NOW) == "Thu 2026-01-01 01:00:05 (in 5 s)"


def test_how_it_went_last() -> None:
    assert tell_last(None) == "-"
    assert tell_last(slot()) == "done Thu 2026-01-01 01:00"
    assert tell_last(slot("accepted")) == "at work Thu 2026-01-01 01:00"
    assert tell_last(slot("refused", slot=None)) == "refused Thu 2026-01-01 01:00"


def test_rows_stand_below_each_other_and_troubles_below_them() -> None:
    rows = [
        schedule("aaaaaaaa-1", name="one", last=slot(error="is not shown")),
        schedule("bbbbbbbb-2", session=None, last=slot("failed", error="No\nanswer.")),
        schedule(
            "cccccccc-3", paused_at=NOW, next_at=None, trouble="Its conversation was deleted."
        ),
    ]
    first, second, why, third, trouble = lay_out_schedules(rows, None, now=NOW)
    assert first.endswith("done Thu 2026-01-01 01:00    What is new?")
    assert first.index("What is") == second.index("What is") == third.index("What is")
    assert why.strip() == "No answer."
    assert trouble.strip() == "Its conversation was deleted."


def test_a_long_prompt_is_cut_to_the_terminal() -> None:
    rows = [schedule("aaaaaaaa-1", prompt="word " * 100)]
    (line,) = lay_out_schedules(rows, 120, now=NOW)
    assert find_width(line) <= 120
    (line,) = lay_out_schedules(rows, 20, now=NOW)
    assert "word" in line
    (line,) = lay_out_schedules(rows, None, now=NOW)
    assert find_width(line) < 160


def test_all_about_one() -> None:
    slots = [
        slot("completed", job_id="12345678-9", skipped=2),
        slot("skipped", skipped=3),
        slot("failed", slot=None, error="No\x1b[31m answer."),
    ]
    options = {"model": "a/b", "tools": ["read", "x"], "notify": True, "timeout_s": 60.0}
    record = schedule("aaaa", options=options, cwd="/home/me", slots=slots, prompt="One.\nTwo.")
    lines = lay_out_schedule(record, now=NOW)
    assert lines[:6] == [
        "Schedule: aaaa",
        "Name: none",
        "When: 0 8 * * 1-5 (UTC)",
        "Next: Thu 2026-01-01 02:00 (in 1 h)",
        "Missed: one prompt for all of them",
        "Conversation: work (0c0ffee0)",
    ]
    text = "\n".join(lines)
    assert (
        "Model: a/b\nTools: read, x\nNotify: yes\nTimeout: 60 s\nPrompt: One.\n    Two.\nLately:"
        in text
    )
    assert "done  after 2 missed  job 12345678\n" in text
    assert "skipped  3 passed over\n" in text
    assert "by hand  failed\n        No answer." in text


def test_where_it_sends_to() -> None:
    for fields, said in (
        ({"session": None}, "a new one each time"),
        ({"conversation_id": None}, "work (not there yet)"),
    ):
        assert f"Conversation: {said}" in lay_out_schedule(schedule("a", **fields), now=NOW)
