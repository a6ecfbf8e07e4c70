"""What comes from a server: so much of it, and no request from who takes no answers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest
import trio
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCError, JSONRPCResponse, jsonrpc_message_adapter
from trio.testing import MockClock, wait_all_tasks_blocked

from askd.tools.base import CannotRun
from askd.tools.mcp.intake import (
    ASKED_CHARACTERS,
    ID_CHARACTERS,
    MOST_THINGS,
    UNHEARD_LIMIT,
    Intake,
    Outlet,
    measure,
)
from askd.tools.mcp.paces import MESSAGES_AT_ONCE, MESSAGES_PER_S


def make(**message: Any) -> SessionMessage:
    return SessionMessage(jsonrpc_message_adapter.validate_python({"jsonrpc": "2.0", **message}))


ROOTS = make(id="r", method="roots/list")


@dataclass
class Between:
    """Both ends of a transport, and what stands before the session."""

    server: Any  # sends what comes
    taken: Any  # receives what goes
    intake: Intake
    outlet: Outlet
    said: list[str] = field(default_factory=list)


@asynccontextmanager
async def stand() -> AsyncIterator[Between]:
    server, incoming = anyio.create_memory_object_stream[Any](5000)
    outgoing, taken = anyio.create_memory_object_stream[SessionMessage](0)
    outlet, said = Outlet(outgoing), list[str]()
    intake = Intake(incoming, outlet, said.append)
    async with server, taken, intake, outlet:
        yield Between(server, taken, intake, outlet, said)


@pytest.mark.parametrize(
    "message",
    [
        make(id=1, result={"content": [{"type": "text", "text": "x" * 3_000_000}]}),
        make(id=1, result={"structuredContent": {"rows": [[k] for k in range(30_000)]}}),
        make(id=1, error={"code": 1, "message": "no"}),
        make(id="a", method="roots/list", params={"_meta": {"a": 1}}),
        make(method="notifications/message", params={"data": "x" * 3_000_000}),
        ValueError("of the transport"),
    ],
)
async def test_what_is_usual_goes_on_as_it_came(message: Any) -> None:
    async with stand() as between:
        await between.server.send(message)
        assert await between.intake.receive() is message
    assert between.said == []


@pytest.mark.parametrize("name", ["content", "tools"])
async def test_an_answer_of_too_many_things_is_an_error_to_who_waits_for_it(name: str) -> None:
    async with stand() as between:
        await between.server.send(make(id=7, result={name: [{}] * (MOST_THINGS + 1)}))
        item = await between.intake.receive()
        assert isinstance(item, SessionMessage)
        assert isinstance(item.message, JSONRPCError)
        assert item.message.id == 7
        assert "more than 10,000 things" in item.message.error.message
        assert between.said == [item.message.error.message]


@pytest.mark.parametrize(
    "message",
    [
        make(id="x" * (ID_CHARACTERS + 1), method="ping"),
        make(id=1, method="x" * (ASKED_CHARACTERS + 1)),
        make(id=1, method="ping", params={"_meta": {"a": "x" * (ASKED_CHARACTERS + 1)}}),
        make(id=1, method="elicitation/create", params={"a": [[]] * (MOST_THINGS + 1)}),
        make(method="notifications/message", params={"data": [[]] * (MOST_THINGS + 1)}),
    ],
)
async def test_what_asks_too_much_is_left_out_and_the_next_one_comes(
    message: SessionMessage,
) -> None:
    async with stand() as between:
        await between.server.send(message)
        await between.server.send(ROOTS)
        assert await between.intake.receive() is ROOTS
        assert len(between.said) == 1
        assert len(between.said[0]) < 100


async def test_who_takes_no_answers_asks_nothing_more_until_he_does() -> None:
    answer = SessionMessage(JSONRPCResponse(jsonrpc="2.0", id="r", result={}))
    got: list[Any] = []
    async with stand() as between, trio.open_nursery() as nursery:

        async def read() -> None:
            async for item in between.intake:
                got.append(item)
                if item is ROOTS:
                    nursery.start_soon(between.outlet.send, answer)

        nursery.start_soon(read)
        for _ in range(3 * UNHEARD_LIMIT):
            await between.server.send(ROOTS)
        await wait_all_tasks_blocked()
        # One more may be let in while the task of the one before it has not begun.
        assert len(got) == between.outlet.waiting
        assert UNHEARD_LIMIT <= len(got) <= UNHEARD_LIMIT + 1
        for _ in range(3 * UNHEARD_LIMIT):
            assert await between.taken.receive() is answer
        await wait_all_tasks_blocked()
        assert len(got) == 3 * UNHEARD_LIMIT
        assert between.outlet.waiting == 0
        await between.server.aclose()  # and that is the end of it


async def test_answers_come_however_many_of_ours_wait() -> None:
    ours = make(id=1, method="tools/call")
    answer = make(id=1, result={})
    async with stand() as between, trio.open_nursery() as nursery:
        for _ in range(2 * UNHEARD_LIMIT):
            nursery.start_soon(between.outlet.send, ours)
        await wait_all_tasks_blocked()
        await between.server.send(answer)
        assert await between.intake.receive() is answer
        nursery.cancel_scope.cancel()
    assert between.outlet.waiting == 0


async def test_a_flood_comes_at_a_pace(autojump_clock: MockClock) -> None:
    async with stand() as between:
        more = 2 * MESSAGES_PER_S
        for _ in range(MESSAGES_AT_ONCE + more):
            between.server.send_nowait(ROOTS)
        began = trio.current_time()
        for _ in range(MESSAGES_AT_ONCE + more):
            await between.intake.receive()
        assert trio.current_time() - began == pytest.approx(more / MESSAGES_PER_S)


def test_what_is_counted() -> None:
    assert measure({"a": [1, "two", {"b": "three"}]}) == (3, 10)
    assert measure({"_meta": {"a": [[[]]], "b": "four"}}) == (1, 11)
    assert measure({"tools": [{"inputSchema": {"a": {"b": {}}}}]})[0] == 3
    assert measure(None) == (0, 0)
    assert measure([[]] * 1_000_000)[0] == MOST_THINGS + 1


@pytest.mark.parametrize("text", ["a\ud800b", "\udfff"])
async def test_what_cannot_be_written_is_refused_before_a_transport_has_it(text: str) -> None:
    async with stand() as between:
        with pytest.raises(CannotRun):
            await between.outlet.send(make(id=1, method="tools/call", params={"name": text}))
        assert between.outlet.waiting == 0
