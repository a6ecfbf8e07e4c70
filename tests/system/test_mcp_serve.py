"""The real `ask mcp serve`, driven by the SDK's own client, and by whoever writes lines to it."""

import json
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import mcp_types as types
import pytest
import trio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import MCPError

from tests.system.servers import write_config
from tests.system.world import ASK, LIMIT_S, Running, World, open_world

Map = dict[str, Any]
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "lines", "version": "1"},
    },
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
WRITE = 'CALLS:[["run_command", {"command": "echo hi > here"}]]'


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One daemon for all tests that leave it as it is, and do not count what came before."""
    with open_world(tmp_path_factory.mktemp("shared")) as world:
        yield world


class Person:
    """Answers what is put to it; keeps what it was shown."""

    def __init__(self, *filled: types.ElicitResult) -> None:
        self.filled = list(filled)
        self.shown: list[types.ElicitRequestFormParams] = []

    async def __call__(self, context: object, params: Any) -> types.ElicitResult:
        self.shown.append(params)
        return self.filled.pop(0)


@asynccontextmanager
async def open_face(
    world: World, *options: str, person: Person | None = None
) -> AsyncIterator[ClientSession]:
    """The SDK's client of `ask mcp serve`, at the world's home."""
    parameters = StdioServerParameters(
        command=ASK, args=["mcp", "serve", *options], env=world.env, cwd=world.home
    )
    async with (
        stdio_client(parameters) as (incoming, outgoing),
        ClientSession(
            incoming,
            outgoing,
            elicitation_callback=person,
            client_info=types.Implementation(name="desk\x1b", version="1"),
        ) as session,
    ):
        await session.initialize()
        yield session


async def call(session: ClientSession, tool: str, **arguments: Any) -> types.CallToolResult:
    """A call that has to come back."""
    with trio.fail_after(LIMIT_S):
        found = await session.call_tool(tool, arguments)
    assert isinstance(found, types.CallToolResult)
    return found


def texts_of(result: types.CallToolResult) -> list[str]:
    return [each.text for each in result.content if isinstance(each, types.TextContent)]


async def lose(session: ClientSession) -> None:
    """Wait until nobody answers any more."""
    with suppress(MCPError):
        while True:
            await session.send_ping()


def start_lines(world: World, *messages: Map) -> Running:
    """`ask mcp serve` with lines on its standard input, which stays open."""
    running = world.start("mcp", "serve", stdin=subprocess.PIPE)
    for each in messages:
        running.type(json.dumps(each) + "\n")
    return running


def read_lines(running: Running) -> list[Map]:
    """Every whole line of standard output: each is JSON, or something else was printed."""
    return [json.loads(line) for line in running.out.split("\n")[:-1]]


# ---- asking, and looking back --------------------------------------------------------------


async def test_a_program_asks_twice_in_a_conversation_and_looks_back(world: World) -> None:
    async with open_face(world, "-m", "openai/fake") as session:
        tools = await session.list_tools()
        assert [each.name for each in tools.tools] == [
            "ask",
            "search_history",
            "read_conversation",
            "list_conversations",
        ]
        first = await call(session, "ask", prompt="ECHO:a red fox", conversation="animals")
        second = await call(session, "ask", prompt="SUM", conversation="animals")
        assert (first.structured_content["text"], first.is_error) == ("a red fox", False)
        assert first.structured_content["name"] == "animals"
        conversation_id = first.structured_content["conversation_id"]
        assert second.structured_content["conversation_id"] == conversation_id
        assert second.structured_content["text"].startswith("messages=3 ")
        assert texts_of(first) == ["a red fox", f"Conversation: {conversation_id} (animals)"]
        found = await call(session, "search_history", query='"red fox"')
        assert {hit["conversation_id"] for hit in found.structured_content["hits"]} == {
            conversation_id
        }
        read = await call(session, "read_conversation", conversation="animals", turns=1, skip=1)
        assert "ECHO:a red fox" in texts_of(read)[0]
        assert "SUM" not in texts_of(read)[0]
        listed = await call(session, "list_conversations")
        (row,) = listed.structured_content["conversations"]
        assert (row["name"], row["messages"]) == ("animals", 4)
    (created, *_) = world.events("animals")
    assert created["type"] == "conversation_created"
    assert world.ok("history", "show", "animals").out.count("a red fox") == 2


async def test_progress_is_told_to_who_wants_it(shared: World) -> None:
    told: list[tuple[float, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message))

    async with open_face(shared) as session:
        with trio.fail_after(LIMIT_S):
            await session.call_tool("ask", {"prompt": "SLOW:0.15"}, progress_callback=note)
    assert told
    assert [progress for progress, _ in told] == sorted({progress for progress, _ in told})
    assert str(told[-1][1]).startswith("tok0 tok1")


async def test_a_call_that_is_cancelled_ends_its_turn(world: World) -> None:
    assert world.model is not None
    async with open_face(world, "-s", "held") as session:
        with trio.move_on_after(LIMIT_S) as calling:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(call, session, "ask")  # without its prompt: refused, no harm
                nursery.start_soon(lambda: call(session, "ask", prompt="HOLD"))
                await trio.to_thread.run_sync(world.model.requests, 1)
                await trio.to_thread.run_sync(world.wait_saved, "tok2")
                calling.cancel()
        assert calling.cancelled_caught
        after = await call(session, "ask", prompt="ECHO:still there")
        assert after.structured_content["text"] == "still there"
    ends = [each for each in world.events("held") if each["type"] == "turn_finished"]
    assert [each["outcome"] for each in ends] == ["interrupted", "completed"]
    assert ends[0]["message"] == "Interrupted by mcp:desk."
    assert "tok0 tok1 tok2" in world.ok("history", "show", "held").out


async def test_a_time_limit_ends_a_call_with_what_was_said(shared: World) -> None:
    async with open_face(shared) as session:
        result = await call(session, "ask", prompt="HOLD", timeout_s=0.5)
    assert result.is_error
    assert result.structured_content["text"] == "tok0 tok1 tok2"
    assert "time limit" in texts_of(result)[1]


# ---- approvals ---------------------------------------------------------------------------


async def test_a_tool_runs_with_a_persons_word_alone(shared: World) -> None:
    accept = types.ElicitResult(action="accept", content={"decision": "yes"})
    person = Person(accept, types.ElicitResult(action="decline"))
    async with open_face(shared, "-T", "all", person=person) as session:
        allowed = await call(session, "ask", prompt=WRITE, conversation="allowed")
        refused = await call(session, "ask", prompt=WRITE, conversation="refused")
    assert (allowed.is_error, allowed.structured_content["notes"]) == (False, [])
    assert refused.structured_content["notes"] == [
        "run_command: This call was not run: a person refused it."
    ]
    first, _ = person.shown
    assert first.message.startswith("Run: echo hi > here")
    assert first.requested_schema["properties"]["decision"]["enum"][0] == "yes"
    answers = [
        (each["by"], each["decision"])
        for name in ("allowed", "refused")
        for each in shared.events(name)
        if each["type"] == "question_answered"
    ]
    assert answers == [("mcp:desk", "yes"), ("mcp:desk", "no")]


@pytest.mark.parametrize(
    ("options", "said"),
    [((), "nobody is there to be asked"), (("--approve", "deny"), "approvals refused")],
)
async def test_where_nobody_can_be_asked_a_tool_is_denied(
    shared: World, options: tuple[str, ...], said: str
) -> None:
    async with open_face(shared, "-T", "all", *options) as session:
        result = await call(session, "ask", prompt=WRITE)
    assert not result.is_error
    assert any(said in each for each in texts_of(result)), texts_of(result)


async def test_a_rule_that_denies_stands_above_a_persons_word(world: World) -> None:
    write_config(world, '[approval.tools]\nrun_command = "deny"\nsearch_history = "deny"\n')
    person = Person()
    async with open_face(world, "-T", "all", "--approve", "auto", person=person) as session:
        result = await call(session, "ask", prompt=WRITE)
        looked = await call(session, "search_history", query="hi")
    assert any("settings refuse it" in each for each in texts_of(result)), texts_of(result)
    assert looked.is_error
    assert "settings deny" in texts_of(looked)[0]
    assert person.shown == []


async def test_who_asks_must_say_so_where_an_approval_is_asked_for(shared: World) -> None:
    async with open_face(shared, "-T", "all", "--approve", "ask") as session:
        result = await call(session, "ask", prompt=WRITE)
    assert result.is_error
    assert any("An approval is needed" in each for each in texts_of(result)), texts_of(result)


# ---- several, and bad ends -----------------------------------------------------------------


async def test_two_programs_share_a_conversation(shared: World) -> None:
    async with open_face(shared, "-s", "shared") as one, open_face(shared, "-s", "shared") as two:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: call(one, "ask", prompt="ECHO:one"))
            nursery.start_soon(lambda: call(two, "ask", prompt="ECHO:two"))
        read = await call(two, "read_conversation", conversation="shared")
    assert "ECHO:one" in texts_of(read)[0]
    assert "ECHO:two" in texts_of(read)[0]


def test_what_is_piped_in_is_answered_before_the_end(shared: World) -> None:
    lines = "".join(json.dumps(each) + "\n" for each in (HELLO, READY, LIST)).rstrip("\n")
    result = shared.ask("mcp", "serve", stdin=lines.encode())
    assert result.code == 0
    assert result.err == ""
    hello, tools = [json.loads(line) for line in result.out.splitlines()]
    assert (hello["id"], tools["id"]) == (1, 2)
    assert hello["result"]["serverInfo"]["name"] == "ask"
    assert len(tools["result"]["tools"]) == 4


def test_nonsense_is_answered_and_harms_nobody(shared: World) -> None:
    running = shared.start("mcp", "serve", stdin=subprocess.PIPE)
    running.type("hello?\n\n[1, 2]\n" + json.dumps({"jsonrpc": "2.0", "id": 7}) + "\n")
    running.type("\x00\x7f\n" + "x" * (3 << 20) + "\n" + json.dumps(HELLO) + "\n")
    running.wait_for('"serverInfo"')
    result = running.finish()
    assert result.code == 0
    *errors, hello = read_lines(running)
    assert [each["error"]["code"] for each in errors] == [-32700] * 4 + [-32600]
    assert hello["id"] == 1


def test_who_speaks_nothing_but_nonsense_is_left(shared: World) -> None:
    result = shared.ask("mcp", "serve", stdin=b"nonsense\n" * 200)
    assert result.code == 1
    assert result.err == "What came was no MCP: one JSON-RPC message a line.\n"


def test_the_daemons_end_is_told_and_nothing_but_json_is_on_stdout(world: World) -> None:
    asking = {"name": "ask", "arguments": {"prompt": "HOLD"}}
    request = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": asking}
    running = start_lines(world, HELLO, READY, request)
    assert world.model is not None
    world.model.requests(1)
    world.kill_daemon()
    code = running.process.wait(LIMIT_S)
    result = running.finish()
    assert code == 69
    assert "The connection to the daemon was lost." in result.err
    assert [each["id"] for each in read_lines(running)] == [1]


def test_what_was_asked_goes_on_when_the_program_has_gone(world: World) -> None:
    asking = {"name": "ask", "arguments": {"prompt": "HOLD", "conversation": "later"}}
    request = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": asking}
    running = start_lines(world, HELLO, READY, request)
    assert world.model is not None
    world.model.requests(1)
    assert running.finish().code == 0  # its standard input has ended
    world.model.release()
    world.ok("-s", "later", "ECHO:behind it")
    ends = [each for each in world.events("later") if each["type"] == "turn_finished"]
    assert [each["outcome"] for each in ends] == ["completed", "completed"]


def test_it_ends_at_once_when_it_is_told_to(shared: World) -> None:
    running = start_lines(shared, HELLO)
    running.wait_for('"serverInfo"')
    running.signal(signal.SIGTERM)
    assert running.process.wait(LIMIT_S) in (-signal.SIGTERM, 143)
    assert running.finish().err == ""


def test_where_nobody_reads_it_ends(shared: World) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with subprocess.Popen(
        [ASK, "mcp", "serve"],
        stdin=subprocess.PIPE,
        stdout=writer,
        stderr=subprocess.PIPE,
        env=shared.env,
        cwd=shared.home,
    ) as process:
        os.close(writer)
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(json.dumps(HELLO).encode() + b"\n")
        process.stdin.flush()
        assert process.wait(LIMIT_S) == 141
        assert process.stderr.read() == b""


async def test_a_daemon_that_drains_says_so_in_the_answer(world: World) -> None:
    assert world.model is not None
    async with open_face(world) as session:
        world.ok("daemon", "status")
        async with trio.open_nursery() as nursery:

            async def hold() -> None:
                await call(session, "ask", prompt="HOLD")

            nursery.start_soon(hold)
            await trio.to_thread.run_sync(world.model.requests, 1)
            await trio.to_thread.run_sync(
                lambda: world.ok("api", "daemon/drain", json.dumps({"wait_s": 30}))
            )
            refused = await call(session, "ask", prompt="ECHO:too late")
            assert refused.is_error
            assert "about to stop" in texts_of(refused)[0]
            world.model.release()
        with trio.fail_after(LIMIT_S):
            await lose(session)


# ---- a daemon that is its own client ---------------------------------------------------------


def serve_self(world: World) -> None:
    """Configure this very daemon as a server of tools of its own; its model wants no key."""
    assert world.model is not None
    write_config(
        world,
        f"""default_model = "here/fake"
[providers.here]
dialect = "openai-chat"
base_url = "{world.model.base_url}"
[mcpServers.me]
command = {json.dumps(ASK)}
args = ["mcp", "serve", "-T", "all"]
env = {{ ASK_HOME = {json.dumps(str(world.ask_home))} }}
""",
    )


def call_me(prompt: str, conversation: str) -> str:
    """A prompt whose model asks this daemon, through its own face."""
    return "CALLS:" + json.dumps([["me__ask", {"prompt": prompt, "conversation": conversation}]])


def test_a_daemon_that_asks_itself_does_so_once(world: World) -> None:
    serve_self(world)
    deeper = call_me("ECHO:never", "third")
    result = world.ask("-s", "first", "-T", "me__*", "--approve", "auto", call_me(deeper, "second"))
    assert result.code == 0, result
    assert world.ask("history", "show", "third").code == 3  # nobody got so far
    assert world.model is not None
    outer, inner, *_ = world.model.requests(3)
    assert {each["function"]["name"] for each in outer["tools"]} == {
        "me__ask",
        "me__list_conversations",
        "me__read_conversation",
        "me__search_history",
    }
    assert "tools" not in inner
    (output,) = [
        each["item"]["parts"][0]["text"]
        for each in world.events("first")
        if each["type"] == "item_added" and each["item"]["type"] == "tool_output"
    ]
    assert "no tools were offered" in output


def test_a_conversation_that_asks_in_itself_is_not_waited_for(world: World) -> None:
    serve_self(world)
    result = world.ask("-s", "me", "-T", "me__*", "--approve", "auto", call_me("ECHO:again", "me"))
    assert result.code == 0, result
    (output,) = [
        each["item"]
        for each in world.events("me")
        if each["type"] == "item_added" and each["item"]["type"] == "tool_output"
    ]
    assert output["is_error"]
    assert "The conversation is busy" in output["parts"][0]["text"]
