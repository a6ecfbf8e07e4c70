"""A database of schema 1 is counted as if its answers had been counted when they came."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from askd.core.blob_parts import find_blobs
from askd.core.events import (
    Body,
    CompletionFinished,
    ConversationCreated,
    Event,
    TurnStarted,
    UnknownBody,
    ViewChanged,
)
from askd.core.outcome import Usage
from askd.store.backups import backup_path
from askd.store.batch import Done, commit_batch
from askd.store.bodies import encode_text
from askd.store.changes import append
from askd.store.database import configure_writer, prepare_file
from askd.store.migrations import MIGRATIONS, migrate
from askd.store.usage_migration import add_usage
from tests.core.values import logs
from tests.store.builders import answer, create, finish, note, open_store, prompt

REFUSED = (ConversationCreated, UnknownBody)
FIRST = [each for each in MIGRATIONS if each.number == 1]


def write_old(connection: sqlite3.Connection, bodies: list[Body], *, id: str = "c") -> None:
    """Put a conversation into a database of schema 1, as askd of that schema did."""
    connection.execute(
        "INSERT INTO conversations VALUES (?, NULL, NULL, NULL, 1.0, 1.0, 0, ?)", (id, len(bodies))
    )
    for seq, body in enumerate(bodies, start=1):
        event = Event(id, seq, float(seq), body)
        connection.execute(
            "INSERT INTO events VALUES (?, ?, ?, ?, 1, ?)",
            (id, seq, event.at, event.type, encode_text(body)),
        )


def read_rows(connection: sqlite3.Connection) -> list[Any]:
    """Every row but its time: that of a write is one, and here each event has its own."""
    return connection.execute(
        "SELECT conversation_id, turn_id, completion, model, input_tokens, cached_tokens,"
        " output_tokens, reasoning_tokens, cost_usd FROM usage ORDER BY rowid"
    ).fetchall()


async def test_an_old_database_is_migrated_counted_and_served(path: Path) -> None:
    prepare_file(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as old:
        configure_writer(old, path)
        migrate(old, path, at=1.0, migrations=FIRST)
        told: list[Body] = [
            ConversationCreated("c"),
            note(),
            prompt("t"),
            TurnStarted("t", 1, "a/b"),
            answer("t"),
            CompletionFinished("t", 1, "calls", Usage(100, 10, 50)),
            CompletionFinished("t", 2, "end", Usage(200, 20, 0, 7, 0.5)),
            finish("t"),
            prompt("u"),
            TurnStarted("u", 1, "c/d"),
            CompletionFinished("u", 1, "end"),
        ]
        write_old(old, told)
        write_old(old, [ConversationCreated("d"), told[5]], id="d")
        old.execute("INSERT INTO events VALUES ('d', 3, 3.0, 'completion_finished', 1, 'broken')")
        old.execute("INSERT INTO events VALUES ('d', 4, 4.0, 'turn_started', 1, '{\"x\": 1}')")
    async with open_store(path) as store:
        page = await store.reader.read_usage(
            by="model", since_at=None, utc_offset_s=0, cursor=None, limit=10
        )
        assert [(row.group, row.answers, row.input_tokens) for row in page.rows] == [
            ("a/b", 2, 300),
            ("unknown", 1, 100),  # of a turn that never started: it is in another conversation
        ]
        total = page.total
        assert (total.output_tokens, total.cached_tokens, total.reasoning_tokens) == (40, 100, 7)
        assert (total.cost_usd, total.unpriced) == (0.5, 2)
        # It goes on from there.
        took = CompletionFinished("v", 1, "end", Usage(1, 1))
        await store.writer.append(create("e", TurnStarted("v", 1, "a/b"), took))
        await store.writer.delete("d")
        page = await store.reader.read_usage(
            by="conversation", since_at=None, utc_offset_s=0, cursor=None, limit=10
        )
        assert {row.group: row.answers for row in page.rows} == {"c": 2, "e": 1, None: 1}
    with closing(sqlite3.connect(backup_path(path, 1))) as copy:
        assert copy.execute("SELECT number FROM migrations").fetchall() == [(1,)]
        assert copy.execute("SELECT count(*) FROM events").fetchone() == (15,)


def compare(bodies: list[Body]) -> None:
    """The table that the writer fills, and that of a migration over the same events."""
    write = create("c", *bodies)
    path = Path("nowhere")
    with (
        closing(sqlite3.connect(":memory:", isolation_level=None)) as new,
        closing(sqlite3.connect(":memory:", isolation_level=None)) as old,
    ):
        migrate(new, path, at=1.0)
        (outcome,) = commit_batch(new, [append(write)], at=1.0)
        assert isinstance(outcome, Done), outcome
        migrate(old, path, at=1.0, migrations=FIRST)
        write_old(old, list(write.bodies))
        add_usage(old)
        assert read_rows(old) == read_rows(new)


@given(logs())
def test_the_past_is_counted_as_the_writer_would_have(events: list[Event]) -> None:
    # What these would be refused for has nothing to do with usage.
    kept = (body for body in (each.body for each in events) if not isinstance(body, REFUSED))
    compare([_age(body) for body in kept if not find_blobs([body])])


def _age(body: Body) -> Body:
    """The event as it was then: no summary was made, and so none was paid for."""
    return replace(body, usage=None) if isinstance(body, ViewChanged) else body


@given(
    st.lists(
        st.builds(
            CompletionFinished,
            st.sampled_from("tu"),
            st.integers(1, 3),
            st.just("end"),
            st.none() | st.builds(Usage, st.integers(0, 99), st.integers(0, 99)),
        )
        | st.builds(
            TurnStarted,
            st.sampled_from("tu"),
            st.integers(1, 3),
            st.sampled_from(["a/b", "c/d", None]),
        )
    )
)
def test_the_same_for_starts_and_answers_in_any_order(bodies: list[Body]) -> None:
    compare(bodies)
