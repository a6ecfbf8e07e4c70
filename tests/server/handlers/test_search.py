"""A search over the wire: what is asked reaches the store, what it finds reaches the client."""

import pytest

from askd.store.queries import SearchHit, SearchPage
from askd.store.refusals import search_damaged
from tests.fakes.house import Refused, open_server

HIT = SearchHit(
    conversation_id="c",
    name=None,
    title="Foxes",
    seq=7,
    at=5.5,
    role="assistant",
    item_id="t.1",
    snippet="the red fox",
    marks=((4, 7), (8, 11)),
)
NOTHING = SearchPage(rows=[], next_cursor=None)


async def test_hits_and_what_was_asked_for() -> None:
    async with open_server() as server:
        server.store.hits = [SearchPage(rows=[HIT], next_cursor="next"), NOTHING]
        peer = await server.greet()
        answer = await peer.call(
            "conversation/search",
            {
                "text": "red fox",
                "conversation_id": "c",
                "role": "assistant",
                "since_at": 1.5,
                "until_at": 9,
                "rank": True,
                "cursor": "x",
                "limit": 9999,
            },
        )
        assert answer == {
            "data": [
                {
                    "conversation_id": "c",
                    "name": None,
                    "title": "Foxes",
                    "seq": 7,
                    "at": 5.5,
                    "role": "assistant",
                    "item_id": "t.1",
                    "snippet": "the red fox",
                    "marks": [[4, 7], [8, 11]],
                }
            ],
            "next_cursor": "next",
        }
        assert await peer.call("conversation/search", {"text": ""}) == {
            "data": [],
            "next_cursor": None,
        }
        first, second = server.store.searched
        assert first == {
            "text": "red fox",
            "conversation_id": "c",
            "role": "assistant",
            "since_at": 1.5,
            "until_at": 9,
            "rank": True,
            "cursor": "x",
            "limit": 100,
        }
        assert (second["rank"], second["limit"], second["role"]) == (False, 20, None)


@pytest.mark.parametrize(
    "params", [{}, {"text": "x" * 1001}, {"text": "x", "role": "system"}, {"text": "x", "limit": 0}]
)
async def test_what_no_search_can_be(params: dict[str, object]) -> None:
    async with open_server() as server:
        peer = await server.greet()
        with pytest.raises(Refused) as caught:
            await peer.call("conversation/search", params)
        assert caught.value.code == 2
        assert server.store.searched == []


async def test_a_damaged_index_is_mended() -> None:
    async with open_server() as server:
        server.store.hits = [search_damaged()]
        peer = await server.greet()
        with pytest.raises(Refused, match="built anew") as caught:
            await peer.call("conversation/search", {"text": "fox"})
        assert (caught.value.code, caught.value.reason) == (74, "search_damaged")
        assert server.store.mended == 1
