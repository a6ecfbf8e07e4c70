"""Conversations are found by id, name and prefix, and what is ambiguous is named."""

import sqlite3
from pathlib import Path

import pytest

from askd.core.events import Renamed
from askd.errors import NotFound
from askd.store.finding import PREFIX_QUERY
from tests.store.builders import Store, add, create, open_store

A = "aaaa1111-0000-4000-8000-000000000001"
B = "aaaa1111-0000-4000-8000-000000000002"
C = "cccc3333-0000-4000-8000-000000000003"


async def fill(store: Store) -> None:
    await store.writer.append(create(A, name="work"))
    await store.writer.append(create(B))
    await store.writer.append(create(C, name="aaaa"))


async def test_exact_id_then_exact_name_then_prefix(path: Path) -> None:
    async with open_store(path) as store:
        await fill(store)
        reader = store.reader

        async def found(text: str) -> str:
            return (await reader.find(text)).id

        assert await found(A) == A
        assert await found(A.upper()) == A
        assert await found("work") == A
        assert await found("cccc") == C
        assert await found("CCCC3333-0") == C
        assert await found(B[:-1] + "2") == B
        assert await found("aaaa") == C, "a name comes before a prefix"
        await store.writer.append(add(C, Renamed(A)))
        assert await found(A) == A, "an id comes before a name"


@pytest.mark.parametrize("text", ["ccc", "ffff", "wor", "%", "____", "cccc%", "cccg", "", "dddd-"])
async def test_what_is_nothing_is_not_found(path: Path, text: str) -> None:
    async with open_store(path) as store:
        await fill(store)
        with pytest.raises(NotFound) as caught:
            await store.reader.find(text)
        assert caught.value.message == f"Conversation not found: id={text}\nList them: ask list"


async def test_an_ambiguous_prefix_names_its_candidates(path: Path) -> None:
    async with open_store(path) as store:
        await fill(store)
        with pytest.raises(NotFound) as caught:
            await store.reader.find("aaaa1")
        assert caught.value.reason == "conversation_ambiguous"
        assert caught.value.data == {"candidates": [A, B]}
        assert f"{A} (work), {B}." in caught.value.message


def test_a_prefix_is_a_range_of_the_index(connection: sqlite3.Connection) -> None:
    plan = connection.execute(f"EXPLAIN QUERY PLAN {PREFIX_QUERY}", ("a", "b")).fetchall()
    assert [row[3] for row in plan] == ["SEARCH conversations USING PRIMARY KEY (id>? AND id<?)"]
