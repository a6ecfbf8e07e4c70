"""Conversations over the wire: made, listed, found, named, noted in, cleared, deleted."""

from typing import Any

import pytest
import trio
import trio.testing

from askd.core.items import PART_LIMIT_BYTES
from tests.fakes.house import PeerStream, Refused, open_server, prompt


async def refuse(peer: PeerStream, method: str, params: dict[str, Any]) -> Refused:
    with pytest.raises(Refused) as caught:
        await peer.call(method, params)
    return caught.value


async def events_of(peer: PeerStream, conversation_id: str) -> list[dict[str, Any]]:
    page = await peer.call("conversation/read", {"conversation_id": conversation_id})
    data: list[dict[str, Any]] = page["data"]
    return data


async def test_an_empty_conversation_is_created_and_bound_to_its_terminal() -> None:
    async with open_server() as server:
        peer = await server.greet()
        made = await peer.call(
            "conversation/create",
            {"name": "work", "model": "test/large", "system": "Be brief.", "terminal": "tty1"},
        )
        assert (made["name"], made["model"], made["state"]) == ("work", "test/large", "idle")
        assert [e["type"] for e in await events_of(peer, made["id"])] == [
            "conversation_created",
            "settings_changed",
        ]
        target = {"kind": "terminal", "value": "tty1"}
        started = await peer.call("turn/start", prompt("hi", target=target))
        assert (started["conversation_id"], started["created"]) == (made["id"], False)
        assert started["name"] == "work"


@pytest.mark.parametrize("name", ["", "-x", "a/b", "a\nb", "x" * 65])
async def test_a_name_that_cannot_be_one_creates_nothing(name: str) -> None:
    async with open_server() as server:
        peer = await server.greet()
        error = await refuse(peer, "conversation/create", {"name": name})
        assert (error.code, error.reason) == (2, "bad_name")
        assert (server.store.rows(), server.house.sessions.live()) == ([], [])


async def test_a_name_that_is_taken_creates_nothing() -> None:
    async with open_server() as server:
        peer = await server.greet()
        await peer.call("conversation/create", {"name": "work"})
        error = await refuse(peer, "conversation/create", {"name": "work"})
        assert error.reason == "name_taken"
        assert len(server.house.sessions.live()) == 1


async def test_a_listing_comes_in_pages_and_knows_what_is_live() -> None:
    hold = trio.Event()
    async with open_server() as server:
        server.models.script = lambda request: [hold]
        peer = await server.greet()
        names = [f"c{n}" for n in range(5)]
        for name in names:
            await peer.call("conversation/create", {"name": name})
        busy = {"kind": "session", "value": "c2"}
        for n in range(3):
            await peer.call("turn/start", prompt(f"p{n}", target=busy))
        await trio.testing.wait_all_tasks_blocked()
        seen, cursor = [], None
        while True:
            page = await peer.call("conversation/list", {"limit": 2, "cursor": cursor})
            assert page["total"] == 5
            seen += page["data"]
            cursor = page["next_cursor"]
            if cursor is None:
                break
        assert [row["name"] for row in seen] == list(reversed(names))
        states = {row["name"]: (row["state"], row["queued"]) for row in seen}
        assert states["c2"] == ("working", 2)
        assert states["c0"] == ("idle", 0)
        server.house.sessions.discard(server.house.sessions.live()[0])
        page = await peer.call("conversation/list")
        assert [row["state"] for row in page["data"]].count("stored") == 1
        hold.set()


async def test_what_is_live_is_listed_with_what_is_in_memory_only() -> None:
    async with open_server() as server:
        peer = await server.greet()
        await peer.call("conversation/create", {"name": "kept"})
        await peer.call("turn/start", prompt("x", ephemeral=True))
        page = await peer.call("conversation/list", {"live": True, "limit": 1})
        assert (len(page["data"]), page["total"], page["next_cursor"]) == (1, 2, "1")
        rest = await peer.call("conversation/list", {"live": True, "cursor": "1"})
        assert rest["next_cursor"] is None
        flags = {row["name"]: row["ephemeral"] for row in page["data"] + rest["data"]}
        assert flags == {"kept": False, None: True}
        stored = await peer.call("conversation/list")
        assert [row["name"] for row in stored["data"]] == ["kept"]


@pytest.mark.parametrize("params", [{"limit": 0}, {"limit": -5}, {"live": True, "cursor": "x"}])
async def test_a_listing_that_makes_no_sense_is_refused(params: dict[str, Any]) -> None:
    async with open_server() as server:
        peer = await server.greet()
        assert (await refuse(peer, "conversation/list", params)).reason == "bad_params"


async def test_a_conversation_is_found_without_being_loaded() -> None:
    async with open_server() as server:
        peer = await server.greet()
        made = await peer.call("conversation/create", {"name": "work"})
        server.house.sessions.discard(server.house.sessions.live()[0])
        for value in ("work", made["id"], made["id"][:8]):
            target = {"kind": "session", "value": value}
            found = await peer.call("conversation/resolve", {"target": target})
            assert (found["id"], found["state"]) == (made["id"], "stored")
        assert server.house.sessions.live() == []
        target = {"kind": "session", "value": "none"}
        error = await refuse(peer, "conversation/resolve", {"target": target})
        assert (error.code, error.reason) == (3, "conversation_not_found")


async def test_resuming_binds_the_terminal() -> None:
    async with open_server() as server:
        peer = await server.greet()
        made = await peer.call("conversation/create", {"name": "work"})
        session = {"kind": "session", "value": "work"}
        bound = await peer.call("conversation/resolve", {"target": session, "bind": "tty9"})
        assert bound["state"] == "idle"
        terminal = {"kind": "terminal", "value": "tty9"}
        found = await peer.call("conversation/resolve", {"target": terminal})
        assert found["id"] == made["id"]
        assert len(await events_of(peer, made["id"])) == 1


async def test_an_ephemeral_conversation_is_bound_in_memory_only() -> None:
    async with open_server() as server:
        peer = await server.greet()
        started = await peer.call("turn/start", prompt("x", ephemeral=True))
        target = {"kind": "id", "value": started["conversation_id"]}
        await peer.call("conversation/resolve", {"target": target, "bind": "tty9"})
        terminal = {"kind": "terminal", "value": "tty9"}
        found = await peer.call("conversation/resolve", {"target": terminal})
        assert (found["id"], found["ephemeral"]) == (started["conversation_id"], True)
        assert server.store.terminals == {}


async def test_resolving_may_create() -> None:
    async with open_server() as server:
        peer = await server.greet()
        target = {"kind": "session", "value": "fresh", "create": True}
        made = await peer.call("conversation/resolve", {"target": target, "bind": "tty1"})
        again = await peer.call("conversation/resolve", {"target": target})
        assert (made["name"], again["id"]) == ("fresh", made["id"])
        assert server.store.terminals == {"tty1": made["id"]}


async def test_renaming_is_an_event_unless_nothing_changes() -> None:
    async with open_server() as server:
        peer = await server.greet()
        made = await peer.call("conversation/create", {"name": "a"})
        ref = {"conversation_id": made["id"]}
        assert (await peer.call("conversation/rename", {**ref, "name": "b"}))["name"] == "b"
        await peer.call("conversation/rename", {**ref, "name": "b"})
        assert (await peer.call("conversation/rename", {**ref, "name": None}))["name"] is None
        assert [e["type"] for e in await events_of(peer, made["id"])] == [
            "conversation_created",
            "renamed",
            "renamed",
        ]
        assert (await refuse(peer, "conversation/rename", {**ref, "name": "-b"})).code == 2


async def test_a_notice_is_kept_and_models_never_see_it() -> None:
    async with open_server() as server:
        peer = await server.greet()
        made = await peer.call("conversation/create")
        ref = {"conversation_id": made["id"]}
        await peer.call("conversation/note", {**ref, "text": "/models", "level": "result"})
        event = (await events_of(peer, made["id"]))[-1]
        assert (event["item"]["text"], event["item"]["level"]) == ("/models", "result")
        started = await peer.call(
            "turn/start", prompt("hi", target={"kind": "id", "value": made["id"]})
        )
        await peer.call("turn/wait", {**ref, "turn_id": started["turn_id"]})
        assert "/models" not in repr(server.models.requests)
        large = {**ref, "text": "é" * (PART_LIMIT_BYTES // 2 + 1)}
        assert (await refuse(peer, "conversation/note", large)).code == 2


async def test_clearing_hides_what_was_said_and_keeps_it() -> None:
    async with open_server() as server:
        peer = await server.greet()
        started = await peer.call("turn/start", prompt("my name is Alice"))
        ref = {"conversation_id": started["conversation_id"]}
        await peer.call("turn/wait", {**ref, "turn_id": started["turn_id"]})
        assert await peer.call("conversation/clear", ref) == ref
        target = {"kind": "id", "value": started["conversation_id"]}
        second = await peer.call("turn/start", prompt("who am I?", target=target))
        await peer.call("turn/wait", {**ref, "turn_id": second["turn_id"]})
        assert "Alice" not in repr(server.models.requests[-1].items)
        assert "Alice" in repr(await events_of(peer, started["conversation_id"]))


async def test_clearing_nothing_changes_nothing() -> None:
    async with open_server() as server:
        peer = await server.greet()
        made = await peer.call("conversation/create")
        await peer.call("conversation/clear", {"conversation_id": made["id"]})
        assert len(await events_of(peer, made["id"])) == 1


async def test_a_busy_conversation_is_not_deleted_and_one_at_rest_is() -> None:
    hold = trio.Event()
    async with open_server() as server:
        server.models.script = lambda request: [hold]
        peer = await server.greet()
        started = await peer.call("turn/start", prompt())
        ref = {"conversation_id": started["conversation_id"]}
        error = await refuse(peer, "conversation/delete", ref)
        assert (error.code, error.reason) == (8, "busy")
        hold.set()
        await peer.call("turn/wait", {**ref, "turn_id": started["turn_id"]})
        assert await peer.call("conversation/delete", ref) == {**ref, "deleted": True}
        for method in ("conversation/read", "conversation/delete", "conversation/subscribe"):
            assert (await refuse(peer, method, ref)).reason == "conversation_not_found"


async def test_who_follows_a_conversation_that_is_deleted_does_not_wait_forever() -> None:
    async with open_server() as server:
        peer, watcher = await server.greet(), await server.greet()
        made = await peer.call("conversation/create")
        ref = {"conversation_id": made["id"]}
        await watcher.call("conversation/subscribe", ref)
        await peer.call("conversation/delete", ref)
        assert await watcher.notification() == ("gap", ref)
        assert (await refuse(watcher, "conversation/subscribe", ref)).code == 3


async def test_a_busy_conversation_is_deleted_if_that_was_asked() -> None:
    async with open_server() as server:
        server.models.script = lambda request: [trio.Event()]
        peer = await server.greet()
        started = await peer.call("turn/start", prompt())
        await trio.testing.wait_all_tasks_blocked()
        ref = {"conversation_id": started["conversation_id"]}
        answer = await peer.call("conversation/delete", {**ref, "interrupt": True})
        assert answer == {**ref, "deleted": True}
        assert server.store.rows() == []


async def test_those_that_begin_so_are_found_by_name_and_by_id() -> None:
    async with open_server() as server:
        peer = await server.greet()
        named = (await peer.call("conversation/create", {"name": "work"}))["id"]
        bare = (await peer.call("conversation/create"))["id"]

        async def find(begins: str) -> list[str]:
            page = await peer.call("conversation/list", {"begins": begins})
            return [row["id"] for row in page["data"]]

        assert await find("wo") == [named]
        assert await find("Wo") == []
        assert await find(bare[:8]) == [bare]
        assert await find("") == [bare, named]


async def test_an_old_one_goes_if_nobody_wants_it() -> None:
    async with open_server() as server:
        peer, watcher = await server.greet(), await server.greet()
        named = (await peer.call("conversation/create", {"name": "work"}))["id"]
        watched, old = [(await peer.call("conversation/create"))["id"] for _ in range(2)]
        await watcher.call("conversation/subscribe", {"conversation_id": watched})
        at = server.store.now()
        found = await peer.call("conversation/list", {"before_at": at})
        assert found["data"] == [], "nothing has changed since: then it is older"
        found = await peer.call("conversation/list", {"before_at": at + 1})
        assert [row["id"] for row in found["data"]] == [old, watched, named]

        async def delete(id: str, before_at: float) -> bool:
            params = {"conversation_id": id, "before_at": before_at}
            deleted: bool = (await peer.call("conversation/delete", params))["deleted"]
            return deleted

        assert not await delete(old, at)
        assert not await delete(named, at + 1)
        assert not await delete(watched, at + 1)
        assert await delete(old, at + 1)
        assert not await delete(old, at + 1), "it is gone"
        assert {row.id for row in server.store.rows()} == {named, watched}
        assert server.house.sessions.find_live(old) is None
