"""A face as the SDK's own client meets it, over the real wire: its tools, and what can go wrong."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
import pytest
import trio
import trio.testing
from mcp import ClientSession
from mcp.shared.exceptions import MCPError

from askd.core.approval import Approval
from askd.providers.base import ModelRequest
from askd.server.mcp.face import CALLS_LIMIT, TOOLS
from askd.tools.base import Result, Site, say
from tests.fakes.faces import Person, open_face, texts_of
from tests.fakes.house import ListedModels, Server, open_server
from tests.fakes.models import Step, call_tools
from tests.fakes.tools import Plain

YES = types.ElicitResult(action="accept", content={"decision": "yes"})


@dataclass
class Bell(Plain):
    """A tool that needs a person's word; counts how often it ran."""

    name: str = "ring"
    needs: Approval = "ask"
    effects: bool = True
    description: str = "Rings."
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "object"})
    rung: int = 0

    async def run(self, arguments: Mapping[str, Any], site: Site) -> Result:
        self.rung += 1
        return say("ding")


def ring_once(request: ModelRequest) -> Iterable[Step]:
    """Call the bell, and then say so."""
    is_rung = type(request.items[-1]).__name__ == "ToolOutput"
    return ["done"] if is_rung else call_tools("ring")


def hold(event: trio.Event) -> Any:
    """A script: say a word, and go on when the event is set."""

    def script(request: ModelRequest) -> Iterable[Step]:
        yield "first"
        yield event
        yield " last"

    return script


def ends_of(server: Server) -> list[str]:
    """How the turns of all conversations ended."""
    return [
        record.finished.outcome
        for session in server.house.sessions.live()
        for record in session.conversation.turns.values()
        if record.finished is not None
    ]


async def test_every_tool_is_described_with_what_it_takes() -> None:
    async with open_server() as server, open_face(server) as session:
        listed = await session.list_tools()
    assert [each.name for each in listed.tools] == [each.name for each in TOOLS]
    asking = listed.tools[0]
    assert asking.annotations is not None
    assert (asking.annotations.read_only_hint, asking.annotations.open_world_hint) == (False, True)
    assert asking.input_schema["required"] == ["prompt"]
    assert asking.input_schema["additionalProperties"] is False
    assert all(each.annotations.read_only_hint for each in listed.tools[1:] if each.annotations)


async def test_a_prompt_is_answered_and_its_conversation_goes_on() -> None:
    async with open_server() as server, open_face(server) as session:
        first = await session.call_tool("ask", {"prompt": "one"})
        where = first.structured_content["conversation_id"]
        second = await session.call_tool("ask", {"prompt": "two", "conversation": where})
    assert first.structured_content["text"] == "echo: one"
    assert texts_of(first) == ["echo: one", f"Conversation: {where}"]
    assert second.structured_content["conversation_id"] == where
    assert len(server.models.requests[1].items) == 3


async def test_what_was_configured_holds_where_a_call_says_nothing() -> None:
    async with (
        open_server() as server,
        open_face(server, conversation="desk", model="test/large", cwd="/somewhere") as session,
    ):
        pinned = await session.call_tool("ask", {"prompt": "one"})
        said = {"prompt": "two", "conversation": "other", "model": "test/small"}
        other = await session.call_tool("ask", said)
        unknown = await session.call_tool("ask", {"prompt": "three", "model": "test/none"})
    assert (pinned.structured_content["name"], other.structured_content["name"]) == (
        "desk",
        "other",
    )
    session_of = server.house.sessions.find_live(pinned.structured_content["conversation_id"])
    assert session_of is not None
    (record,) = session_of.conversation.turns.values()
    assert (record.prompt.cwd, record.model) == ("/somewhere", "test/large")
    assert unknown.is_error
    assert texts_of(unknown) == ["There is no model 'test/none'."]


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("shout", {}, "There is no tool 'shout'. There are: ask, search_history"),
        ("ask", {}, "The arguments of 'ask' do not fit: prompt: Field required"),
        ("ask", {"prompt": "  "}, "The prompt is empty."),
        ("ask", {"prompt": "x", "conversation": "a/b"}, "Not a name for a conversation"),
        ("ask", {"prompt": "ü" * 200_000}, "A prompt has 262,144 bytes at the most."),
        ("read_conversation", {"conversation": "nowhere"}, "nowhere"),
    ],
)
async def test_what_cannot_be_is_a_result_with_a_sentence(
    tool: str, arguments: dict[str, Any], said: str
) -> None:
    async with open_server() as server, open_face(server) as session:
        result = await session.call_tool(tool, arguments)
        await session.list_tools()
    assert result.is_error
    assert said in texts_of(result)[0]
    assert server.models.requests == []


async def test_a_fault_of_ours_is_a_result_and_its_words_stay_here(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_server() as server, open_face(server) as session:
        monkeypatch.setattr(server.store, "list_conversations", None)
        result = await session.call_tool("list_conversations", {})
    assert result.is_error
    assert texts_of(result) == ["The daemon failed at this call; its log says why: ask daemon logs"]
    assert "A call of a face failed: list_conversations" in caplog.text


# ---- a person's word ------------------------------------------------------------------------


async def test_a_person_behind_the_client_is_asked() -> None:
    bell, person = Bell(), Person([YES, types.ElicitResult(action="decline")])
    models = ListedModels(script=ring_once)
    async with (
        open_server(models=models, tools=[bell]) as server,
        open_face(server, person=person, tools=["all"]) as session,
    ):
        allowed = await session.call_tool("ask", {"prompt": "ring"})
        refused = await session.call_tool("ask", {"prompt": "ring"})
    assert bell.rung == 1
    assert (allowed.structured_content["notes"], allowed.is_error) == ([], False)
    (note,) = refused.structured_content["notes"]
    assert note == "ring: This call was not run: a person refused it."
    assert person.shown[0].message == "ring"


async def test_without_one_it_is_denied_and_the_answer_says_so() -> None:
    bell = Bell()
    async with open_server(models=ListedModels(script=ring_once), tools=[bell]) as server:
        async with open_face(server, tools=["all"]) as session:
            result = await session.call_tool("ask", {"prompt": "ring"})
        async with open_face(server, tools=["all"], approve="auto") as session:
            await session.call_tool("ask", {"prompt": "ring"})
    assert any("nobody is there to be asked" in each for each in texts_of(result))
    assert bell.rung == 1


async def test_a_client_that_fails_to_ask_refuses() -> None:
    class Broken(Person):
        async def __call__(self, context: object, params: Any) -> Any:
            return types.ErrorData(code=-32603, message="no screen")

    bell = Bell()
    async with (
        open_server(models=ListedModels(script=ring_once), tools=[bell]) as server,
        open_face(server, person=Broken(), tools=["all"]) as session,
    ):
        result = await session.call_tool("ask", {"prompt": "ring"})
    assert bell.rung == 0
    assert "No valid answer came from the program that asked." in texts_of(result)[1]


# ---- ends -----------------------------------------------------------------------------------


async def test_a_cancelled_call_interrupts_its_turn() -> None:
    models = ListedModels(script=hold(trio.Event()))
    async with open_server(models=models) as server, open_face(server) as session:
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(session.call_tool, "ask", {"prompt": "wait"})
                await trio.testing.wait_all_tasks_blocked()
                scope.cancel()
        await trio.testing.wait_all_tasks_blocked()
        assert ends_of(server) == ["interrupted"]
        await session.list_tools()


async def test_a_turn_goes_on_when_its_client_has_gone() -> None:
    go_on = trio.Event()
    async with open_server(models=ListedModels(script=hold(go_on))) as server:
        peer = await server.greet()

        async def ask(session: ClientSession) -> None:
            with pytest.raises(MCPError):
                await session.call_tool("ask", {"prompt": "wait"})

        async with open_face(server, peer=peer) as session, trio.open_nursery() as nursery:
            nursery.start_soon(ask, session)
            await trio.testing.wait_all_tasks_blocked()
            (live,) = server.house.sessions.live()
            await peer.stream.aclose()
        assert ends_of(server) == []
        assert not live.hub.watched
        go_on.set()
        await live.wait_finished(next(iter(live.conversation.turns)))
        assert ends_of(server) == ["completed"]


async def test_there_are_only_so_many_calls_at_a_time() -> None:
    go_on = trio.Event()
    results: list[Any] = []
    async with (
        open_server(models=ListedModels(script=hold(go_on))) as server,
        open_face(server) as session,
    ):

        async def ask() -> None:
            results.append(await session.call_tool("ask", {"prompt": "x"}))

        async with trio.open_nursery() as nursery:
            for _ in range(CALLS_LIMIT):
                nursery.start_soon(ask)
            await trio.testing.wait_all_tasks_blocked()
            refused = await session.call_tool("list_conversations", {})
            go_on.set()
    assert texts_of(refused) == [f"{CALLS_LIMIT} calls are running already; wait for one of them."]
    assert not any(each.is_error for each in results)
