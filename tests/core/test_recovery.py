"""What becomes of each turn that a daemon left without an end."""

from dataclasses import replace
from random import Random

import pytest

from askd.core.conversation import Conversation, fold
from askd.core.events import (
    Body,
    CompletionFinished,
    ConversationCreated,
    ItemAdded,
    PromptAccepted,
    QuestionAnswered,
    QuestionAsked,
    TurnFinished,
    TurnOptions,
    TurnStarted,
)
from askd.core.items import AssistantMessage, Reasoning, Text, ToolCall, ToolOutput
from askd.core.pairs import interrupt_call
from askd.core.recovery import (
    MAX_ATTEMPTS,
    SECRETS_WAIT_S,
    Close,
    PartialText,
    Plan,
    Retry,
    RunIt,
    StayParked,
    WaitForSecrets,
    plan_recovery,
)
from askd.core.turn import Append, Started, Turn
from tests.core.turn_world import World, accept, check_log, count_steered, record

ATTENDED = accept()
DETACHED = accept(options=TurnOptions(detach=True))
STARTED = TurnStarted("t", 1, "p/m")
CALL = ToolCall("a", "f", "{}")
ASKS = ItemAdded("t", AssistantMessage("t.1", (Text("So:"),), calls=(CALL,)), 1)
OUTPUT = ItemAdded("t", ToolOutput("t.1.1", "a", "f", (Text("4"),)), 1)
QUESTION = QuestionAsked("t", "q", "approval", "d", {}, 9.0)


def tell(*bodies: Body) -> Conversation:
    return fold("c", record([ConversationCreated("c"), *bodies]))


def plan(*bodies: Body, partials: tuple[PartialText, ...] = (), harmless: str = "") -> Plan:
    (only,) = plan_recovery(tell(*bodies), partials, harmless_tools=set(harmless))
    return only


def closed(*bodies: Body, partials: tuple[PartialText, ...] = ()) -> list[Body]:
    it = plan(*bodies, partials=partials)
    assert isinstance(it, Close)
    assert it.turn_id == "t"
    return list(it.bodies)


def test_nothing_unfinished_needs_nothing() -> None:
    assert plan_recovery(tell(ATTENDED, STARTED, TurnFinished("t", "completed", 0))) == []


def test_what_has_not_started_runs() -> None:
    assert plan(ATTENDED) == RunIt("t")
    assert plan(DETACHED) == RunIt("t")


def test_the_started_one_comes_first_then_the_queue() -> None:
    plans = plan_recovery(tell(accept("q"), ATTENDED, accept("r"), STARTED))
    assert [each.turn_id for each in plans] == ["t", "q", "r"]
    assert [type(each) for each in plans] == [Close, RunIt, RunIt]


def test_an_unanswered_question_stays_parked() -> None:
    assert plan(ATTENDED, STARTED, ASKS, QUESTION) == StayParked("t", QUESTION)
    # What happens in other turns does not matter.
    plans = plan_recovery(tell(DETACHED, STARTED, ASKS, QUESTION, accept("q")))
    assert plans == [StayParked("t", QUESTION), RunIt("q")]


def test_an_answered_question_is_not_waited_for() -> None:
    answered = QuestionAnswered("t", "q", "tty", "yes")
    assert isinstance(plan(ATTENDED, STARTED, ASKS, QUESTION, answered), Close)
    assert isinstance(plan(ATTENDED, STARTED, ASKS, QUESTION, OUTPUT), Close)


def test_an_attended_turn_ends_with_the_text_so_far() -> None:
    bodies = closed(
        ATTENDED,
        STARTED,
        partials=(("t", "t.1", "reasoning", "hm"), ("t", "t.1", "text", "Once upon")),
    )
    said = AssistantMessage(
        "t.1", (Text("Once upon"),), (Reasoning("hm"),), provider="p", model="p/m"
    )
    assert bodies[0] == ItemAdded("t", said, 1, "interrupted")
    (end,) = bodies[1:]
    assert isinstance(end, TurnFinished)
    assert (end.outcome, end.code, end.reason) == ("interrupted", 1, "interrupted")
    assert "daemon" in (end.message or "")


def test_a_turn_that_said_nothing_yet_just_ends() -> None:
    assert [type(body) for body in closed(ATTENDED, STARTED)] == [TurnFinished]


def test_calls_without_an_output_are_answered() -> None:
    synthetic, end = closed(ATTENDED, STARTED, ASKS)
    assert synthetic == ItemAdded("t", interrupt_call(CALL, "t.1.1"), 1)
    assert isinstance(end, TurnFinished)


def test_a_call_with_its_output_needs_none() -> None:
    assert [type(body) for body in closed(ATTENDED, STARTED, ASKS, OUTPUT)] == [TurnFinished]


def test_an_answer_that_lacks_only_its_end_gets_the_end_that_it_had() -> None:
    whole = (
        STARTED,
        ItemAdded("t", AssistantMessage("t.1", (Text("4"),)), 1),
        CompletionFinished("t", 1, "end"),
    )
    for prompt in (ATTENDED, DETACHED):
        assert closed(prompt, *whole) == [TurnFinished("t", "completed", 0)]


def test_texts_that_were_committed_after_all_are_not_kept_twice() -> None:
    bodies = closed(ATTENDED, STARTED, ASKS, OUTPUT, partials=(("t", "t.1", "text", "So:"),))
    assert [type(body) for body in bodies] == [TurnFinished]


@pytest.mark.parametrize(
    "partial",
    [
        ("u", "u.1", "text", "another turn"),
        ("t", "t.1", "text", ""),
        ("t", "t.1", "arguments", '{"x": '),
    ],
)
def test_texts_that_are_no_message_are_left_out(partial: PartialText) -> None:
    assert [type(body) for body in closed(ATTENDED, STARTED, partials=(partial,))] == [TurnFinished]


@pytest.mark.parametrize(
    ("item_id", "completion"), [("t.3", 3), ("odd", 2), ("t.²", 2), ("t.9999999999", 2), ("t.", 2)]
)
def test_the_completion_is_that_of_the_items_id(item_id: str, completion: int) -> None:
    bodies = closed(ATTENDED, STARTED, ASKS, OUTPUT, partials=(("t", item_id, "text", "x"),))
    assert isinstance(bodies[0], ItemAdded)
    assert (bodies[0].item.id, bodies[0].completion) == (item_id, completion)


def test_a_turn_whose_model_is_not_known_keeps_its_text() -> None:
    bodies = closed(ATTENDED, TurnStarted("t", 1), partials=(("t", "t.1", "text", "x"),))
    assert bodies[0] == ItemAdded("t", AssistantMessage("t.1", (Text("x"),)), 1, "interrupted")


def test_a_detached_turn_without_effects_is_tried_again() -> None:
    it = plan(DETACHED, STARTED, partials=(("t", "t.1", "text", "Once"),))
    assert isinstance(it, Retry)
    assert it.attempt == 2
    (body,) = it.bodies
    assert isinstance(body, ItemAdded)
    assert (body.item.id, body.completion, body.status) == ("t.1", 1, "superseded")
    # The new attempt counts on, so that no id of an item comes twice.
    conversation = tell(DETACHED, STARTED, *it.bodies)
    commands = Turn.rebuild(conversation.turns["t"]).feed(Started(it.attempt, "p/m"))
    assert commands[0] == Append(TurnStarted("t", 2, "p/m"))
    assert [getattr(each, "item_id", None) for each in commands] == [None, "t.2"]


@pytest.mark.parametrize(
    ("bodies", "harmless", "again"),
    [
        ((ASKS,), "", False),
        ((ASKS, OUTPUT), "", False),
        ((ASKS,), "f", True),
        ((ASKS, OUTPUT), "f", True),
        ((ASKS,), "g", False),
        ((ASKS, replace(OUTPUT, item=replace(interrupt_call(CALL, "t.1.1")))), "", False),
        (
            (ASKS, replace(OUTPUT, item=replace(interrupt_call(CALL, "x"), synthetic="denied"))),
            "",
            True,
        ),
        (
            (
                ASKS,
                replace(OUTPUT, item=replace(interrupt_call(CALL, "x"), synthetic="unknown_tool")),
            ),
            "",
            True,
        ),
    ],
)
def test_a_detached_turn_is_tried_again_unless_a_tool_may_have_had_effects(
    bodies: tuple[Body, ...], harmless: str, again: bool
) -> None:
    assert isinstance(plan(DETACHED, STARTED, *bodies, harmless=harmless), Retry) is again


def test_a_turn_that_keeps_dying_is_given_up() -> None:
    attempts = [TurnStarted("t", n) for n in range(1, MAX_ATTEMPTS + 1)]
    assert isinstance(plan(DETACHED, *attempts[:-1]), Retry)
    assert isinstance(plan(DETACHED, *attempts), Close)


def with_keys(prompt: PromptAccepted) -> PromptAccepted:
    return replace(prompt, caller_credentials=True)


def test_a_turn_with_its_callers_keys_waits_for_them() -> None:
    assert plan(with_keys(ATTENDED)) == WaitForSecrets("t", "key-t", SECRETS_WAIT_S, RunIt("t"))
    it = plan(with_keys(DETACHED), STARTED)
    assert it == WaitForSecrets("t", "key-t", SECRETS_WAIT_S, Retry("t", 2, ()))
    assert isinstance(plan(with_keys(ATTENDED), STARTED), Close)
    assert isinstance(plan(with_keys(ATTENDED), STARTED, QUESTION), StayParked)


def test_any_turn_that_was_cut_off_anywhere_is_closed_whole() -> None:
    for seed in range(1000):
        random = Random(seed)
        world = World(random, Turn("t", max_completions=6))
        world.play()
        left = [STARTED, *world.bodies[1 : random.randrange(1, len(world.bodies) + 1)]]
        if isinstance(left[-1], TurnFinished):
            continue
        number = max([b.completion or 0 for b in left if isinstance(b, ItemAdded)], default=0) + 1
        partials = (("t", f"t.{number}", "text", "so"),) if random.random() < 0.5 else ()
        bodies = [*left, *closed(ATTENDED, *left, partials=partials)]
        steered = count_steered(left)
        check_log(bodies, steered=steered)
