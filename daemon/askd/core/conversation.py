"""The conversation: what a log of events says, folded into one value to ask.

A fold and nothing else: it never raises on an odd log, because a log that
cannot be read is a conversation that is lost. What it does not understand it
passes over: an item of a turn that nobody accepted is kept among the strays, a
second end of a turn changes nothing, an event that was applied before is not
applied again. Each event costs the same, however long the log is.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from askd.core.events import (
    Body,
    CompletionFinished,
    ConversationCreated,
    Event,
    InstructionsChanged,
    ItemAdded,
    ItemPinned,
    ItemUnpinned,
    PromptAccepted,
    PromptSteered,
    PromptWithdrawn,
    QuestionAnswered,
    QuestionAsked,
    Renamed,
    SettingsChanged,
    Titled,
    TurnFinished,
    TurnStarted,
    UnknownBody,
    Unreadable,
    ViewChanged,
)
from askd.core.instructions import InstructionFile
from askd.core.items import AssistantMessage, Notice, ToolOutput, UserMessage
from askd.core.outcome import Stop, Usage
from askd.core.standing import Settings, change_settings
from askd.core.uncertainty import find_doubtful, may_accept
from askd.core.view import View, Views


@dataclass(slots=True, kw_only=True)
class TurnRecord:
    """What the log says of one turn; it grows as events are applied.

    Attributes:
        position: 0 for the first accepted turn of the conversation, and so on.
        attempt: the last one that started; 0: still in the queue.
        items: all that was added, superseded ones included, in the order of the log.
        completions: the highest number of a completion that left anything in the log.
        stop: why completion `stopped` ended; None: none of the turn's ended by itself.
        usage: of all finished completions; None: no provider said.
        last: the turn's latest event; a message that waits to join it is none.
        started_at: when its last attempt started, unix seconds.
        steered: the prompts that were accepted into it while it ran.
        questions, answers: what it asked a person and was told, by the question's id.
        in_doubt: a record that cannot be read may have been one of its own.
    """

    prompt: PromptAccepted
    accepted_seq: int
    position: int
    attempt: int = 0
    model: str | None = None
    items: list[ItemAdded] = field(default_factory=list)
    completions: int = 0
    stopped: int = 0
    stop: Stop | None = None
    usage: Usage | None = None
    finished: TurnFinished | None = None
    withdrawn: bool = False
    last: Body | None = None
    started_at: float = 0.0
    steered: list[PromptSteered] = field(default_factory=list)
    questions: dict[str, QuestionAsked] = field(default_factory=dict)
    answers: dict[str, QuestionAnswered] = field(default_factory=dict)
    in_doubt: bool = False

    @property
    def waiting(self) -> list[UserMessage]:
        """The messages that were accepted into the turn and have not joined it yet, in order."""
        joined = {added.item.id for added in self.items} if self.steered else set()
        return [item for each in self.steered for item in each.items if item.id not in joined]


class Conversation:
    """One conversation as its events tell it, so far.

    Attributes:
        turns: by id, in the order of acceptance.
        started: ids of turns in the order in which they first started: a context's order.
        open_questions: by id, asked and neither answered nor outlived by their turn.
        pinned: ids of items that never leave the view.
        is_pinned: someone said that the conversation is one to keep.
        strays: items of no turn (notices) or of one that the log does not know.
        views: the changes of what a model may see.
        instructions: of the project that its last turn was about, as they were read then.
        message_count: what `count_messages` finds in all of it.
        created_at, updated_at: unix seconds of the first and the last event.
    """

    def __init__(self, id: str) -> None:
        self.id = id
        self.name: str | None = None
        self.title: str | None = None
        self.forked_from: str | None = None
        self.settings = Settings()
        self.instructions: tuple[InstructionFile, ...] = ()
        self.turns: dict[str, TurnRecord] = {}
        self.started: list[str] = []
        self.open_questions: dict[str, QuestionAsked] = {}
        self.pinned: set[str] = set()
        self.is_pinned = False
        self.strays: list[ItemAdded] = []
        self.message_count = 0
        self.last_seq = 0
        self.created_at = 0.0
        self.updated_at = 0.0
        # Dicts for their order and for removal at the same cost anywhere.
        self._queued: dict[str, None] = {}
        self._running: dict[str, None] = {}
        self._withdrawn: dict[str, None] = {}
        self._lost_prompts = 0
        self.views = Views()

    @property
    def queue(self) -> list[str]:
        """The turns that were accepted and neither started nor ended, first come first."""
        return list(self._queued)

    @property
    def running(self) -> str | None:
        """The turn that has started and not ended."""
        return next(reversed(self._running), None)

    @property
    def unfinished(self) -> list[str]:
        """The turns without an end: those that have started, then the queue.

        A withdrawn one has its end at once, unless that cannot be read.
        """
        return [*self._running, *self._queued, *self._withdrawn]

    @property
    def in_doubt(self) -> bool:
        """Whether a turn without an end must have had one, or may have, that cannot be read."""
        return bool(self._withdrawn) or any(self.turns[id].in_doubt for id in self.unfinished)

    @property
    def needs_recovery(self) -> bool:
        """Whether an earlier daemon has left something to be ended, or run again."""
        return self.running is not None or self.in_doubt

    @property
    def view(self) -> View:
        """What a model may see."""
        return self.views.current

    def turn_record(self, turn_id: str) -> TurnRecord | None:
        """What the log says of a turn, if it knows it."""
        return self.turns.get(turn_id)

    def finished(self, turn_id: str) -> TurnFinished | None:
        """The end of a turn, if it has one."""
        record = self.turns.get(turn_id)
        return record.finished if record else None

    def apply(self, event: Event) -> None:
        """Add the next event; one whose `seq` is not beyond the last is passed over."""
        if event.seq <= self.last_seq:
            return
        if not self.created_at:  # of a record that cannot be read it may be unknown
            self.created_at = event.at
        self.last_seq = event.seq
        # What was copied from elsewhere is older than the conversation.
        self.updated_at = max(self.updated_at, event.at)
        body = event.body
        self.message_count += count_messages(body)
        match body:
            case ItemAdded():
                self._add_item(body)
            case PromptAccepted():
                self._accept(body, event.seq)
            case PromptSteered(turn_id=turn_id):
                if (record := self.turns.get(turn_id)) is not None:
                    record.steered.append(body)
            case TurnStarted() | CompletionFinished() | PromptWithdrawn() | TurnFinished():
                self._move_turn(body)
            case QuestionAsked() | QuestionAnswered():
                self._note_question(body)
            case ConversationCreated(name=name, forked_from=forked_from):
                self.name, self.forked_from = name, forked_from
            case Renamed(name=name):
                self.name = name
            case Titled(title=title):
                self.title = title
            case SettingsChanged():
                self.settings = change_settings(self.settings, body)
            case InstructionsChanged(files=files):
                self.instructions = files
            case ItemPinned() | ItemUnpinned():
                self._pin(body)
            case ViewChanged():
                self._change_view(body)
            case Unreadable():
                self._doubt(body)
            case UnknownBody():
                pass

    def _doubt(self, body: Unreadable) -> None:
        self._lost_prompts += may_accept(body)
        waiting = [*self._queued, *self._withdrawn]
        for turn_id in find_doubtful(body, running=self._running, waiting=waiting):
            self.turns[turn_id].in_doubt = True

    def _accept(self, body: PromptAccepted, seq: int) -> None:
        if body.turn_id in self.turns:
            return
        self.turns[body.turn_id] = TurnRecord(
            prompt=body, accepted_seq=seq, position=len(self.turns), last=body
        )
        self._queued[body.turn_id] = None

    def _add_item(self, body: ItemAdded) -> None:
        record = self.turns.get(body.turn_id) if body.turn_id is not None else None
        if record is None:
            self.strays.append(body)
            return
        self._assume_start(record)
        record.items.append(body)
        record.completions = max(record.completions, body.completion or 0)
        record.last = body

    def _assume_start(self, record: TurnRecord) -> None:
        """What is said in a turn says that it had started, also if that cannot be read."""
        if record.in_doubt and not record.attempt:
            self._start(record, 1)

    def _start(self, record: TurnRecord, attempt: int) -> None:
        turn_id = record.prompt.turn_id
        if not record.attempt:
            self.started.append(turn_id)
        record.attempt = max(attempt, 1)
        self._queued.pop(turn_id, None)
        self._running[turn_id] = None

    def _move_turn(
        self, body: TurnStarted | CompletionFinished | PromptWithdrawn | TurnFinished
    ) -> None:
        if isinstance(body, TurnStarted) and body.turn_id not in self.turns and self._lost_prompts:
            # Its prompt cannot be read; what was answered can be, and is still what was said.
            self._lost_prompts -= 1
            self._accept(PromptAccepted(body.turn_id, "", ()), self.last_seq)
        record = self.turns.get(body.turn_id)
        if record is None or record.finished is not None:
            return
        record.last = body
        match body:
            case TurnStarted(attempt=attempt, model=model):
                # Until now it waited: what could not be read was of a turn before it.
                record.in_doubt = record.in_doubt and record.attempt > 0
                self._start(record, attempt)
                record.started_at = self.updated_at
                record.model = model or record.model
            case CompletionFinished(completion=completion, stop=stop, usage=usage):
                self._assume_start(record)
                record.completions = max(record.completions, completion)
                record.stopped, record.stop = completion, stop
                record.usage = add_usage(record.usage, usage)
            case PromptWithdrawn(turn_id=turn_id):
                record.withdrawn = True
                self._queued.pop(turn_id, None)
                self._withdrawn[turn_id] = None
            case TurnFinished(turn_id=turn_id):
                record.finished = body
                self._queued.pop(turn_id, None)
                self._running.pop(turn_id, None)
                self._withdrawn.pop(turn_id, None)
                for question_id, asked in list(self.open_questions.items()):
                    if asked.turn_id == turn_id:
                        del self.open_questions[question_id]

    def _note_question(self, body: QuestionAsked | QuestionAnswered) -> None:
        record = self.turns.get(body.turn_id)
        if record is None or record.finished is not None:
            return
        record.last = body
        if isinstance(body, QuestionAsked):
            self.open_questions[body.question_id] = body
            record.questions[body.question_id] = body
        else:
            self.open_questions.pop(body.question_id, None)
            record.answers.setdefault(body.question_id, body)

    def _pin(self, body: ItemPinned | ItemUnpinned) -> None:
        pins = isinstance(body, ItemPinned)
        if body.item_id is None:
            self.is_pinned = pins
        elif pins:
            self.pinned.add(body.item_id)
        else:
            self.pinned.discard(body.item_id)

    def _change_view(self, body: ViewChanged) -> None:
        record = self.turns.get(body.through_turn) if body.through_turn else None
        if record is not None:
            self.views.apply(body, record.position)
        elif body.kind == "clear":
            # One that names no turn means all that has been said until now.
            self.views.apply(body, self._last_started())
        else:
            self.views.apply(body, None)

    def _last_started(self) -> int:
        return self.turns[self.started[-1]].position if self.started else -1


def add_usage(one: Usage | None, other: Usage | None) -> Usage | None:
    """The sum of what was said; None: nothing was."""
    if one is None or other is None:
        return one or other
    return one + other


def count_messages(body: Body) -> int:
    """How many messages of a history this event is.

    A prompt's messages, assistant messages, tool outputs (orphans too: the log
    holds them) and notices count; what a later attempt superseded does not. Taking
    a prompt back takes its one message back, so that the sum needs no memory.
    """
    match body:
        case PromptAccepted(items=items):
            return len(items)
        case PromptWithdrawn():
            return -1
        case ItemAdded(item=item, status=status) if status != "superseded":
            return int(isinstance(item, UserMessage | AssistantMessage | ToolOutput | Notice))
        case _:
            return 0


def fold(id: str, events: Iterable[Event]) -> Conversation:
    """The conversation that these events tell."""
    conversation = Conversation(id)
    for event in events:
        conversation.apply(event)
    return conversation
