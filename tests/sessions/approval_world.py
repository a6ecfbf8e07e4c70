"""Turns whose models call tools that need a person's word, and what must hold of them ever after.

`Door` is such a tool. It refuses to be run twice for one call, and `check_approved` holds a
log to the promise that nothing ran which a person had to allow and had not.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import trio
import trio.testing

from askd.core.approval import Approval, Grant
from askd.core.events import ItemAdded, QuestionAnswered, QuestionAsked, TurnFinished
from askd.core.items import AssistantMessage, ToolCall, ToolOutput
from askd.core.questions import find_all_open
from askd.providers.base import CallDelta, ModelRequest, Stopped
from askd.sessions.hub import Progress
from askd.sessions.live import LiveSession
from askd.tools.base import Preview, Result, Site, say
from tests.fakes.log import FakeStore
from tests.fakes.models import ScriptedModels, Step
from tests.fakes.sessions import Watcher
from tests.sessions.test_driver import check_log


@dataclass
class Door:
    """A tool with effects. `opened`: the calls that it ran, as `turn/call`, in order.

    Attributes:
        shows: is called before each preview: raises, waits, or changes what is shown.
        held: a call waits for it before it ends.
    """

    name: str = "door"
    description: str = "Opens a door."
    effects: bool = True
    needs: Approval = "ask"
    confined: bool = True
    writes: tuple[str, ...] | None = None
    offers_always: bool = True
    title: str = "Open the door"
    shows: Callable[[Site], Any] | None = None
    held: trio.Event | None = None
    opened: list[str] = field(default_factory=list)
    running: int = 0
    most: int = 0
    schema: Mapping[str, Any] = field(default_factory=dict)

    async def preview(self, arguments: Mapping[str, Any], site: Site) -> Preview:
        await trio.lowlevel.checkpoint()
        if self.shows is not None:
            shown = self.shows(site)
            if shown is not None:
                await shown
        return Preview(
            title=self.title,
            body=json.dumps(arguments),
            needs=self.needs,
            grant=Grant(tool=self.name, cwd=site.cwd, label="doors here")
            if self.offers_always
            else None,
            confined=self.confined,
            writes=self.writes,
        )

    async def run(self, arguments: Mapping[str, Any], site: Site) -> Result:
        call = f"{site.turn_id}/{site.call_id}"
        assert call not in self.opened, "a call that has effects runs once"
        self.opened.append(call)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await trio.lowlevel.checkpoint()
            if self.held is not None:
                await self.held.wait()
            return say("open")
        finally:
            self.running -= 1


def call(*names: str, arguments: str = '{"which": %d}') -> list[Step]:
    """An answer that calls these tools, each with arguments of its own."""
    filled = [arguments % k if "%d" in arguments else arguments for k in range(len(names))]
    return [
        *(CallDelta(k, f"call_{k}", name, filled[k]) for k, name in enumerate(names)),
        Stopped("calls"),
    ]


def models_that(*answers: Iterable[Step]) -> ScriptedModels:
    """Models that give the n-th of these answers to a request with n - 1 answers in its turn."""

    def script(request: ModelRequest) -> Iterable[Step]:
        said = sum(isinstance(item, AssistantMessage) for item in request.items)
        return answers[min(said, len(answers) - 1)]

    return ScriptedModels(script)


async def wait_parked(session: LiveSession, turn_id: str) -> list[QuestionAsked]:
    """The open questions, once nobody runs the turn any more."""
    await trio.testing.wait_all_tasks_blocked()
    questions = find_all_open(session.conversation.turns[turn_id])
    assert questions
    assert session.running is None
    return questions


async def answer(
    session: LiveSession, question: QuestionAsked, decision: str = "yes", reason: str | None = None
) -> None:
    """As whoever takes answers does: the first one wins."""
    async with session.admission:
        if question.question_id in session.conversation.open_questions:
            said = QuestionAnswered(
                question.turn_id, question.question_id, "tty:2", decision, reason
            )
            await session.append([said])


def outputs_of(session: LiveSession, turn_id: str) -> dict[str, ToolOutput]:
    """The turn's outputs, by call."""
    items = [added.item for added in session.conversation.turns[turn_id].items]
    return {item.call_id: item for item in items if isinstance(item, ToolOutput)}


def told(watcher: Watcher, kind: str = "tool") -> list[str]:
    """The sentences of one kind of progress."""
    return [
        each.text for each in watcher.values if isinstance(each, Progress) and each.kind == kind
    ]


async def check_approved(store: FakeStore, conversation_id: str, *doors: Door) -> None:
    """Every call has one output and every turn one end; what ran of the doors was allowed."""
    await check_log(store, conversation_id)
    bodies = [event.body for event in await store.load(conversation_id)]
    calls: dict[tuple[str, str], ToolCall] = {}
    subjects: dict[tuple[str, str], str] = {}
    outputs: list[tuple[str, str]] = []
    for body in bodies:
        if not isinstance(body, ItemAdded) or body.status == "superseded" or not body.turn_id:
            continue
        if isinstance(body.item, AssistantMessage):
            for k, each in enumerate(body.item.calls, start=1):
                calls[body.turn_id, each.call_id] = each
                subjects[body.turn_id, each.call_id] = f"{body.item.id}.{k}"
        elif isinstance(body.item, ToolOutput):
            outputs.append((body.turn_id, body.item.call_id))
    assert sorted(outputs) == sorted(calls), "exactly one output a call"
    asked = {each.question_id: each for each in bodies if isinstance(each, QuestionAsked)}
    answered = [each for each in bodies if isinstance(each, QuestionAnswered)]
    assert len({each.question_id for each in answered}) == len(answered), "one answer a question"
    about = [(each.turn_id, each.detail["subject"]) for each in asked.values()]
    assert len(set(about)) == len(about), "asked about once"
    allowed = {
        (asked[each.question_id].turn_id, asked[each.question_id].detail["subject"])
        for each in answered
        if each.decision in ("yes", "always")
    }
    for door in doors:
        assert door.running == 0
        for turn_id, call_id in (each.split("/") for each in door.opened):
            if (turn_id, call_id) in calls and door.needs == "ask":
                assert (turn_id, subjects[turn_id, call_id]) in allowed, "nothing runs unasked"
    assert sum(isinstance(each, TurnFinished) for each in bodies)
