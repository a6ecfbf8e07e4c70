"""The calls of one answer: nothing runs before all is decided, and each call gets one output."""

from collections.abc import Callable
from typing import Any

import pytest
import trio
import trio.testing

from askd.core.approval import ApprovalRules
from askd.core.events import QuestionAsked, TurnOptions
from askd.core.items import join_text
from askd.core.outcome import APPROVAL_NEEDED, DONE, FAILED, STORAGE
from askd.sessions.calls import AT_ONCE, LOOK_S
from askd.sessions.hub import TurnUnsaved
from askd.sessions.live import LiveSession
from askd.sessions.rules import ToolRules
from askd.tools.base import CannotRun, Site
from tests.fakes.log import FakeStore
from tests.fakes.sessions import Watcher, open_room, to
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
from tests.sessions.test_turns import Clock

ASK = TurnOptions(approve="ask", detach=True)
"""What needs a word is asked, whether or not anybody is there."""


# ---- all is decided first --------------------------------------------------------------


async def test_nothing_of_an_answer_runs_before_all_is_answered_then_all_at_once() -> None:
    held = trio.Event()
    doors, clock = Door(held=held), Clock()
    models = models_that(call("door", "clock", "door"), ["done"])
    async with open_room(models=models, tools=[doors, clock]) as room:
        accepted = await room.ask(options=ASK)
        session = accepted.session
        first, second = await wait_parked(session, accepted.turn_id)
        (write,) = [
            w for w in room.store.writes if any(isinstance(b, QuestionAsked) for b in w.bodies)
        ]
        assert len(write.bodies) == 2
        await answer(session, second)
        await trio.testing.wait_all_tasks_blocked()
        assert (doors.opened, clock.ran) == ([], 0)
        await answer(session, first)
        await trio.testing.wait_all_tasks_blocked()
        assert (doors.running, clock.ran) == (2, 1)
        held.set()
        assert (await room.finish(accepted)).code == DONE
        assert doors.most == 2
        assert not any(each.is_error for each in outputs_of(session, accepted.turn_id).values())
        await check_approved(room.store, session.id, doors)
    assert models.rejected == []


async def test_a_refusal_is_an_output_with_its_reason_and_the_rest_runs() -> None:
    doors = Door()
    models = models_that(call("door", "door"), ["as you like"])
    async with open_room(models=models, tools=[doors]) as room:
        accepted = await room.ask(options=ASK)
        session = accepted.session
        first, second = await wait_parked(session, accepted.turn_id)
        await answer(session, first, "no", "Not the front door.")
        await answer(session, second)
        assert (await room.finish(accepted)).code == DONE
        refused, opened = outputs_of(session, accepted.turn_id).values()
        assert (refused.synthetic, refused.is_error) == ("denied", True)
        assert "a person refused it" in join_text(refused.parts)
        assert "Not the front door." in join_text(refused.parts)
        assert (opened.synthetic, join_text(opened.parts)) == (None, "open")
        assert len(doors.opened) == 1
        await check_approved(room.store, session.id, doors)


async def test_always_holds_for_the_conversation_and_for_no_other() -> None:
    doors = Door()
    models = models_that(call("door"), ["done"], call("door"), ["done"])
    async with open_room(models=models, tools=[doors]) as room:
        accepted = await room.ask(options=ASK)
        session = accepted.session
        (question,) = await wait_parked(session, accepted.turn_id)
        await answer(session, question, "always")
        await room.finish(accepted)
        again = await room.ask("again", target=to(session), options=ASK)
        assert (await room.finish(again)).code == DONE
        assert len(doors.opened) == 2
        other = await room.ask(options=ASK)
        assert len(await wait_parked(other.session, other.turn_id)) == 1


async def test_calls_run_so_many_at_a_time() -> None:
    doors = Door(needs="auto")
    models = models_that(call(*["door"] * (3 * AT_ONCE)), ["done"])
    async with open_room(models=models, tools=[doors]) as room:
        accepted = await room.ask()
        assert (await room.finish(accepted)).code == DONE
        assert len(doors.opened) == 3 * AT_ONCE
        assert 1 < doors.most <= AT_ONCE


# ---- nobody is there -------------------------------------------------------------------


async def test_without_a_person_what_needs_a_word_is_denied_and_said() -> None:
    doors, clock = Door(), Clock()
    models = models_that(call("door", "clock"), ["done"])
    async with open_room(models=models, tools=[doors, clock]) as room:
        accepted = await room.ask()
        watcher = Watcher()
        accepted.session.subscribe(watcher)
        assert (await room.finish(accepted)).code == DONE
        denied, ran = outputs_of(accepted.session, accepted.turn_id).values()
        assert (denied.synthetic, ran.synthetic) == ("denied", None)
        assert "nobody is there to be asked" in join_text(denied.parts)
        assert told(watcher) == [
            "Denied: door: Open the door (nobody to ask; --approve auto allows it)"
        ]
        assert doors.opened == []
        await check_approved(room.store, accepted.session.id, doors)


@pytest.mark.parametrize(
    ("options", "rules"),
    [
        (TurnOptions(approve="ask"), ApprovalRules()),
        (TurnOptions(), ApprovalRules(policy="ask")),
        (TurnOptions(), ApprovalRules(tools={"door": "ask"})),
    ],
)
async def test_who_wants_to_be_asked_and_is_not_there_hears_it_at_once(
    options: TurnOptions, rules: ApprovalRules
) -> None:
    doors, clock = Door(), Clock()
    models = models_that(call("clock", "door"), ["done"])
    async with open_room(models=models, tools=[doors, clock], approval=rules) as room:
        accepted = await room.ask(options=options)
        end = await room.finish(accepted)
        assert (end.outcome, end.code, end.reason) == (
            "failed",
            APPROVAL_NEEDED,
            "approval_needed",
        )
        assert end.message is not None
        assert "door: Open the door" in end.message
        assert "--detach" in end.message
        outputs = outputs_of(accepted.session, accepted.turn_id)
        assert [outputs[each].synthetic for each in ("call_0", "call_1")] == [
            "interrupted",
            "denied",
        ]
        assert (doors.opened, clock.ran) == ([], 0)
        await check_approved(room.store, accepted.session.id, doors)
        again = await room.ask("again", target=to(accepted.session))
        assert (await room.finish(again)).code == DONE


async def test_a_person_who_is_there_is_asked_without_saying_so() -> None:
    doors, gate = Door(), trio.Event()
    models = models_that([gate, *call("door")], ["done"])
    async with open_room(models=models, tools=[doors]) as room:
        accepted = await room.ask()
        accepted.session.subscribe(Watcher(), interactive=True)
        gate.set()
        (question,) = await wait_parked(accepted.session, accepted.turn_id)
        await answer(accepted.session, question)
        assert (await room.finish(accepted)).code == DONE
        assert len(doors.opened) == 1


# ---- what cannot be run ----------------------------------------------------------------


def fail(site: Site) -> None:
    raise KeyError("a bug")


def cannot(site: Site) -> None:
    raise CannotRun("There is no such door.")


async def hang(site: Site) -> None:
    await trio.sleep_forever()


@pytest.mark.parametrize(
    ("shows", "said"),
    [(fail, "KeyError"), (cannot, "There is no such door."), (hang, f"{LOOK_S:g} s")],
)
async def test_what_cannot_be_shown_is_answered_and_never_run(
    autojump_clock: trio.testing.MockClock, shows: Callable[[Site], Any], said: str
) -> None:
    doors = Door(needs="auto", shows=shows)
    models = models_that(call("door", "clock"), ["done"])
    async with open_room(models=models, tools=[doors, Clock()]) as room:
        accepted = await room.ask()
        assert (await room.finish(accepted)).code == DONE
        outputs = outputs_of(accepted.session, accepted.turn_id)
        assert said in join_text(outputs["call_0"].parts)
        assert outputs["call_0"].is_error
        assert not outputs["call_1"].is_error
        assert doors.opened == []
        assert trio.current_time() <= LOOK_S + 1


async def test_what_is_not_offered_is_not_there() -> None:
    doors = Door(needs="auto")
    models = models_that(call("door", "nothing"), ["done"])
    async with open_room(models=models, tools=[doors, Clock()]) as room:
        accepted = await room.ask(options=TurnOptions(tools=("clock",)))
        assert (await room.finish(accepted)).code == DONE
        outputs = outputs_of(accepted.session, accepted.turn_id)
        assert [each.synthetic for each in outputs.values()] == ["unknown_tool"] * 2
        assert doors.opened == []
        assert [each["name"] for each in models.requests[0].tools] == ["clock"]


async def test_a_call_that_comes_again_and_again_is_refused_before_anybody_is_asked() -> None:
    doors = Door()
    models = models_that(call("door", "door", "door", arguments="{}"), ["done"])
    async with open_room(models=models, tools=[doors], toolbox=ToolRules(max_repeats=2)) as room:
        accepted = await room.ask(options=ASK)
        questions = await wait_parked(accepted.session, accepted.turn_id)
        assert len(questions) == 2
        for each in questions:
            await answer(accepted.session, each)
        assert (await room.finish(accepted)).code == DONE
        last = outputs_of(accepted.session, accepted.turn_id)["call_2"]
        assert "3 times in a row" in join_text(last.parts)
        assert len(doors.opened) == 2


async def test_a_turn_ends_after_so_many_requests() -> None:
    models = models_that(call("door"))
    rules = ToolRules(max_completions=2)
    async with open_room(models=models, tools=[Door(needs="auto")], toolbox=rules) as room:
        end = await room.finish(await room.ask())
        assert (end.outcome, end.code) == ("failed", FAILED)
        assert len(models.requests) == 2


# ---- between the question and the answer -----------------------------------------------


async def test_a_rule_that_denies_by_now_stands_above_the_answer() -> None:
    doors, rules = Door(), {"door": "ask"}
    models = models_that(call("door"), ["done"])
    approval = ApprovalRules(tools=rules)  # type: ignore[arg-type]
    async with open_room(models=models, tools=[doors], approval=approval) as room:
        accepted = await room.ask(options=ASK)
        (question,) = await wait_parked(accepted.session, accepted.turn_id)
        rules["door"] = "deny"
        await answer(accepted.session, question)
        assert (await room.finish(accepted)).code == DONE
        (denied,) = outputs_of(accepted.session, accepted.turn_id).values()
        assert "settings refuse it" in join_text(denied.parts)
        assert doors.opened == []


@pytest.mark.parametrize("what", ["title", "confined"])
async def test_what_would_do_something_else_by_now_is_not_run(what: str) -> None:
    doors = Door()
    models = models_that(call("door"), ["done"])
    async with open_room(models=models, tools=[doors]) as room:
        accepted = await room.ask(options=ASK)
        (question,) = await wait_parked(accepted.session, accepted.turn_id)
        setattr(doors, what, "Open the safe" if what == "title" else False)
        await answer(accepted.session, question)
        assert (await room.finish(accepted)).code == DONE
        (denied,) = outputs_of(accepted.session, accepted.turn_id).values()
        assert "no longer what a person was asked about" in join_text(denied.parts)
        assert doors.opened == []


async def test_what_was_asked_is_not_asked_again_when_the_rules_spare_it() -> None:
    """The answer decides, and a no stays a no."""
    doors, rules = Door(), {"door": "ask"}
    models = models_that(call("door"), ["done"])
    approval = ApprovalRules(tools=rules)  # type: ignore[arg-type]
    async with open_room(models=models, tools=[doors], approval=approval) as room:
        accepted = await room.ask(options=ASK)
        (question,) = await wait_parked(accepted.session, accepted.turn_id)
        rules["door"] = "auto"
        await answer(accepted.session, question, "no")
        assert (await room.finish(accepted)).code == DONE
        assert doors.opened == []


# ---- storage ---------------------------------------------------------------------------


async def test_where_nothing_can_be_stored_nothing_is_asked_and_nothing_written() -> None:
    """What needs neither runs all the same, and the end says that it is not saved."""
    doors, pen, clock = Door(), Door("pen", needs="auto", writes=("a.txt",)), Clock()
    store = FakeStore()
    store.fail_if = lambda write: any(isinstance(body, QuestionAsked) for body in write.bodies)
    models = models_that(call("door", "pen", "clock"), ["done"])
    async with open_room(store=store, models=models, tools=[doors, pen, clock]) as room:
        accepted = await room.ask(options=ASK)
        watcher = Watcher()
        accepted.session.subscribe(watcher)
        status = await accepted.session.wait_finished(accepted.turn_id)
        assert status.code == STORAGE
        assert (doors.opened, pen.opened, clock.ran) == ([], [], 1)
        (unsaved,) = [each for each in watcher.values if isinstance(each, TurnUnsaved)]
        assert unsaved.code == STORAGE
        said = [join_text(each.parts) for each in models.requests[1].items[2:]]  # type: ignore[union-attr]
        assert [("nothing can be stored" in each) for each in said] == [True, True, False]
    assert models.rejected == []


# ---- ended early -----------------------------------------------------------------------


async def test_an_interrupt_while_people_are_asked_answers_every_call() -> None:
    doors = Door()
    models = models_that(call("door", "clock", "door"), ["done"])
    async with open_room(models=models, tools=[doors, Clock()]) as room:
        accepted = await room.ask(options=ASK)
        session = accepted.session
        first, _ = await wait_parked(session, accepted.turn_id)
        await answer(session, first)
        await session.interrupt(accepted.turn_id, "tty:2")
        end = await room.finish(accepted)
        assert (end.outcome, end.code) == ("interrupted", FAILED)
        outputs = outputs_of(session, accepted.turn_id)
        assert [each.synthetic for each in outputs.values()] == ["interrupted"] * 3
        assert doors.opened == []
        assert session.state == "idle"
        await check_approved(room.store, session.id, doors)


async def test_an_interrupt_at_any_moment_leaves_one_output_a_call() -> None:
    """Whoever answers does it at once; the moments pass through all that happens."""
    seen = set()
    for moment in range(400):
        doors, clock = Door(), Clock()
        models = models_that(call("door", "clock", "nothing", "door"), ["well ", "done"])
        async with open_room(models=models, tools=[doors, clock]) as room:
            accepted = await room.ask(options=ASK)
            session = accepted.session

            async def say_yes(session: LiveSession = session, turn: str = accepted.turn_id) -> None:
                while session.status(turn).state != "finished":
                    for each in list(session.conversation.open_questions.values()):
                        await answer(session, each)
                    await trio.lowlevel.checkpoint()

            room.nursery.start_soon(say_yes)
            await pass_moments(moment)
            over = session.status(accepted.turn_id).state == "finished"
            await session.interrupt(accepted.turn_id, "the sweep")
            with trio.fail_after(5):
                end = await room.finish(accepted)
                again = await room.ask("again", target=to(session))
                assert (await room.finish(again)).code == DONE
            seen.add((end.outcome, len(doors.opened)))
            await check_approved(room.store, session.id, doors)
        assert models.rejected == []
        if over:
            break
    else:
        pytest.fail("the sweep did not come to the end of the turn")
    assert {("withdrawn", 0), ("interrupted", 0), ("interrupted", 2), ("completed", 2)} <= seen
