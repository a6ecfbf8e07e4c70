"""Which turns a record that cannot be read may have belonged to, and what follows for them."""

import pytest

from askd.core.conversation import Conversation, fold
from askd.core.events import (
    Body,
    ConversationCreated,
    ItemAdded,
    PromptWithdrawn,
    QuestionAsked,
    TurnFinished,
    TurnOptions,
    TurnStarted,
    Unreadable,
)
from askd.core.items import AssistantMessage, Text
from askd.core.recovery import DOUBT, Close, RunIt, plan_recovery
from askd.core.uncertainty import find_doubtful, may_accept
from tests.core.turn_world import accept, record

CREATED = ConversationCreated("c")
DETACHED = accept("t", options=TurnOptions(detach=True))
ANSWER = ItemAdded("t", AssistantMessage("t.1", (Text("Blue."),)), 1)


def bad(of_type: str = "unknown", turn_id: str | None = None) -> Unreadable:
    return Unreadable(of_type, "why", turn_id=turn_id)


def tell(*bodies: Body) -> Conversation:
    return fold("c", record([CREATED, *bodies]))


@pytest.mark.parametrize(
    ("body", "doubtful"),
    [
        (bad(), ["r", "q", "w"]),
        (bad("turn_finished"), ["r", "q", "w"]),
        (bad("turn_started"), ["r", "q", "w"]),
        (bad("item_added"), ["r"]),
        (bad("completion_finished"), ["r"]),
        (bad("titled"), []),
        (bad("instructions_changed"), []),
        (bad("prompt_accepted"), []),
        (bad("conversation_created"), []),
        (bad("titled", "q"), ["q"]),
        (bad("turn_finished", "r"), ["r"]),
        (bad("turn_finished", "nobody"), ["r", "q", "w"]),
        (bad("item_added", "nobody"), ["r"]),
    ],
)
def test_whose_a_record_may_be(body: Unreadable, doubtful: list[str]) -> None:
    assert find_doubtful(body, running=["r"], waiting=["q", "w"]) == doubtful


def test_what_may_be_a_prompt() -> None:
    assert [may_accept(bad(each)) for each in ("prompt_accepted", "unknown", "titled")] == [
        True,
        True,
        False,
    ]


@pytest.mark.parametrize("prompt", [accept("t"), DETACHED])
@pytest.mark.parametrize(
    "rest",
    [
        (bad("turn_started"),),
        (TurnStarted("t", 1), bad("item_added")),
        (TurnStarted("t", 1), ANSWER, bad("turn_finished")),
        (TurnStarted("t", 1), bad("prompt_steered")),
        (TurnStarted("t", 1), ANSWER, bad(turn_id="t")),
        (TurnStarted("t", 1), QuestionAsked("t", "q", "approval", "d", {}, 9.0), bad()),
        (PromptWithdrawn("t"), bad("turn_finished")),
        (bad("prompt_withdrawn"),),
    ],
)
def test_a_turn_in_doubt_is_ended_and_never_run_again(prompt: Body, rest: tuple[Body, ...]) -> None:
    it = tell(prompt, *rest)
    assert it.in_doubt
    assert it.needs_recovery
    (plan,) = plan_recovery(it)
    assert isinstance(plan, Close)
    end = plan.bodies[-1]
    assert isinstance(end, TurnFinished)
    assert (end.turn_id, end.message) == ("t", DOUBT)
    assert end.outcome == ("withdrawn" if PromptWithdrawn("t") in rest else "interrupted")
    after = tell(prompt, *rest, *plan.bodies)
    assert (after.unfinished, after.needs_recovery) == ([], False)


def test_who_has_nothing_to_do_with_it_goes_on() -> None:
    assert plan_recovery(tell(accept("t"), bad("titled"))) == [RunIt("t")]
    waiting = tell(accept("t"), TurnStarted("t", 1), accept("u"), bad("item_added"))
    assert [type(plan) for plan in plan_recovery(waiting)] == [Close, RunIt]
    later = tell(accept("t"), bad(), TurnFinished("t", "completed", 0), accept("u"))
    assert plan_recovery(later) == [RunIt("u")]


def test_a_turn_that_starts_behind_it_is_not_in_doubt() -> None:
    it = tell(accept("t"), accept("u"), bad(), TurnStarted("u", 1))
    assert not it.turns["u"].in_doubt
    assert it.turns["t"].in_doubt


def test_an_answer_counts_also_where_its_beginning_or_its_prompt_is_lost() -> None:
    unstarted = tell(accept("t"), bad("turn_started"), ANSWER, TurnFinished("t", "completed", 0))
    assert unstarted.started == ["t"]
    assert unstarted.unfinished == []
    unasked = tell(bad("prompt_accepted"), TurnStarted("t", 1, "p/m"), ANSWER)
    assert unasked.turns["t"].items == [ANSWER]
    assert (unasked.turns["t"].prompt.items, unasked.strays) == ((), [])
    assert tell(TurnStarted("t", 1), ANSWER).strays == [ANSWER], "nobody lost a prompt here"


def test_the_time_of_a_conversation_is_that_of_the_first_record_that_has_one() -> None:
    events = record([bad("conversation_created"), accept("t")])
    it = fold("c", [*events[:1], *events[1:]])
    assert it.created_at == events[0].at
    assert it.last_seq == 2
