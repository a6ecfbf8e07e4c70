"""Listings in time: asked once, remembered, kept when a provider fails, never shown to others."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from askd.errors import BadAnswer, ProviderError, Unavailable, UnknownModel
from askd.providers.base import Endpoint
from askd.providers.models.dialects import Question
from askd.providers.models.inventory import (
    AGE_S,
    AT_ONCE,
    FIND_S,
    LIST_S,
    LOCAL_AGE_S,
    PROBE_S,
    Inventory,
)
from askd.providers.models.listings import Listed
from askd.providers.models.stock import MOST_PLACES
from tests.fakes.shelves import Shelves

HOSTED = Endpoint(provider="hosted", base_url="https://api.example.com/v1")
OLLAMA = Endpoint(provider="ollama", base_url="http://127.0.0.1:11434", dialect="ollama")
ANTHROPIC = Endpoint(
    provider="anthropic", base_url="https://api.example.com/v1", dialect="anthropic"
)


@pytest.fixture
def shelves() -> Shelves:
    return Shelves(first=1000, second=2000)


async def list_names(
    inventory: Inventory, shelves: Shelves, endpoint: Endpoint = HOSTED, **more: Any
) -> tuple[list[str], ProviderError | None]:
    """The names of a listing, and its trouble."""
    theirs = more.pop("theirs", None)
    listed, trouble = await inventory.list(
        endpoint, theirs, fetch=partial(shelves.fetch, endpoint), **more
    )
    return [each.name for each in listed], trouble


async def find(
    inventory: Inventory, shelves: Shelves, name: str, endpoint: Endpoint = HOSTED
) -> Listed | None:
    """One model."""
    return await inventory.find(endpoint, None, name, fetch=partial(shelves.fetch, endpoint))


async def test_a_listing_is_asked_for_once_in_its_time(shelves: Shelves) -> None:
    inventory = shelves.keep()
    for _ in range(2):
        assert await list_names(inventory, shelves) == (["first", "second"], None)
    assert shelves.asked == ["/models"]
    shelves.now += AGE_S + 1
    await list_names(inventory, shelves)
    assert len(shelves.asked) == 2
    await list_names(inventory, shelves, refresh=True)
    assert len(shelves.asked) == 3
    assert shelves.fetched == 3


async def test_on_this_machine_models_come_and_go(shelves: Shelves) -> None:
    inventory = shelves.keep()
    here = Endpoint(provider="here", base_url="http://127.0.0.1:8000/v1")
    await list_names(inventory, shelves, here)
    shelves.now += LOCAL_AGE_S + 1
    shelves.windows["third"] = 3000
    assert (await list_names(inventory, shelves, here))[0] == ["first", "second", "third"]


async def test_many_ask_at_once_and_one_question_is_enough(shelves: Shelves) -> None:
    inventory = shelves.keep()
    async with trio.open_nursery() as nursery:
        for refresh in (False, True, True, False):
            nursery.start_soon(partial(list_names, inventory, shelves, refresh=refresh))
    assert shelves.asked == ["/models"]


async def test_who_fails_keeps_what_it_listed_last(shelves: Shelves) -> None:
    inventory = shelves.keep()
    await list_names(inventory, shelves)
    shelves.fails = Unavailable("hosted cannot be reached")
    assert await list_names(inventory, shelves, refresh=True) == (
        ["first", "second"],
        shelves.fails,
    )


async def test_a_silent_server_is_given_up(shelves: Shelves, autojump_clock: MockClock) -> None:
    inventory = shelves.keep()
    shelves.silent = True
    began = trio.current_time()
    names, trouble = await list_names(inventory, shelves)
    assert trio.current_time() - began == pytest.approx(LIST_S)
    assert names == []
    assert trouble is not None
    assert trouble.message == f"hosted did not list its models within {LIST_S:g} seconds"


async def test_what_one_callers_key_showed_is_for_nobody_else(shelves: Shelves) -> None:
    inventory = shelves.keep()
    await list_names(inventory, shelves, theirs="sk-theirs")
    assert await inventory.look_up(HOSTED, None) == {}
    assert await inventory.look_up(HOSTED, "sk-others") == {}
    assert [*await inventory.look_up(HOSTED, "sk-theirs")] == ["first", "second"]
    shelves.fails = Unavailable("no")
    assert (await list_names(inventory, shelves))[0] == []


async def test_a_fresh_daemon_knows_without_asking(shelves: Shelves, tmp_path: Path) -> None:
    cache = tmp_path / "state" / "models.json"
    await list_names(shelves.keep(cache), shelves)
    shelves.now += 30 * 86400
    again = shelves.keep(cache)
    assert (await again.look_up(HOSTED, None))["second"].context_window == 2000
    assert await find(again, shelves, "second") == Listed(name="second", context_window=2000)
    assert shelves.asked == ["/models"]


async def test_a_file_that_is_none_costs_only_the_question(
    shelves: Shelves, tmp_path: Path
) -> None:
    cache = tmp_path / "models.json"
    cache.write_text("not one")
    assert (await list_names(shelves.keep(cache), shelves))[0] == ["first", "second"]
    assert (await shelves.keep(cache).look_up(HOSTED, None))["first"].context_window == 1000


async def test_a_window_is_asked_for_once(shelves: Shelves) -> None:
    inventory = shelves.keep()
    assert await find(inventory, shelves, "first") == Listed(name="first", context_window=1000)
    assert await find(inventory, shelves, "second") is not None
    assert await find(inventory, shelves, "unlisted") is None
    assert await find(inventory, shelves, "unlisted") is None
    assert shelves.asked == ["/models"]
    shelves.now += AGE_S + 1
    await find(inventory, shelves, "unlisted")
    assert len(shelves.asked) == 2


@pytest.mark.parametrize("how", ["fails", "is silent"])
async def test_a_prompt_does_not_wait_again_for_who_just_failed(
    shelves: Shelves, how: str, autojump_clock: MockClock
) -> None:
    inventory = shelves.keep()
    shelves.silent, shelves.fails = how == "is silent", Unavailable("no")
    began = trio.current_time()
    assert await find(inventory, shelves, "first") is None
    assert await find(inventory, shelves, "first") is None
    assert trio.current_time() - began <= FIND_S + 0.1
    assert len(shelves.asked) == 1
    shelves.now += LOCAL_AGE_S + 1
    shelves.silent, shelves.fails = False, None
    assert await find(inventory, shelves, "first") is not None


async def test_ollama_is_asked_about_each_and_only_those_that_chat_are_listed(
    shelves: Shelves,
) -> None:
    shelves.windows |= {f"m{number}": 100 for number in range(30)}
    shelves.embeds = {"second"}
    names, trouble = await list_names(shelves.keep(), shelves, OLLAMA)
    assert trouble is None
    assert names == [each for each in shelves.windows if each != "second"]
    assert shelves.asked[0] == "/api/tags"
    assert len(shelves.asked) == 1 + len(shelves.windows)
    assert shelves.busiest == AT_ONCE


async def test_one_model_of_ollama_takes_one_question(shelves: Shelves, tmp_path: Path) -> None:
    cache = tmp_path / "models.json"
    inventory = shelves.keep(cache)
    found = await find(inventory, shelves, "first", OLLAMA)
    assert found is not None
    assert found.context_window == 1000
    assert await find(inventory, shelves, "first", OLLAMA) == found
    assert await find(shelves.keep(cache), shelves, "first", OLLAMA) == found
    assert shelves.asked == ["/api/show first"]
    # It is not a listing: that is still asked for.
    assert (await list_names(inventory, shelves, OLLAMA))[0] == ["first", "second"]


@pytest.mark.parametrize(
    ("error", "names"),
    [
        (BadAnswer("the listing is not JSON"), ["a", "b"]),
        (UnknownModel("ollama has no such model"), []),
        (Unavailable("ollama had an error"), []),
    ],
)
async def test_ollamas_trouble_with_a_model_is_the_listings(
    error: ProviderError, names: list[str], shelves: Shelves
) -> None:
    async def answer_tags(endpoint: Endpoint, question: Question) -> Any:
        await trio.lowlevel.checkpoint()
        if question.body:
            raise error
        return {"models": [{"model": "a"}, {"model": "b"}]}

    inventory = Inventory(answer_tags, cache=None, now=lambda: 1e6)
    # What says nothing readable may still chat, what is gone is gone; a server that fails has
    # listed nothing.
    listed, trouble = await list_names(inventory, shelves, OLLAMA)
    assert listed == names
    assert trouble is (error if isinstance(error, Unavailable) else None)


async def test_pages_are_turned_to_the_end(shelves: Shelves) -> None:
    shelves.windows["third"] = 3000
    names, _ = await list_names(shelves.keep(), shelves, ANTHROPIC)
    assert names == ["first", "second", "third"]
    assert shelves.asked[1:] == [
        "/models?limit=1000&after_id=first",
        "/models?limit=1000&after_id=second",
    ]


async def test_a_book_without_an_end_is_put_down() -> None:
    pages = 0

    async def turn(endpoint: Endpoint, question: Question) -> Any:
        nonlocal pages
        pages += 1
        await trio.lowlevel.checkpoint()
        return {"data": [{"id": f"m{pages}"}], "has_more": True, "last_id": f"m{pages}"}

    inventory = Inventory(turn, cache=None, now=lambda: 1e6)
    names, trouble = await list_names(inventory, Shelves(), ANTHROPIC)
    assert trouble is None
    assert len(names) == pages == 10


def probe_empty(shelves: Shelves) -> None:
    shelves.windows.clear()


def probe_silent(shelves: Shelves) -> None:
    shelves.silent = True


def probe_refused(shelves: Shelves) -> None:
    shelves.fails = Unavailable("ollama cannot be reached")


@pytest.mark.parametrize("trouble", [probe_empty, probe_silent, probe_refused])
async def test_whether_somebody_is_there_is_asked_shortly_and_remembered(
    shelves: Shelves, trouble: Callable[[Shelves], None], autojump_clock: MockClock
) -> None:
    inventory = shelves.keep()
    assert await inventory.is_there(OLLAMA)
    trouble(shelves)
    assert await inventory.is_there(OLLAMA)
    shelves.now += LOCAL_AGE_S + 1
    began = trio.current_time()
    assert not await inventory.is_there(OLLAMA)
    assert trio.current_time() - began <= PROBE_S + 0.1
    assert not await inventory.is_there(OLLAMA)
    assert shelves.asked == ["/api/tags", "/api/tags"]


async def test_what_is_remembered_is_bounded(shelves: Shelves) -> None:
    inventory = shelves.keep()
    for number in range(MOST_PLACES + 3):
        await list_names(inventory, shelves, theirs=f"sk-{number}")
    assert len(inventory._stocks) == MOST_PLACES
    assert len(inventory._locks) <= MOST_PLACES + 1
    assert await inventory.look_up(HOSTED, "sk-0") == {}
    assert await inventory.look_up(HOSTED, f"sk-{MOST_PLACES + 2}") != {}


@pytest.mark.parametrize("endpoint", [HOSTED, OLLAMA])
async def test_no_more_is_kept_than_fits_and_it_is_known(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("askd.providers.models.inventory.MOST_MODELS", 3)
    shelves = Shelves(**{f"m{number}": 1000 for number in range(3)})
    cache = tmp_path / "models.json"
    inventory = shelves.keep(cache)
    assert len((await list_names(inventory, shelves, endpoint))[0]) == 3
    assert not await inventory.is_cut(endpoint, None)
    shelves.windows["m3"] = 1000
    names, trouble = await list_names(inventory, shelves, endpoint, refresh=True)
    assert (names, trouble) == (["m0", "m1", "m2"], None)
    assert await inventory.is_cut(endpoint, None)
    assert await shelves.keep(cache).is_cut(endpoint, None)


async def test_pages_that_were_not_asked_for_are_known_to_be_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("askd.providers.models.inventory.MOST_MODELS", 2)
    shelves = Shelves(a=1, b=2)
    inventory = shelves.keep()
    await list_names(inventory, shelves, ANTHROPIC)
    assert not await inventory.is_cut(ANTHROPIC, None)
    shelves.windows["c"] = 3
    names, _ = await list_names(inventory, shelves, ANTHROPIC, refresh=True)
    assert names == ["a", "b"]
    assert await inventory.is_cut(ANTHROPIC, None)
