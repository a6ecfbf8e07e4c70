"""A turn that waits for a person: nobody runs it, nothing of it is lost, one answer counts."""

import contextlib
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
import trio
import trio.testing

from askd.core.events import QuestionAnswered, QuestionAsked, TurnFinished, TurnOptions, TurnStarted
from askd.core.outcome import DONE, FAILED, TIME_LIMIT
from askd.core.questions import EXPIRED, EXPIRY, Choice, find_open
from askd.providers.base import Caller, Model, ModelRequest, StreamEvent
from askd.sessions.live import LiveSession
from askd.sessions.parking import (
    ATTENDED_S,
    DETACHED_S,
    LATE,
    Matter,
    Parked,
    ask_all,
    ask_person,
)
from askd.sessions.registry import Sessions
from tests.fakes.log import FakeStore
from tests.fakes.models import ScriptedModels, Step, call_tools, last_words, texts_of
from tests.fakes.sessions import Room, Watcher, open_room, to
from tests.sessions.test_driver import check_log, pass_moments
from tests.sessions.test_turns import Clock

CHOICES = (Choice("compact", "Compact"), Choice("reset", "Reset"))
DETACHED = TurnOptions(detach=True)


@dataclass
class AskingModels(ScriptedModels):
    """Asks a person before each completion of a prompt that begins with `ask`.

    Attributes:
        told: the answers, in the order in which completions were told them.
        tries: how often a completion came to where a person is asked.
    """

    sessions: Sessions | None = None
    now: Callable[[], float] = lambda: 1000.0
    told: list[QuestionAnswered] = field(default_factory=list)
    tries: int = 0

    @asynccontextmanager
    async def stream(
        self,
        model: Model,
        request: ModelRequest,
        caller: Caller,
        *,
        progress: Callable[[str, str], None],
    ) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        assert self.sessions is not None
        if last_words(request).startswith("ask"):
            await self._ask(next(each for each in self.sessions.live() if each.running))
        async with super().stream(model, request, caller, progress=progress) as events:
            yield events

    async def _ask(self, session: LiveSession) -> None:
        assert session.running is not None
        turn_id = session.running.turn_id
        record = session.conversation.turns[turn_id]
        self.tries += 1
        answer = await ask_person(
            session,
            turn_id,
            kind="overflow",
            subject=f"{turn_id}.{record.stopped + 1}",
            text="Which?",
            choices=CHOICES,
            is_detached=record.prompt.options.detach,
            now=self.now,
        )
        self.told.append(answer)


@asynccontextmanager
async def open_asking(
    store: FakeStore, models: AskingModels, **more: object
) -> AsyncIterator[Room]:
    models.now = store.now
    async with open_room(store=store, models=models, **more) as room:  # type: ignore[arg-type]
        models.sessions = room.sessions
        yield room


def wall() -> FakeStore:
    """A store whose time is trio's."""
    return FakeStore(now=lambda: 1000.0 + trio.current_time())


def at_length(request: ModelRequest) -> Iterable[Step]:
    """An answer that takes several moments."""
    return ["a ", "b ", "c"]


async def wait_asked(session: LiveSession, turn_id: str) -> QuestionAsked:
    """The question, once nobody runs the turn any more."""
    await trio.testing.wait_all_tasks_blocked()
    question = find_open(session.conversation.turns[turn_id])
    assert question is not None
    assert session.running is None
    return question


async def answer(session: LiveSession, question: QuestionAsked, decision: str = "compact") -> None:
    said = QuestionAnswered(question.turn_id, question.question_id, "tty:2", decision)
    await session.append([said])


async def test_a_turn_is_parked_and_goes_on_with_the_answer() -> None:
    models = AskingModels()
    async with open_asking(FakeStore(), models, turns=1) as room:
        accepted = await room.ask("ask me")
        session = accepted.session
        question = await wait_asked(session, accepted.turn_id)
        assert session.state == "needs_you"
        assert session.status(accepted.turn_id).state == "running"
        assert models.requests == []
        # It takes no place among the running ones: there is but one here.
        other = await room.ask("something else")
        assert (await room.finish(other)).code == DONE
        later = await room.ask("after it", target=to(session))
        await trio.testing.wait_all_tasks_blocked()
        assert session.status(later.turn_id).state == "queued"

        await answer(session, question)
        assert (await room.finish(accepted)).code == DONE
        assert [(each.by, each.decision) for each in models.told] == [("tty:2", "compact")]
        assert models.tries == 2
        assert (await room.finish(later)).code == DONE
        record = session.conversation.turns[accepted.turn_id]
        assert record.attempt == 1
        await check_log(room.store, session.id)


async def test_everybody_who_watches_sees_the_question_and_who_answered() -> None:
    models = AskingModels()
    async with open_asking(FakeStore(), models) as room:
        accepted = await room.ask("ask me")
        watcher = Watcher()
        accepted.session.subscribe(watcher)
        question = await wait_asked(accepted.session, accepted.turn_id)
        await answer(accepted.session, question, "reset")
        await room.finish(accepted)
        said = [each.body for each in watcher.events]
        assert question in said
        assert QuestionAnswered(accepted.turn_id, question.question_id, "tty:2", "reset") in said


async def test_each_completion_of_a_turn_asks_for_itself_and_each_only_once() -> None:
    def script(request: ModelRequest) -> Iterable[Step]:
        return ["done"] if len(models.requests) > 1 else call_tools("clock")

    models = AskingModels(script)
    async with open_asking(FakeStore(), models, tools=[Clock()]) as room:
        accepted = await room.ask("ask me")
        for decision in ("compact", "reset"):
            question = await wait_asked(accepted.session, accepted.turn_id)
            await answer(accepted.session, question, decision)
        assert (await room.finish(accepted)).code == DONE
        assert [each.decision for each in models.told] == ["compact", "reset"]
        assert models.rejected == []
        await check_log(room.store, accepted.session.id)


@pytest.mark.parametrize(("detach", "limit_s"), [(False, ATTENDED_S), (True, DETACHED_S)])
async def test_what_nobody_answers_in_time_expires_and_the_turn_goes_on(
    autojump_clock: trio.testing.MockClock, detach: bool, limit_s: float
) -> None:
    models, store = AskingModels(), wall()
    async with open_asking(store, models) as room:
        accepted = await room.ask("ask me", options=TurnOptions(detach=detach))
        await trio.sleep(limit_s - 1)
        assert models.told == []
        assert (await room.finish(accepted)).code == DONE
        assert limit_s <= trio.current_time() <= limit_s + 60
        assert [(each.by, each.decision) for each in models.told] == [(EXPIRY, EXPIRED)]


async def test_an_answer_at_the_last_moment_is_the_only_one(
    autojump_clock: trio.testing.MockClock,
) -> None:
    models, store = AskingModels(), wall()
    async with open_asking(store, models) as room:
        accepted = await room.ask("ask me")
        session = accepted.session
        await trio.sleep(ATTENDED_S - 0.001)
        question = find_open(session.conversation.turns[accepted.turn_id])
        assert question is not None
        async with session.admission:  # as whoever takes an answer does
            await trio.sleep(1)
            await answer(session, question)
        await room.finish(accepted)
        answers = [
            each.body
            for each in await store.load(session.id)
            if isinstance(each.body, QuestionAnswered)
        ]
        assert [each.by for each in answers] == ["tty:2"]


async def test_a_turns_own_time_limit_holds_while_it_waits_for_a_person(
    autojump_clock: trio.testing.MockClock,
) -> None:
    models, store = AskingModels(), wall()
    async with open_asking(store, models) as room:
        accepted = await room.ask("ask me", options=TurnOptions(detach=True, timeout_s=90))
        end = await room.finish(accepted)
        assert (end.code, end.reason) == (TIME_LIMIT, "time_limit")
        assert end.message == LATE.format(limit=90)
        assert 90 <= trio.current_time() <= 91
        assert accepted.session.conversation.open_questions == {}


async def test_what_is_left_of_a_time_limit_holds_after_the_answer(
    autojump_clock: trio.testing.MockClock,
) -> None:
    models, store = AskingModels(lambda request: ["half", 6000.0]), wall()
    async with open_asking(store, models) as room:
        accepted = await room.ask("ask me", options=TurnOptions(timeout_s=90))
        await trio.sleep(60)
        question = await wait_asked(accepted.session, accepted.turn_id)
        await answer(accepted.session, question)
        end = await room.finish(accepted)
        assert end.code == TIME_LIMIT
        assert trio.current_time() == pytest.approx(90, abs=0.1)


async def test_a_parked_turn_is_interrupted_at_once() -> None:
    models = AskingModels()
    async with open_asking(FakeStore(), models) as room:
        accepted = await room.ask("ask me")
        await wait_asked(accepted.session, accepted.turn_id)
        status = await accepted.session.interrupt(accepted.turn_id, "tty:2")
        assert (status.state, status.outcome, status.code) == ("finished", "interrupted", FAILED)
        assert accepted.session.state == "idle"
        assert (await room.finish(await room.ask("and", target=to(accepted.session)))).code == DONE


async def test_an_interrupt_at_any_moment_ends_a_turn_that_asks() -> None:
    outcomes = set()
    for moment in range(60):
        models = AskingModels()
        async with open_asking(FakeStore(), models) as room:
            accepted = await room.ask("ask me")
            await pass_moments(moment)
            await accepted.session.interrupt(accepted.turn_id, "the sweep")
            with trio.fail_after(5):
                outcomes.add((await room.finish(accepted)).outcome)
                again = await room.ask("again", target=to(accepted.session))
                assert (await room.finish(again)).code == DONE
            await check_log(room.store, accepted.session.id)
    assert outcomes == {"withdrawn", "interrupted"}


# ---- when the daemon dies ------------------------------------------------------------------


@pytest.mark.parametrize("detach", [False, True])
@pytest.mark.parametrize("answered_by", ["the next daemon", "nobody"])
async def test_a_parked_turn_outlives_its_daemon(
    autojump_clock: trio.testing.MockClock, detach: bool, answered_by: str
) -> None:
    store = wall()
    async with open_asking(store, AskingModels()) as room:
        first = await room.ask("ask me", options=TurnOptions(detach=detach))
        await wait_asked(first.session, first.turn_id)
    models = AskingModels()
    async with open_asking(store, models) as room:
        await room.sessions.recover()
        (session,) = room.sessions.live()
        question = await wait_asked(session, first.turn_id)
        assert session.state == "needs_you"
        if answered_by != "nobody":
            await answer(session, question)
        status = await session.wait_finished(first.turn_id)
        assert (status.outcome, status.code) == ("completed", DONE)
        record = session.conversation.turns[first.turn_id]
        assert record.attempt == 1
        (told,) = models.told
        assert told.decision == (EXPIRED if answered_by == "nobody" else "compact")
        assert len(record.questions) == 1
        await check_log(store, session.id)


@pytest.mark.parametrize("detach", [False, True])
async def test_what_was_answered_while_nobody_ran_it_goes_on(detach: bool) -> None:
    store = FakeStore()
    async with open_asking(store, AskingModels()) as room:
        accepted = await room.ask("ask me", options=TurnOptions(detach=detach))
        question = await wait_asked(accepted.session, accepted.turn_id)
        room.sessions.draining = True  # from here on nothing is started any more
        await answer(accepted.session, question, "reset")
        await trio.testing.wait_all_tasks_blocked()
    models = AskingModels()
    async with open_asking(store, models) as room:
        await room.sessions.recover()
        (session,) = room.sessions.live()
        assert (await session.wait_finished(accepted.turn_id)).outcome == "completed"
        assert [each.decision for each in models.told] == ["reset"]
        assert session.conversation.turns[accepted.turn_id].attempt == 2


async def test_killed_at_any_moment_a_turn_that_asks_has_one_question_and_one_end() -> None:
    seen = set()
    for detach in (False, True):
        for moment in range(90):
            store, over = FakeStore(), False
            options = TurnOptions(detach=detach)
            async with open_asking(store, AskingModels(at_length)) as room:

                async def talk(room: Room = room, options: TurnOptions = options) -> None:
                    accepted = await room.ask("ask me", key="k", options=options)
                    session = accepted.session
                    while find_open(session.conversation.turns[accepted.turn_id]) is None:
                        await trio.lowlevel.checkpoint()
                    (question,) = session.conversation.open_questions.values()
                    await answer(session, question)
                    await room.finish(accepted)
                    nonlocal over
                    over = True

                room.nursery.start_soon(talk)
                await pass_moments(moment)
            models = AskingModels(at_length)
            async with open_asking(store, models) as room:
                await room.sessions.recover()
                accepted = await room.ask("ask me", key="k", options=options)
                session = accepted.session
                with trio.fail_after(5):
                    while session.status(accepted.turn_id).state != "finished":
                        await trio.testing.wait_all_tasks_blocked()
                        for question in list(session.conversation.open_questions.values()):
                            await answer(session, question)
                events = [each.body for each in await store.load(session.id)]
                asked = [each for each in events if isinstance(each, QuestionAsked)]
                ends = [each for each in events if isinstance(each, TurnFinished)]
                starts = [each.attempt for each in events if isinstance(each, TurnStarted)]
                assert len(ends) == 1, moment
                assert len(asked) == (ends[0].outcome == "completed" or models.tries > 0), moment
                assert starts == list(range(1, len(starts) + 1)), moment
                assert ends[0].outcome == "completed" or not detach, moment
                seen.add((detach, ends[0].outcome, len(starts)))
                assert models.rejected == []
            if over:
                break
        else:
            pytest.fail("the sweep did not come to the end of the turn")
    # Attended: what had begun to answer is ended with what it had said; all else goes on.
    assert {(False, "completed", 1), (True, "completed", 1), (True, "completed", 2)} <= seen
    assert seen <= {
        (False, "completed", 1),
        (False, "completed", 2),
        (False, "interrupted", 1),
        (True, "completed", 1),
        (True, "completed", 2),
    }


async def test_while_storage_fails_a_question_waits_and_is_not_lost(
    autojump_clock: trio.testing.MockClock,
) -> None:
    models, store = AskingModels(), wall()
    async with open_asking(store, models) as room:
        accepted = await room.ask("ask me")
        await wait_asked(accepted.session, accepted.turn_id)
        store.failing = True
        await trio.sleep(ATTENDED_S + 30)
        assert models.told == []
        store.failing = False
        assert (await room.finish(accepted)).code == DONE
        assert [each.by for each in models.told] == [EXPIRY]


async def test_a_question_that_cannot_be_stored_fails_the_turn() -> None:
    models, store = AskingModels(), FakeStore()
    store.fail_if = lambda write: any(isinstance(each, QuestionAsked) for each in write.bodies)
    async with open_asking(store, models) as room:
        end = await room.finish(await room.ask("ask me"))
        assert (end.outcome, end.code) == ("failed", 74)
        with contextlib.suppress(StopIteration):
            assert texts_of(next(iter(models.requests)).items) == []


async def test_of_several_matters_what_is_new_is_asked_and_the_answers_keep_their_order() -> None:
    async with open_asking(FakeStore(), AskingModels()) as room:
        accepted = await room.ask("ask me")
        session, turn_id = accepted.session, accepted.turn_id
        await wait_asked(session, turn_id)

        def matter(subject: str) -> Matter:
            return Matter(kind="approval", subject=subject, text=subject, choices=CHOICES)

        async def ask(*subjects: str) -> list[str]:
            matters = [matter(each) for each in subjects]
            found = await ask_all(session, turn_id, matters, is_detached=False, now=lambda: 1000.0)
            return [each.decision for each in found]

        for _ in range(2):
            with pytest.raises(Parked):
                await ask("a", "b")
        with pytest.raises(Parked):
            await ask("c", "b", "a")
        asked = list(session.conversation.turns[turn_id].questions.values())[1:]
        assert [each.detail["subject"] for each in asked] == ["a", "b", "c"]
        assert {each.expires_at for each in asked} == {1000.0 + ATTENDED_S}
        assert asked[0].digest == matter("a").digest
        for question, decision in zip(asked, ("compact", "reset", "compact"), strict=True):
            await answer(session, question, decision)
        assert await ask("c", "b", "a") == ["compact", "reset", "compact"]
        await session.interrupt(turn_id, "the test")
