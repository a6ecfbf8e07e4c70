"""The next request over the wire: in pages of one moment, each item with its tokens."""

import pytest

from askd.server import wire
from tests.fakes.house import ListedModels, PeerStream, Refused, open_server, prompt


async def begin(peer: PeerStream, *texts: str, system: str | None = None) -> str:
    made = await peer.call("conversation/create", {"system": system})
    target = {"kind": "id", "value": made["id"]}
    for text in texts:
        await peer.call("turn/start", prompt(text, target=target, follow=True))
        await peer.follow("turn_finished")
    return str(made["id"])


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


async def test_what_does_not_fit_a_message_comes_in_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wire, "PAGE_LIMIT_BYTES", 200)
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
