"""The next request over the wire: in pages of one moment, each item with its tokens."""

from typing import Any

import pytest

from askd.core.events import InstructionsChanged
from askd.core.instructions import InstructionFile, join_instructions
from askd.server import fitting
from askd.server.handlers import context
from askd.server.peer import Peer
from askd.sessions.preview import Preview, preview
from tests.fakes.house import ListedModels, PeerStream, Refused, open_server, prompt


async def begin(peer: PeerStream, *texts: str, system: str | None = None) -> str:
    made = await peer.call("conversation/create", {"system": system})
    target = {"kind": "id", "value": made["id"]}
    for text in texts:
        await peer.call("turn/start", prompt(text, target=target, follow=True))
        await peer.follow("turn_finished")
    return str(made["id"])


def held(client: PeerStream) -> Peer:
    """What the daemon holds for a client."""
    assert client.connection is not None
    return client.connection.peer


async def test_items_tokens_window_and_model() -> None:
    async with open_server() as server:
        peer = await server.greet()
        id = await begin(peer, "one", system="Be brief.")
        page = await peer.call("conversation/context", {"conversation_id": id})
        system, asked, answered = page["data"]
        assert system == {"type": "system", "text": "Be brief.", "tokens": 7}
        assert (asked["type"], asked["tokens"]) == ("user_message", 5)
        assert answered["parts"] == [{"type": "text", "text": "echo: one"}]
        assert page["tokens"] == sum(item["tokens"] for item in page["data"])
        assert (page["total"], page["healed"], page["next_cursor"]) == (3, 0, None)
        assert (page["model"], page["context_window"]) == ("test/small", 100_000)
        assert (page["budget"], page["note"]) == (99_000, None)


async def test_what_of_the_system_prompt_is_the_projects() -> None:
    async with open_server() as server:
        peer = await server.greet()
        id = await begin(peer, "one", system="Be brief.")
        asked = {"conversation_id": id}
        assert (await peer.call("conversation/context", asked))["instructions"] == []
        file = InstructionFile("/p/AGENTS.md", "Say hue.", 7)
        session = await server.house.sessions.get(id)
        await session.append([InstructionsChanged((file,))])
        page = await peer.call("conversation/context", asked)
        assert page["instructions"] == [
            {"path": "/p/AGENTS.md", "bytes": 8, "left_out_bytes": 7},
        ]
        system = page["data"][0]
        assert system["text"] == join_instructions("Be brief.", (file,))
        assert page["tokens"] == sum(item["tokens"] for item in page["data"])


async def test_pages_are_of_one_moment() -> None:
    async with open_server() as server:
        peer = await server.greet()
        id = await begin(peer, "one", "two")
        asked = {"conversation_id": id, "limit": 3}
        first = await peer.call("conversation/context", asked)
        rest = await peer.call("conversation/context", {**asked, "cursor": first["next_cursor"]})
        assert (len(first["data"]), len(rest["data"]), rest["next_cursor"]) == (3, 1, None)
        await peer.call("conversation/note", {"conversation_id": id, "text": "/help"})
        with pytest.raises(Refused, match="changed meanwhile"):
            await peer.call("conversation/context", {**asked, "cursor": first["next_cursor"]})
        for cursor in ("x", "1.", "." + "9" * 5000, "9" * 5000 + ".1"):
            with pytest.raises(Refused, match="cursor"):
                await peer.call("conversation/context", {**asked, "cursor": cursor})


async def test_it_is_of_the_model_that_the_next_prompt_will_ask_for() -> None:
    async with open_server() as server:
        peer = await server.greet()
        asked = {"conversation_id": await begin(peer, "one")}
        usual = await peer.call("conversation/context", asked)
        other = await peer.call("conversation/context", {**asked, "model": "test/large"})
        assert (usual["model"], other["model"]) == ("test/small", "test/large")


async def test_what_does_not_fit_a_message_comes_in_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fitting, "PAGE_LIMIT_BYTES", 200)
    async with open_server() as server:
        peer = await server.greet()
        id = await begin(peer, "one " * 25, "two")
        seen, cursor = [], None
        while True:
            page = await peer.call(
                "conversation/context", {"conversation_id": id, "cursor": cursor}
            )
            seen += page["data"]
            cursor = page["next_cursor"]
            if cursor is None:
                break
            assert len(page["data"]) < 4
        assert len(seen) == page["total"] == 4


async def test_a_preview_is_made_once_for_all_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    async def count(*arguments: Any, **named: Any) -> Preview:
        made.append(arguments)
        return await preview(*arguments, **named)

    monkeypatch.setattr(context, "preview", count)
    async with open_server() as server:
        peer, other = await server.greet(), await server.greet()
        id = await begin(peer, "one", "two", "three", system="Be brief.")
        whole = (await peer.call("conversation/context", {"conversation_id": id}))["data"]
        assert len(whole) == 7
        asked: dict[str, Any] = {"conversation_id": id, "limit": 2}
        pages = [await peer.call("conversation/context", asked)]
        assert held(peer).context is not None
        while (cursor := pages[-1]["next_cursor"]) is not None:
            pages.append(await peer.call("conversation/context", {**asked, "cursor": cursor}))
        assert [item for page in pages for item in page["data"]] == whole
        assert len({page["tokens"] for page in pages}) == 1
        assert len(made) == 2
        assert held(peer).context is None
        # Whoever did not begin, or is someone else, gets a page of the same moment too.
        second = {**asked, "cursor": pages[0]["next_cursor"]}
        assert (await other.call("conversation/context", second))["data"] == whole[2:4]
        someone = {**second, "secrets": {"KEY": "k"}}
        assert (await other.call("conversation/context", someone))["data"] == whole[2:4]
        assert len(made) == 4
        assert held(other).context is not None
        held(other).leave()
        assert held(other).context is None


async def test_the_last_items_come_alone() -> None:
    async with open_server() as server:
        peer = await server.greet()
        id = await begin(peer, "one", "two", system="Be brief.")
        asked: dict[str, Any] = {"conversation_id": id, "limit": 2}
        whole = (await peer.call("conversation/context", {"conversation_id": id}))["data"]
        assert len(whole) == 5
        for last in (1, 2, 3, 4, 5, 50):
            page = await peer.call("conversation/context", {**asked, "last": last})
            seen = page["data"]
            while page["next_cursor"] is not None:
                more = {**asked, "last": last, "cursor": page["next_cursor"]}
                page = await peer.call("conversation/context", more)
                seen += page["data"]
            assert seen == whole[-last:]
            assert page["total"] == 5
        with pytest.raises(Refused, match="1 or more"):
            await peer.call("conversation/context", {**asked, "last": 0})


async def test_a_log_that_was_read_anew_is_previewed_anew() -> None:
    async with open_server() as server:
        peer = await server.greet()
        id = await begin(peer, "one", "two")
        asked: dict[str, Any] = {"conversation_id": id, "limit": 1}
        first = await peer.call("conversation/context", asked)
        before = held(peer).context
        session = await server.house.sessions.get(id)
        session.rebuild(await server.house.reader.load(id))
        await peer.call("conversation/context", {**asked, "cursor": first["next_cursor"]})
        assert held(peer).context is not before


async def test_without_a_model_there_is_a_note() -> None:
    models = ListedModels(guessed=True)
    async with open_server(models=models) as server:
        peer = await server.greet()
        id = await begin(peer, "one")
        page = await peer.call("conversation/context", {"conversation_id": id})
        assert (page["model"], page["context_window"]) == ("test/small", None)
        assert page["budget"] == 99_000
        models.key_needed = "KEY"
        page = await peer.call("conversation/context", {"conversation_id": id})
        assert (page["model"], page["budget"], page["note"]) == (None, None, "No key: set KEY.")
        secrets = {"secrets": {"KEY": "k"}}
        page = await peer.call("conversation/context", {"conversation_id": id, **secrets})
        assert page["model"] == "test/small"
