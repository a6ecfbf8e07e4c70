"""A request that does not fit: who decides, when, and that it is carried out once."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing

from askd.core import overflow
from askd.core.events import (
    ItemPinned,
    QuestionAnswered,
    QuestionAsked,
    TurnFinished,
    TurnOptions,
    ViewChanged,
)
from askd.core.items import Summary
from askd.core.outcome import DONE, OVERFLOW
from askd.core.overflow import Policy
from askd.core.questions import find_open
from askd.providers.base import ModelRequest
from askd.sessions.hub import Progress
from askd.sessions.live import LiveSession
from askd.sessions.parking import ATTENDED_S, DETACHED_S
from askd.sessions.prompts import Accepted
from askd.sessions.rules import ContextRules
from tests.fakes.log import FakeStore
from tests.fakes.models import ScriptedModels, Step, last_words
from tests.fakes.sessions import Room, Watcher, open_room, to
from tests.sessions.test_driver import check_log

LONG = "so it goes on and on " * 100
"""Five hundred tokens and a few."""
BY_HAND = ContextRules(compaction=False)
"""Nothing is summarised by itself: what these tests are about comes after all that."""


def answer_shortly(request: ModelRequest) -> Iterable[Step]:
    """A summary if one is wanted, else that it was heard."""
    yield "In short." if "summary" in last_words(request) else "ok"


def small(script: object = answer_shortly) -> ScriptedModels:
    return ScriptedModels(script, window=1600, reserved=100)  # type: ignore[arg-type]


@asynccontextmanager
async def full(
    store: FakeStore | None = None,
    *,
    attended: bool = False,
    options: TurnOptions | None = None,
    setting: Policy | None = None,
) -> AsyncIterator[tuple[Room, Accepted, Watcher]]:
    """A conversation that the third prompt fills; pruning leaves the two turns before it."""
    async with open_room(store=store, models=small(), context=BY_HAND, overflow=setting) as room:
        watcher = Watcher()
        first = await room.ask(LONG)
        session = first.session
        session.subscribe(watcher, interactive=attended)
        await room.finish(first)
        await room.finish(await room.ask(LONG, target=to(session)))
        yield room, await room.ask(LONG, target=to(session), options=options), watcher


def wall() -> FakeStore:
    """A store whose time is trio's."""
    return FakeStore(now=lambda: 1000.0 + trio.current_time())


def told(watcher: Watcher) -> list[str]:
    """What was said of overflows."""
    found = [value for value in watcher.values if isinstance(value, Progress)]
    return [each.text for each in found if each.kind == "overflow"]


def changes(session: LiveSession, watcher: Watcher) -> list[ViewChanged]:
    return [each.body for each in watcher.events if isinstance(each.body, ViewChanged)]


async def wait_asked(accepted: Accepted) -> QuestionAsked:
    await trio.testing.wait_all_tasks_blocked()
    question = find_open(accepted.session.conversation.turns[accepted.turn_id])
    assert question is not None
    assert accepted.session.running is None
    return question


async def answer(session: LiveSession, question: QuestionAsked, decision: str) -> None:
    said = QuestionAnswered(question.turn_id, question.question_id, "tty:2", decision)
    await session.append([said])


# ---- policies ------------------------------------------------------------------------


@pytest.mark.parametrize("said", [True, False])
async def test_reset_empties_the_view_and_leaves_a_note(said: bool) -> None:
    options = TurnOptions(overflow="reset") if said else None
    async with full(options=options, setting=None if said else "reset") as (room, third, watcher):
        assert (await room.finish(third)).code == DONE
        assert told(watcher) == [overflow.CLEARING]
        note, prompt = room.models.requests[-1].items
        assert isinstance(note, Summary)
        assert note.text.startswith("The conversation before this message was cleared")
        assert prompt.id == f"{third.turn_id}.0"
        (change,) = changes(third.session, watcher)
        assert (change.kind, change.reason) == ("clear", "overflow")
        assert change.tokens_before is not None
        assert change.tokens_after is not None
        assert change.tokens_before > 1500 > change.tokens_after
        # Those who follow see the turn that cleared, and the note.
        later = await room.ask("and now?", target=to(third.session))
        await room.finish(later)
        assert [item.id for item in room.models.requests[-1].items][:2] == [note.id, prompt.id]
        await check_log(room.store, third.session.id)


async def test_continue_sends_it_as_it_is() -> None:
    async with full(options=TurnOptions(overflow="continue")) as (room, third, watcher):
        assert (await room.finish(third)).code == DONE
        assert told(watcher) == [overflow.CONTINUING]
        assert changes(third.session, watcher) == []
        assert len(room.models.requests[-1].items) == 5


async def test_compact_summarises_at_once() -> None:
    async with full(options=TurnOptions(overflow="compact")) as (room, third, watcher):
        assert (await room.finish(third)).code == DONE
        assert told(watcher) == [overflow.SUMMARIZING]
        (change,) = changes(third.session, watcher)
        assert change.kind == "compact"
        assert any(isinstance(item, Summary) for item in room.models.requests[-1].items)


async def test_without_a_person_and_a_word_it_compacts() -> None:
    async with full() as (room, third, watcher):
        assert (await room.finish(third)).code == DONE
        assert [change.kind for change in changes(third.session, watcher)] == ["compact"]


@pytest.mark.parametrize("setting", [None, "ask"])
async def test_asking_without_a_terminal_fails_at_once(setting: Policy | None) -> None:
    options = TurnOptions(overflow=None if setting else "ask")
    async with full(options=options, setting=setting) as (room, third, watcher):
        started = trio.current_time()
        end = await room.finish(third)
        assert trio.current_time() - started < 1.0
        assert (end.outcome, end.code, end.reason) == ("failed", OVERFLOW, "overflow")
        assert end.message is not None
        assert "there is nobody to ask what to do about it" in end.message
        assert "--overflow compact, reset or continue" in end.message
        assert not any(isinstance(each.body, QuestionAsked) for each in watcher.events)
        assert changes(third.session, watcher) == []


# ---- a person ------------------------------------------------------------------------


async def test_a_person_who_is_there_is_asked_in_these_words() -> None:
    async with full(attended=True) as (room, third, watcher):
        question = await wait_asked(third)
        assert question.kind == "overflow"
        assert question.detail["text"] == overflow.TEXT
        assert question.detail["prompt"] == overflow.PROMPT
        assert question.detail["model"] == "test/small"
        assert question.detail["window"] == 1600
        assert question.detail["tokens"] > 1500
        decisions = [each["decision"] for each in question.detail["choices"]]
        assert decisions == ["compact", "reset", "continue"]
        assert question.expires_at == room.store.now() + ATTENDED_S
        assert len(room.models.requests) == 2
        await answer(third.session, question, "reset")
        assert (await room.finish(third)).code == DONE
        assert told(watcher) == [overflow.CLEARING]
        await check_log(room.store, third.session.id)


@pytest.mark.parametrize(
    ("decision", "kinds"), [("compact", ["compact"]), ("reset", ["clear"]), ("continue", [])]
)
async def test_whoever_answers_and_whoever_is_there_then(decision: str, kinds: list[str]) -> None:
    """The turn goes on with the answer, also when nobody is left to be asked."""
    async with full(attended=True) as (room, third, watcher):
        question = await wait_asked(third)
        third.session.subscribe(watcher, interactive=False)
        await answer(third.session, question, decision)
        assert (await room.finish(third)).code == DONE
        assert [change.kind for change in changes(third.session, watcher)] == kinds
        asked = [each for each in watcher.events if isinstance(each.body, QuestionAsked)]
        assert len(asked) == 1


async def test_the_first_answer_counts() -> None:
    async with full(attended=True) as (room, third, watcher):
        question = await wait_asked(third)
        said = [
            QuestionAnswered(question.turn_id, question.question_id, by, decision)
            for by, decision in (("a", "continue"), ("b", "reset"))
        ]
        await third.session.append(said)
        assert (await room.finish(third)).code == DONE
        assert told(watcher) == [overflow.CONTINUING]


async def test_it_survives_the_daemon_and_is_answered_in_the_next() -> None:
    store = FakeStore()
    async with full(store, attended=True) as (_, third, _):
        question = await wait_asked(third)
    async with open_room(store=store, models=small(), context=BY_HAND) as room:
        session = await room.sessions.get(third.session.id)
        await trio.testing.wait_all_tasks_blocked()
        assert session.state == "needs_you"
        assert room.models.requests == []
        await answer(session, question, "reset")
        assert (await session.wait_finished(third.turn_id)).code == DONE
        assert isinstance(room.models.requests[-1].items[0], Summary)
        await check_log(store, session.id)


async def test_an_answer_in_the_last_moment_of_a_daemon_is_carried_out_once() -> None:
    """Wherever between the answer and the turn's end the daemon dies."""
    finished = 0
    for moment in range(100):
        store = FakeStore()
        async with full(store, attended=True) as (_, third, _):
            question = await wait_asked(third)
            await answer(third.session, question, "reset")
            for _ in range(moment):
                await trio.lowlevel.checkpoint()
        async with open_room(store=store, models=small(), context=BY_HAND) as room:
            session = await room.sessions.get(third.session.id)
            end = await session.wait_finished(third.turn_id)
            assert end.outcome in ("completed", "interrupted")
            finished += end.outcome == "completed"
            await check_log(store, session.id)
            events = await store.load(session.id)
            cleared = [each for each in events if isinstance(each.body, ViewChanged)]
            assert len(cleared) <= 1
            if end.outcome == "completed" and not room.models.requests:
                break
    assert finished > 5


async def test_a_detached_turn_waits_for_a_day() -> None:
    options = TurnOptions(overflow="ask", detach=True)
    async with full(options=options) as (room, third, _):
        question = await wait_asked(third)
        assert question.expires_at == room.store.now() + DETACHED_S
        await answer(third.session, question, "continue")
        assert (await room.finish(third)).code == DONE


async def test_a_question_that_had_to_be_asked_and_was_not_answered_ends_the_turn(
    autojump_clock: trio.testing.MockClock,
) -> None:
    options = TurnOptions(overflow="ask")
    async with full(wall(), attended=True, options=options) as (room, third, _):
        end = await room.finish(third)
        assert trio.current_time() >= ATTENDED_S
        assert (end.outcome, end.code) == ("failed", OVERFLOW)
        assert end.message is not None
        assert "nobody decided in time" in end.message


async def test_else_it_goes_on_as_if_nobody_had_been_there(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with full(wall(), attended=True) as (room, third, watcher):
        assert (await room.finish(third)).code == DONE
        assert trio.current_time() >= ATTENDED_S
        assert [change.kind for change in changes(third.session, watcher)] == ["compact"]


async def test_who_waits_in_the_queue_goes_on_after_it() -> None:
    async with full(attended=True) as (room, third, _):
        question = await wait_asked(third)
        fourth = await room.ask("short", target=to(third.session))
        assert third.session.status(fourth.turn_id).state == "queued"
        await answer(third.session, question, "reset")
        assert (await room.finish(third)).code == DONE
        assert (await room.finish(fourth)).code == DONE


async def test_the_question_ends_with_its_turn() -> None:
    async with full(attended=True) as (room, third, _):
        await wait_asked(third)
        await third.session.interrupt(third.turn_id, "somebody")
        end = await room.finish(third)
        assert isinstance(end, TurnFinished)
        assert end.outcome == "interrupted"
        assert third.session.conversation.open_questions == {}


# ---- when it does not help -----------------------------------------------------------


@pytest.mark.parametrize("policy", ["compact", "reset"])
async def test_what_cannot_be_made_to_fit_ends_with_7(policy: Policy) -> None:
    """The prompt fits alone, and not beside what is pinned."""
    async with open_room(models=small(), context=BY_HAND) as room:
        first = await room.ask(LONG)
        await room.finish(first)
        await room.finish(await room.ask("more", target=to(first.session)))
        await first.session.append([ItemPinned(f"{first.turn_id}.0")])
        options = TurnOptions(overflow=policy)
        last = await room.ask(LONG * 2, target=to(first.session), options=options)
        end = await room.finish(last)
        assert (end.outcome, end.code) == ("failed", OVERFLOW)
        assert end.message is not None
        if policy == "compact":
            assert end.message.startswith(overflow.HOPELESS)
        assert first.session.conversation.view.basis is None  # nothing was thrown away for it
