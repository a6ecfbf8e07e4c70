"""Models over the wire: all of them, the default and why, and who could not be asked."""

import pytest

from askd.server.handlers.models import MOST_ROWS
from tests.fakes.house import ListedModels, open_server


async def test_models_are_listed_with_the_one_that_would_answer() -> None:
    async with open_server() as server:
        peer = await server.greet()
        page = await peer.call("model/list")
        shown = [(row["name"], row["context_window"], row["default"]) for row in page["data"]]
        # The second's window is a guess, so it is not shown.
        assert shown == [("test/small", 100_000, True), ("test/large", None, False)]
        assert [row["aliases"] for row in page["data"]] == [["quick"], None]
        assert page["warnings"] == ["work: no answer"]
        assert (page["default"], page["default_why"]) == (
            "test/small",
            "it is the only one there is",
        )


@pytest.mark.parametrize(("method", "refreshed"), [("model/list", False), ("model/refresh", True)])
async def test_only_a_refresh_asks_anew(method: str, refreshed: bool) -> None:
    async with open_server() as server:
        peer = await server.greet()
        assert len((await peer.call(method))["data"]) == 2
        assert server.models.refreshed is refreshed


async def test_the_callers_own_keys_are_used() -> None:
    async with open_server(models=ListedModels(key_needed="WORK_KEY")) as server:
        peer = await server.greet()
        page = await peer.call("model/list", {"secrets": {"WORK_KEY": "k"}})
        assert len(page["data"]) == 2


async def test_without_a_default_the_listing_is_still_one_and_says_why() -> None:
    class NoDefault(ListedModels):
        async def list_models(self, caller, *, refresh=False):  # type: ignore[no-untyped-def]
            return [], ["nothing is configured"]

    async with open_server(models=NoDefault(key_needed="WORK_KEY")) as server:
        peer = await server.greet()
        page = await peer.call("model/list")
        assert (page["data"], page["warnings"]) == ([], ["nothing is configured"])
        assert (page["default"], page["default_why"]) == (None, "No key: set WORK_KEY.")


@pytest.mark.parametrize(
    ("more", "words"),
    [(7, "7 of 2,007 known models are not shown"), (1, "1 of 2,001 known models is not shown")],
)
async def test_a_listing_fits_one_message_and_says_what_is_left_out(more: int, words: str) -> None:
    names = tuple(f"test/{'m' * 200}{number}" for number in range(MOST_ROWS + more))
    async with open_server(models=ListedModels(known=names)) as server:
        peer = await server.greet()
        page = await peer.call("model/list")
        assert len(page["data"]) == MOST_ROWS
        assert page["warnings"][-1] == f"{words}: name one with -m"


async def test_names_that_begin_so_are_recalled_and_nobody_is_asked() -> None:
    class Unasked(ListedModels):
        async def list_models(self, caller, *, refresh=False):  # type: ignore[no-untyped-def]
            raise AssertionError("a provider would have been asked")

    async with open_server(models=Unasked()) as server:
        peer = await server.greet()

        async def recall(begins: str) -> list[tuple[str, list[str] | None]]:
            page = await peer.call("model/list", {"begins": begins})
            return [(row["name"], row["aliases"]) for row in page["data"]]

        assert await recall("") == [("test/small", ["quick"]), ("test/large", None)]
        assert await recall("test/l") == [("test/large", None)]
        assert await recall("qu") == [("test/small", ["quick"])]
        assert await recall("openai/") == []
