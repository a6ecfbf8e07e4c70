"""Jobs as text: open ones first, errors where they are news, all about one."""

import pytest

from ask.commands.job_layout import (
    lay_out_errors,
    lay_out_job,
    lay_out_jobs,
    sort_jobs,
    tell_state,
)
from tests.client.commands.job_records import job


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")


def test_open_ones_come_first_and_then_the_newest() -> None:
    jobs = [
        job("a", "completed", created_at=9.0),
        job("b", "retryable", created_at=1.0),
        job("c", "running", created_at=2.0),
        job("d", "discarded", created_at=10.0),
    ]
    assert [each["id"] for each in sort_jobs(jobs)] == ["c", "b", "d", "a"]


def test_rows_stand_in_columns_and_an_error_fills_the_rest() -> None:
    jobs = [
        job("4aac0864-1", "running", conversation_id=None),
        job("f6918e1b-2", "discarded", kind="compact", error="It took\nlonger than 300 s."),
        job("00000000-3", "completed", error="a try that did not matter"),
    ]
    assert lay_out_jobs(jobs, None) == [
        "4aac0864  running    title    2026-01-01 00:01:00  1 of 3  -",
        "f6918e1b  discarded  compact  2026-01-01 00:01:00  1 of 3  0c0ffee0  "
        "It took longer than 300 s.",
        "00000000  completed  title    2026-01-01 00:01:00  1 of 3  0c0ffee0",
    ]
    narrow = lay_out_jobs(jobs, 81)
    assert narrow[1].endswith("1 of 3  0c0ffee0  It took l...")
    assert lay_out_jobs([], 80) == []


@pytest.mark.parametrize(
    ("columns", "row"),
    [
        (80, "f6918e1b  discarded  compact  2026-01-01 00:01:00  0c0ffee0  It took longer t..."),
        (72, "f6918e1b  discarded  compact  0c0ffee0  It took longer than 300 s. Or so"),
        (60, "f6918e1b  discarded  compact  0c0ffee0  It took longer th..."),
        (40, "f6918e1b  discarded  compact  0c0ffee0"),
    ],
)
def test_the_least_important_is_left_out_first(columns: int, row: str) -> None:
    jobs = [
        job("f6918e1b-2", "discarded", kind="compact", error="It took longer than 300 s. Or so")
    ]
    assert lay_out_jobs(jobs, columns) == [row]


def test_one_that_waits_for_a_person_says_so() -> None:
    record = job("4aac0864-1", "running", needs_you=True)
    assert lay_out_jobs([record], None)[0].startswith("4aac0864  needs you  title")
    assert tell_state(record) == "running (needs you)"


def test_what_waits_says_until_when() -> None:
    assert tell_state(job("j", "retryable")) == "retryable (next try 2026-01-01 00:01:00)"
    assert tell_state(job("j", "scheduled")) == "scheduled (due 2026-01-01 00:01:00)"
    assert tell_state(job("j", "running")) == "running"


def test_all_about_one() -> None:
    failures = [
        {"at": 0.0, "attempt": 1, "error": "The provider said:\nno."},
        {"at": 1.0, "attempt": 2, "error": ""},
    ]
    record = job(
        "4aac0864-1",
        "running",
        kind="turn",
        turn_id="t-1",
        started_at=0.0,
        code=7,
        errors=failures,
        question={"kind": "overflow", "expires_at": 60.0},
    )
    assert lay_out_job(record) == [
        "Job: 4aac0864-1",
        "Kind: turn",
        "State: running",
        "Conversation: 0c0ffee0-1111",
        "Turn: t-1",
        "Tries: 1 of 3",
        "Made: 2026-01-01 00:01:00",
        "Last begun: 1970-01-01 00:00:00",
        "Exit code: 7",
        "Question: overflow, open until 1970-01-01 00:01:00",
        "Take part: ask attach 0c0ffee0",
        "Errors:",
        "    1970-01-01 00:00:00  try 1: The provider said:",
        "        no.",
        "    1970-01-01 00:00:01  try 2: ",
    ]
    assert lay_out_job(job("j", "completed"))[-1] == "Ended: 2026-01-01 00:02:00"


def test_no_errors() -> None:
    assert lay_out_errors(job("j")) == []
