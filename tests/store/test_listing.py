"""Which conversations a page lists: by the beginning of a name or an id, beside their age."""

from pathlib import Path

import pytest

from tests.store.builders import create, open_store

A = "aaaa1111-0000-4000-8000-000000000001"
B = "aaaa1111-0000-4000-8000-000000000002"
C = "cccc3333-0000-4000-8000-000000000003"


@pytest.mark.parametrize(
    ("begins", "found"),
    [
        ("", [C, B, A]),
        ("wo", [A]),
        ("Wo", []),
        ("%", []),
        ("_", []),
        ("100%", [B]),
        ("aaaa", [C, B, A]),  # two ids, and a name
        ("aaaa1111-0000-4000-8000-000000000002", [B]),
        ("ork", []),
    ],
)
async def test_a_beginning_is_taken_as_it_is(path: Path, begins: str, found: list[str]) -> None:
    async with open_store(path) as store:
        await store.writer.append(create(A, name="work"))
        store.clock.at += 1
        await store.writer.append(create(B, name="100% sure"))
        store.clock.at += 1
        await store.writer.append(create(C, name="aaaa"))
        page = await store.reader.list_conversations(cursor=None, limit=9, begins=begins)
        assert [row.id for row in page.rows] == found
        assert page.total == len(found)


async def test_it_goes_page_by_page_and_with_an_age(path: Path) -> None:
    async with open_store(path) as store:
        for number in range(5):
            store.clock.at = 100.0 + number
            await store.writer.append(create(f"c{number}", name=f"{'ab'[number % 2]}{number}"))
        list_them = store.reader.list_conversations
        first = await list_them(cursor=None, limit=2, begins="a")
        assert [row.id for row in first.rows] == ["c4", "c2"]
        assert first.total == 3
        second = await list_them(cursor=first.next_cursor, limit=2, begins="a")
        assert ([row.id for row in second.rows], second.next_cursor) == (["c0"], None)
        old = await list_them(cursor=None, limit=9, before_at=103.0, begins="a")
        assert [row.id for row in old.rows] == ["c2", "c0"]
