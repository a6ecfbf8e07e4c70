"""What follows from events follows again: keys, counts, names, and what is left out of them."""

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from askd.core.events import (
    Body,
    CompletionFinished,
    ConversationCreated,
    Event,
    PromptAccepted,
    Renamed,
    ViewChanged,
)
from askd.core.outcome import Usage
from askd.store.bodies import encode_text
from askd.store.digests import ANY_DIGEST
from askd.store.recovery.filling import Filling, find_counted, find_keys, find_naming
from askd.store.recovery.rows import Row
from tests.store.builders import prompt
from tests.store.recovery import ruins


def events(*bodies: Body) -> list[Event]:
    return [Event("c", seq, float(seq), body) for seq, body in enumerate(bodies, start=1)]


def end(turn_id: str) -> CompletionFinished:
    return CompletionFinished(turn_id, 1, "end", Usage(1, 1))


def test_only_what_was_asked_of_this_daemon_has_a_key_and_counts() -> None:
    log = events(
        ConversationCreated("c"),
        PromptAccepted("copied", "", ()),
        end("copied"),
        PromptAccepted("imported", "imported", ()),
        end("imported"),
        prompt("own"),
        end("own"),
        end("nobody knows which"),
    )
    assert find_keys(log) == [("key-own", ANY_DIGEST, "c", "own", 6)]
    assert [event.seq for event in find_counted(log)] == [7, 8]


def test_a_summary_counts_where_it_was_made() -> None:
    summed = ViewChanged("v", "compact", "t", model="e/f", usage=Usage(1, 1))
    own = events(ConversationCreated("c"), summed)
    assert find_counted(own) == own[1:]
    fork = events(ConversationCreated("c", forked_from="s"), summed)
    copied = replace(fork[1], seq=2, at=fork[0].at - 1.0)
    later = replace(fork[1], seq=3)
    assert find_counted([fork[0], copied, later]) == [later]


def test_the_time_of_a_name_is_that_of_its_last_change() -> None:
    assert find_naming(events(ConversationCreated("c", "a"), prompt("t"), Renamed("b"))) == 3.0
    assert find_naming(events(prompt("t"))) == 0.0


@pytest.fixture
def filling(path: Path) -> Iterator[Filling]:
    filling = Filling(path, at=1.0)
    yield filling
    filling.discard()


def put(filling: Filling, id: str, *bodies: Body, imported_at: float = 0.0) -> None:
    rows = [
        Row(seq, float(seq), body.TYPE, 1, encode_text(body))
        for seq, body in enumerate(bodies, start=1)
    ]
    filling.add(
        id,
        rows,
        read_blob=lambda sha256: None,
        mirrored=None,
        imported_at=imported_at,
        usage=None,
    )


def test_what_is_closed_is_one_file_and_whole(filling: Filling, path: Path) -> None:
    put(filling, "c", ConversationCreated("c", "n"), prompt("t"), imported_at=9.0)
    assert filling.has("c")
    assert not filling.has("d")
    filling.close()
    assert [each.name for each in path.parent.iterdir()] == ["ask.db"]
    ruins.check(path)
    assert ruins.query(path, "SELECT name, imported_at FROM conversations") == [("n", 9.0)]
    assert ruins.query(path, "SELECT turn_id FROM open_turns") == [("t",)]
    assert filling.events == 2


def test_a_conversation_that_cannot_be_taken_leaves_no_trace(filling: Filling) -> None:
    row = Row(1, 1.0, "titled", 1, '{"type":"titled","title":"t"}')
    with pytest.raises(sqlite3.Error):
        filling.add(
            "c", [row], read_blob=lambda _: None, mirrored=None, imported_at=0.0, usage=[(1,)]
        )
    assert not filling.has("c")
    put(filling, "c", ConversationCreated("c"))
    assert filling.has("c")


def test_rows_that_fit_nothing_are_passed_over(filling: Filling, path: Path) -> None:
    put(filling, "c", ConversationCreated("c"))
    names = ("terminal", "conversation_id", "at")
    rows = [("t1", "c", 1.0), ("t2", "gone", 1.0), ("t1", "c", 2.0)]
    assert filling.insert("terminals", names, rows) == 2
    filling.close()
    assert ruins.query(path, "SELECT terminal, at FROM terminals") == [("t1", 2.0)]


def test_a_key_of_a_turn_that_is_lost_stands_for_nothing(filling: Filling, path: Path) -> None:
    put(filling, "c", ConversationCreated("c"), prompt("t"))
    filling.replace_keys(
        [("key-t", "d", "c", "t", 2), ("k", "d", "c", "lost", 9), ("deleted:x", "d", "x", "y", 0)]
    )
    filling.close()
    assert ruins.query(path, "SELECT key, digest, seq FROM keys ORDER BY key") == [
        ("deleted:x", "d", 0),
        ("k", "d", 0),
        ("key-t", "d", 2),
    ]
