"""What becomes of each turn that a daemon left without an end."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.core.conversation import Conversation, fold
from askd.core.events import (
    Body,
    CompletionFinished,
    ConversationCreated,
    ItemAdded,
    PromptAccepted,
    PromptSteered,
    QuestionAnswered,
    QuestionAsked,
    TurnFinished,
    TurnOptions,
    TurnStarted,
)
from askd.core.items import AssistantMessage, Reasoning, Text, ToolCall, ToolOutput, UserMessage
from askd.core.pairs import interrupt_call
from askd.core.questions import CLOSED, QuestionKind, find_all_open, find_parking
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
from tests.core.turn_world import World, accept, check_log, record

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


SAFE = ToolCall("b", "g", "{}")
BOTH = ItemAdded("t", AssistantMessage("t.1", calls=(CALL, SAFE)), 1)
DENIED = ToolOutput("t.1.1", "a", "f", (Text("no"),), is_error=True, synthetic="denied")


def ask(k: int, kind: QuestionKind = "approval") -> QuestionAsked:
    return QuestionAsked("t", f"q{k}", kind, "d", {"subject": f"t.1.{k}"}, 9.0)


def told(k: int, decision: str) -> QuestionAnswered:
    return QuestionAnswered("t", f"q{k}", "tty", decision)


@pytest.mark.parametrize(
    ("bodies", "attended", "detached"),
    [
        # Asked, and not all answered: no tool of that answer has started.
        ((BOTH, ask(1)), "parked", "parked"),
        ((BOTH, ask(1), ask(2)), "parked", "parked"),
        ((BOTH, ask(1), ask(2), told(1, "yes")), "parked", "parked"),
        ((BOTH, ask(1), ask(2), told(2, "no")), "parked", "parked"),
        # All answered: what was allowed may have begun, and what nobody had to be asked about.
        ((BOTH, ask(1), told(1, "yes")), "closed", "closed"),
        ((BOTH, ask(1), told(1, "always")), "closed", "closed"),
        ((BOTH, ask(1), ask(2), told(1, "no"), told(2, "yes")), "closed", "closed"),
        ((BOTH, ask(1), ask(2), told(2, "yes"), told(1, "no")), "closed", "closed"),
        ((BOTH, ask(1), told(1, "no")), "closed", "closed"),
        # All refused, or never answered in time: nothing can have begun.
        ((ASKS, ask(1), told(1, "no")), "again", "again"),
        ((ASKS, ask(1), told(1, "expired")), "again", "again"),
        ((BOTH, ask(1), ask(2), told(1, "no"), told(2, "expired")), "again", "again"),
        # One of them was answered for: whoever watched sees the end, a detached turn goes on.
        (
            (BOTH, ask(1), ask(2), told(1, "no"), told(2, "no"), ItemAdded("t", DENIED, 1)),
            "closed",
            "again",
        ),
        # Looked at and neither asked nor answered: it may run by now.
        ((BOTH,), "closed", "closed"),
        ((BOTH, ask(1), ask(2), told(1, "yes"), told(2, "no"), OUTPUT), "closed", "closed"),
        # Of an overflow nothing runs that could be repeated.
        ((ask(1, "overflow"), told(1, "reset")), "again", "again"),
        ((ask(1, "elicitation"), told(1, "yes")), "closed", "again"),
        # A call that ran asked it, and is over: nobody comes back to it.
        ((ASKS, ask(1, "elicitation")), "closed", "closed"),
        ((ASKS, ask(1), told(1, "yes"), ask(2, "elicitation")), "closed", "closed"),
        (
            (ASKS, ask(1), told(1, "no"), ask(2, "elicitation"), told(2, "accept")),
            "closed",
            "again",
        ),
        ((ask(1, "elicitation"),), "closed", "again"),
        # What another call has left open keeps no turn from being parked.
        ((ASKS, ask(3, "elicitation"), OUTPUT, ask(1)), "parked", "parked"),
    ],
)
def test_what_becomes_of_a_turn_that_asked(
    bodies: tuple[Body, ...], attended: str, detached: str
) -> None:
    kinds = {StayParked: "parked", Close: "closed", Retry: "again"}
    plans = [plan(prompt, STARTED, *bodies) for prompt in (ATTENDED, DETACHED)]
    assert [kinds[type(each)] for each in plans] == [attended, detached]
    for it in plans:
        if isinstance(it, StayParked):
            assert it.question.question_id not in {
                each.question_id for each in bodies if isinstance(each, QuestionAnswered)
            }
        elif isinstance(it, Close):
            answered = [each.item for each in (*bodies, *it.bodies) if isinstance(each, ItemAdded)]
            outputs = [each.call_id for each in answered if isinstance(each, ToolOutput)]
            calls = [
                c.call_id for m in answered if isinstance(m, AssistantMessage) for c in m.calls
            ]
            assert sorted(outputs) == sorted(calls), "one output a call"


def test_a_refused_call_beside_a_harmless_one_can_be_gone_on_from() -> None:
    bodies = (STARTED, BOTH, ask(1), told(1, "no"))
    assert isinstance(plan(ATTENDED, *bodies, harmless="g"), Retry)
    assert isinstance(plan(ATTENDED, *bodies, harmless="f"), Close)


def test_what_was_allowed_once_counts_whatever_was_said_later() -> None:
    """A log that asks twice about a call is odd; that it ran must not be forgotten."""
    again = replace(ask(1), question_id="q9")
    bodies = (STARTED, ASKS, ask(1), told(1, "yes"), again, told(9, "no"))
    assert isinstance(plan(DETACHED, *bodies), Close)


def test_a_turn_that_asked_and_died_too_often_is_ended() -> None:
    last = TurnStarted("t", MAX_ATTEMPTS)
    assert isinstance(plan(DETACHED, last, ASKS, ask(1), told(1, "no")), Close)
    assert isinstance(plan(DETACHED, last, ASKS, ask(1)), StayParked)


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


def test_a_message_that_waited_to_join_stands_after_what_it_cut() -> None:
    message = UserMessage("s", (Text("no"),))
    waits = PromptSteered("t", "k", (message,))
    bodies = closed(ATTENDED, STARTED, waits, partials=(("t", "t.1", "text", "Once"),))
    partial, joined, end = bodies
    assert isinstance(partial, ItemAdded)
    assert (partial.item.id, partial.status) == ("t.1", "interrupted")
    assert joined == ItemAdded("t", message)
    assert isinstance(end, TurnFinished)
    (output, *_, joined, _) = closed(ATTENDED, STARTED, waits, ASKS)
    assert isinstance(output, ItemAdded)
    assert isinstance(output.item, ToolOutput)
    assert joined == ItemAdded("t", message)


def test_a_message_that_waits_makes_nobody_less_parked() -> None:
    waits = PromptSteered("t", "k", (UserMessage("s", (Text("no"),)),))
    assert plan(ATTENDED, STARTED, ASKS, QUESTION, waits) == StayParked("t", QUESTION)


def test_a_detached_turn_that_was_steered_is_tried_again() -> None:
    waits = PromptSteered("t", "k", (UserMessage("s", (Text("no"),)),))
    answer = ItemAdded("t", AssistantMessage("t.1", (Text("4"),)), 1)
    over = CompletionFinished("t", 1, "end")
    assert isinstance(plan(DETACHED, STARTED, answer, over), Close)
    assert plan(DETACHED, STARTED, answer, over, waits) == Retry("t", 2, ())


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
        rest = [each for each in world.bodies if not isinstance(each, TurnStarted)]
        left = [STARTED, *rest[: random.randrange(len(rest) + 1)]]
        if isinstance(left[-1], TurnFinished):
            continue
        number = max([b.completion or 0 for b in left if isinstance(b, ItemAdded)], default=0) + 1
        partials = (("t", f"t.{number}", "text", "so"),) if random.random() < 0.5 else ()
        bodies = [*left, *closed(ATTENDED, *left, partials=partials)]
        check_log(bodies)


def test_an_elicitation_is_closed_with_its_turn_and_before_what_comes_next() -> None:
    asked = ask(1, "elicitation")
    closing = QuestionAnswered("t", "q1", CLOSED, "cancel")
    bodies = closed(ATTENDED, STARTED, ASKS, asked)
    assert bodies[0] == closing
    assert [type(each) for each in bodies[1:]] == [ItemAdded, TurnFinished]
    again = plan(DETACHED, STARTED, ASKS, asked, harmless="f")
    assert again == Retry("t", 2, (closing,))


@st.composite
def logs_that_ask(draw: st.DrawFn) -> list[Body]:
    """A turn of some completions with one call each, some of it asked about; cut anywhere."""
    prompt = accept(options=TurnOptions(detach=draw(st.booleans())))
    bodies: list[Body] = [prompt, STARTED]
    number = 0
    for n in range(1, draw(st.integers(1, 4)) + 1):
        call = ToolCall(f"c{n}", "f", "{}")
        bodies.append(ItemAdded("t", AssistantMessage(f"t.{n}", calls=(call,)), n))
        bodies.append(CompletionFinished("t", n, "calls"))
        allowed = True
        if draw(st.booleans()):
            number += 1
            decision = draw(st.sampled_from(["yes", "no", "expired"]))
            allowed = decision == "yes"
            detail = {"subject": f"t.{n}.1"}
            bodies.append(QuestionAsked("t", f"q{number}", "approval", "d", detail, 9.0))
            bodies.append(QuestionAnswered("t", f"q{number}", "tty", decision))
        for _ in range(draw(st.integers(0, 2)) if allowed else 0):
            number += 1
            detail = {"subject": f"t.{n}.1"}
            bodies.append(QuestionAsked("t", f"q{number}", "elicitation", "d", detail, 9.0))
            decision = draw(st.sampled_from(["accept", "decline", "cancel", "expired", ""]))
            if decision:
                bodies.append(QuestionAnswered("t", f"q{number}", "tty", decision))
        bodies.append(ItemAdded("t", ToolOutput(f"t.{n}.1", call.call_id, "f", (Text("4"),)), n))
    return bodies[: draw(st.integers(2, len(bodies)))]


@given(logs_that_ask(), st.booleans())
def test_no_log_is_parked_for_an_elicitation_and_none_stays_open(
    bodies: list[Body], is_harmless: bool
) -> None:
    it = plan(*bodies, harmless="f" if is_harmless else "")
    record = tell(*bodies).turns["t"]
    if isinstance(it, StayParked):
        assert it.question.kind == "approval"
        assert find_parking(record)[0] == it.question
        assert bodies[-1] == it.question
        return
    assert not find_parking(record), "what a turn is parked for is waited for"
    assert isinstance(it, Close | Retry)
    after = tell(*bodies, *it.bodies)
    assert not after.open_questions
    assert not [each for each in find_all_open(after.turns["t"]) if each.kind == "elicitation"]
    answers = [each for each in (*bodies, *it.bodies) if isinstance(each, QuestionAnswered)]
    asked = [each for each in bodies if isinstance(each, QuestionAsked)]
    assert sorted(each.question_id for each in answers) == sorted(e.question_id for e in asked)
    if isinstance(it, Close):
        items = [each.item for each in (*bodies, *it.bodies) if isinstance(each, ItemAdded)]
        calls = [c.call_id for m in items if isinstance(m, AssistantMessage) for c in m.calls]
        assert [each.call_id for each in items if isinstance(each, ToolOutput)] == calls
