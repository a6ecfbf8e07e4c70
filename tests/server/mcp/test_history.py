"""Looking back through a face: bounded, denied where the settings say so, nothing hidden shown."""

import pytest

from ask.protocol.messages import PromptPart as Said
from ask.protocol.messages import Target, TurnStart
from askd.core.approval import ApprovalRules
from askd.errors import NotFound, RequestError
from askd.server.handlers import turns
from askd.server.mcp import history
from askd.server.mcp.calls import ListArguments, ReadArguments, SearchArguments
from askd.server.peer import Peer
from askd.store.queries import SearchHit, SearchPage
from tests.fakes.house import Server, open_server

HIT = SearchHit(
    conversation_id="c",
    name=None,
    title="Foxes",
    seq=7,
    at=5.5,
    role="assistant",
    item_id="t.1",
    snippet="the red\n\x1bfox",
    marks=((4, 7),),
)
NOTHING = SearchPage(rows=[], next_cursor=None)


async def talk(server: Server, *texts: str, ephemeral: bool = False) -> str:
    """Say these in one conversation, `talk`, and wait for the answers; its id."""
    conversation_id = ""
    for text in texts:
        request = TurnStart(
            target=Target(kind="session", value="talk", create=True),
            key=text[:100],
            parts=[Said(type="text", text=text)],
            ephemeral=ephemeral,
        )
        answer = await turns.start(server.house, Peer(), request)
        conversation_id = answer.result.conversation_id
        session = await server.house.sessions.get(conversation_id)
        await session.wait_finished(answer.result.turn_id)
    return conversation_id


def read(**arguments: object) -> ReadArguments:
    return ReadArguments.model_validate({"conversation": "talk", **arguments})


async def test_hits_are_lines_for_a_model_and_records_for_a_program() -> None:
    async with open_server() as server:
        server.store.hits = [SearchPage(rows=[HIT], next_cursor="more"), NOTHING]
        found = await history.search_history(server.house, SearchArguments(query="fox", limit=3))
        nothing = await history.search_history(server.house, SearchArguments(query="cat"))
    assert found.texts == ("c (Foxes), 1970-01-01 00:00 UTC, assistant: the red fox",)
    assert found.data == {
        "hits": [
            {
                "conversation_id": "c",
                "name": None,
                "title": "Foxes",
                "seq": 7,
                "at": 5.5,
                "role": "assistant",
                "snippet": "the red\n\x1bfox",
            }
        ]
    }
    assert nothing.texts[0].startswith("Nothing was found")
    assert (server.store.searched[0]["limit"], server.store.searched[0]["rank"]) == (3, True)


async def test_a_search_in_one_conversation_names_it_in_any_way() -> None:
    async with open_server() as server:
        conversation_id = await talk(server, "one")
        server.store.hits = [NOTHING]
        wanted = SearchArguments(query="fox", conversation="talk")
        await history.search_history(server.house, wanted)
    assert server.store.searched[0]["conversation_id"] == conversation_id


@pytest.mark.parametrize(
    ("turns", "skip", "said", "left"),
    [
        (10, 0, "123", 0),
        (1, 0, "3", 2),
        (1, 1, "2", 1),
        (2, 1, "12", 0),
        (5, 3, "", 0),
        (1, 9, "", 0),
    ],
)
async def test_turns_are_chosen_from_the_end(turns: int, skip: int, said: str, left: int) -> None:
    async with open_server() as server:
        await talk(server, "no1", "no2", "no3")
        reply = await history.read_conversation(server.house, read(turns=turns, skip=skip))
    text, head = reply.texts
    assert "".join(each for each in "123" if f"\nno{each}" in text) == said
    assert "".join(each for each in "123" if f"echo: no{each}" in text) == said
    assert (f"{left} earlier turns: call again with skip {skip + turns}." in head) == bool(left)


async def test_what_is_too_long_is_cut_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MESSAGE_CHARACTERS", 200)
    monkeypatch.setattr(history, "TEXT_CHARACTERS", 700)
    async with open_server() as server:
        await talk(server, *(f"{number}" + "x" * 1000 for number in range(4)))
        reply = await history.read_conversation(server.house, read())
    assert len(reply.texts[0]) < 1100
    assert reply.texts[0].startswith("[What was said before this is left out")
    assert "characters are not shown" in reply.texts[0]
    assert "\n3xxx" in reply.texts[0]


async def test_a_listing_is_cut_into_pages() -> None:
    async with open_server() as server:
        conversation_id = await talk(server, "one")
        reply = await history.list_conversations(server.house, ListArguments(limit=1))
    assert reply.data is not None
    assert reply.data["conversations"][0]["conversation_id"] == conversation_id
    assert reply.texts[0].startswith(f"{conversation_id}, ")
    assert reply.texts[0].endswith(": talk")


async def test_nothing_stored_is_said_so() -> None:
    async with open_server() as server:
        reply = await history.list_conversations(server.house, ListArguments())
        with pytest.raises(NotFound):
            await history.read_conversation(server.house, read())
    assert reply.texts == ("There are no conversations.",)


async def test_an_ephemeral_conversation_is_read_by_nobody() -> None:
    async with open_server() as server:
        await talk(server, "hush", ephemeral=True)
        with pytest.raises(NotFound):
            await history.read_conversation(server.house, read())
        reply = await history.list_conversations(server.house, ListArguments())
    assert reply.texts == ("There are no conversations.",)


async def test_settings_that_deny_models_to_look_back_hold_for_a_face() -> None:
    rules = ApprovalRules(tools={"search_history": "deny"})
    async with open_server(approval=rules) as server:
        await talk(server, "one")
        for call in (
            history.search_history(server.house, SearchArguments(query="x")),
            history.list_conversations(server.house, ListArguments()),
            history.read_conversation(server.house, read()),
        ):
            with pytest.raises(RequestError, match="settings deny search_history"):
                await call
    assert server.store.searched == []
