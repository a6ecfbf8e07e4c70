"""A search finds what is meant, in the order that is asked for, and reads no more than it must."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from askd.core.events import ItemAdded, Titled
from askd.core.items import Text, ToolOutput
from askd.core.search import Role, Term, read_terms
from askd.errors import RequestError, StorageFailed
from askd.store.batch import commit_batch
from askd.store.changes import append
from askd.store.log import Write
from askd.store.search.queries import (
    NEWEST,
    RANKED,
    RANKED_WITHIN,
    SearchPage,
    encode_match,
    search,
)
from tests.store.builders import add, answer, create, open_store, prompt


def find(connection: sqlite3.Connection, text: str, **asked: Any) -> SearchPage:
    wanted: dict[str, Any] = {
        "conversation_id": None,
        "role": None,
        "since_at": None,
        "until_at": None,
        "rank": False,
        "cursor": None,
        "limit": 10,
        **asked,
    }
    return search(connection, text, **wanted)


def places(page: SearchPage) -> list[tuple[str, int]]:
    return [(hit.conversation_id, hit.seq) for hit in page.rows]


def commit(connection: sqlite3.Connection, write: Write, *, at: float) -> None:
    (outcome,) = commit_batch(connection, [append(write)], at=at)
    assert not isinstance(outcome, Exception), outcome


@pytest.fixture
def filled(connection: sqlite3.Connection) -> sqlite3.Connection:
    commit(connection, create("c1", prompt("t", "Where is the red fox?"), name="den"), at=100.0)
    commit(
        connection, add("c1", answer("t", "The fox is red; the fox sleeps."), Titled("F")), at=101.0
    )
    output = ItemAdded("t", ToolOutput("o", "call", "ls", (Text("fox.txt"),)), 1)
    commit(connection, add("c1", output), at=102.0)
    commit(connection, create("c2", prompt("t", "a red car")), at=200.0)
    return connection


def test_the_newest_hit_comes_first(filled: sqlite3.Connection) -> None:
    page = find(filled, "fox")
    assert places(page) == [("c1", 5), ("c1", 3), ("c1", 2)]
    assert page.next_cursor is None
    tool, assistant, user = page.rows
    assert (tool.role, tool.item_id, tool.at, tool.name) == ("tool", "o", 102.0, "den")
    assert (assistant.role, assistant.item_id, assistant.title) == ("assistant", "t.1", "F")
    assert [assistant.snippet[a:b] for a, b in assistant.marks] == ["fox", "fox"]
    assert (user.role, user.item_id) == ("user", "t.0")


def test_every_word_must_be_there_and_a_phrase_in_a_row(filled: sqlite3.Connection) -> None:
    assert places(find(filled, "red fox")) == [("c1", 3), ("c1", 2)]
    assert places(find(filled, '"red fox"')) == [("c1", 2)]
    assert places(find(filled, "RED c*")) == [("c2", 2)]
    assert places(find(filled, "red -fox")) == [("c1", 3), ("c1", 2)], "a minus means nothing"


def test_what_is_asked_for_narrows_it(filled: sqlite3.Connection) -> None:
    assert places(find(filled, "red", conversation_id="c2")) == [("c2", 2)]
    assert places(find(filled, "fox", role="tool")) == [("c1", 5)]
    assert places(find(filled, "fox", role="user", conversation_id="c1")) == [("c1", 2)]
    assert places(find(filled, "fox", role="summary")) == []
    assert places(find(filled, "red", since_at=101.0)) == [("c2", 2), ("c1", 3)]
    assert places(find(filled, "red", until_at=101.0)) == [("c1", 2)]
    assert places(find(filled, "red", since_at=101.0, until_at=200.0, rank=True)) == [("c1", 3)]
    assert places(find(filled, "red", conversation_id="C2")) == [], "an id is exact"
    # What narrows a search is not found as a word.
    assert places(find(filled, "ruser")) == []
    assert places(find(filled, "cc2")) == []


def test_the_best_hit_comes_first_if_that_is_asked_for(filled: sqlite3.Connection) -> None:
    commit(filled, create("c3", prompt("t", "fox " + "something else entirely " * 20)), at=300.0)
    ranked = find(filled, "fox", rank=True)
    assert places(ranked)[-1] == ("c3", 2), "one word among many says least"
    assert places(find(filled, "fox"))[0] == ("c3", 2)


@pytest.mark.parametrize("rank", [False, True])
def test_pages_go_on_where_the_last_ended(filled: sqlite3.Connection, rank: bool) -> None:
    everything = places(find(filled, "red", rank=rank))
    seen: list[tuple[str, int]] = []
    cursor = None
    while True:
        page = find(filled, "red", rank=rank, cursor=cursor, limit=1)
        seen += places(page)
        cursor = page.next_cursor
        if cursor is None:
            break
        if not rank:  # what is said meanwhile repeats nothing and hides nothing
            commit(filled, add("c2", prompt(f"u{len(seen)}", "red again")), at=400.0)
    assert seen == everything


def test_a_cursor_is_of_its_listing(filled: sqlite3.Connection) -> None:
    best = find(filled, "red", rank=True, limit=1).next_cursor
    newest = find(filled, "red", limit=1).next_cursor
    for cursor, rank in (
        (best, False),
        (newest, True),
        ("x", False),
        ("WzEsICJuZXh0IC0xIl0=", False),
    ):
        with pytest.raises(RequestError):
            find(filled, "red", rank=rank, cursor=cursor)
    assert not filled.in_transaction


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.text(max_size=60)
    | st.lists(
        st.sampled_from(
            [
                '"',
                "*",
                "AND",
                "OR",
                "NOT",
                "NEAR(",
                ")",
                "words :",
                "^",
                "+",
                "-",
                "red",
                "'",
                "\\",
                "\0",
            ]
        ),
        max_size=12,
    ).map(" ".join),
    st.booleans(),
    st.sampled_from([None, "user", "tool"]),
)
def test_nothing_that_is_typed_is_an_error(
    filled: sqlite3.Connection, text: str, rank: bool, role: Role | None
) -> None:
    page = find(filled, text, rank=rank, role=role)
    terms = read_terms(text)
    if not terms:
        assert page == SearchPage(rows=[], next_cursor=None)
    for hit in page.rows:
        assert hit.marks, "what was found is shown"


def test_no_word_is_an_operator() -> None:
    terms = (Term(("or",)), Term(("a", "b"), is_start=True))
    assert encode_match(terms, conversation_id=None, role=None) == 'words : ("or" AND "a b" *)'
    assert (
        encode_match(terms[:1], conversation_id="1-f", role="user")
        == 'words : ("or") AND tags : "ruser" AND tags : "c1f"'
    )


PARAMETERS = (
    "match",
    "first",
    "last",
    "since_at",
    "until_at",
    "conversation_id",
    "limit",
    "offset",
)
SORT = "USE TEMP B-TREE FOR ORDER BY"
BY_KEYS = [
    "SEARCH hit USING INTEGER PRIMARY KEY",
    "SEARCH conversation USING PRIMARY KEY",
    "SEARCH event USING PRIMARY KEY",
]


def plan(connection: sqlite3.Connection, statement: str) -> list[str]:
    values = dict.fromkeys(PARAMETERS)
    rows = connection.execute(f"EXPLAIN QUERY PLAN {statement}", values)
    return [row[3].split(" (")[0] for row in rows]


def test_the_newest_are_read_in_the_order_of_the_index(filled: sqlite3.Connection) -> None:
    """The words, then each hit by its id, its conversation and its event by their keys."""
    first, *others = plan(filled, NEWEST)
    assert first.startswith("SCAN search VIRTUAL TABLE INDEX")
    assert ":M" in first, "it is the index of words, with the bounds of ids: no scan of rows"
    assert "<" in first
    assert ">" in first
    assert others == BY_KEYS, "and nothing is sorted: no hit is read that is not shown"


@pytest.mark.parametrize(("statement", "looks"), [(RANKED, []), (RANKED_WITHIN, BY_KEYS[:1])])
def test_only_the_best_are_read(
    filled: sqlite3.Connection, statement: str, looks: list[str]
) -> None:
    """All hits are ranked and sorted by themselves; conversations and events come after that."""
    steps = plan(filled, statement)
    end = steps.index(SORT)
    first, *others = steps[1:end]
    assert first.startswith("SCAN search VIRTUAL TABLE INDEX")
    assert others == looks
    assert steps[end + 1 :] == ["SCAN best", *BY_KEYS, SORT]


@pytest.mark.parametrize("asked", [{"since_at": 0.0}, {"until_at": 900.0}])
def test_bounds_change_no_order(filled: sqlite3.Connection, asked: dict[str, Any]) -> None:
    assert len(places(find(filled, "red", rank=True))) == 3
    for limit in (2, 3):
        wanted = find(filled, "red", rank=True, limit=limit)
        assert find(filled, "red", rank=True, limit=limit, **asked) == wanted


async def test_the_reader_searches_what_is_committed(path: Path) -> None:
    async with open_store(path) as store:
        await store.writer.append(create("c", prompt("t", "red fox")))
        page = await store.reader.search("fox", limit=5)
        assert places(page) == [("c", 2)]
        await store.writer.delete("c")
        assert (await store.reader.search("fox", limit=5)).rows == []


async def test_a_damaged_index_is_a_failure_with_a_sentence(path: Path) -> None:
    async with open_store(path) as store:
        await store.writer.append(create("c", prompt("t", "red fox")))
        connection = store.writer._transactions.connection
        assert connection is not None
        connection.execute("UPDATE search_data SET block = x'ff' WHERE id > 10")
        with pytest.raises(StorageFailed) as caught:
            await store.reader.search("fox", limit=5)
        assert caught.value.reason == "search_damaged"
        await store.writer.append(add("c", answer("t", "blue fox")))
        await store.writer.mend_search()
    async with open_store(path) as store:
        assert len((await store.reader.search("fox", limit=5)).rows) == 2
