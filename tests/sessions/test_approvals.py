"""Approvals hold, whatever comes between a question and its answer: time, deaths, other people."""

from random import Random

import pytest
import trio
import trio.testing

from askd.core.approval import Approval, ApprovalRules
from askd.core.denials import FOR_MODELS
from askd.core.events import QuestionAnswered, TurnFinished, TurnOptions, TurnStarted
from askd.core.items import join_text
from askd.core.outcome import DONE, TIME_LIMIT
from askd.core.questions import EXPIRED, EXPIRY
from askd.sessions.live import LiveSession
from askd.sessions.parking import ATTENDED_S, DETACHED_S
from askd.tools.base import Tool
from tests.fakes.log import FakeStore
from tests.fakes.models import ScriptedModels, Step
from tests.fakes.sessions import Watcher, open_room
from tests.sessions.approval_world import (
    Door,
    answer,
    call,
    check_approved,
    models_that,
    outputs_of,
    told,
    wait_parked,
)
from tests.sessions.test_driver import pass_moments
from tests.sessions.test_parking import wall
from tests.sessions.test_turns import Clock

DETACHED = TurnOptions(approve="ask", detach=True)
CALLS = ("door", "clock", "door")


# ---- what a question holds -------------------------------------------------------------


async def test_a_question_holds_what_would_be_run_and_is_bound_to_it() -> None:
    models = models_that(call("door", "door"), ["done"])
    async with open_room(models=models, tools=[Door()]) as room:
        accepted = await room.ask(options=DETACHED, cwd="/home/me", cwd_id="1:2")
        first, second = await wait_parked(accepted.session, accepted.turn_id)
        assert first.kind == "approval"
        detail = first.detail
        assert detail["subject"] == f"{accepted.turn_id}.1.1"
        assert (detail["tool"], detail["cwd"], detail["call_id"]) == ("door", "/home/me", "call_0")
        assert detail["conversation_id"] == accepted.session.id
        assert detail["arguments"] == '{"which":0}'
        assert [each["decision"] for each in detail["choices"]] == ["yes", "always", "no"]
        assert detail["text"].startswith("Open the door\n")
        assert first.digest != second.digest


async def test_what_cannot_be_granted_for_good_does_not_offer_it() -> None:
    models = models_that(call("door"), ["done"])
    async with open_room(models=models, tools=[Door(offers_always=False)]) as room:
        accepted = await room.ask(options=DETACHED)
        (question,) = await wait_parked(accepted.session, accepted.turn_id)
        assert [each["decision"] for each in question.detail["choices"]] == ["yes", "no"]


@pytest.mark.parametrize(
    ("said", "rules", "confined", "line"),
    [
        ("deny", ApprovalRules(), True, "--approve deny"),
        (None, ApprovalRules(policy="deny"), True, "the settings say so"),
        ("auto", ApprovalRules(tools={"door": "deny"}), True, "the settings say so"),
        (None, ApprovalRules(), True, "nobody to ask; --approve auto allows it"),
        ("auto", ApprovalRules(), False, "nobody to ask, and nothing confines it here"),
    ],
)
async def test_a_line_says_why_a_call_was_denied(
    said: Approval | None, rules: ApprovalRules, confined: bool, line: str
) -> None:
    models = models_that(call("door"), ["done"])
    doors = Door(confined=confined)
    async with open_room(models=models, tools=[doors], approval=rules) as room:
        accepted = await room.ask(options=TurnOptions(approve=said))
        watcher = Watcher()
        accepted.session.subscribe(watcher)
        assert (await room.finish(accepted)).code == DONE
        assert told(watcher) == [f"Denied: door: Open the door ({line})"]
        assert doors.opened == []


# ---- time ------------------------------------------------------------------------------


@pytest.mark.parametrize(("detach", "limit_s"), [(False, ATTENDED_S), (True, DETACHED_S)])
async def test_what_nobody_answers_in_time_is_denied(
    autojump_clock: trio.testing.MockClock, detach: bool, limit_s: float
) -> None:
    doors, gate = Door(), trio.Event()
    models = models_that([gate, *call(*CALLS)], ["done"])
    async with open_room(store=wall(), models=models, tools=[doors, Clock()]) as room:
        options = TurnOptions(detach=detach, approve="ask" if detach else None)
        accepted = await room.ask(options=options)
        session, watcher = accepted.session, Watcher()
        session.subscribe(watcher, interactive=not detach)
        gate.set()
        await trio.sleep(limit_s - 1)
        first, _ = await wait_parked(session, accepted.turn_id)
        await answer(session, first)
        assert (await room.finish(accepted)).code == DONE
        assert limit_s <= trio.current_time() <= limit_s + 60
        outputs = outputs_of(session, accepted.turn_id)
        assert len(doors.opened) == 1
        assert FOR_MODELS["late"] in join_text(outputs["call_2"].parts)
        assert told(watcher) == ["Denied: door: Open the door (nobody answered in time)"]
        by = [(each.by, each.decision) for each in answers_of(session, accepted.turn_id)]
        assert by == [("tty:2", "yes"), (EXPIRY, EXPIRED)]
        await check_approved(room.store, session.id, doors)


def answers_of(session: LiveSession, turn_id: str) -> list[QuestionAnswered]:
    return list(session.conversation.turns[turn_id].answers.values())


async def test_a_turns_own_time_limit_ends_it_with_its_questions(
    autojump_clock: trio.testing.MockClock,
) -> None:
    doors = Door()
    models = models_that(call(*CALLS), ["done"])
    async with open_room(store=wall(), models=models, tools=[doors, Clock()]) as room:
        options = TurnOptions(approve="ask", detach=True, timeout_s=90)
        accepted = await room.ask(options=options)
        assert (await room.finish(accepted)).code == TIME_LIMIT
        assert trio.current_time() <= 91
        assert accepted.session.conversation.open_questions == {}
        assert doors.opened == []
        await check_approved(room.store, accepted.session.id, doors)


# ---- deaths ----------------------------------------------------------------------------


@pytest.mark.parametrize("detach", [False, True])
async def test_questions_outlive_their_daemon_some_answered_before_and_some_after(
    detach: bool,
) -> None:
    store, doors = FakeStore(), Door()
    gate = trio.Event()
    options = TurnOptions(detach=detach, approve="ask")
    models = models_that([gate, *call(*CALLS)], ["done"])
    async with open_room(store=store, models=models, tools=[doors, Clock()]) as room:
        accepted = await room.ask(options=options)
        accepted.session.subscribe(Watcher(), interactive=True)
        gate.set()
        first, _ = await wait_parked(accepted.session, accepted.turn_id)
        await answer(accepted.session, first)
    for _ in range(2):  # and another one that comes and goes
        async with open_room(store=store, models=models, tools=[doors, Clock()]) as room:
            await room.sessions.recover()
            (session,) = room.sessions.live()
            (second,) = await wait_parked(session, accepted.turn_id)
            assert doors.opened == []
    async with open_room(store=store, models=models, tools=[doors, Clock()]) as room:
        await room.sessions.recover()
        (session,) = room.sessions.live()
        (second,) = await wait_parked(session, accepted.turn_id)
        await answer(session, second, "no")
        assert (await session.wait_finished(accepted.turn_id)).code == DONE
        assert len(doors.opened) == 1
        assert session.conversation.turns[accepted.turn_id].attempt == 1
        await check_approved(store, session.id, doors)


@pytest.mark.parametrize("detach", [False, True])
@pytest.mark.parametrize("decision", ["yes", "no"])
async def test_what_was_answered_while_nobody_ran_it(decision: str, detach: bool) -> None:
    """What was allowed may have begun for all that anybody knows; what was refused has not."""
    store, doors, gate = FakeStore(), Door(), trio.Event()
    options = TurnOptions(detach=detach, approve="ask")
    models = models_that([gate, *call("door", "clock")], ["done"])
    async with open_room(store=store, models=models, tools=[doors, Clock()]) as room:
        accepted = await room.ask(options=options)
        accepted.session.subscribe(Watcher(), interactive=True)
        gate.set()
        (question,) = await wait_parked(accepted.session, accepted.turn_id)
        room.sessions.draining = True  # from here on nothing is started any more
        await answer(accepted.session, question, decision)
        await trio.testing.wait_all_tasks_blocked()
    async with open_room(store=store, models=models, tools=[doors, Clock()]) as room:
        await room.sessions.recover()
        (session,) = room.sessions.live()
        status = await session.wait_finished(accepted.turn_id)
        assert status.outcome == ("interrupted" if decision == "yes" else "completed")
        assert doors.opened == []
        await check_approved(store, session.id, doors)


@pytest.mark.parametrize("detach", [False, True])
async def test_killed_at_any_moment_no_call_runs_twice_or_unasked(detach: bool) -> None:
    seen = set()
    for moment in range(400):
        store, doors, gate = FakeStore(), Door(), trio.Event()
        gate.set()
        models = models_that([gate, *call(*CALLS)], ["well ", "done"])
        over = False
        async with open_room(store=store, models=models, tools=[doors, Clock()]) as room:
            options = TurnOptions(detach=detach, approve="ask")
            accepted = await room.ask(options=options)
            accepted.session.subscribe(Watcher(), interactive=True)
            room.nursery.start_soon(keep_answering, accepted.session, accepted.turn_id)
            await pass_moments(moment)
            over = accepted.session.status(accepted.turn_id).state == "finished"
        async with open_room(store=store, models=models, tools=[doors, Clock()]) as room:
            await room.sessions.recover()
            session = await room.sessions.get(accepted.session.id)
            session.subscribe(Watcher(), interactive=True)
            room.nursery.start_soon(keep_answering, session, accepted.turn_id)
            with trio.fail_after(5):
                status = await session.wait_finished(accepted.turn_id)
            seen.add((status.outcome, len(doors.opened)))
            await check_approved(store, session.id, doors)
        assert models.rejected == []
        if over:
            break
    else:
        pytest.fail("the sweep did not come to the end of the turn")
    # Killed once it was allowed: it may have begun. Before, or when all is told, it goes on.
    assert {("interrupted", 0), ("interrupted", 2), ("completed", 2)} <= seen
    assert seen <= {("interrupted", n) for n in range(3)} | {("completed", 2)}


async def keep_answering(session: LiveSession, turn_id: str, decision: str = "yes") -> None:
    """Answer whatever is asked, one moment after another, until the turn is over."""
    while session.status(turn_id).state != "finished":
        for each in list(session.conversation.open_questions.values()):
            await answer(session, each, decision)
        await trio.lowlevel.checkpoint()


# ---- anything at any time --------------------------------------------------------------


def draw_script(random: Random) -> ScriptedModels:
    """Models that call this and that, a few times, and come to an end."""
    answers: list[list[Step]] = [
        call(*random.choices(["door", "safe", "clock", "nothing"], k=random.randint(1, 4)))
        for _ in range(random.randint(1, 3))
    ]
    return models_that(*answers, ["done"])


async def meddle(session: LiveSession, turn_id: str, random: Random) -> None:
    """A person who answers this and that, in any order, and may lose patience."""
    impatience = random.choice((0.0, 0.0, 0.02))
    while session.status(turn_id).state != "finished":
        await pass_moments(random.randint(1, 12))
        questions = list(session.conversation.open_questions.values())
        if random.random() < impatience:
            await session.interrupt(turn_id, "somebody")
        elif questions and random.random() < 0.5:
            decision = random.choice(["yes", "yes", "no", "always"])
            await answer(session, random.choice(questions), decision)


async def test_whatever_happens_in_whatever_order() -> None:
    ends = set()
    for seed in range(250):
        random = Random(seed)
        store, models = FakeStore(), draw_script(random)
        doors = Door()
        safe = Door("safe", writes=("gold",), offers_always=False)
        tools: list[Tool] = [doors, safe, Clock()]
        options = TurnOptions(detach=random.random() < 0.5, approve="ask")
        found = None
        for life in range(8):
            async with open_room(store=store, models=models, tools=tools) as room:
                await room.sessions.recover()
                if found is None:
                    accepted = await room.ask(options=options)
                    found = accepted.session.id, accepted.turn_id
                session = await room.sessions.get(found[0])
                for _ in range(2):
                    session.subscribe(Watcher(), interactive=True)
                    room.nursery.start_soon(meddle, session, found[1], random)
                # The last of them lives until all is over.
                with trio.move_on_after(5):
                    if life == 7:
                        await session.wait_finished(found[1])
                    else:
                        await pass_moments(random.randint(20, 300))
                if session.status(found[1]).state == "finished":
                    break
        conversation_id, turn_id = found or ("", "")
        await check_granted(store, conversation_id, doors, safe)
        bodies = [each.body for each in await store.load(conversation_id)]
        (end,) = [each for each in bodies if isinstance(each, TurnFinished)]
        assert end.turn_id == turn_id
        starts = [each.attempt for each in bodies if isinstance(each, TurnStarted)]
        assert starts == list(range(1, len(starts) + 1)), seed
        assert models.rejected == [], seed
        ends.add(end.outcome)
    assert {"completed", "interrupted"} <= ends


async def check_granted(store: FakeStore, conversation_id: str, doors: Door, safe: Door) -> None:
    """As `check_approved`; where somebody said `always`, doors may open without a question."""
    answers = [
        event.body
        for event in await store.load(conversation_id)
        if isinstance(event.body, QuestionAnswered)
    ]
    if any(each.decision == "always" for each in answers):
        doors.needs = "auto"
    await check_approved(store, conversation_id, doors, safe)
