"""Over the wire: compacted by a job, pruned at once, taken back, and what terminals hear."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
import trio.testing

from askd.errors import Unauthenticated
from askd.jobs.kinds import make_kinds
from askd.jobs.worker import Worker
from askd.providers.base import ModelRequest
from askd.sessions.compaction import FAILED, NOTHING, STARTED
from tests.fakes.house import ListedModels, PeerStream, Refused, Server, open_server, prompt
from tests.fakes.long_talks import fill, is_summary_request
from tests.fakes.models import Step


def play(request: ModelRequest) -> Iterable[Step]:
    return ["They said things."] if is_summary_request(request) else ["ok"]


@asynccontextmanager
async def open_house(**models: Any) -> AsyncIterator[Server]:
    """A server with a worker beside it; 2,000 tokens fit a request."""
    listed = ListedModels(**{"script": play, "window": 2500, "reserved": 500, **models})
    async with open_server(models=listed) as server, trio.open_nursery() as nursery:
        worker = Worker(
            server.store,
            log=server.store,
            kinds=make_kinds(server.house.sessions),
            now=server.store.now,
            chance=lambda: 0.5,
        )
        observe = server.store.observe

        def both(events: Any) -> None:
            observe(events)
            worker.bell.ring()

        server.store.observe = both
        await nursery.start(worker.run)
        yield server
        nursery.cancel_scope.cancel()


async def begin(peer: PeerStream, turns: int = 6, tokens: int = 220) -> dict[str, Any]:
    made = await peer.call("conversation/create", {})
    target = {"kind": "id", "value": made["id"]}
    for n in range(turns):
        asked = prompt(fill(str(n), tokens), key=f"key {n}", target=target, follow=True)
        await peer.call("turn/start", asked)
        await peer.follow("turn_finished")
    return {"conversation_id": made["id"]}


def news(peer: PeerStream) -> list[tuple[str, str]]:
    """What was said of compactions, so far."""
    found = [each for each in peer.received if each[0] == 2 and each[1] == "compaction"]
    return [(each[2][0]["state"], each[2][0]["text"]) for each in found]


async def test_it_is_compacted_when_asked_and_everybody_hears() -> None:
    async with open_house() as server:
        peer = await server.greet()
        id = await begin(peer)
        result = await peer.call("conversation/compact", id)
        before, after = result["tokens_before"], result["tokens_after"]
        text = f"Compacted: {before} -> {after} tokens."
        assert (result["state"], result["text"]) == ("finished", text)
        assert after <= 0.8 * before
        assert news(peer) == [("started", STARTED), ("finished", text)]
        page = await peer.call("conversation/context", id)
        assert page["tokens"] <= after + 20
        assert "summary" in [item["type"] for item in page["data"]]


async def test_with_another_model_and_its_caller_s_keys() -> None:
    async with open_house() as server:
        peer = await server.greet()
        id = await begin(peer)
        server.models.key_needed = "KEY"
        asked = {**id, "model": "test/large", "secrets": {"KEY": "k"}, "env": {"LANG": "C"}}
        assert (await peer.call("conversation/compact", asked))["state"] == "finished"
        assert server.models.requests[-1].model == "large"
        assert server.models.callers[-1].secrets == {"KEY": "k"}
        with pytest.raises(Refused, match="no model"):
            await peer.call("conversation/compact", {**asked, "model": "test/none"})


async def test_a_short_one_is_left_alone() -> None:
    async with open_house() as server:
        peer = await server.greet()
        id = await begin(peer, turns=1, tokens=8)
        result = await peer.call("conversation/compact", id)
        assert (result["state"], result["text"]) == ("idle", NOTHING)


async def test_a_failure_is_an_answer_with_its_reason() -> None:
    def fail(request: ModelRequest) -> Iterable[Step]:
        refused = Unauthenticated("The key was refused.")
        return [refused] if is_summary_request(request) else ["ok"]

    async with open_house(script=fail) as server:
        peer = await server.greet()
        result = await peer.call("conversation/compact", await begin(peer))
        assert (result["state"], result["text"]) == ("failed", FAILED)
        assert result["why"] == "The key was refused."


async def test_nobody_has_to_wait() -> None:
    gate = trio.Event()

    def hold(request: ModelRequest) -> Iterable[Step]:
        return [gate, "done"] if is_summary_request(request) else ["ok"]

    async with open_house(script=hold) as server:
        peer = await server.greet()
        id = await begin(peer)
        result = await peer.call("conversation/compact", {**id, "timeout_s": 0.0})
        assert result["state"] == "pending"
        gate.set()
        await peer.follow("view_changed")
        with pytest.raises(Refused, match="timeout_s"):
            await peer.call("conversation/compact", {**id, "timeout_s": -1.0})


async def test_one_in_memory_is_compacted_without_a_job() -> None:
    async with open_house() as server:
        peer = await server.greet()
        first = prompt(fill("0", 220), key="key 0", ephemeral=True, follow=True)
        id = (await peer.call("turn/start", first))["conversation_id"]
        await peer.follow("turn_finished")
        for n in range(1, 6):
            target = {"kind": "id", "value": id}
            more = prompt(
                fill(str(n), 220), key=f"key {n}", target=target, ephemeral=True, follow=True
            )
            await peer.call("turn/start", more)
            await peer.follow("turn_finished")
        result = await peer.call("conversation/compact", {"conversation_id": id})
        assert result["state"] == "finished"
        assert server.store.jobs == {}


async def test_it_is_pruned_only_where_it_is_too_large() -> None:
    async with open_house() as server:
        peer = await server.greet()
        id = await begin(peer)
        result = await peer.call("conversation/prune", id)
        assert (result["pruned"], result["tokens_before"]) == (False, None)
        server.models.window = 1200
        result = await peer.call("conversation/prune", id)
        assert result["pruned"] is True
        assert result["tokens_after"] < result["tokens_before"]


async def test_what_was_done_is_taken_back_once() -> None:
    async with open_house() as server:
        peer = await server.greet()
        id = await begin(peer)
        before = await peer.call("conversation/context", id)
        await peer.call("conversation/compact", id)
        result = await peer.call("conversation/undo", id)
        assert (result["undone"], result["tokens_before"]) == ("compact", before["tokens"])
        after = await peer.call("conversation/context", id)
        assert after["data"] == before["data"]
        assert (await peer.call("conversation/undo", id))["undone"] is None


async def test_clear_hides_what_was_said() -> None:
    async with open_house() as server:
        peer = await server.greet()
        id = await begin(peer, turns=1)
        await peer.call("conversation/clear", id)
        assert (await peer.call("conversation/context", id))["data"] == []
