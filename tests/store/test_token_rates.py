"""What a model's answers teach is one row, written with the answer that taught it."""

import json
import sqlite3
from dataclasses import replace
from typing import Any

from askd.core.calibration import UNKNOWN, Rates, encode_rates, learn
from askd.core.events import CompletionFinished, ConversationCreated, TurnStarted
from askd.core.outcome import Usage
from askd.core.tokens import decode_size
from askd.store.batch import Change, Done, commit_batch
from askd.store.changes import append, delete
from askd.store.token_rates import read_rates
from tests.store.builders import add, create

MEASURED = {"words": 900, "cyrillic": 300, "frames": 8, "base": 8}


def do(connection: sqlite3.Connection, *changes: Change[Any]) -> None:
    for outcome in commit_batch(connection, changes, at=1.0):
        if not isinstance(outcome, Done):
            raise outcome


def start(turn_id: str, model: str | None = "a/b") -> TurnStarted:
    return TurnStarted(turn_id, 1, model)


def end(
    turn_id: str, input_tokens: int, measured: dict[str, int] | None = None
) -> CompletionFinished:
    measured = MEASURED if measured is None else measured
    return CompletionFinished(turn_id, 1, "end", Usage(input_tokens), measured)


def kept(rates: Rates) -> dict[str, Any]:
    """As a row holds it: numbers are rounded."""
    return encode_rates(rates)


def test_each_answer_teaches_its_own_model(connection: sqlite3.Connection) -> None:
    do(connection, append(create("c", start("t"), end("t", 1500))))
    once = learn(UNKNOWN, decode_size(MEASURED), 1500)
    assert {name: kept(rates) for name, rates in read_rates(connection).items()} == {
        "a/b": kept(once)
    }
    do(connection, append(add("c", end("t", 1600), start("u", "c/d"), end("u", 1000))))
    found = read_rates(connection)
    assert (found["a/b"].reports, found["c/d"].reports) == (2, 1)
    assert found["a/b"].factors != found["c/d"].factors


def test_what_cannot_teach_leaves_no_row(connection: sqlite3.Connection) -> None:
    nothing_measured = replace(end("t", 1500), measured=None)
    nothing_counted = replace(end("t", 1500), usage=None)
    contradiction = replace(end("t", 0), usage=Usage(1500, cached_tokens=1501))
    for body in (nothing_measured, nothing_counted, contradiction, end("t", 0), end("u", 1500)):
        do(connection, append(create(f"c{hash(repr(body))}", start("t"), body)))
    do(connection, append(create("nobody", start("t", None), end("t", 1500))))
    assert read_rates(connection) == {}


def test_what_came_from_elsewhere_and_copies_teach_nothing(connection: sqlite3.Connection) -> None:
    bodies = (start("t"), end("t", 1500))
    imported = create("c", *bodies)
    do(connection, append(replace(imported, times=[1.0] * len(imported.bodies))))
    fork = ConversationCreated("f", forked_from="c")
    do(connection, append(replace(imported, conversation_id="f", bodies=(fork, *bodies))))
    assert read_rates(connection) == {}


def test_it_is_in_the_answers_transaction_and_stays_when_the_conversation_goes(
    connection: sqlite3.Connection,
) -> None:
    def fail(connection: sqlite3.Connection, at: float) -> Done[None]:
        append(create("c", start("t"), end("t", 1500)))(connection, at)
        raise sqlite3.OperationalError("disk I/O error")

    commit_batch(connection, [fail], at=1.0)
    assert read_rates(connection) == {}
    do(connection, append(create("c", start("t"), end("t", 1500))), delete("c"))
    assert list(read_rates(connection)) == ["a/b"]


def test_a_row_that_cannot_be_read_is_begun_anew(connection: sqlite3.Connection) -> None:
    for text in ("no JSON", "[]", "[" * 100_000, json.dumps({"classes": []})):
        connection.execute("INSERT OR REPLACE INTO token_rates VALUES ('a/b', ?)", (text,))
        assert read_rates(connection) == {"a/b": UNKNOWN}
    do(connection, append(create("c", start("t"), end("t", 1500))))
    assert read_rates(connection)["a/b"].reports == 1
