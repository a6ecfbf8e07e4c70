"""The turn: from one accepted prompt to its one end, as a machine without I/O.

`Turn.feed(input)` answers a list of commands; the driver carries them out in
order and feeds back what became of them. Nothing else moves the machine: it has
no clock, starts nothing, and knows no provider and no tool.

A turn alternates between two things that are never done at once: asking the
model, and working off the calls that its answer made.

    waiting --Started--> asking --answer with calls--> working --all answered--> asking ...
                           |                              |
                           +--answer without calls--> finished
                           +--Interrupted--> stopping <--+    stopping --all back--> finished

Whatever the order in which inputs come:

- Each call of an appended message gets exactly one output, before the next
  `CallModel` and before the end. A tool that ran answers for itself, also when
  it was stopped; the machine writes an output (`synthetic="interrupted"`) only
  for a call that it never started, so that none can replace one that arrives.
- Exactly one `turn_finished` is appended, directly before the one `Finish`,
  which is the last command. To feed a machine after that is a programming error.
- At most one completion runs. Each `CallModel` is answered by exactly one of
  `CompletionEnded`, `CompletionFailed` and `CompletionCancelled`, whichever
  comes first; one that names another completion, or comes when none runs, is
  late and changes nothing. So is the return of a tool that is not waited for.

What is decided here and could have been decided otherwise:

- An answer that was cancelled, failed, was cut by a length limit or was refused
  keeps its calls only if they are whole (a name and a JSON object), and none of
  them runs: half a call cannot be sent back to any provider, and a whole one is
  part of what the model said. A call that is kept is answered at once.
- An answer with nothing in it is not appended: providers refuse a request that
  holds an empty message, and this log would be sent again for ever. The turn
  ends as completed, with a sentence that says so.
- An answer that was whole when the cancellation came is kept as complete, but
  the turn still ends as interrupted: that is what the person asked for.
- Call ids are made unique in the turn (`id#2`, `call_3`), for models repeat them.
- A message that steers waits until nothing runs; if the turn ends before, it is
  appended before the end: it was said, and the next turn should see it. It joins once,
  whether it was heard of from the log, from a person, or from both.
- After an answer that pauses the model is asked at once to go on, unless it said nothing:
  the same request would bring the same answer.
- An answer that is objected to is kept, the objection follows as a user's message, and
  the model is asked once more; the second objection ends the turn as failed. None is
  heard against an answer with calls (it is not the last), one that was cut short (its
  end says why), or one that somebody steered or interrupted (they said what they want).

Successive `Append`s of one answer belong in one transaction. A log that ends
between them all the same is understood by `rebuild`: an objection comes before the
`completion_finished` of its answer, which without it would count as good.
"""

from dataclasses import replace
from typing import Literal, assert_never

from askd.core import answers, outcome
from askd.core.conversation import TurnRecord, add_usage
from askd.core.events import CompletionFinished, ItemAdded, TurnFinished, TurnStarted
from askd.core.items import AssistantMessage, ToolCall, ToolOutput, UserMessage
from askd.core.open_calls import OpenCalls
from askd.core.outcome import End, Stop, Usage, judge_stop
from askd.core.pairs import is_whole
from askd.core.steps import (
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
)

__all__ = [
    "MAX_COMPLETIONS",
    "Append",
    "CallModel",
    "CancelModel",
    "Command",
    "CompletionCancelled",
    "CompletionEnded",
    "CompletionFailed",
    "Finish",
    "Input",
    "Interrupted",
    "Phase",
    "Resumed",
    "RunTool",
    "Started",
    "Steered",
    "StopTools",
    "ToolReturned",
    "Turn",
    "TurnIsOver",
]

Phase = Literal["waiting", "asking", "working", "stopping", "finished"]

MAX_COMPLETIONS = 50
"""A model that still calls tools after this many requests goes round in circles."""


class TurnIsOver(RuntimeError):
    """A turn was fed after its end, or started while it ran: a programming error."""


class Turn:
    """One turn. `T.n` is the id of completion n's message, `T.n.k` of its k-th call's output.

    Attributes:
        usage: of all completions so far; None: no provider said.
    """

    def __init__(self, turn_id: str, *, max_completions: int = MAX_COMPLETIONS) -> None:
        self.turn_id = turn_id
        self.max_completions = max_completions
        self.usage: Usage | None = None
        self._live = False  # it was started here: whatever is open runs
        self._over = False
        self._asking = False
        self._cancelled = False  # the running completion has been told to stop
        self._completion = 0
        self._calls = OpenCalls(turn_id)
        self._steered: list[UserMessage] = []
        self._heard: set[str] = set()  # the ids of all that steered, those that joined too
        self._objected = False  # the model has been asked once more
        self._answer: End | None = None  # how the turn ends if nobody says anything more
        self._end: End | None = None  # how it ends, whatever is said

    @classmethod
    def rebuild(cls, record: TurnRecord, *, max_completions: int = MAX_COMPLETIONS) -> "Turn":
        """The machine as its events left it, `waiting`, for nothing runs.

        `Started` (another attempt) or `Resumed` (the same one) goes on from
        there: open calls run, else the model is asked. `Interrupted` ends it.
        """
        turn = cls(record.prompt.turn_id, max_completions=max_completions)
        turn.usage = record.usage
        turn._over = record.finished is not None
        turn._completion = record.completions
        said = wants = steered = False
        for added in record.items:
            item, last = added.item, added.completion == record.stopped
            if isinstance(item, AssistantMessage):
                turn._calls.note_names(item)
                if added.status == "superseded":
                    continue
                runs = added.status == "complete" and not (
                    last and record.stop in answers.CUT_SHORT
                )
                turn._calls.add(item, added.completion or 0, runs=runs)
                wants = last and runs and (bool(item.calls) or answers.is_paused(item, record.stop))
                said, steered = last, False
            elif isinstance(item, ToolOutput):
                turn._calls.answer(item)
            elif isinstance(item, UserMessage):
                steered = True
                turn._objected = turn._objected or answers.is_objection(item)
                turn._heard.add(item.id)
        if record.stop and record.stopped == record.completions and not (wants or steered):
            turn._answer = judge_stop(record.stop, is_empty=not said)
        for message in record.waiting:
            turn._note_steering(message)
        return turn

    @property
    def phase(self) -> Phase:
        """Where the turn is; `waiting`: not started, or rebuilt and not yet going on."""
        if self._over:
            return "finished"
        if not self._live:
            return "waiting"
        if self._end is not None:
            return "stopping"
        return "asking" if self._asking else "working"

    @property
    def is_answered(self) -> bool:
        """Whether the last answer is whole and nobody wants more: only the end is missing."""
        return self._answer is not None and not self._steered

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """The calls that have no output yet."""
        return tuple(each.call for each in self._calls)

    def feed(self, input: Input) -> list[Command]:
        """What to do now that this has happened; raise `TurnIsOver` after `Finish`."""
        if self._over:
            raise TurnIsOver(f"Turn {self.turn_id} is over; {type(input).__name__} came after it")
        match input:
            case Started(attempt=attempt, model=model):
                self._go_live()
                return [Append(TurnStarted(self.turn_id, attempt, model)), *self._go_on()]
            case Resumed():
                self._go_live()
                return self._go_on()
            case CompletionEnded() | CompletionFailed() | CompletionCancelled():
                return self._hear(input)
            case ToolReturned(output=output):
                return self._take(output)
            case Interrupted(code=code, reason=reason, message=message, outcome=outcome):
                return self._interrupt(End(outcome, code, reason, message))
            case Steered(message=message):
                return self._cancel() if self._note_steering(message) else []
        assert_never(input)

    def _go_live(self) -> None:
        if self._live:
            raise TurnIsOver(f"Turn {self.turn_id} runs already")
        self._live = True

    def _hear(
        self, input: CompletionEnded | CompletionFailed | CompletionCancelled
    ) -> list[Command]:
        """The running completion is over, one way or another."""
        if not self._asking or input.completion not in (None, self._completion):
            return []
        self._asking = False
        match input:
            case CompletionEnded(message=message, stop=stop, usage=usage):
                self.usage = add_usage(self.usage, usage)
                commands = self._add_answer(message, stop)
                commands += self._judge(input, said_nothing=not commands)
                body = CompletionFinished(self.turn_id, self._completion, stop, usage)
                commands.append(Append(replace(body, measured=input.measured)))
            case CompletionFailed(failure=failure, partial=partial):
                commands = self._add_answer(partial, None)
                self._answer = End("failed", failure.code, failure.reason, failure.message)
            case CompletionCancelled(partial=partial):
                commands = self._add_answer(partial, None)
                # Who asked for it has set `_end` or steers; else it was none of this turn's doing.
                self._answer = End(
                    "interrupted", outcome.FAILED, "interrupted", "The request was cancelled."
                )
        return commands + self._go_on()

    def _judge(self, ended: CompletionEnded, *, said_nothing: bool) -> list[Command]:
        """Decide how the turn ends with this answer, or what to tell the model instead."""
        runs = any(each.runs for each in self._calls)
        if runs or answers.is_paused(ended.message, ended.stop):
            return []
        heard_otherwise = self._end is not None or bool(self._steered)
        can = answers.can_object(ended.message, ended.stop) and not heard_otherwise
        if ended.objection is None or not can:
            self._answer = judge_stop(ended.stop, is_empty=said_nothing)
        elif self._objected:
            self._answer = answers.give_up(ended.objection)
        else:
            self._objected = True
            said = answers.make_objection(f"{self.turn_id}.{self._completion}", ended.objection)
            return [Append(ItemAdded(self.turn_id, said, self._completion))]
        return []

    def _take(self, output: ToolOutput) -> list[Command]:
        answered = self._calls.answer(output)
        if answered is None:
            return []
        commands: list[Command] = [Append(answered)]
        if self._live and not self._calls:
            commands += self._go_on()
        return commands

    def _interrupt(self, end: End) -> list[Command]:
        if self._end is not None:
            return []
        # What a rebuilt turn has been answered cannot be interrupted any more.
        is_over = self._answer is not None and not (self._live or self._steered)
        self._end = self._answer if is_over else end
        if not self._live:
            return self._go_on()
        return self._cancel() if self._asking else [StopTools()]

    def _note_steering(self, message: UserMessage) -> bool:
        """Let it join when nothing runs; whether it is news."""
        if message.id in self._heard:
            return False
        self._heard.add(message.id)
        self._steered.append(message)
        return True

    def _cancel(self) -> list[Command]:
        if not self._asking or self._cancelled:
            return []
        self._cancelled = True
        return [CancelModel()]

    def _go_on(self) -> list[Command]:
        """Nothing runs: close what never will, then take the next step."""
        closed = self._calls.interrupt(those_that_run=self._end is not None)
        commands: list[Command] = [Append(each) for each in closed]
        if self._end is not None:
            return commands + self._finish(self._end)
        if self._calls:
            return commands + [RunTool(each.call, each.item_id) for each in self._calls]
        if not self._steered and self._answer is not None:
            return commands + self._finish(self._answer)
        return commands + self._join_steered() + self._ask()

    def _ask(self) -> list[Command]:
        if self._completion >= self.max_completions:
            return self._finish(answers.stop_circling(self._completion))
        self._completion += 1
        self._asking, self._cancelled, self._answer = True, False, None
        return [CallModel(self._completion, f"{self.turn_id}.{self._completion}")]

    def _finish(self, end: End) -> list[Command]:
        self._over = True
        body = TurnFinished(
            self.turn_id, end.outcome, end.code, self.usage, end.reason, end.message
        )
        return [*self._join_steered(), Append(body), Finish(end.outcome, end.code)]

    def _join_steered(self) -> list[Command]:
        joined: list[Command] = [Append(ItemAdded(self.turn_id, each)) for each in self._steered]
        self._steered.clear()
        return joined

    def _add_answer(self, message: AssistantMessage | None, stop: Stop | None) -> list[Command]:
        """Append what the model said and open its calls; `stop` None: it had not come to an end."""
        if message is None:
            return []
        is_whole_answer = stop is not None and stop not in answers.CUT_SHORT
        calls = tuple(call for call in message.calls if is_whole_answer or is_whole(call))
        calls = self._calls.rename(calls)
        item = replace(message, id=f"{self.turn_id}.{self._completion}", calls=calls)
        if answers.is_empty(item):
            return []
        runs = is_whole_answer and not self._cancelled
        self._calls.add(item, self._completion, runs=runs)
        status: Literal["complete", "interrupted"] = "interrupted" if stop is None else "complete"
        return [Append(ItemAdded(self.turn_id, item, self._completion, status))]
