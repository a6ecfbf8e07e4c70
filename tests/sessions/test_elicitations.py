"""A call that asks a person in its middle: one question, one answer, and nothing open after it."""

import copy
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import trio
import trio.testing

from askd.core.approval import Approval
from askd.core.events import QuestionAnswered, QuestionAsked, TurnFinished, TurnOptions
from askd.core.items import join_text
from askd.core.outcome import DONE
from askd.core.questions import CLOSED, EXPIRED, EXPIRY, find_all_open
from askd.sessions.elicitations import WISHES_A_CALL
from askd.sessions.live import LiveSession
from askd.sessions.parking import ATTENDED_S, DETACHED_S
from askd.tools.base import Result, Said, Site, Wish, say
from tests.fakes.log import FakeStore
from tests.fakes.models import ScriptedModels
from tests.fakes.sessions import Room, Watcher, open_room, to
from tests.fakes.tools import Plain
from tests.sessions.approval_world import call, models_that, outputs_of, told
from tests.sessions.test_driver import check_log
from tests.sessions.test_parking import wall

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
WISH = Wish(who="here", text="Who?", schema=SCHEMA)
DETACHED = TurnOptions(detach=True)


@dataclass
class Curious(Plain):
    """A tool that asks in the middle of a call, in a task that is not the call's own.

    Attributes:
        wishes: what it asks at the same time; `said` holds what it was told.
        patience_s: it ends its call after so long, whether or not it was told.
        hold: it asks nothing before.
    """

    nursery: trio.Nursery
    wishes: tuple[Wish, ...] = (WISH,)
    patience_s: float = float("inf")
    hold: trio.Event | None = None
    name: str = "curious"
    description: str = "Asks."
    effects: bool = True
    needs: Approval = "auto"
    schema: Mapping[str, Any] = field(default_factory=dict)
    said: list[Said] = field(default_factory=list)
    scopes: list[trio.CancelScope] = field(default_factory=list)

    async def run(self, arguments: Mapping[str, Any], site: Site) -> Result:
        heard: list[Said] = []
        done = trio.Event()

        async def ask(wish: Wish) -> None:
            with trio.CancelScope() as scope:
                self.scopes.append(scope)
                heard.append(await site.ask(wish))
            if scope.cancelled_caught:
                return
            self.said.append(heard[-1])
            if len(heard) == len(self.wishes):
                done.set()

        if self.hold is not None:
            await self.hold.wait()
        for wish in self.wishes:
            self.nursery.start_soon(ask, wish)
        with trio.move_on_after(self.patience_s):
            await done.wait()
        return say("; ".join(f"{each.action} {dict(each.content or {})}" for each in heard))


@asynccontextmanager
async def open_curious(
    store: FakeStore | None = None, *, models: ScriptedModels | None = None, **more: Any
) -> AsyncIterator[tuple[Room, Curious]]:
    """A room with such a tool, whose asking tasks outlive the calls."""
    limits = {name: more.pop(name) for name in ("turns", "recorder") if name in more}
    async with trio.open_nursery() as nursery:
        tool = Curious(nursery, **more)
        models = models or models_that(call("curious"), ["done"], call("curious"), ["done"])
        async with open_room(store=store or wall(), models=models, tools=[tool], **limits) as room:
            yield room, tool
        nursery.cancel_scope.cancel()


async def wait_asked(session: LiveSession, turn_id: str) -> list[QuestionAsked]:
    """The open questions, once the call waits; the turn runs."""
    await trio.testing.wait_all_tasks_blocked()
    assert session.running is not None
    return find_all_open(session.conversation.turns[turn_id])


async def answer(
    session: LiveSession, question: QuestionAsked, decision: str, content: Any = None
) -> None:
    async with session.admission:
        assert question.question_id in session.conversation.open_questions
        said = QuestionAnswered(
            question.turn_id, question.question_id, "tty:2", decision, None, content
        )
        await session.append([said])


async def check_asked(store: FakeStore, conversation_id: str) -> list[QuestionAnswered]:
    """The log holds; each question has one answer, before the output of its call."""
    await check_log(store, conversation_id)
    bodies = [event.body for event in await store.load(conversation_id)]
    asked = [each.question_id for each in bodies if isinstance(each, QuestionAsked)]
    answered = [each for each in bodies if isinstance(each, QuestionAnswered)]
    assert len(set(asked)) == len(asked)
    assert sorted(each.question_id for each in answered) == sorted(asked)
    ends = [place for place, each in enumerate(bodies) if isinstance(each, TurnFinished)]
    assert all(bodies.index(each) < ends[-1] for each in answered)
    return answered


def text_of(session: LiveSession, turn_id: str) -> str:
    (output,) = outputs_of(session, turn_id).values()
    return join_text(output.parts)


async def test_it_is_asked_while_the_turn_runs_and_the_call_goes_on_with_the_answer() -> None:
    async with open_curious() as (room, _):
        accepted = await room.ask(options=DETACHED)
        session = accepted.session
        (question,) = await wait_asked(session, accepted.turn_id)
        assert session.state == "needs_you"
        assert question.kind == "elicitation"
        assert question.detail["subject"] == f"{accepted.turn_id}.1.1"
        assert question.detail["server"] == "here"
        assert question.detail["tool"] == "curious"
        assert question.expires_at == pytest.approx(room.store.now() + DETACHED_S)
        await answer(session, question, "accept", {"name": "Ada"})
        assert (await room.finish(accepted)).code == DONE
        assert text_of(session, accepted.turn_id) == "accept {'name': 'Ada'}"
        (said,) = await check_asked(room.store, session.id)
        assert said.content == {"name": "Ada"}


@pytest.mark.parametrize("decision", ["decline", "cancel"])
async def test_a_no_is_one(decision: str) -> None:
    async with open_curious() as (room, tool):
        accepted = await room.ask(options=DETACHED)
        (question,) = await wait_asked(accepted.session, accepted.turn_id)
        await answer(accepted.session, question, decision)
        assert (await room.finish(accepted)).code == DONE
        assert [(each.action, each.content) for each in tool.said] == [(decision, None)]
        await check_asked(room.store, accepted.session.id)


async def test_where_nobody_is_there_nothing_is_asked_and_the_model_hears_why() -> None:
    async with open_curious() as (room, tool):
        accepted = await room.ask()
        watcher = Watcher()
        accepted.session.subscribe(watcher)
        assert (await room.finish(accepted)).code == DONE
        assert tool.said == [Said(action="cancel")]
        assert await check_asked(room.store, accepted.session.id) == []
        assert "nobody is there to be asked" in text_of(accepted.session, accepted.turn_id)
        (sentence,) = told(watcher, "warning")
        assert "'here' wanted an answer" in sentence


@pytest.mark.parametrize(
    ("options", "limit"), [(TurnOptions(), ATTENDED_S), (DETACHED, DETACHED_S)]
)
async def test_who_does_not_answer_in_time_has_not_decided(
    options: TurnOptions, limit: float, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_curious() as (room, tool):
        first = await room.ask("first")
        session = first.session
        await room.finish(first)
        session.subscribe(Watcher(), interactive=not options.detach)
        accepted = await room.ask(target=to(session), options=options)
        before = trio.current_time()
        assert (await room.finish(accepted)).code == DONE
        assert trio.current_time() - before == pytest.approx(limit, abs=1.0)
        assert tool.said[-1] == Said(action="cancel")
        (said,) = [
            each
            for each in await check_asked(room.store, session.id)
            if each.turn_id == accepted.turn_id
        ]
        assert (said.by, said.decision) == (EXPIRY, EXPIRED)


async def test_an_interrupted_turn_closes_its_question_before_its_end() -> None:
    models = models_that(call("curious"), call("curious"), ["done"])
    async with open_curious(models=models) as (room, tool):
        accepted = await room.ask(options=DETACHED)
        session = accepted.session
        await wait_asked(session, accepted.turn_id)
        await session.interrupt(accepted.turn_id, "tty")
        assert (await room.finish(accepted)).outcome == "interrupted"
        (said,) = await check_asked(room.store, session.id)
        assert (said.by, said.decision) == (CLOSED, "cancel")
        await trio.testing.wait_all_tasks_blocked()
        assert tool.said == [Said(action="cancel")]
        (output,) = outputs_of(session, accepted.turn_id).values()
        assert output.synthetic == "interrupted"
        again = await room.ask("again", target=to(session), options=DETACHED)
        (question,) = await wait_asked(session, again.turn_id)
        await answer(session, question, "decline")
        assert (await room.finish(again)).code == DONE


async def test_a_call_that_ends_by_itself_takes_its_question_with_it(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_curious(patience_s=5.0) as (room, tool):
        accepted = await room.ask(options=DETACHED)
        assert (await room.finish(accepted)).code == DONE
        (said,) = await check_asked(room.store, accepted.session.id)
        assert said.by == CLOSED
        await trio.sleep(1)
        assert tool.said == [Said(action="cancel")]


async def test_a_wish_that_is_taken_back_closes_its_own_question_alone() -> None:
    async with open_curious(wishes=(WISH,)) as (room, tool):
        accepted = await room.ask(options=DETACHED)
        session = accepted.session
        (question,) = await wait_asked(session, accepted.turn_id)
        tool.scopes[0].cancel()
        await trio.testing.wait_all_tasks_blocked()
        assert not session.conversation.open_questions
        assert session.running is not None, "its call goes on"
        assert session.conversation.turns[accepted.turn_id].answers[
            question.question_id
        ] == QuestionAnswered(accepted.turn_id, question.question_id, CLOSED, "cancel")


async def test_several_are_asked_at_once_and_each_is_answered_for_itself() -> None:
    async with open_curious(wishes=(WISH, Wish(who="here", text="Sure?"))) as (room, tool):
        accepted = await room.ask(options=DETACHED)
        session = accepted.session
        first, second = await wait_asked(session, accepted.turn_id)
        assert {first.detail["mode"], second.detail["mode"]} == {"form", "confirm"}
        assert first.question_id != second.question_id
        await answer(session, second, "decline")
        await trio.testing.wait_all_tasks_blocked()
        assert list(session.conversation.open_questions) == [first.question_id]
        await answer(session, first, "cancel")
        assert (await room.finish(accepted)).code == DONE
        assert len(tool.said) == 2
        await check_asked(room.store, session.id)


async def test_who_asks_on_and_on_is_not_heard_any_more() -> None:
    async with open_curious(wishes=(WISH,) * (WISHES_A_CALL + 3)) as (room, tool):
        accepted = await room.ask(options=DETACHED)
        session = accepted.session
        questions = await wait_asked(session, accepted.turn_id)
        assert len(questions) == WISHES_A_CALL
        assert tool.said == [Said(action="cancel")] * 3
        for question in questions:
            await answer(session, question, "accept", {"name": "x"})
        assert (await room.finish(accepted)).code == DONE
        assert f"more than {WISHES_A_CALL} times" in text_of(session, accepted.turn_id)


async def test_what_cannot_be_shown_is_not_asked_and_that_is_said() -> None:
    odd = Wish(who="here", text="Go", url="javascript:alert(1)")
    async with open_curious(wishes=(odd,)) as (room, tool):
        accepted = await room.ask(options=DETACHED)
        assert (await room.finish(accepted)).code == DONE
        assert tool.said == [Said(action="cancel")]
        assert "its address is not one of a web page" in text_of(accepted.session, accepted.turn_id)
        assert await check_asked(room.store, accepted.session.id) == []


async def test_turns_that_wait_for_people_keep_nobody_from_running() -> None:
    models = models_that(call("curious", "curious"), ["done"])
    async with open_curious(turns=1, models=models) as (room, _):
        waiting = [await room.ask(options=DETACHED) for _ in range(3)]
        asked = [await wait_asked(each.session, each.turn_id) for each in waiting]
        assert [len(each) for each in asked] == [2, 2, 2]
        places = room.sessions.means.turns
        assert (places.total_tokens, places.borrowed_tokens) == (4, 3)
        await answer(waiting[0].session, asked[0][0], "decline")
        await trio.testing.wait_all_tasks_blocked()
        assert places.total_tokens == 4, "its other call waits still"
        for each, questions in zip(waiting, asked, strict=True):
            for question in questions:
                if question.question_id in each.session.conversation.open_questions:
                    await answer(each.session, question, "decline")
            assert (await room.finish(each)).code == DONE
        await trio.testing.wait_all_tasks_blocked()
        assert (places.total_tokens, places.borrowed_tokens) == (1, 0)


async def test_a_question_that_cannot_be_stored_is_none(
    autojump_clock: trio.testing.MockClock,
) -> None:
    hold = trio.Event()
    async with open_curious(hold=hold, patience_s=600.0) as (room, tool):
        accepted = await room.ask(options=DETACHED)
        session = accepted.session
        await trio.testing.wait_all_tasks_blocked()
        room.store.failing = True
        hold.set()
        await session.wait_finished(accepted.turn_id)
        assert tool.said == [Said(action="cancel")]
        assert not session.conversation.open_questions
        room.store.failing = False
        await trio.sleep(60)
        assert await check_asked(room.store, session.id) == []


async def test_a_conversation_that_is_deleted_meanwhile_leaves_nobody_waiting() -> None:
    async with open_curious() as (room, tool):
        accepted = await room.ask(options=DETACHED)
        session = accepted.session
        await wait_asked(session, accepted.turn_id)
        await room.sessions.delete(session.id)
        await trio.testing.wait_all_tasks_blocked()
        assert tool.said == [Said(action="cancel")]
        assert await room.store.load(session.id) == []


async def test_a_conversation_that_is_gone_gets_no_answer_appended() -> None:
    async with open_curious() as (room, tool):
        accepted = await room.ask(options=DETACHED)
        session = accepted.session
        await wait_asked(session, accepted.turn_id)
        await room.store.delete(session.id)
        await room.sessions.forget(session.id)
        await trio.testing.wait_all_tasks_blocked()
        assert tool.said == [Said(action="cancel")]
        assert await room.store.load(session.id) == []


async def test_a_call_that_is_stopped_while_nothing_can_be_stored_is_told_all_the_same(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_curious() as (room, tool):
        accepted = await room.ask(options=DETACHED)
        session = accepted.session
        await wait_asked(session, accepted.turn_id)
        room.store.failing = True
        await session.interrupt(accepted.turn_id, "tty")
        await trio.testing.wait_all_tasks_blocked()
        assert tool.said == [Said(action="cancel")]
        room.store.failing = False
        await trio.sleep(60)
        assert session.state == "idle"
        assert not session.conversation.open_questions
        assert accepted.turn_id not in session.closing


async def test_killed_with_an_open_question_the_next_daemon_closes_turn_and_question() -> None:
    store = wall()
    async with open_curious(store) as (room, _):
        accepted = await room.ask(options=DETACHED)
        await wait_asked(accepted.session, accepted.turn_id)
        store = _survive(store)
    async with open_curious(store) as (room, _):
        await room.sessions.recover()
        session = await room.sessions.get(accepted.session.id)
        await session.wait_finished(accepted.turn_id)
        assert session.conversation.turns[accepted.turn_id].finished is not None
        (said,) = await check_asked(store, session.id)
        assert (said.by, said.decision) == (CLOSED, "cancel")
        (output,) = outputs_of(session, accepted.turn_id).values()
        assert output.synthetic == "interrupted"
        assert session.state == "idle"


async def test_a_daemon_that_drains_waits_a_while_for_the_person_then_ends_the_turn(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_curious() as (room, tool):
        accepted = await room.ask(options=DETACHED)
        await wait_asked(accepted.session, accepted.turn_id)
        before = trio.current_time()
        await room.sessions.drain(20.0)
        assert trio.current_time() - before == pytest.approx(20.0, abs=1.0)
        assert (await room.finish(accepted)).outcome == "interrupted"
        assert tool.said == [Said(action="cancel")]
        (said,) = await check_asked(room.store, accepted.session.id)
        assert said.by == CLOSED


async def test_an_answer_that_comes_while_the_daemon_drains_counts() -> None:
    async with open_curious() as (room, tool):
        accepted = await room.ask(options=DETACHED)
        (question,) = await wait_asked(accepted.session, accepted.turn_id)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(room.sessions.drain, 20.0)
            await trio.testing.wait_all_tasks_blocked()
            await answer(accepted.session, question, "accept", {"name": "Ada"})
        assert (await room.finish(accepted)).code == DONE
        assert tool.said[0].content == {"name": "Ada"}


async def test_what_the_next_daemon_runs_again_begins_with_no_question_open() -> None:
    """A call that changes nothing is made again, and asks again."""
    store = wall()
    async with open_curious(store, effects=False) as (room, _):
        accepted = await room.ask(options=DETACHED)
        (first,) = await wait_asked(accepted.session, accepted.turn_id)
        store = _survive(store)
    async with open_curious(store, effects=False) as (room, tool):
        await room.sessions.recover()
        session = await room.sessions.get(accepted.session.id)
        (second,) = await wait_asked(session, accepted.turn_id)
        assert second.question_id != first.question_id
        assert session.conversation.turns[accepted.turn_id].attempt == 2
        await answer(session, second, "decline")
        assert (await session.wait_finished(accepted.turn_id)).code == DONE
        assert tool.said == [Said(action="decline")]
        assert len(await check_asked(store, session.id)) == 2


def _survive(store: FakeStore) -> FakeStore:
    """What a kill leaves: all that is committed by now, and nothing that comes after."""
    observe, store.observe = store.observe, lambda events: None
    kept = copy.deepcopy(store)
    store.observe = observe
    return kept
