"""What one change writes, and that a refusal comes before anything is written."""

import json
import sqlite3
from typing import Any

import pytest

from askd.core.events import (
    CompletionFinished,
    ConversationCreated,
    ItemAdded,
    ItemPinned,
    ItemUnpinned,
    Renamed,
    SettingsChanged,
    Titled,
    UnknownBody,
)
from askd.core.items import Blob, UserMessage
from askd.core.outcome import Usage
from askd.errors import NotFound, RequestError
from askd.store import changes
from askd.store.batch import Change, Done, commit_batch
from askd.store.changes import append, delete, read_row, save_partials
from askd.store.key_rows import hide_key, read_key
from askd.store.log import Committed, KnownKey, Partial, Write
from tests.store.builders import add, answer, create, finish, job, key, note, prompt, seqs


def do(connection: sqlite3.Connection, change: Change[Any], *, at: float = 1.0) -> Any:
    """Commit one change; raise what it refused."""
    (outcome,) = commit_batch(connection, [change], at=at)
    if isinstance(outcome, Done):
        return outcome.value
    raise outcome


def rows(connection: sqlite3.Connection, sql: str) -> list[Any]:
    return connection.execute(sql).fetchall()


PAGES_OF_THE_INDEX = {f"search_{each}" for each in ("data", "idx", "docsize", "config", "chores")}
"""How FTS5 lays out its words depends on what was there before: see test_search_index.py."""


def everything(connection: sqlite3.Connection) -> dict[str, list[Any]]:
    tables = [n for (n,) in rows(connection, "SELECT name FROM sqlite_master WHERE type = 'table'")]
    kept = [table for table in tables if table not in PAGES_OF_THE_INDEX]
    return {table: rows(connection, f"SELECT * FROM {table}") for table in kept}


def test_events_are_numbered_from_1_without_a_gap(connection: sqlite3.Connection) -> None:
    first: Committed = do(connection, append(create("c", note())), at=5.0)
    second: Committed = do(connection, append(add("c", note(), note())), at=6.0)
    assert seqs(first.events) == [1, 2]
    assert seqs(second.events) == [3, 4]
    stored = rows(connection, "SELECT conversation_id, seq, at, type, version, body FROM events")
    assert [row[:5] for row in stored[:3]] == [
        ("c", 1, 5.0, "conversation_created", 1),
        ("c", 2, 5.0, "item_added", 1),
        ("c", 3, 6.0, "item_added", 1),
    ]
    assert json.loads(stored[0][5]) == {"type": "conversation_created", "id": "c"}


def test_the_row_follows(connection: sqlite3.Connection) -> None:
    do(connection, append(create("c", name="work")), at=5.0)
    half = Titled("Half \ud83d")
    change = append(add("c", SettingsChanged(model="a/b"), prompt("t"), answer("t"), half))
    do(connection, change, at=6.0)
    row = read_row(connection, "c")
    assert row is not None
    assert (row.name, row.model, row.title) == ("work", "a/b", "Half ?")
    assert (row.message_count, row.last_seq, row.created_at, row.updated_at) == (2, 5, 5.0, 6.0)
    assert read_row(connection, "d") is None


def test_a_name_is_one_conversations(connection: sqlite3.Connection) -> None:
    do(connection, append(create("c", name="work")))
    before = everything(connection)
    with pytest.raises(RequestError) as caught:
        do(connection, append(create("d", prompt("t"), name="work")))
    assert caught.value.reason == "name_taken"
    assert everything(connection) == before
    do(connection, append(create("d")))
    with pytest.raises(RequestError, match="'work' belongs to the conversation c"):
        do(connection, append(add("d", Renamed("work"))))
    do(connection, append(add("c", Renamed("work"))))  # its own name again
    do(connection, append(add("c", Renamed(None))))
    do(connection, append(add("d", Renamed("work"))))


def test_what_is_there_and_what_is_not(connection: sqlite3.Connection) -> None:
    with pytest.raises(NotFound, match="Conversation not found: id=c"):
        do(connection, append(add("c", note())))
    do(connection, append(create("c")))
    with pytest.raises(RequestError, match="exists already"):
        do(connection, append(create("c")))


def test_a_key_is_the_same_turn_or_an_error(connection: sqlite3.Connection) -> None:
    def write(digest: str = "d", turn_id: str = "t") -> Write:
        return Write(
            conversation_id="c",
            bodies=[*create("c").bodies, note(), prompt(turn_id)],
            create=True,
            key=key("k", turn_id, digest),
        )

    first: Committed = do(connection, append(write()))
    assert seqs(first.events) == [1, 2, 3]
    assert first.repeated is None
    before = everything(connection)
    known = KnownKey("k", "d", "c", "t", 3)
    assert do(connection, append(write(turn_id="u"))) == Committed(events=(), repeated=known)
    with pytest.raises(RequestError) as caught:
        do(connection, append(write(digest="other")))
    assert caught.value.reason == "key_reused"
    assert everything(connection) == before


def test_a_terminal_is_bound_with_or_without_events(connection: sqlite3.Connection) -> None:
    do(connection, append(create("c")))
    do(connection, append(create("d")))
    write = Write(conversation_id="c", bodies=[note()], terminal="tty")
    do(connection, append(write), at=5.0)
    assert rows(connection, "SELECT * FROM terminals") == [("tty", "c", 5.0)]
    bind = Write(conversation_id="d", bodies=[], terminal="tty")
    assert do(connection, append(bind), at=6.0) == Committed(events=())
    assert rows(connection, "SELECT * FROM terminals") == [("tty", "d", 6.0)]
    row = read_row(connection, "d")
    assert row is not None
    assert row.updated_at == 1.0, "to look at a conversation is not to change it"
    with pytest.raises(NotFound):
        do(connection, append(Write(conversation_id="x", bodies=[], terminal="tty")))


def test_open_turns_are_those_without_an_end(connection: sqlite3.Connection) -> None:
    do(connection, append(create("c", prompt("t"), prompt("u"))))
    do(connection, append(add("c", prompt("t"))))
    assert rows(connection, "SELECT turn_id FROM open_turns") == [("t",), ("u",)]
    do(connection, append(add("c", finish("t"), finish("t"))))
    assert rows(connection, "SELECT turn_id FROM open_turns") == [("u",)]


def test_partials_live_until_their_item_or_their_turn_ends(connection: sqlite3.Connection) -> None:
    def partial(item_id: str, text: str, turn_id: str = "t", kind: str = "text") -> Partial:
        return Partial("c", turn_id, item_id, kind, text)

    def texts() -> list[tuple[str, str]]:
        found = rows(connection, "SELECT item_id, text FROM partials ORDER BY item_id, kind")
        return [(item_id, text) for item_id, text in found]

    do(connection, save_partials([partial("t.1", "too early")]))
    assert texts() == []
    do(connection, append(create("c", prompt("t"), prompt("u"))))
    do(connection, save_partials([partial("t.1", "Hel"), partial("t.1", "hm", kind="reasoning")]))
    do(connection, save_partials([partial("t.1", "Hello \ud83d"), partial("u.1", "x", "u")]))
    assert texts() == [("t.1", "hm"), ("t.1", "Hello ?"), ("u.1", "x")]
    do(connection, append(add("c", answer("t"))))
    assert texts() == [("u.1", "x")]
    do(connection, save_partials([partial("t.2", "more")]))
    do(connection, append(add("c", finish("t"))))
    assert texts() == [("u.1", "x")]
    do(connection, save_partials([partial("t.2", "too late")]))
    assert texts() == [("u.1", "x")]


def test_deletion_leaves_keys_and_nothing_else(connection: sqlite3.Connection) -> None:
    def whole(id: str) -> Write:
        item = UserMessage("i", (Blob("aa", 3, "text/plain"), Blob(f"own-{id}", 1, "text/plain")))
        return Write(
            conversation_id=id,
            bodies=[*create(id, name=f"name-{id}").bodies, prompt("t"), ItemAdded(None, item)],
            create=True,
            key=key(f"k-{id}", "t"),
            terminal=f"tty-{id}",
            jobs=[job(f"j-{id}", id)],
            blobs=[("aa", b"abc"), (f"own-{id}", b"x")],
        )

    do(connection, append(whole("d")))
    do(connection, save_partials([Partial("d", "t", "t.1", "text", "x")]))
    only_d = everything(connection)
    do(connection, append(whole("c")))
    do(connection, save_partials([Partial("c", "t", "t.1", "text", "x")]))
    do(connection, delete("c"))
    left = everything(connection)
    assert left.pop("keys") == [(hide_key("k-c"), "d", "c", "t", 0), ("k-d", "d", "d", "t", 2)]
    only_d.pop("keys")
    assert left == only_d
    assert read_key(connection, "k-c") == KnownKey("k-c", "d", "c", "t", 0)
    with pytest.raises(NotFound):
        do(connection, delete("c"))
    repeated: Committed = do(connection, append(whole("c")))
    assert repeated.repeated == KnownKey("k-c", "d", "c", "t", 0)


def test_a_value_that_cannot_be_stored_is_the_callers_error() -> None:
    with pytest.raises(ValueError, match="JSON"):
        append(add("c", UnknownBody(raw={"type": "x", "value": float("inf")})))
    with pytest.raises(ValueError, match="first body"):
        append(Write(conversation_id="c", bodies=[note()], create=True))


def test_events_are_clustered_by_conversation(connection: sqlite3.Connection) -> None:
    (plan,) = rows(
        connection,
        "EXPLAIN QUERY PLAN SELECT body FROM events"
        " WHERE conversation_id = 'c' AND seq > 1 ORDER BY seq",
    )
    assert "SEARCH events USING PRIMARY KEY" in plan[3]


def test_doing_nothing_is_possible(connection: sqlite3.Connection) -> None:
    assert do(connection, changes.do_nothing) is None


def test_a_pinned_conversation_stays_pinned_on_the_disk(connection: sqlite3.Connection) -> None:
    do(connection, append(create("c", ItemPinned())))
    found = read_row(connection, "c")
    assert found is not None
    assert found.pinned is True
    do(connection, append(add("c", ItemUnpinned())))
    found = read_row(connection, "c")
    assert found is not None
    assert found.pinned is False


def test_what_a_fork_copies_is_found_and_not_paid_for_twice(
    connection: sqlite3.Connection,
) -> None:
    took = CompletionFinished("t", 1, "end", Usage(100, 10))
    source = do(connection, append(create("c", prompt("t"), answer("t"), took, finish("t"))))
    copies = [each.body for each in source.events[1:]]
    fork = Write(
        conversation_id="f",
        bodies=[ConversationCreated("f", forked_from="c"), *copies],
        create=True,
        times=[9.0, *(each.at for each in source.events[1:])],
    )
    do(connection, append(fork), at=9.0)
    assert rows(connection, "SELECT conversation_id FROM usage") == [("c",)]
    assert rows(connection, "SELECT conversation_id, seq FROM search_rows ORDER BY id") == [
        ("c", 2),
        ("c", 3),
        ("f", 2),
        ("f", 3),
    ]
    assert rows(connection, "SELECT * FROM open_turns") == []
