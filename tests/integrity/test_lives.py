"""What people do with a conversation, one thing after the other: it stays one that goes on.

Prompts to any provider, calls of tools that answer, hang or are not there, refusals,
interrupts, messages that steer, kills and starts, resumes, forks, clears, pins and imports, in
any order.
After each: every request has been accepted, every call has one output and every turn
one end; and in the end each of the six providers takes the whole.
"""

import itertools
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from askd.core.events import (
    Body,
    ConversationCreated,
    ItemAdded,
    ItemPinned,
    PromptAccepted,
    TurnFinished,
    TurnOptions,
    ViewChanged,
)
from askd.core.items import AssistantMessage, Reasoning, Text, ToolCall, ToolOutput
from askd.sessions.forks import fork
from askd.sessions.targets import Target
from askd.store.log import Write
from askd.tools.base import Result, Site
from tests.core import rollouts
from tests.fakes.chat_answers import error
from tests.fakes.log import FakeStore
from tests.fakes.sessions import Room
from tests.fakes.tools import Plain
from tests.integrity.logs import ID, store_with
from tests.integrity.test_any_log import CALL_IDS, ask_everybody, check_bodies, run
from tests.integrity.wires import DIALECTS, QUICKLY, Line, Wires, lay_wires, open_wired


@dataclass
class Tool(Plain):
    """A tool that answers, or never does."""

    name: str
    hangs: bool = False
    description: str = "Looks."
    effects: bool = True
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "object"})

    async def run(self, arguments: Mapping[str, Any], site: Site) -> Result:
        if self.hangs:
            await trio.sleep_forever()
        return Result((Text(f"saw {arguments}"),))


TOOLS = (Tool("look"), Tool("wait", hangs=True))
CALLED = st.sampled_from(["look", "look", "wait", "gone", "look at", "wait\x00"])
ARGUMENTS = st.sampled_from(["{}", '{"a": 1}'])
DIALECT = st.sampled_from(DIALECTS)
STEPS = st.one_of(
    st.tuples(st.just("say"), DIALECT),
    st.tuples(st.just("call"), DIALECT, st.tuples(CALL_IDS, CALLED, ARGUMENTS)),
    st.tuples(st.just("refuse"), DIALECT),
    st.tuples(st.just("interrupt"), DIALECT),
    st.tuples(st.just("kill"), DIALECT),
    st.tuples(st.sampled_from(["steer", "steer and kill"]), DIALECT),
    st.tuples(st.just("steer"), DIALECT, st.tuples(CALL_IDS, CALLED, ARGUMENTS)),
    st.tuples(st.sampled_from(["resume", "fork", "clear", "undo", "pin", "import"])),
)


class Life:
    """One conversation, or what it has become, and the daemon that has it."""

    def __init__(self, wires: Wires, store: FakeStore) -> None:
        self.id = ID
        self.imported: set[str] = set()
        self._wires = wires
        self._store = store
        self._numbers = itertools.count(1)

    async def go(self, steps: Sequence[tuple[Any, ...]]) -> None:
        """Take the steps; a daemon lives until one of them ends it."""
        waiting = list(steps)
        while waiting:
            async with open_wired(self._wires, self._store, tools=TOOLS) as room:
                while waiting:
                    if await self._step(room, *waiting.pop(0)):
                        break
            check_bodies(self._wires)

    async def _step(self, room: Room, kind: str, *what: Any) -> bool:
        """One step; True: the daemon is gone after it."""
        if kind in ("say", "call", "refuse", "interrupt", "kill") or kind.startswith("steer"):
            line = self._wires.lines[what[0]]
            async with self._prompt(room, line, kind, *what[1:]) as ends:
                return not ends
        session = await room.sessions.get(self.id)
        conversation = session.conversation
        match kind:
            case "fork":
                self.id = (await fork(room.sessions, self.id)).id
            case "clear":
                await session.append([ViewChanged(f"v{next(self._numbers)}", "clear")])
            case "undo":
                restored = f"v{next(self._numbers) - 1}"
                await session.append([ViewChanged(f"{restored}-u", "undo", restored=restored)])
            case "pin":
                items = [e.item.id for r in conversation.turns.values() for e in r.items]
                await session.append([ItemPinned(each) for each in items[::3]])
            case "import":
                await self._import()
            case _:
                pass
        return kind == "resume"

    @asynccontextmanager
    async def _prompt(
        self, room: Room, line: Line, kind: str, call: tuple[str, str, str] | None = None
    ) -> AsyncIterator[bool]:
        if call is not None:
            line.say(thought="hm", call=call)
        if kind == "refuse":
            line.broken.append(error(400, "messages.1: no."))
        line.hanging = kind in ("interrupt", "kill") or (kind == "steer" and call is None)
        line.hanging |= kind == "steer and kill"
        target = Target("id", self.id)
        options = TurnOptions(model=line.model)
        accepted = await room.ask(f"p{next(self._numbers)}", target=target, options=options)
        session = accepted.session
        if line.hanging or (call is not None and call[1] == "wait"):
            await trio.testing.wait_all_tasks_blocked()
            line.hanging = kind == "steer and kill"
            if kind.startswith("steer"):
                runs = session.active_turn  # the embedded model has no tools, and is done by now
                text = f"p{next(self._numbers)}"
                joined = await room.ask(text, target=target, options=options, busy="steer")
                assert (joined.turn_id == accepted.turn_id) == (runs is not None)
                await trio.testing.wait_all_tasks_blocked()
            line.hanging = False
            if kind.endswith("kill"):
                yield False
                return
            await session.interrupt(accepted.turn_id, "test")
        await room.finish(accepted)
        yield True

    async def _import(self) -> None:
        """Go on with a file in which nothing is where it should be."""
        content = rollouts.pack(
            rollouts.output("lost"), rollouts.user("hi"), rollouts.call("a"), rollouts.output("b")
        )
        self.id = f"imported-{next(self._numbers)}"
        bodies: list[Body] = [ConversationCreated(self.id)]
        bodies += [body for _, body in rollouts.plan(content).timed[1:]]
        self.imported.update(b.turn_id for b in bodies if isinstance(b, PromptAccepted))
        await self._store.append(Write(conversation_id=self.id, bodies=bodies, create=True))


def check_log(bodies: Sequence[Body], *, foreign: set[str]) -> None:
    """Every call has one output and every turn one end; imported turns have what they had."""
    added = [each for each in bodies if isinstance(each, ItemAdded)]
    for turn_id in {each.turn_id for each in added} - foreign:
        kept = [each.item for each in added if each.turn_id == turn_id]
        calls = [c.call_id for m in kept if isinstance(m, AssistantMessage) for c in m.calls]
        outputs = [each.call_id for each in kept if isinstance(each, ToolOutput)]
        assert sorted(calls) == sorted(outputs)
        assert len(set(calls)) == len(calls)
    for turn_id in [each.turn_id for each in bodies if isinstance(each, PromptAccepted)]:
        ends = [e for e in bodies if isinstance(e, TurnFinished) and e.turn_id == turn_id]
        assert len(ends) == 1, turn_id


@QUICKLY
@given(st.lists(STEPS, max_size=10), st.permutations(DIALECTS))
def test_any_life_goes_on(steps: list[tuple[Any, ...]], order: list[str]) -> None:
    async def main() -> None:
        store = await store_with([])
        with lay_wires() as wires:
            life = Life(wires, store)
            await life.go(steps)
            await ask_everybody(wires, store, order, life.id)
            check_bodies(wires)
        for row in store.rows():
            bodies = [event.body for event in await store.load(row.id)]
            check_log(bodies, foreign=life.imported)

    run(main)


ASKS = ItemAdded("t", AssistantMessage("t.1", calls=(ToolCall("a", "f", "{}"),)), 1)


@pytest.mark.parametrize("bodies", [[ASKS], [PromptAccepted("t", "k", ())]])
def test_the_check_of_a_log_can_fail(bodies: list[Body]) -> None:
    with pytest.raises(AssertionError):
        check_log(bodies, foreign=set())


SEALING = ("openai-responses", "anthropic")


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_thought_goes_back_to_its_account_and_to_no_other(dialect: Any) -> None:
    """The way of a whole exchange: what came with a call goes back with its output."""
    store = await store_with([])
    with lay_wires() as wires:
        line = wires.lines[dialect]
        line.say(thought="hm, the thought", call=("call_x", "look", "{}"))
        async with open_wired(wires, store, tools=TOOLS) as room:
            options = TurnOptions(model=line.model)
            await room.finish(await room.ask("look", target=Target("id", ID), options=options))
        assert len(line.bodies) == 2
        if dialect in SEALING:
            assert b"c2VhbGVk" in line.bodies[1]
        else:
            assert b"hm, the thought" in line.bodies[1]
        check_bodies(wires)
    # The same exchange, not over yet, at the same provider with another key, and at another.
    events = [event.body for event in await store.load(ID)]
    (asks,) = [e for e in events if isinstance(e, ItemAdded) and _has_calls(e)]
    assert isinstance(asks.item, AssistantMessage)
    thoughts: tuple[Reasoning, ...] = asks.item.reasoning
    assert thoughts
    with lay_wires(key="another's") as others:
        for line in others.lines.values():
            async with open_wired(others, store) as room:
                options = TurnOptions(model=line.model)
                await room.finish(await room.ask("on", target=Target("id", ID), options=options))
            assert all(b"c2VhbGVk" not in body for body in line.bodies)
        check_bodies(others)


def _has_calls(added: ItemAdded) -> bool:
    return isinstance(added.item, AssistantMessage) and bool(added.item.calls)
