"""The turn's machine keeps its promises, whatever happens in whatever order."""

from dataclasses import replace
from random import Random

import pytest

from askd.core.conversation import TurnRecord, fold
from askd.core.events import (
    Body,
    CompletionFinished,
    ConversationCreated,
    ItemAdded,
    PromptSteered,
    TurnFinished,
    TurnStarted,
)
from askd.core.items import AssistantMessage, Reasoning, Text, ToolCall, ToolOutput, UserMessage
from askd.core.outcome import Failure, Stop, Usage
from askd.core.pairs import interrupt_call
from askd.core.turn import (
    Append,
    CallModel,
    CancelModel,
    Command,
    CompletionCancelled,
    CompletionEnded,
    CompletionFailed,
    Finish,
    Input,
    Interrupted,
    Resumed,
    RunTool,
    Started,
    Steered,
    StopTools,
    ToolReturned,
    Turn,
    TurnIsOver,
)
from tests.core.turn_world import (
    INTERRUPT,
    Violation,
    World,
    accept,
    check_log,
    record,
    starts,
)

INTERLEAVINGS = 10_000
"""About two seconds; each has up to some dozens of inputs."""

CALL = ToolCall("a", "f", "{}")
OTHER = ToolCall("b", "g", "{}")
ENDED = TurnFinished("t", "completed", 0)


def say(text: str = "", *calls: ToolCall) -> AssistantMessage:
    return AssistantMessage("whatever", (Text(text),) if text else (), calls=calls)


def output(call_id: str = "a", text: str = "4") -> ToolOutput:
    return ToolOutput("whatever", call_id, "f", (Text(text),))


def steer(text: str = "rather this", *, id: str = "steer") -> Steered:
    return Steered(UserMessage(id, (Text(text),)))


def started(**options: int) -> Turn:
    machine = Turn("t", **options)
    machine.feed(Started(1, "p/m"))
    return machine


def working(*calls: ToolCall) -> Turn:
    machine = started()
    machine.feed(CompletionEnded(say("", *(calls or (CALL,))), "calls"))
    return machine


def appended(commands: list[Command]) -> list[Body]:
    return [command.body for command in commands if isinstance(command, Append)]


def items_of(commands: list[Command]) -> list[tuple[object, str]]:
    return [(b.item, b.status) for b in appended(commands) if isinstance(b, ItemAdded)]


def end_of(commands: list[Command]) -> TurnFinished:
    body = appended(commands)[-1]
    assert isinstance(body, TurnFinished)
    assert commands[-1] == Finish(body.outcome, body.code)
    return body


def rebuilt(*bodies: Body) -> tuple[Turn, TurnRecord]:
    conversation = fold("c", record([ConversationCreated("c"), accept(), *bodies]))
    return Turn.rebuild(conversation.turns["t"]), conversation.turns["t"]


# ---- any interleaving -----------------------------------------------------------


def test_any_interleaving_keeps_every_promise() -> None:
    outcomes = set()
    for seed in range(INTERLEAVINGS):
        world = World(Random(seed), Turn("t", max_completions=8))
        world.play()
        conversation = check_log(world.bodies)
        assert starts(world.bodies) <= 1
        assert (world.machine.usage or Usage()) == world.usage
        finished = conversation.finished("t")
        assert finished is not None
        assert finished.usage == world.machine.usage == conversation.turns["t"].usage
        outcomes.add((finished.outcome, finished.code))
        with pytest.raises(TurnIsOver):
            world.machine.feed(INTERRUPT)
    assert outcomes == {
        ("completed", 0), ("completed", 9), ("failed", 1), ("failed", 5), ("interrupted", 1),
    }  # fmt: skip


def test_any_log_cut_anywhere_is_gone_on_with() -> None:
    for seed in range(INTERLEAVINGS // 4):
        random = Random(seed)
        world = World(random, Turn("t", max_completions=8))
        world.play()
        left = world.bodies[: random.randrange(len(world.bodies))]
        machine, _ = rebuilt(*left)
        assert machine.phase == "waiting"
        after = World(random, machine, attempt=2)
        after.bodies, after.steered = list(left), 10  # nobody steers any more
        if random.random() < 0.5:
            after.feed(INTERRUPT)
        else:
            after.play()
        check_log(after.bodies)


class Forgetful(Turn):
    """Forgets the output of the second call of an answer."""

    def feed(self, input: Input) -> list[Command]:
        return [each for each in super().feed(input) if not self.forgets(each)]

    def forgets(self, command: Command) -> bool:
        body = command.body if isinstance(command, Append) else None
        item = body.item if isinstance(body, ItemAdded) else None
        return isinstance(item, ToolOutput) and item.id.endswith(".2")


class Hasty(Turn):
    """Says twice that it is over."""

    def feed(self, input: Input) -> list[Command]:
        commands = super().feed(input)
        return commands + commands[-2:] if self.phase == "finished" else commands


class Deaf(Turn):
    """Loses a message that steers."""

    def feed(self, input: Input) -> list[Command]:
        return [] if isinstance(input, Steered) else super().feed(input)


class Greedy(Turn):
    """Asks again although a completion runs."""

    def feed(self, input: Input) -> list[Command]:
        commands = super().feed(input)
        asks = [each for each in commands if isinstance(each, CallModel)]
        return commands + asks


def play_all(kind: type[Turn], seeds: int) -> None:
    for seed in range(seeds):
        world = World(Random(seed), kind("t", max_completions=8))
        world.play()
        check_log(world.bodies)


class Nagging(Turn):
    """Objects again and again."""

    def feed(self, input: Input) -> list[Command]:
        self._objected = False
        return super().feed(input)


class Lenient(Turn):
    """Gives up at the first objection."""

    def feed(self, input: Input) -> list[Command]:
        self._objected = True
        return super().feed(input)


@pytest.mark.parametrize("broken", [Forgetful, Hasty, Deaf, Greedy, Nagging, Lenient])
def test_a_broken_machine_is_caught(broken: type[Turn]) -> None:
    with pytest.raises(Violation):
        play_all(broken, 200)


def test_the_world_has_pauses_and_both_objections() -> None:
    seen = set()
    for seed in range(1000):
        world = World(Random(seed), Turn("t", max_completions=8))
        world.play()
        for place, body in enumerate(world.bodies):
            follows = world.bodies[place + 1] if place + 1 < len(world.bodies) else None
            if isinstance(body, CompletionFinished) and body.stop == "pause":
                seen.add(("pause", isinstance(follows, TurnFinished)))
            if isinstance(body, TurnFinished):
                seen.add(("end", body.reason == "schema_mismatch"))
    assert seen == {("pause", True), ("pause", False), ("end", True), ("end", False)}


# ---- the common course ----------------------------------------------------------


def test_a_prompt_is_answered() -> None:
    machine = Turn("t")
    phases: list[str] = [machine.phase]
    assert machine.feed(Started(1, "p/m")) == [
        Append(TurnStarted("t", 1, "p/m")),
        CallModel(1, "t.1"),
    ]
    phases.append(machine.phase)
    message = AssistantMessage("t.1", (Text("Blue."),))
    assert machine.feed(CompletionEnded(message, "end", Usage(5, 2))) == [
        Append(ItemAdded("t", message, 1)),
        Append(CompletionFinished("t", 1, "end", Usage(5, 2))),
        Append(TurnFinished("t", "completed", 0, Usage(5, 2))),
        Finish("completed", 0),
    ]
    assert [*phases, machine.phase] == ["waiting", "asking", "finished"]


def test_calls_run_and_their_outputs_go_to_the_next_completion() -> None:
    machine = started()
    commands = machine.feed(CompletionEnded(say("", CALL, OTHER), "calls", Usage(1, 1)))
    assert commands[-2:] == [RunTool(CALL, "t.1.1"), RunTool(OTHER, "t.1.2")]
    assert machine.phase == "working"
    assert machine.open_calls == (CALL, OTHER)
    second = ToolReturned(output("b"))
    assert machine.feed(second) == [Append(ItemAdded("t", replace(output("b"), id="t.1.2"), 1))]
    assert machine.feed(ToolReturned(output())) == [
        Append(ItemAdded("t", replace(output(), id="t.1.1"), 1)),
        CallModel(2, "t.2"),
    ]
    end = end_of(machine.feed(CompletionEnded(say("4"), "end", Usage(2, 3))))
    assert end == TurnFinished("t", "completed", 0, Usage(3, 4))


def test_calls_run_whatever_word_the_provider_ends_with() -> None:
    commands = started().feed(CompletionEnded(say("", CALL), "end"))
    assert commands[-1] == RunTool(CALL, "t.1.1")


def test_the_word_calls_without_calls_is_an_end() -> None:
    assert end_of(started().feed(CompletionEnded(say("Well."), "calls"))) == ENDED


def test_usage_stays_unknown_if_nobody_says() -> None:
    machine = started()
    machine.feed(CompletionEnded(say("x"), "end"))
    assert machine.usage is None


def test_late_and_unknown_outputs_change_nothing() -> None:
    machine = working(CALL, OTHER)
    assert machine.feed(ToolReturned(output("never"))) == []
    machine.feed(ToolReturned(output()))
    assert machine.feed(ToolReturned(output("a", "again"))) == []
    assert machine.phase == "working"


def test_late_completions_change_nothing() -> None:
    machine = working()
    assert machine.feed(CompletionCancelled(say("late"))) == []
    machine.feed(ToolReturned(output()))
    assert machine.feed(CompletionEnded(say("late"), "end", completion=1)) == []
    assert machine.phase == "asking"


def test_starting_twice_is_a_programming_error() -> None:
    with pytest.raises(TurnIsOver):
        started().feed(Started(1))


def test_repeated_call_ids_are_made_unique_in_the_turn() -> None:
    machine = started()
    empty = ToolCall("", "h", "{}")
    commands = machine.feed(CompletionEnded(say("", CALL, CALL, empty), "calls"))
    runs = [command for command in commands if isinstance(command, RunTool)]
    assert [run.call.call_id for run in runs] == ["a", "a#2", "call_3"]
    for run in runs:
        machine.feed(ToolReturned(output(run.call.call_id)))
    again = machine.feed(CompletionEnded(say("", CALL), "calls"))
    assert again[-1] == RunTool(replace(CALL, call_id="a#3"), "t.2.1")


def test_a_model_that_never_stops_calling_is_stopped() -> None:
    machine = started(max_completions=2)
    for number in (1, 2):
        commands = machine.feed(CompletionEnded(say("", CALL), "calls"))
        run = commands[-1]
        assert isinstance(run, RunTool)
        commands = machine.feed(ToolReturned(output(run.call.call_id)))
        assert (commands[-1] == CallModel(2, "t.2")) == (number == 1)
    end = end_of(commands)
    assert (end.outcome, end.code, end.reason) == ("failed", 1, "turn_failed")
    assert "2 requests" in (end.message or "")


# ---- ends -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stop", "outcome", "code", "reason"),
    [
        ("length", "completed", 9, "length"),
        ("refusal", "failed", 1, "refused"),
        ("filtered", "failed", 1, "refused"),
        ("unknown", "completed", 0, None),
    ],
)
def test_ends_tell_the_truth(stop: Stop, outcome: str, code: int, reason: str | None) -> None:
    commands = started().feed(CompletionEnded(say("Once upon"), stop))
    assert items_of(commands) == [(replace(say("Once upon"), id="t.1"), "complete")]
    end = end_of(commands)
    assert (end.outcome, end.code, end.reason) == (outcome, code, reason)


def test_an_answer_that_was_cut_keeps_whole_calls_answered_and_drops_half_ones() -> None:
    half = ToolCall("h", "f", '{"x": ')
    nameless = ToolCall("n", "", "{}")
    commands = started().feed(CompletionEnded(say("", CALL, half, nameless), "length"))
    assert items_of(commands) == [
        (replace(say("", CALL), id="t.1"), "complete"),
        (interrupt_call(CALL, "t.1.1"), "complete"),
    ]
    assert end_of(commands).code == 9


@pytest.mark.parametrize("message", [say(), AssistantMessage("x", (Text(""),))])
def test_an_empty_answer_is_not_appended_and_said(message: AssistantMessage) -> None:
    commands = started().feed(CompletionEnded(message, "end"))
    assert items_of(commands) == []
    end = end_of(commands)
    assert (end.outcome, end.code) == ("completed", 0)
    assert end.message == "The model's answer was empty."


def test_reasoning_alone_is_kept() -> None:
    message = AssistantMessage("t.1", reasoning=(Reasoning("hm"),))
    assert items_of(started().feed(CompletionEnded(message, "end"))) == [(message, "complete")]


def test_a_failure_keeps_the_partial() -> None:
    failure = Failure(5, "rate_limited", "Slow down.")
    commands = started().feed(CompletionFailed(failure, say("Once", CALL)))
    assert items_of(commands) == [
        (replace(say("Once", CALL), id="t.1"), "interrupted"),
        (interrupt_call(CALL, "t.1.1"), "complete"),
    ]
    end = end_of(commands)
    assert (end.outcome, end.code, end.reason, end.message) == (
        "failed", 5, "rate_limited", "Slow down.",
    )  # fmt: skip


def test_a_cancellation_that_nobody_asked_for_ends_the_turn() -> None:
    assert end_of(started().feed(CompletionCancelled())).outcome == "interrupted"


# ---- interrupt ------------------------------------------------------------------


def test_interrupt_before_the_start() -> None:
    machine = Turn("t")
    assert appended(machine.feed(INTERRUPT)) == [
        TurnFinished("t", "interrupted", 1, None, "interrupted", INTERRUPT.message)
    ]


def test_interrupt_while_asking_keeps_the_partial() -> None:
    machine = started()
    assert machine.feed(Interrupted(124, "time_limit", "Time is up.")) == [CancelModel()]
    assert machine.phase == "stopping"
    assert machine.feed(INTERRUPT) == []
    commands = machine.feed(CompletionCancelled(say("Once")))
    assert items_of(commands) == [(replace(say("Once"), id="t.1"), "interrupted")]
    end = end_of(commands)
    assert (end.outcome, end.code, end.reason) == ("interrupted", 124, "time_limit")


def test_a_whole_answer_that_raced_the_interrupt_is_complete_and_its_calls_do_not_run() -> None:
    machine = started()
    machine.feed(INTERRUPT)
    commands = machine.feed(CompletionEnded(say("So:", CALL), "calls", Usage(1, 1)))
    assert items_of(commands) == [
        (replace(say("So:", CALL), id="t.1"), "complete"),
        (interrupt_call(CALL, "t.1.1"), "complete"),
    ]
    assert CompletionFinished("t", 1, "calls", Usage(1, 1)) in appended(commands)
    assert end_of(commands).outcome == "interrupted"


def test_a_failure_that_raced_the_interrupt_is_an_interrupt() -> None:
    machine = started()
    machine.feed(INTERRUPT)
    commands = machine.feed(CompletionFailed(Failure(1, "unavailable", "Gone."), say("On")))
    assert end_of(commands).outcome == "interrupted"


def test_interrupt_while_tools_run_waits_for_each() -> None:
    machine = working(CALL, OTHER)
    assert machine.feed(INTERRUPT) == [StopTools()]
    assert machine.feed(INTERRUPT) == []
    assert machine.phase == "stopping"
    # One had come to its end by itself: what it said is kept.
    commands = machine.feed(ToolReturned(output("b", "real")))
    assert items_of(commands) == [(replace(output("b", "real"), id="t.1.2"), "complete")]
    commands = machine.feed(ToolReturned(interrupt_call(CALL, "t.1.1")))
    assert items_of(commands) == [(interrupt_call(CALL, "t.1.1"), "complete")]
    assert end_of(commands).outcome == "interrupted"


# ---- steer ----------------------------------------------------------------------


def test_steering_while_asking_cancels_and_asks_again() -> None:
    machine = started()
    assert machine.feed(steer()) == [CancelModel()]
    assert machine.feed(Steered(UserMessage("more", (Text("and"),)))) == []
    commands = machine.feed(CompletionCancelled(say("Once", CALL)))
    assert [item for item, _ in items_of(commands)] == [
        replace(say("Once", CALL), id="t.1"),
        interrupt_call(CALL, "t.1.1"),
        steer().message,
        UserMessage("more", (Text("and"),)),
    ]
    assert commands[-1] == CallModel(2, "t.2")
    # The next one can be cancelled again, by a message that did not join before.
    assert machine.feed(steer()) == []
    assert machine.feed(steer(id="another")) == [CancelModel()]


def test_after_steering_the_turn_takes_its_course() -> None:
    machine = started()
    machine.feed(steer())
    machine.feed(CompletionCancelled())
    assert machine.feed(CompletionEnded(say("", CALL), "calls"))[-1] == RunTool(CALL, "t.2.1")
    assert machine.feed(ToolReturned(output()))[-1] == CallModel(3, "t.3")


def test_a_whole_answer_that_raced_steering_is_complete_and_its_calls_do_not_run() -> None:
    machine = started()
    machine.feed(steer())
    commands = machine.feed(CompletionEnded(say("So:", CALL), "calls"))
    assert items_of(commands) == [
        (replace(say("So:", CALL), id="t.1"), "complete"),
        (interrupt_call(CALL, "t.1.1"), "complete"),
        (steer().message, "complete"),
    ]
    assert commands[-1] == CallModel(2, "t.2")


def test_steering_while_tools_run_lets_them_end() -> None:
    machine = working()
    assert machine.feed(steer()) == []
    commands = machine.feed(ToolReturned(output()))
    assert [item for item, _ in items_of(commands)] == [
        replace(output(), id="t.1.1"),
        steer().message,
    ]
    assert commands[-1] == CallModel(2, "t.2")


def test_steering_before_the_start_joins_at_the_start() -> None:
    machine = Turn("t")
    assert machine.feed(steer()) == []
    assert machine.feed(Started(1)) == [
        Append(TurnStarted("t", 1)),
        Append(ItemAdded("t", steer().message)),
        CallModel(1, "t.1"),
    ]


def test_a_failure_that_raced_steering_asks_again() -> None:
    machine = started()
    machine.feed(steer())
    commands = machine.feed(CompletionFailed(Failure(1, "unavailable", "Gone."), say("On")))
    assert commands[-1] == CallModel(2, "t.2")


def test_what_was_said_is_kept_although_the_turn_ends() -> None:
    machine = working()
    machine.feed(steer())
    machine.feed(INTERRUPT)
    commands = machine.feed(ToolReturned(output()))
    assert items_of(commands)[-1] == (steer().message, "complete")
    assert end_of(commands).outcome == "interrupted"


# ---- rebuild --------------------------------------------------------------------

STARTED = TurnStarted("t", 1, "p/m")
CALLED = ItemAdded("t", AssistantMessage("t.1", (Text("So:"),), calls=(CALL, OTHER)), 1)
ASKED = CompletionFinished("t", 1, "calls", Usage(1, 1))
RETURNED = ItemAdded("t", replace(output(), id="t.1.1"), 1)
BOTH_RETURNED = (RETURNED, ItemAdded("t", replace(output("b"), id="t.1.2"), 1))


def test_rebuilt_before_its_start_is_new() -> None:
    machine, _ = rebuilt()
    assert machine.feed(Started(1)) == [Append(TurnStarted("t", 1)), CallModel(1, "t.1")]


def test_rebuilt_without_a_completion_asks() -> None:
    machine, _ = rebuilt(STARTED)
    assert machine.phase == "waiting"
    assert not machine.is_answered
    assert machine.feed(Resumed()) == [CallModel(1, "t.1")]


def test_rebuilt_with_a_superseded_partial_goes_on_counting() -> None:
    machine, _ = rebuilt(STARTED, ItemAdded("t", say("Once"), 1, "superseded"))
    assert machine.feed(Started(2)) == [Append(TurnStarted("t", 2)), CallModel(2, "t.2")]


def test_rebuilt_with_open_calls_runs_only_these() -> None:
    machine, _ = rebuilt(STARTED, CALLED, ASKED, RETURNED)
    assert machine.open_calls == (OTHER,)
    assert machine.feed(Resumed()) == [RunTool(OTHER, "t.1.2")]
    assert machine.feed(ToolReturned(output("b")))[-1] == CallModel(2, "t.2")
    assert machine.usage == Usage(1, 1)


def test_rebuilt_with_all_calls_answered_asks() -> None:
    machine, _ = rebuilt(STARTED, CALLED, ASKED, *BOTH_RETURNED)
    assert machine.open_calls == ()
    assert machine.feed(Resumed()) == [CallModel(2, "t.2")]


def test_an_output_may_come_before_a_rebuilt_turn_goes_on() -> None:
    machine, _ = rebuilt(STARTED, CALLED, ASKED, RETURNED)
    assert len(machine.feed(ToolReturned(output("b")))) == 1
    assert machine.phase == "waiting"
    assert machine.feed(Resumed()) == [CallModel(2, "t.2")]


def test_rebuilt_and_interrupted_answers_what_is_open() -> None:
    machine, _ = rebuilt(STARTED, CALLED, ASKED, RETURNED)
    commands = machine.feed(INTERRUPT)
    assert items_of(commands) == [(interrupt_call(OTHER, "t.1.2"), "complete")]
    assert end_of(commands).usage == Usage(1, 1)


def test_rebuilt_with_calls_that_were_never_to_run_answers_them() -> None:
    cut = replace(ASKED, stop="length")
    machine, _ = rebuilt(STARTED, CALLED, cut)
    commands = machine.feed(Resumed())
    assert [item for item, _ in items_of(commands)] == [
        interrupt_call(CALL, "t.1.1"),
        interrupt_call(OTHER, "t.1.2"),
    ]
    assert end_of(commands).code == 9


@pytest.mark.parametrize("input", [Resumed(), Started(2), INTERRUPT])
def test_rebuilt_with_its_answer_needs_only_its_end(input: Input) -> None:
    answer = ItemAdded("t", AssistantMessage("t.1", (Text("4"),)), 1)
    machine, _ = rebuilt(STARTED, answer, CompletionFinished("t", 1, "end"))
    assert machine.is_answered
    assert end_of(machine.feed(input)) == ENDED


def test_rebuilt_with_an_empty_answer_needs_only_its_end() -> None:
    machine, _ = rebuilt(STARTED, CompletionFinished("t", 1, "end"))
    assert end_of(machine.feed(Resumed())).message == "The model's answer was empty."


def test_rebuilt_after_steering_asks() -> None:
    answer = ItemAdded("t", AssistantMessage("t.1", (Text("4"),)), 1)
    end = CompletionFinished("t", 1, "end")
    machine, _ = rebuilt(STARTED, answer, end, ItemAdded("t", steer().message))
    assert machine.feed(Resumed()) == [CallModel(2, "t.2")]


def accepted_into_it(id: str = "steer") -> PromptSteered:
    return PromptSteered("t", f"key-{id}", (steer(id=id).message,))


def test_rebuilt_with_a_message_that_waits_it_joins_when_nothing_runs() -> None:
    machine, _ = rebuilt(STARTED, CALLED, ASKED, accepted_into_it(), RETURNED)
    assert machine.feed(Resumed()) == [RunTool(OTHER, "t.1.2")]
    assert machine.feed(steer()) == []  # known already
    commands = machine.feed(ToolReturned(output("b")))
    assert [item for item, _ in items_of(commands)][1:] == [steer().message]
    assert commands[-1] == CallModel(2, "t.2")


def test_rebuilt_with_its_answer_and_a_message_that_waits_it_is_not_answered() -> None:
    answer = ItemAdded("t", AssistantMessage("t.1", (Text("4"),)), 1)
    end = CompletionFinished("t", 1, "end")
    machine, _ = rebuilt(STARTED, answer, end, accepted_into_it())
    assert not machine.is_answered
    assert machine.feed(Resumed()) == [
        Append(ItemAdded("t", steer().message)),
        CallModel(2, "t.2"),
    ]


def test_rebuilt_and_interrupted_a_message_that_waits_joins_and_is_not_answered() -> None:
    answer = ItemAdded("t", AssistantMessage("t.1", (Text("4"),)), 1)
    end = CompletionFinished("t", 1, "end")
    machine, _ = rebuilt(STARTED, answer, end, accepted_into_it())
    commands = machine.feed(INTERRUPT)
    assert items_of(commands) == [(steer().message, "complete")]
    assert end_of(commands).outcome == "interrupted"


def test_rebuilt_with_a_message_that_joined_it_does_not_join_again() -> None:
    joined = ItemAdded("t", steer().message)
    machine, turn = rebuilt(STARTED, accepted_into_it(), joined, accepted_into_it("more"))
    assert [each.id for each in turn.waiting] == ["more"]
    commands = machine.feed(Resumed())
    assert items_of(commands) == [(steer(id="more").message, "complete")]


def test_rebuilt_after_its_end_takes_nothing() -> None:
    machine, _ = rebuilt(STARTED, ENDED)
    assert machine.phase == "finished"
    with pytest.raises(TurnIsOver):
        machine.feed(Resumed())


# ---- answers that pause, and answers that will not do ------------------------------

OBJECTION = "The answer does not fit."
OBJECTED = UserMessage(
    "t.1.objection",
    (Text(f"{OBJECTION} Answer once more, with nothing but what was asked for."),),
)


def object_to(answer: AssistantMessage, stop: Stop = "end") -> CompletionEnded:
    return CompletionEnded(answer, stop, objection=OBJECTION)


def test_a_paused_answer_is_kept_and_gone_on_with() -> None:
    machine = started()
    answer = replace(say("So far"), id="t.1")
    assert machine.feed(CompletionEnded(say("So far"), "pause")) == [
        Append(ItemAdded("t", answer, 1)),
        Append(CompletionFinished("t", 1, "pause")),
        CallModel(2, "t.2"),
    ]
    assert end_of(machine.feed(CompletionEnded(say("and on"), "end"))) == ENDED


@pytest.mark.parametrize(
    "answer", [say(), say(" \n"), AssistantMessage("x", reasoning=(Reasoning("hm"),))]
)
def test_a_pause_without_a_word_is_an_end(answer: AssistantMessage) -> None:
    assert end_of(started().feed(CompletionEnded(answer, "pause"))).outcome == "completed"


def test_pauses_are_bounded() -> None:
    machine = started(max_completions=2)
    machine.feed(CompletionEnded(say("one"), "pause"))
    end = end_of(machine.feed(CompletionEnded(say("two"), "pause")))
    assert (end.code, end.reason) == (1, "turn_failed")
    assert end.message == (
        "The turn was ended after 2 requests to the model; send another prompt to go on."
    )


def test_a_paused_answer_with_calls_runs_them_first() -> None:
    machine = started()
    commands = machine.feed(CompletionEnded(say("Wait", CALL), "pause"))
    assert commands[-1] == RunTool(CALL, "t.1.1")
    assert machine.feed(ToolReturned(output()))[-1] == CallModel(2, "t.2")


def test_an_answer_that_will_not_do_is_asked_for_once_more() -> None:
    machine = started()
    assert machine.feed(object_to(say("no"))) == [
        Append(ItemAdded("t", replace(say("no"), id="t.1"), 1)),
        Append(ItemAdded("t", OBJECTED, 1)),
        Append(CompletionFinished("t", 1, "end")),
        CallModel(2, "t.2"),
    ]
    assert end_of(machine.feed(CompletionEnded(say("{}"), "end"))) == ENDED


def test_the_second_answer_that_will_not_do_is_the_last() -> None:
    machine = started()
    machine.feed(object_to(say("no")))
    commands = machine.feed(object_to(say("still no")))
    assert items_of(commands) == [(replace(say("still no"), id="t.2"), "complete")]
    assert end_of(commands) == TurnFinished(
        "t", "failed", 1, reason="schema_mismatch", message=OBJECTION
    )


def test_an_empty_answer_can_be_objected_to() -> None:
    commands = started().feed(object_to(say()))
    assert items_of(commands) == [(OBJECTED, "complete")]
    assert commands[-1] == CallModel(2, "t.2")


def test_nothing_is_said_against_an_answer_with_calls() -> None:
    machine = started()
    commands = machine.feed(object_to(say("", CALL), "calls"))
    assert commands[-1] == RunTool(CALL, "t.1.1")
    machine.feed(ToolReturned(output()))
    assert machine.feed(object_to(say("no")))[-1] == CallModel(3, "t.3")  # the first one heard


@pytest.mark.parametrize(("stop", "code"), [("length", 9), ("refusal", 1), ("filtered", 1)])
def test_nothing_is_said_against_an_answer_that_was_cut_short(stop: Stop, code: int) -> None:
    end = end_of(started().feed(object_to(say("{"), stop)))
    assert (end.code, end.reason != "schema_mismatch") == (code, True)


def test_nothing_is_said_against_a_pause() -> None:
    commands = started().feed(object_to(say("{"), "pause"))
    assert len(items_of(commands)) == 1
    assert commands[-1] == CallModel(2, "t.2")


def test_who_steers_says_what_is_wanted() -> None:
    machine = started()
    machine.feed(steer())
    commands = machine.feed(object_to(say("no")))
    assert [item for item, _ in items_of(commands)][-1] == steer().message
    assert len(items_of(commands)) == 2


def test_who_interrupts_wants_no_more() -> None:
    machine = started()
    machine.feed(INTERRUPT)
    commands = machine.feed(object_to(say("no")))
    assert len(items_of(commands)) == 1
    assert end_of(commands).outcome == "interrupted"


ANSWERED = ItemAdded("t", AssistantMessage("t.1", (Text("no"),)), 1)
ANSWER_ENDED = CompletionFinished("t", 1, "end")


@pytest.mark.parametrize(
    "bodies",
    [
        (ANSWERED, ItemAdded("t", OBJECTED, 1)),
        (ANSWERED, ItemAdded("t", OBJECTED, 1), ANSWER_ENDED),
    ],
)
def test_rebuilt_after_an_objection_asks_and_remembers(bodies: tuple[Body, ...]) -> None:
    machine, _ = rebuilt(STARTED, *bodies)
    assert not machine.is_answered
    assert machine.feed(Resumed()) == [CallModel(2, "t.2")]
    assert end_of(machine.feed(object_to(say("still no")))).reason == "schema_mismatch"


def test_rebuilt_after_a_pause_goes_on() -> None:
    machine, _ = rebuilt(STARTED, ANSWERED, replace(ANSWER_ENDED, stop="pause"))
    assert not machine.is_answered
    assert machine.feed(Resumed()) == [CallModel(2, "t.2")]


def test_rebuilt_after_a_pause_without_a_word_needs_only_its_end() -> None:
    machine, _ = rebuilt(STARTED, replace(ANSWER_ENDED, stop="pause"))
    assert end_of(machine.feed(Resumed())).message == "The model's answer was empty."
