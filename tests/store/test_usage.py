"""What an answer took is a row in its event's transaction, and stays when the conversation goes."""

import math
import sqlite3
from dataclasses import replace
from typing import Any

import pytest

from askd.core.events import (
    Body,
    CompletionFinished,
    ConversationCreated,
    Event,
    SettingsChanged,
    TurnStarted,
    ViewChanged,
)
from askd.core.outcome import Usage
from askd.errors import NotFound
from askd.store.batch import Change, Done, commit_batch
from askd.store.changes import append, delete
from askd.store.log import Write
from askd.store.memory import MemoryLog
from askd.store.usage import (
    COST_LIMIT_USD,
    OF_A_SUMMARY,
    TOKENS_LIMIT,
    bound_usage,
    is_copy,
)
from tests.store.builders import add, create, prompt

TOOK = Usage(100, 20, 30, 5, 0.25)


def do(connection: sqlite3.Connection, change: Change[Any], *, at: float = 1.0) -> None:
    (outcome,) = commit_batch(connection, [change], at=at)
    if not isinstance(outcome, Done):
        raise outcome


def start(turn_id: str, model: str | None, attempt: int = 1) -> TurnStarted:
    return TurnStarted(turn_id, attempt, model)


def end(turn_id: str, completion: int = 1, usage: Usage | None = TOOK) -> CompletionFinished:
    return CompletionFinished(turn_id, completion, "end", usage)


def rows(connection: sqlite3.Connection, columns: str = "*") -> list[Any]:
    return connection.execute(f"SELECT {columns} FROM usage ORDER BY rowid").fetchall()


def test_an_answer_is_a_row_with_the_model_of_its_turn(connection: sqlite3.Connection) -> None:
    do(connection, append(create("c", prompt("t"), start("t", "a/b"))))
    assert rows(connection) == []
    do(connection, append(add("c", end("t"))), at=7.0)
    assert rows(connection) == [("c", "t", 1, 7.0, "a/b", 100, 30, 20, 5, 0.25)]


def test_a_summary_is_counted_with_the_model_that_wrote_it(connection: sqlite3.Connection) -> None:
    do(connection, append(create("c", prompt("t"), start("t", "a/b"))))
    compacted = ViewChanged("v", "compact", "t", model="e/f", usage=TOOK)
    do(connection, append(add("c", compacted, ViewChanged("w", "prune", "t"))), at=7.0)
    assert rows(connection) == [("c", "v", OF_A_SUMMARY, 7.0, "e/f", 100, 30, 20, 5, 0.25)]


def test_answers_of_one_write_and_of_several_turns(connection: sqlite3.Connection) -> None:
    bodies = (start("t", "a/b"), end("t"), end("t", 2), start("u", "c/d"), end("u"), end("t", 3))
    do(connection, append(create("c", *bodies)))
    found = rows(connection, "turn_id, completion, model")
    assert found == [("t", 1, "a/b"), ("t", 2, "a/b"), ("u", 1, "c/d"), ("t", 3, "a/b")]


def test_a_later_attempt_counts_too_and_its_model_is_its_own(
    connection: sqlite3.Connection,
) -> None:
    first = (start("t", "a/b"), end("t"), start("t", "c/d", 2), end("t"))
    do(connection, append(create("c", *first, start("t", None, 3), end("t"))))
    assert rows(connection, "model") == [("a/b",), ("c/d",), ("c/d",)]


def test_a_model_that_nobody_named_is_not_guessed(connection: sqlite3.Connection) -> None:
    do(connection, append(create("c", start("t", "a/b"), start("u", None), end("u"), end("v"))))
    do(connection, append(create("d", end("t"))))
    assert rows(connection, "model") == [(None,)] * 3


def test_what_no_provider_counted_is_no_row(connection: sqlite3.Connection) -> None:
    do(connection, append(create("c", start("t", "a/b"), end("t", usage=None))))
    assert rows(connection) == []


def test_a_write_that_is_refused_counts_nothing(connection: sqlite3.Connection) -> None:
    with pytest.raises(NotFound):
        do(connection, append(add("nobody", end("t"))))
    assert rows(connection) == []


def test_a_deleted_conversation_leaves_its_counts_and_nothing_else(
    connection: sqlite3.Connection,
) -> None:
    do(connection, append(create("c", prompt("t", "my secret"), start("t", "a/b"), end("t"))))
    do(connection, append(create("d", start("u", "a/b"), end("u"))))
    do(connection, delete("c"), at=9.0)
    assert rows(connection, "conversation_id, turn_id, cost_usd") == [
        (None, "t", 0.25),
        ("d", "u", 0.25),
    ]
    assert "secret" not in "\n".join(connection.iterdump())


def test_a_fork_pays_for_nothing_twice(connection: sqlite3.Connection) -> None:
    fork: list[Body] = [ConversationCreated("f", forked_from="c"), start("t", "a/b"), end("t")]
    do(connection, append(Write(conversation_id="f", bodies=fork, create=True)))
    assert rows(connection) == []
    do(connection, append(add("f", start("u", "a/b"), end("u"))))
    assert rows(connection, "turn_id") == [("u",)]
    assert not is_copy([])
    assert not is_copy([Event("c", 1, 1.0, ConversationCreated("c"))])


def test_what_was_answered_elsewhere_is_not_counted_here(connection: sqlite3.Connection) -> None:
    write = create("c", start("t", "a/b"), end("t"))
    do(connection, append(replace(write, times=[5.0, 6.0, 7.0])))
    assert rows(connection) == []
    assert connection.execute("SELECT at FROM events ORDER BY seq").fetchall() == [
        (5.0,),
        (6.0,),
        (7.0,),
    ]
    (row,) = connection.execute("SELECT created_at, updated_at FROM conversations").fetchall()
    assert row == (5.0, 7.0)


async def test_what_is_ephemeral_is_counted_nowhere(connection: sqlite3.Connection) -> None:
    log = MemoryLog(observe=lambda events: None, now=lambda: 1.0)
    await log.append(create("c", start("t", "a/b"), end("t")))
    assert rows(connection) == []


@pytest.mark.parametrize("cost", [-0.01, math.nan, math.inf, COST_LIMIT_USD * 2])
def test_a_cost_that_is_none_is_not_known(cost: float) -> None:
    assert bound_usage(Usage(cost_usd=cost))[-1] is None


def test_claims_that_would_break_every_sum_are_bounded(connection: sqlite3.Connection) -> None:
    absurd = Usage(2**200, -5, 2**63, 0, 0.0)
    told = (SettingsChanged(model="a/b"), start("t", "half \ud83d"), end("t", 2**70, absurd))
    do(connection, append(create("c", *told)))
    (row,) = rows(connection)
    assert row[2:] == (TOKENS_LIMIT, 1.0, "half ?", TOKENS_LIMIT, TOKENS_LIMIT, 0, 0, 0.0)
