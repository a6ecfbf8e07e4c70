"""Usage over the wire: what is asked reaches the store, what it answers reaches the client."""

import pytest

from askd.store.queries import UsagePage
from askd.store.usage_queries import UsageRow
from tests.fakes.house import Refused, open_server


def row(group: str | None, *, cost: float | None = None) -> UsageRow:
    return UsageRow(
        group=group,
        label=None,
        answers=2,
        input_tokens=100,
        cached_tokens=30,
        output_tokens=20,
        reasoning_tokens=5,
        cost_usd=cost,
        unpriced=0 if cost is not None else 2,
    )


async def test_sums_and_their_total() -> None:
    async with open_server() as server:
        page = UsagePage(rows=[row("a/b", cost=0.5)], total=row(None), next_cursor="next")
        server.store.usage = [page, page]
        peer = await server.greet()
        answer = await peer.call(
            "usage/read",
            {"by": "model", "since_at": 7.5, "utc_offset_s": -3600, "cursor": "c", "limit": 9999},
        )
        assert answer == {
            "data": [
                {
                    "group": "a/b",
                    "label": None,
                    "answers": 2,
                    "input_tokens": 100,
                    "cached_tokens": 30,
                    "output_tokens": 20,
                    "reasoning_tokens": 5,
                    "cost_usd": 0.5,
                    "unpriced": 0,
                }
            ],
            "total": {**answer["data"][0], "group": None, "cost_usd": None, "unpriced": 2},
            "next_cursor": "next",
        }
        await peer.call("usage/read")
        first, second = server.store.usage_asked
        assert first == {
            "by": "model",
            "since_at": 7.5,
            "utc_offset_s": -3600,
            "cursor": "c",
            "limit": 500,
        }
        assert (second["by"], second["since_at"], second["limit"]) == ("day", None, 50)


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"by": "week"}, "by"),
        ({"utc_offset_s": 90_000}, "utc_offset_s"),
        ({"limit": 0}, "limit"),
    ],
)
async def test_what_cannot_be_asked_is_refused(params: dict[str, object], field: str) -> None:
    async with open_server() as server:
        peer = await server.greet()
        with pytest.raises(Refused) as caught:
            await peer.call("usage/read", params)
        assert (caught.value.code, caught.value.data["field"]) == (2, field)
        assert server.store.usage_asked == []
