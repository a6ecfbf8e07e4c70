"""Models over the wire: all of them, the default marked, and who could not be asked."""

from tests.fakes.house import ListedModels, open_server


async def test_models_are_listed_with_the_one_that_would_answer() -> None:
    async with open_server() as server:
        peer = await server.greet()
        page = await peer.call("model/list")
        shown = [(row["name"], row["context_window"], row["default"]) for row in page["data"]]
        # The second's window is a guess, so it is not shown.
        assert shown == [("test/small", 100_000, True), ("test/large", None, False)]
        assert page["warnings"] == ["work: no answer"]


async def test_the_callers_own_keys_are_used() -> None:
    async with open_server(models=ListedModels(key_needed="WORK_KEY")) as server:
        peer = await server.greet()
        page = await peer.call("model/list", {"secrets": {"WORK_KEY": "k"}})
        assert len(page["data"]) == 2


async def test_without_a_default_the_listing_is_still_one() -> None:
    class NoDefault(ListedModels):
        async def list_models(self, caller):  # type: ignore[no-untyped-def]
            return [], ["nothing is configured"]

    async with open_server(models=NoDefault(key_needed="WORK_KEY")) as server:
        peer = await server.greet()
        page = await peer.call("model/list")
        assert (page["data"], page["warnings"]) == ([], ["nothing is configured"])
