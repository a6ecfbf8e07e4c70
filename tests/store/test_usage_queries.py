"""Sums: every grouping of the same rows comes to the same total, page by page."""

import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.core.events import CompletionFinished, Titled, TurnStarted
from askd.core.outcome import Usage
from askd.errors import RequestError
from askd.store.batch import Done, commit_batch
from askd.store.changes import append, delete
from askd.store.migrations import migrate
from askd.store.usage_queries import By, UsagePage, UsageRow, read_usage
from tests.store.builders import add, create, open_store

DAY_S = 86400.0
NOON = datetime(2026, 11, 22, 12, tzinfo=UTC).timestamp()
COUNTS = ("answers", "input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")


@dataclass(frozen=True)
class Answer:
    """One answer, as a test says it."""

    at: float
    conversation: str
    model: str | None
    usage: Usage


USAGES = st.builds(
    Usage,
    *[st.integers(0, 10**6)] * 4,
    st.none() | st.floats(0, 100, allow_subnormal=False),
)
ANSWERS = st.builds(
    Answer,
    st.floats(NOON, NOON + 5 * DAY_S) | st.sampled_from([NOON, NOON + DAY_S]),
    st.sampled_from("cdef"),
    st.sampled_from(["a/b", "c/d", "unknown/x", None]),
    USAGES,
)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(open_memory(tmp_path)) as connection:
        yield connection


def open_memory(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(connection, path, at=1.0)
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def fill(connection: sqlite3.Connection, answers: list[Answer], deleted: str = "") -> None:
    known: set[str] = set()
    for number, each in enumerate(answers):
        turn = f"t{number}"
        bodies = (
            TurnStarted(turn, 1, each.model),
            CompletionFinished(turn, 1, "end", each.usage),
        )
        make = add if each.conversation in known else create
        known.add(each.conversation)
        change = append(make(each.conversation, *bodies))
        (outcome,) = commit_batch(connection, [change], at=each.at)
        assert isinstance(outcome, Done), outcome
    for id in known & set(deleted):
        commit_batch(connection, [delete(id)], at=NOON)


def read(connection: sqlite3.Connection, by: By, **changed: Any) -> UsagePage:
    asked: dict[str, Any] = {"since_at": None, "utc_offset_s": 0, "cursor": None, "limit": 100}
    return read_usage(connection, by=by, **{**asked, **changed})


def walk(connection: sqlite3.Connection, by: By, **changed: Any) -> tuple[list[UsageRow], UsageRow]:
    """Every page's rows, and the total, which each page must say alike."""
    rows: list[UsageRow] = []
    page = read(connection, by, **changed)
    while True:
        rows += page.rows
        if page.next_cursor is None:
            return rows, page.total
        assert len(page.rows) == changed["limit"]
        before = page.total
        page = read(connection, by, **{**changed, "cursor": page.next_cursor})
        assert page.total == before


@given(
    st.lists(ANSWERS, max_size=12),
    st.sets(st.sampled_from("cdef")).map("".join),
    st.integers(-14 * 3600, 14 * 3600),
    st.none() | st.floats(NOON - DAY_S, NOON + 6 * DAY_S),
    st.integers(1, 4),
)
def test_every_grouping_adds_up_to_what_the_answers_took(
    answers: list[Answer], deleted: str, utc_offset_s: int, since_at: float | None, limit: int
) -> None:
    with closing(open_memory(Path("nowhere"))) as connection:
        fill(connection, answers, deleted)
        said = [each for each in answers if since_at is None or each.at >= since_at]

        def find_group(each: Answer, by: By) -> str | None:
            if by == "model":
                return each.model or "unknown"
            if by == "conversation":
                return None if each.conversation in deleted else each.conversation
            local = datetime.fromtimestamp(int(each.at + utc_offset_s), UTC)
            return local.date().isoformat()

        for by in get_args(By):
            wanted: dict[str | None, list[Usage]] = defaultdict(list)
            for each in said:
                wanted[find_group(each, by)].append(each.usage)
            rows, total = walk(
                connection, by, since_at=since_at, utc_offset_s=utc_offset_s, limit=limit
            )
            assert {row.group for row in rows} == set(wanted)
            assert len(rows) == len(wanted), "no group comes twice"
            for row in rows:
                check(row, wanted[row.group])
            check(total, [each.usage for each in said])


def check(row: UsageRow, usages: list[Usage]) -> None:
    assert row.answers == len(usages)
    for name in COUNTS[1:]:
        assert getattr(row, name) == sum(getattr(each, name) for each in usages), name
    costs = [each.cost_usd for each in usages if each.cost_usd is not None]
    assert row.unpriced == len(usages) - len(costs)
    assert row.cost_usd == (pytest.approx(sum(costs)) if costs else None)


def answer(at: float, conversation: str = "c", model: str = "a/b") -> Answer:
    return Answer(at, conversation, model, Usage(1, 1))


def test_days_and_conversations_come_the_latest_first_and_models_by_name(
    memory: sqlite3.Connection,
) -> None:
    fill(
        memory,
        [
            answer(NOON, "c", "z/z"),
            answer(NOON + 2 * DAY_S, "d", "a/b"),
            answer(NOON + DAY_S, "e", "c/d"),
            answer(NOON + 3 * DAY_S, "c", "a/b"),
        ],
        deleted="e",
    )

    def groups(by: By) -> list[str | None]:
        return [row.group for row in walk(memory, by, limit=1)[0]]

    assert groups("day") == ["2026-11-25", "2026-11-24", "2026-11-23", "2026-11-22"]
    assert groups("model") == ["a/b", "c/d", "z/z"]
    assert groups("conversation") == ["c", "d", None]


def test_a_day_begins_where_the_caller_is(memory: sqlite3.Connection) -> None:
    late = datetime(2026, 11, 22, 23, 59, 59, 999900, tzinfo=UTC).timestamp()
    fill(memory, [answer(late)])
    for hours, day in ((0, "2026-11-22"), (1, "2026-11-23"), (-24, "2026-11-21")):
        offset = int(timedelta(hours=hours).total_seconds())
        assert [row.group for row in read(memory, "day", utc_offset_s=offset).rows] == [day]


def test_a_conversation_is_labelled_by_its_name_else_its_title(memory: sqlite3.Connection) -> None:
    took = CompletionFinished("t", 1, "end", Usage(1, 1))
    for write in (
        create("c", took, Titled("Greetings"), name="work"),
        create("d", took, Titled("Farewells")),
        create("e", took),
    ):
        commit_batch(memory, [append(write)], at=NOON)
    labels = {row.group: row.label for row in read(memory, "conversation").rows}
    assert labels == {"c": "work", "d": "Farewells", "e": None}
    assert [row.label for row in read(memory, "model").rows] == [None]


def test_nothing_at_all_is_a_total_of_nothing(memory: sqlite3.Connection) -> None:
    page = read(memory, "day")
    assert (page.rows, page.next_cursor) == ([], None)
    check(page.total, [])


def test_a_cursor_belongs_to_its_listing(memory: sqlite3.Connection) -> None:
    fill(memory, [answer(NOON, "c", "a/b"), answer(NOON, "d", "c/d")])
    cursor = read(memory, "model", limit=1).next_cursor
    assert [row.group for row in read(memory, "model", cursor=cursor).rows] == ["c/d"]
    for by, wrong in (("conversation", cursor), ("model", "x"), ("day", "")):
        with pytest.raises(RequestError, match="cursor"):
            read(memory, by, cursor=wrong)  # type: ignore[arg-type]
        assert not memory.in_transaction


def test_a_time_is_looked_up_in_an_index(memory: sqlite3.Connection) -> None:
    plan = memory.execute("EXPLAIN QUERY PLAN SELECT sum(cost_usd) FROM usage WHERE at >= 1")
    assert ["USING INDEX usage_by_time" in row[3] for row in plan] == [True]


async def test_the_reader_reads_what_the_writer_counts(path: Path) -> None:
    async with open_store(path) as store:
        took = CompletionFinished("t", 1, "end", Usage(10, 2, cost_usd=0.5))
        await store.writer.append(create("c", TurnStarted("t", 1, "a/b"), took))
        page = await store.reader.read_usage(
            by="model", since_at=None, utc_offset_s=0, cursor=None, limit=10
        )
        assert [(row.group, row.input_tokens, row.cost_usd) for row in page.rows] == [
            ("a/b", 10, 0.5)
        ]
        await store.writer.delete("c")
        page = await store.reader.read_usage(
            by="conversation", since_at=None, utc_offset_s=0, cursor=None, limit=10
        )
        assert [(row.group, row.answers) for row in page.rows] == [(None, 1)]
        assert page.total.cost_usd == 0.5
