"""What is old and wanted by nobody goes; everything else stays, also at the last moment."""

import sqlite3
from dataclasses import replace

import pytest

from askd.core.events import Body, ItemPinned, ItemUnpinned, Renamed
from askd.store.batch import Done, commit_batch
from askd.store.changes import append, delete
from askd.store.expiry import expire, find_expired, find_newest, may_expire
from tests.store.builders import create, finish, note, prompt

KINDS = ("old", "young", "named", "unnamed", "pinned", "unpinned", "busy", "done", "imported")
GO = {"old", "unnamed", "unpinned", "done"}


def fill(connection: sqlite3.Connection, kind: str) -> None:
    """One conversation of a kind, named after it; what is old is of the time 10."""
    more: dict[str, list[Body]] = {
        "unnamed": [Renamed(None)],
        "pinned": [ItemPinned(None)],
        "unpinned": [ItemPinned(None), ItemUnpinned(None)],
        "busy": [prompt("t")],
        "done": [prompt("t"), finish("t")],
    }
    name = kind if kind in ("named", "unnamed") else None
    write = create(kind, *more.get(kind, [note("hi")]), name=name)
    if kind == "imported":
        write = replace(write, times=[10.0] * len(write.bodies))
    append(write)(connection, 100.0 if kind in ("young", "imported") else 10.0)


@pytest.fixture
def filled(connection: sqlite3.Connection) -> sqlite3.Connection:
    for kind in KINDS:
        fill(connection, kind)
    return connection


def test_what_may_go_is_found_in_pages(filled: sqlite3.Connection) -> None:
    assert set(find_expired(filled, before_at=50.0, after_id="", limit=99)) == GO
    pages, after = [], ""
    while page := find_expired(filled, before_at=50.0, after_id=after, limit=3):
        pages.append(page)
        after = page[-1]
    assert [id for page in pages for id in page] == sorted(GO)
    assert max(map(len, pages)) == 3
    assert find_expired(filled, before_at=10.0, after_id="", limit=9) == [], "as old as that"
    later = find_expired(filled, before_at=1000.0, after_id="", limit=99)
    assert set(later) == GO | {"young", "imported"}


def test_only_what_may_go_goes(filled: sqlite3.Connection) -> None:
    changes = [expire(kind, before_at=50.0, archive=False) for kind in (*KINDS, "nobody")]
    outcomes = commit_batch(filled, changes, at=200.0)
    gone = {
        kind
        for kind, outcome in zip((*KINDS, "nobody"), outcomes, strict=True)
        if isinstance(outcome, Done) and outcome.value
    }
    assert gone == GO
    left = {id for (id,) in filled.execute("SELECT id FROM conversations")}
    assert left == set(KINDS) - GO


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("seq", [0, 1, 2, 3])
def test_only_what_is_mirrored_goes_to_the_archive(
    connection: sqlite3.Connection, seq: int, there: bool
) -> None:
    fill(connection, "old")
    if there:
        connection.execute("INSERT INTO rollouts VALUES ('old', 'a/b.jsonl', ?, 5)", (seq,))
    whole = there and seq >= 2
    assert may_expire(connection, "old", before_at=50.0, archive=True) is whole
    (outcome,) = commit_batch(connection, [expire("old", before_at=50.0, archive=True)], at=9.0)
    assert outcome == Done(whole)
    removals = connection.execute("SELECT path, archive FROM rollout_removals").fetchall()
    assert removals == ([("a/b.jsonl", 1)] if whole else [])


def test_a_deletion_that_is_asked_for_archives_nothing(filled: sqlite3.Connection) -> None:
    filled.execute("INSERT INTO rollouts VALUES ('named', 'a/b.jsonl', 1, 5)")
    delete("named")(filled, 1.0)
    assert filled.execute("SELECT * FROM rollout_removals").fetchall() == [("a/b.jsonl", 0)]


def test_the_newest_is_what_was_written_or_came_last(connection: sqlite3.Connection) -> None:
    assert find_newest(connection) is None
    fill(connection, "old")
    assert find_newest(connection) == 10.0
    fill(connection, "imported")
    assert find_newest(connection) == 100.0
