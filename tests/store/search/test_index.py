"""The index follows the log: what is said is in it, what leaves the log leaves its pages too."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.core.blob_parts import find_blobs
from askd.core.events import (
    Body,
    ConversationCreated,
    Event,
    ItemAdded,
    PromptAccepted,
    PromptWithdrawn,
    TurnFinished,
    UnknownBody,
)
from askd.core.items import AssistantMessage, Blob, Text, UserMessage
from askd.store.batch import Done, commit_batch
from askd.store.bodies import encode_text
from askd.store.changes import append, delete
from askd.store.log import Write
from askd.store.migrations import migrate
from askd.store.search import index as search_index
from askd.store.search.index import (
    BLOB_BYTES,
    LATEST_S,
    SECOND,
    ask_rebuild,
    find_chore,
    forget_events,
    index_events,
    make_tags,
    rebuild,
    tend,
    to_place,
)
from tests.core.values import logs
from tests.store.builders import add, answer, create, finish, prompt

VOCABULARY = "CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab(main, search, instance)"


def commit(connection: sqlite3.Connection, *writes: Write, at: float = 1000.0) -> None:
    for outcome in commit_batch(connection, [append(each) for each in writes], at=at):
        assert isinstance(outcome, Done), outcome


def remove(connection: sqlite3.Connection, conversation_id: str) -> None:
    (outcome,) = commit_batch(connection, [delete(conversation_id)], at=1.0)
    assert isinstance(outcome, Done), outcome


def read_words(connection: sqlite3.Connection) -> list[Any]:
    """Every word of the index, where it stands, and of which event it is."""
    connection.execute("DROP TABLE IF EXISTS temp.vocabulary")
    connection.execute(VOCABULARY)
    return connection.execute(
        "SELECT conversation_id, seq, role, col, offset, term FROM vocabulary"
        " LEFT JOIN search_rows ON search_rows.id = vocabulary.doc ORDER BY 1, 2, 4, 5"
    ).fetchall()


def words_of(connection: sqlite3.Connection, conversation_id: str, seq: int) -> list[str]:
    return [
        term
        for id, number, _, column, _, term in read_words(connection)
        if (id, number, column) == (conversation_id, seq, "words")
    ]


def test_what_is_said_is_indexed_with_its_event(connection: sqlite3.Connection) -> None:
    commit(connection, create("c", prompt("t", "Red fox"), answer("t", "Blue"), finish("t")))
    assert words_of(connection, "c", 2) == ["red", "fox"]
    assert words_of(connection, "c", 3) == ["blue"]
    roles = connection.execute("SELECT seq, role, at FROM search_rows").fetchall()
    assert roles == [(2, "user", 1000.0), (3, "assistant", 1000.0)]
    tags = [term for *_, column, _, term in read_words(connection) if column == "tags"]
    assert tags == ["ruser", "cc", "rassistant", "cc"]


def test_a_refused_write_leaves_nothing(connection: sqlite3.Connection) -> None:
    commit(connection, create("c", name="taken"))
    outcomes = commit_batch(
        connection, [append(create("d", prompt("t", "never"), name="taken"))], at=1.0
    )
    assert isinstance(outcomes[0], Exception)
    assert read_words(connection) == []


def test_a_prompt_that_was_taken_back_is_not_found(connection: sqlite3.Connection) -> None:
    commit(connection, create("c", prompt("t", "stays"), prompt("u", "goes")))
    over = TurnFinished("u", "withdrawn", 1)
    commit(connection, add("c", PromptWithdrawn("u"), over), add("c", PromptWithdrawn("nobody")))
    assert words_of(connection, "c", 2) == ["stays"]
    assert words_of(connection, "c", 3) == []
    assert find_chore(connection) is None, "the log keeps the words too: there is nothing to purge"


def test_ids_are_in_the_order_of_time_whatever_came_first(connection: sqlite3.Connection) -> None:
    commit(connection, create("new", prompt("t", "x"), prompt("u", "x")), at=2000.0)
    commit(connection, create("old", prompt("t", "x")), at=1000.0)
    commit(connection, create("same", prompt("t", "x")), at=2000.0)
    found = connection.execute("SELECT id, conversation_id FROM search_rows ORDER BY id").fetchall()
    start = 2000 * SECOND
    assert found == [
        (1000 * SECOND, "old"),
        (start, "new"),
        (start + 1, "new"),
        (start + 2, "same"),
    ]


def test_a_second_that_is_full_goes_on_in_the_next(connection: sqlite3.Connection) -> None:
    commit(connection, create("c"))
    connection.execute("INSERT INTO search_rows VALUES (?, 'c', 9, 0, 'user')", (SECOND - 1,))
    commit(connection, create("d", prompt("t", "x")), at=0.0)
    assert connection.execute("SELECT max(id) FROM search_rows").fetchone() == (SECOND,)


@pytest.mark.parametrize("at", [-5.0, 0.0, 1.5, LATEST_S, LATEST_S * 9, float("inf")])
def test_every_time_has_a_place(at: float) -> None:
    assert 0 <= to_place(at) < 10**18


def test_of_content_beside_the_log_the_beginning_is_indexed(
    connection: sqlite3.Connection,
) -> None:
    text = b"needle " + b"hay " * (BLOB_BYTES // 4) + b"late"
    image = b"\x89PNG needle"
    message = UserMessage(
        "u",
        (
            Text("look"),
            Blob("aa", len(text), "text/plain"),
            Blob("bb", len(image), "image/png"),
        ),
    )
    commit(
        connection,
        Write(
            conversation_id="c",
            bodies=[ConversationCreated("c"), PromptAccepted("t", "k", (message,))],
            create=True,
            blobs=[("aa", text), ("bb", image)],
        ),
    )
    words = words_of(connection, "c", 2)
    assert words[:3] == ["look", "needle", "hay"]
    assert "late" not in words
    assert words.count("needle") == 1
    remove(connection, "c")
    assert read_words(connection) == []


def test_a_deleted_conversation_leaves_no_word_in_the_file(
    connection: sqlite3.Connection, path: Path
) -> None:
    for number in range(30):
        rare = "quagga" if number == 7 else "zebra"
        commit(connection, create(f"c{number}", prompt("t", f"{rare}{number} shared")))
    assert b"quagga" in path.read_bytes() + path.with_name("ask.db-wal").read_bytes()
    remove(connection, "c7")
    tend(connection)
    assert find_chore(connection) is None
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert b"quagga" not in path.read_bytes()
    assert words_of(connection, "c8", 2) == ["zebra8", "shared"]
    assert {row[0] for row in read_words(connection)} == {f"c{n}" for n in range(30) if n != 7}


def test_an_sqlite_that_cannot_take_words_out_is_helped(
    connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_index, "HAS_SECURE_DELETE", False)
    commit(connection, create("c", prompt("t", "gone")), create("d", prompt("t", "there")))
    remove(connection, "c")
    assert find_chore(connection) == "purge"
    tend(connection)
    assert find_chore(connection) is None
    pages = connection.execute("SELECT count(*) FROM search_data WHERE instr(block, 'gone')")
    assert pages.fetchone() == (0,)


def test_single_events_can_leave_and_come_back(connection: sqlite3.Connection) -> None:
    """As for a text that is replaced in the log: out before, in again after."""
    commit(connection, create("c", prompt("t", "my key"), answer("t", "ok")))
    forget_events(connection, "c", [])
    forget_events(connection, "c", [2, 99])
    assert words_of(connection, "c", 2) == []
    assert words_of(connection, "c", 3) == ["ok"]
    index_events(connection, [Event("c", 2, 5.0, prompt("t", "my [hidden]"))])
    assert words_of(connection, "c", 2) == ["my", "hidden"]


STRUCTURE = 10
"""The row in which FTS5 says which pages there are; those with words have a higher id."""


def test_a_damaged_index_costs_no_event_and_is_built_anew(
    connection: sqlite3.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    commit(connection, create("c", prompt("t", "before")))
    connection.execute("UPDATE search_data SET block = x'ff' WHERE id = ?", (STRUCTURE,))
    commit(connection, add("c", answer("t", "while")))
    assert find_chore(connection) == "rebuild"
    assert "damaged" in caplog.text
    remove(connection, "c")
    commit(connection, create("d", prompt("t", "after")))
    tend(connection)
    assert find_chore(connection) is None
    assert [row[5] for row in read_words(connection) if row[3] == "words"] == ["after"]


def test_a_disk_that_fails_is_no_damage(connection: sqlite3.Connection) -> None:
    """The write has to be refused: nothing may be kept of it."""
    commit(connection, create("c"))
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")
    (outcome,) = commit_batch(connection, [append(add("c", prompt("t", "word " * 90_000)))], at=1.0)
    assert isinstance(outcome, sqlite3.OperationalError)
    assert find_chore(connection) is None


def test_pages_that_cannot_be_cleaned_are_built_anew(
    connection: sqlite3.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    commit(connection, create("c", prompt("t", "word")))
    commit(connection, create("d", prompt("t", "another")))
    connection.execute("INSERT INTO search_chores VALUES ('purge')")
    connection.execute("UPDATE search_data SET block = x'ff' WHERE id > ?", (STRUCTURE,))
    tend(connection)
    assert "damaged" in caplog.text
    assert find_chore(connection) is None
    assert words_of(connection, "c", 2) == ["word"]


def test_a_chore_that_fails_changes_nothing(connection: sqlite3.Connection) -> None:
    commit(connection, create("c", prompt("t", "word")))
    ask_rebuild(connection)
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(
        "INSERT INTO events VALUES ('c', 3, 1.0, 'prompt_accepted', 1, ?)",
        (encode_text(prompt("u", "word " * 90_000)),),
    )
    connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(sqlite3.OperationalError, match="full"):
        tend(connection)
    assert not connection.in_transaction
    assert find_chore(connection) == "rebuild"
    assert words_of(connection, "c", 2) == ["word"]


def test_tags_are_single_words() -> None:
    assert make_tags("12ab-34", "tool") == ("rtool", "c12ab34")


REFUSED = (ConversationCreated, UnknownBody)


@given(logs(), st.sets(st.integers(2, 12)))
def test_the_index_is_a_function_of_the_log(events: list[Event], forgotten: set[int]) -> None:
    """Built step by step, or at once; and words that leave it leave no trace."""
    kept = [event.body for event in events if not isinstance(event.body, REFUSED)]
    bodies: list[Body] = [body for body in kept if not find_blobs([body])]
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, Path("nowhere"), at=1.0)
        connection.execute("PRAGMA foreign_keys = ON")
        commit(connection, create("c"), create("other", prompt("t", "else"), at_rest()))
        for body in bodies:
            commit(connection, add("c", body))
        step_by_step = read_words(connection)
        connection.execute("BEGIN")
        rebuild(connection)
        connection.execute("COMMIT")
        assert read_words(connection) == step_by_step
        forget_events(connection, "c", sorted(forgotten))
        assert read_words(connection) == [
            row for row in step_by_step if row[0] != "c" or row[1] not in forgotten
        ]
        remove(connection, "c")
        assert {row[0] for row in read_words(connection)} <= {"other"}
        connection.execute("INSERT INTO search (search) VALUES ('integrity-check')")


def at_rest() -> ItemAdded:
    return ItemAdded("t", AssistantMessage("a", (Text("at rest"),)), 1)
