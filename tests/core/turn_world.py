"""A world for the turn's machine: it carries out commands in any order it likes, and keeps count.

`World` plays the driver, the provider and the tools, with a seeded source of
chance. It raises `Violation` as soon as the machine breaks a promise, and
`check_log` holds the events that came of it to the promises about the log.
"""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from askd.core.context import build_context
from askd.core.conversation import Conversation, fold
from askd.core.events import (
    Body,
    ConversationCreated,
    Event,
    ItemAdded,
    PromptAccepted,
    PromptSteered,
    TurnFinished,
    TurnStarted,
)
from askd.core.items import AssistantMessage, Reasoning, Text, ToolCall, ToolOutput, UserMessage
from askd.core.outcome import Failure, Stop, Usage
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
    RunTool,
    Started,
    Steered,
    StopTools,
    ToolReturned,
    Turn,
)

# Most answers go on, so that most turns are long.
STOPS: tuple[Stop, ...] = (
    *("calls",) * 12, "end", "unknown", "length", "refusal", "filtered", "pause",
)  # fmt: skip
OBJECTION = "The answer does not fit."
# Empty, doubled, and one that looks like what a doubled one is renamed to.
CALL_IDS = ("", "a", "a", "a#2", "b", "c", "call_1", "call_2", " ")
ARGUMENTS = ("{}", '{"x": 1}', '{"x"', "", "[1]")
INTERRUPT = Interrupted(1, "interrupted", "Someone else interrupted it.")


class Violation(AssertionError):
    """The machine broke a promise."""


def expect(holds: bool, promise: str) -> None:
    """Raise `Violation` naming the promise if it does not hold."""
    if not holds:
        raise Violation(promise)


def accept(turn_id: str = "t", *, text: str = "hello", **options: object) -> PromptAccepted:
    """A prompt with one message; its item is `T.0`."""
    message = UserMessage(f"{turn_id}.0", (Text(text),))
    return replace(PromptAccepted(turn_id, f"key-{turn_id}", (message,)), **options)  # type: ignore[arg-type]  # options are PromptAccepted's own fields


def record(bodies: Sequence[Body], conversation_id: str = "c") -> list[Event]:
    """The events of a log that holds these bodies, one a second."""
    return [Event(conversation_id, n, float(n), body) for n, body in enumerate(bodies, start=1)]


class World:
    """One turn, from its start to its end, by chance."""

    def __init__(self, random: Random, machine: Turn, *, attempt: int = 1) -> None:
        self.random = random
        self.machine = machine
        self.bodies: list[Body] = []
        self.asking: CallModel | None = None
        self.tools: dict[str, RunTool] = {}
        self.used: set[str] = set()
        self.late: list[Input] = []
        self.steered = 0
        self.finish: Finish | None = None
        self.usage = Usage()
        self.attempt = attempt
        self.trouble = random.choice((0.0, 0.1, 0.5))
        self.pickiness = random.choice((0.0, 0.5, 1.0))

    def play(self) -> None:
        """Run to the end; some more or less impatient people watch."""
        impatience = self.random.choice((0.0, 0.03, 0.1, 0.3))
        eloquence = self.random.choice((0.0, 0.1))
        started = False
        for _ in range(2000):
            if self.finish is not None:
                return
            chance = self.random.random()
            if chance < impatience:
                self.feed(INTERRUPT)
            elif chance < impatience + eloquence and self.steered < 5:
                self.steer()
            elif self.late and self.random.random() < 0.1:
                self.feed(self.random.choice(self.late))
            elif not started:
                started = True
                self.feed(Started(self.attempt, "p/m"))
            else:
                self.feed(self.answer())
        raise Violation("a turn ends")

    def steer(self) -> None:
        """Somebody says something more: accepted first, and heard of then."""
        self.steered += 1
        said = UserMessage(f"steer-{self.steered}", (Text("rather this"),))
        self.bodies.append(PromptSteered("t", f"key-{said.id}", (said,)))
        self.feed(Steered(said))
        if self.finish is None and self.random.random() < 0.2:
            self.feed(Steered(said))  # heard of twice

    def answer(self) -> Input:
        """Something that runs comes to its end."""
        expect(self.asking is not None or bool(self.tools), "something runs until the end")
        if self.asking is not None:
            return self.answer_completion(self.asking)
        return self.answer_tool(self.random.choice(list(self.tools.values())))

    def answer_completion(self, asked: CallModel) -> Input:
        self.asking = None
        number = asked.completion
        message = self.compose(asked.item_id)
        self.late.append(CompletionCancelled(message, number))
        if self.random.random() >= self.trouble:
            usage = self.random.choice((None, Usage(3, 2, 1)))
            self.usage += usage or Usage()
            objection = OBJECTION if self.random.random() < self.pickiness else None
            return CompletionEnded(message, self.random.choice(STOPS), usage, number, objection)
        match self.random.randrange(4):
            case 0:
                return CompletionFailed(Failure(5, "rate_limited", "Slow down."), message, number)
            case 1:
                return CompletionFailed(Failure(1, "unavailable", "Gone."), None, number)
            case 2:
                return CompletionCancelled(message, number)
            case _:
                return CompletionCancelled(None, number)

    def answer_tool(self, run: RunTool) -> Input:
        del self.tools[run.call.call_id]
        stopped = self.random.random() < 0.2
        output = ToolOutput(
            "whatever",
            run.call.call_id,
            run.call.name,
            (Text("result"),),
            synthetic="interrupted" if stopped else None,
        )
        self.late.append(ToolReturned(output))
        return ToolReturned(output)

    def compose(self, item_id: str) -> AssistantMessage:
        random = self.random
        calls = tuple(
            ToolCall(random.choice(CALL_IDS), random.choice(("f", "g")), random.choice(ARGUMENTS))
            for _ in range(random.choice((0, 1, 1, 1, 2, 2, 3)))
        )
        return AssistantMessage(
            item_id,
            parts=random.choice(((), (Text(""),), (Text("so"),), (Text("so"),))),
            reasoning=random.choice(((), (), (Reasoning("hm"),))),
            calls=calls,
        )

    def feed(self, input: Input) -> None:
        for command in self.machine.feed(input):
            self.carry_out(command)

    def carry_out(self, command: Command) -> None:
        """Do what the machine says, and hold it to what it promises of each command."""
        expect(self.finish is None, "nothing comes after Finish")
        match command:
            case Append(body=body):
                self.bodies.append(body)
            case CallModel(completion=number, item_id=item_id):
                expect(self.asking is None, "at most one completion runs")
                expect(not self.tools, "no completion runs beside a tool")
                expect(
                    not find_unanswered(self.bodies), "calls are answered before the next request"
                )
                expect(item_id == f"t.{number}", "item ids say which completion")
                self.asking = command
            case CancelModel():
                expect(self.asking is not None, "only what runs is cancelled")
            case RunTool(call=call):
                expect(call.call_id in find_unanswered(self.bodies), "only appended calls run")
                expect(call.call_id not in self.used, "no call runs twice")
                self.used.add(call.call_id)
                self.tools[call.call_id] = command
            case StopTools():
                expect(bool(self.tools), "only what runs is stopped")
            case Finish(outcome=outcome, code=code):
                expect(self.asking is None and not self.tools, "nothing runs after the end")
                last = self.bodies[-1]
                expect(isinstance(last, TurnFinished), "turn_finished stands before Finish")
                assert isinstance(last, TurnFinished)
                expect(
                    (last.outcome, last.code) == (outcome, code), "Finish says what was appended"
                )
                self.finish = command


def find_unanswered(bodies: Sequence[Body]) -> list[str]:
    """Ids of calls without an output; raise `Violation` over an output without a call."""
    waiting: list[str] = []
    for body in bodies:
        if not isinstance(body, ItemAdded):
            continue
        if isinstance(body.item, AssistantMessage):
            waiting.extend(call.call_id for call in body.item.calls)
        elif isinstance(body.item, ToolOutput):
            expect(body.item.call_id in waiting, "an output answers a call, once")
            waiting.remove(body.item.call_id)
    return waiting


def check_log(bodies: Sequence[Body]) -> Conversation:
    """Hold what a whole turn appended to the promises about logs; answer its fold."""
    accepted = [each.items[0] for each in bodies if isinstance(each, PromptSteered)]
    expect(not find_unanswered(bodies), "every call has an output")
    ends = [body for body in bodies if isinstance(body, TurnFinished)]
    expect(len(ends) == 1 and bodies[-1] is ends[0], "one turn_finished, and it is the last")
    items = [body.item for body in bodies if isinstance(body, ItemAdded)]
    expect(len({item.id for item in items}) == len(items), "ids of items are unique")
    calls = [c.call_id for i in items if isinstance(i, AssistantMessage) for c in i.calls]
    expect(len(set(calls)) == len(calls) and all(calls), "ids of calls are unique and not empty")
    joined = [item for item in items if isinstance(item, UserMessage)]
    joined = [item for item in joined if not item.id.endswith(".objection")]
    expect(joined == accepted, "each message that steered joins, once, in its order")
    objections = [item for item in items if item.id.endswith(".objection")]
    expect(len(objections) <= 1, "an answer is objected to once")
    check_objection(bodies, ends[0], objected=bool(objections))
    log = record([ConversationCreated("c"), accept(), *bodies])
    conversation = fold("c", log)
    context = build_context(conversation, "t", system=None)
    expect(not context.faults, "the context needs no healing")
    expect(conversation.unfinished == [], "the log says that the turn is over")
    expect(conversation.turns["t"].waiting == [], "nothing waits to join a turn that is over")
    return conversation


def check_objection(bodies: Sequence[Body], end: TurnFinished, *, objected: bool) -> None:
    """An objection follows an answer without calls; only one more answer makes a mismatch."""
    last: AssistantMessage | None = None
    for body in bodies:
        item = body.item if isinstance(body, ItemAdded) else None
        if isinstance(item, AssistantMessage):
            last = item if isinstance(body, ItemAdded) and body.status == "complete" else None
        elif isinstance(item, UserMessage) and item.id.endswith(".objection"):
            expect(last is None or not last.calls, "no objection to an answer with calls")
        elif item is not None:
            last = None
    if end.reason == "schema_mismatch":
        expect(objected, "a turn fails over an objection only after the first")
        expect((end.outcome, end.code, end.message) == ("failed", 1, OBJECTION), "it says why")


def starts(bodies: Sequence[Body]) -> int:
    """How often the turn started."""
    return sum(isinstance(body, TurnStarted) for body in bodies)
