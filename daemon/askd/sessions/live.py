"""A live session: one conversation's folded state, its watchers, and its mailbox.

Its state is the fold of committed events, handed in by `observe` in the order of
their commits. It runs nothing itself: the driver does, and is woken from here.
Everything but `withdraw`, `interrupt` and `wait_finished` is done without a
checkpoint, so that a snapshot and the subscription after it belong together.
"""

import logging
from collections import deque
from collections.abc import Sequence
from typing import Literal

import trio

from askd.core.conversation import Conversation
from askd.core.events import Body, Event, ItemAdded, PromptWithdrawn, TurnFinished, TurnStarted
from askd.core.outcome import FAILED, STORAGE, Outcome
from askd.core.pairs import Fault
from askd.core.turn import Interrupted
from askd.errors import NotFound
from askd.providers.base import Caller
from askd.sessions.ahead import Ahead
from askd.sessions.compactions import Compactions
from askd.sessions.endings import UNSAVED, Waiting, end_turn
from askd.sessions.hub import Client, Delta, Hub, Subscriber, TextKind, TurnUnsaved
from askd.sessions.mailbox import Mailbox
from askd.sessions.memory_jobs import MemoryJobs
from askd.sessions.offload import offload_bodies
from askd.sessions.streaming import RunningTexts, Snapshot
from askd.sessions.turn_status import RunningTurn, TurnStatus
from askd.store.log import Log, Write
from askd.store.projection import ConversationRow

log = logging.getLogger(__name__)

RECENT_EVENTS = 1000
"""Events kept in memory for those who come back: older ones are read from the log, in pages."""
CATCH_UP_S = 5.0
"""How long an accepted prompt waits for its session to have read what it missed."""

SessionState = Literal["needs_you", "working", "idle"]


class LiveSession:
    """One conversation in memory.

    Attributes:
        conversation: the fold of every event observed so far.
        callers: what the caller of an unfinished turn lent it, by turn id; never stored.
        closing: ends that storage has not taken yet, by turn id; such a turn never runs again.
        resumable: turns begun by an earlier daemon that are to be run once more.
        needs_recovery: it was loaded with turns that an earlier daemon had begun.
        starting: held while a turn begins, moves on or ends, and while a message joins it.
        admission: held while a prompt is checked against the queue and appended to it.
        viewing: held while the view changes; see `views`.
        compactions: what is known of those that were made, are made, or are due.
        memory_jobs: background work, if it is nowhere else.
        ahead: what the next turn will want, found before it begins.
        touched_at: when it was last asked for or committed in, in trio's time.
    """

    def __init__(self, conversation_id: str, *, log: Log, hub: Hub, ephemeral: bool) -> None:
        self.id = conversation_id
        self.log = log
        self.hub = hub
        self.ephemeral = ephemeral
        self.conversation = Conversation(conversation_id)
        self.running: RunningTurn | None = None
        self.callers: dict[str, Caller] = {}
        self.closing: dict[str, TurnFinished] = {}
        self.resumable: set[str] = set()
        self.needs_recovery = False
        self.texts = RunningTexts()
        self.starting = trio.Lock()
        self.admission = trio.Lock()
        self.viewing = trio.Lock()
        self.compactions = Compactions()
        self.memory_jobs = MemoryJobs()
        self.ahead = Ahead()
        self.loaded_at = self.touched_at = trio.current_time()
        self.known_faults: set[Fault] = set()
        self.deleted = False
        self._recent: deque[Event] = deque(maxlen=RECENT_EVENTS)
        self._unread: list[Event] | None = None
        self.mailbox = Mailbox()
        self._waiting = Waiting()

    # ---- what has been committed -----------------------------------------------

    def observe(self, events: Sequence[Event]) -> None:
        """Take committed events, in the order of their seq; those already known are passed over."""
        self.touch()  # a commit may take long, and whoever waited for it has just begun
        applied: list[Event] = []
        try:
            for event in events:
                if self._unread is not None:
                    self._unread.append(event)
                if event.seq == self.conversation.last_seq + 1:
                    self._apply(event)
                    applied.append(event)
                elif event.seq > self.conversation.last_seq and self._unread is None:
                    # A commit that was reported as failed was none: what is missing is read first.
                    log.error("Events are missing: id=%s, before_seq=%d", self.id, event.seq)
                    self._unread = [event]
        finally:
            self.hub.publish_all(applied)
        self.mailbox.wake()

    def restore(self, events: Sequence[Event]) -> None:
        """Take what was stored before the session was loaded; nobody is told."""
        for event in events:
            self._apply(event)
        self.needs_recovery = self.conversation.needs_recovery

    @property
    def is_stale(self) -> bool:
        """Whether the log must be read again: it may hold more than the session has seen."""
        return self._unread is not None

    def make_stale(self) -> None:
        """Something went wrong with an event or a commit: `rebuild` is due."""
        if self._unread is None:
            self._unread = []
        self.mailbox.wake()

    def rebuild(self, stored: Sequence[Event]) -> None:
        """Begin again from the whole log, and what came while it was read; publish what is new."""
        published = self.conversation.last_seq
        unread, self._unread = self._unread or [], None
        self.conversation = Conversation(self.id)
        self._recent.clear()
        for event in (*stored, *unread):
            if event.seq <= self.conversation.last_seq:
                continue
            self._apply(event)
            if event.seq > published:
                self.hub.publish(event)
        self.needs_recovery |= self.conversation.in_doubt
        self._waiting.release_all()
        self.mailbox.wake()

    async def wait_known(self, turn_id: str) -> None:
        """Wait until an accepted turn is folded; that it is not at once is most unusual."""
        with trio.move_on_after(CATCH_UP_S):
            while turn_id not in self.conversation.turns and self.is_stale:
                with self._waiting.place(turn_id) as known:
                    await known.wait()

    def _apply(self, event: Event) -> None:
        self.conversation.apply(event)
        self.compactions.observe(event)
        self._recent.append(event)
        match event.body:
            case ItemAdded(turn_id=str(), item=item):
                self.texts.drop_item(item.id)
            case TurnStarted(turn_id=turn_id):
                self.texts.drop_turn(turn_id)
            case TurnFinished(turn_id=turn_id):
                self.texts.drop_turn(turn_id)
                self.callers.pop(turn_id, None)
                self.closing.pop(turn_id, None)
                self._waiting.release(turn_id)
            case _:
                pass

    # ---- what is being said ----------------------------------------------------

    def say(self, turn_id: str, item_id: str, *, kind: TextKind, text: str) -> None:
        """Publish a fragment of an item that is being written."""
        offset = self.texts.add(turn_id, item_id, kind=kind, text=text)
        self.hub.publish(
            Delta(
                conversation_id=self.id,
                turn_id=turn_id,
                item_id=item_id,
                kind=kind,
                offset=offset,
                text=text,
            )
        )

    def report_unsaved(self, end: TurnFinished, *, outcome: Outcome) -> None:
        """Say that a turn is over, how, and that it is not stored; `end` will be, once it can."""
        self.closing[end.turn_id] = end
        self.callers.pop(end.turn_id, None)
        self.texts.drop_turn(end.turn_id)
        self.hub.publish(
            TurnUnsaved(
                conversation_id=self.id,
                turn_id=end.turn_id,
                outcome=outcome,
                code=STORAGE,
                # Whoever shows it says first that the turn could not be saved.
                reason=(end.message or "").removeprefix(UNSAVED),
            )
        )
        self._waiting.release(end.turn_id)

    # ---- who watches -----------------------------------------------------------

    def snapshot(self, after_seq: int) -> Snapshot | None:
        """Everything after `after_seq`; None: older events must be read from the log first."""
        self.touch()
        if self._recent and after_seq + 1 < self._recent[0].seq:
            return None
        events = [event for event in self._recent if event.seq > after_seq]
        return Snapshot(events, self.texts.snapshot())

    def subscribe(
        self, subscriber: Subscriber, *, interactive: bool = False, client: Client | None = None
    ) -> None:
        """Offer the subscriber everything from now on; `client`: who it is, for the others."""
        self.hub.subscribe(subscriber, interactive=interactive, client=client)
        self.hub.tell_attached(self.id)
        self.touch()

    def unsubscribe(self, subscriber: Subscriber) -> None:
        """Offer the subscriber nothing more."""
        self.hub.unsubscribe(subscriber)
        self.hub.tell_attached(self.id)
        self.touch()

    # ---- how it is -------------------------------------------------------------

    @property
    def queue(self) -> list[str]:
        """The turns that wait to be run, in order."""
        current = self.running.turn_id if self.running else None
        return [
            turn_id
            for turn_id in self.conversation.queue
            if turn_id != current and turn_id not in self.closing
        ]

    @property
    def active_turn(self) -> str | None:
        """The turn that has started and is not over: in the driver's hands, or parked."""
        turn_id = self.running.turn_id if self.running else self.conversation.running
        # One that has its end may be in hand for a moment more; nobody waits for that.
        is_over = turn_id in self.closing or (turn_id and self.conversation.finished(turn_id))
        return None if is_over else turn_id

    @property
    def state(self) -> SessionState:
        """For a listing: a person is needed, a turn runs or waits, or nothing happens."""
        if self.conversation.open_questions:
            return "needs_you"
        return "working" if self.active_turn is not None or self.queue else "idle"

    def is_idle(self) -> bool:
        """Whether nobody would miss the session if it were taken out of memory."""
        return (
            self.state == "idle"
            and self.running is None
            and self.conversation.last_seq > 0  # else its first commit is under way, and comes here
            and not self.hub.watched
            and not self.closing
            and not self._waiting
            and not self.is_stale
            and not self.compactions.is_due
            and not self.admission.statistics().locked
        )

    def touch(self) -> None:
        """Someone asked for the session: it stays in memory a while longer."""
        self.touched_at = trio.current_time()

    def row(self) -> ConversationRow:
        """The conversation as a listing shows it."""
        it = self.conversation
        return ConversationRow(
            id=self.id,
            name=it.name,
            title=it.title,
            model=it.settings.model,
            message_count=it.message_count,
            last_seq=it.last_seq,
            created_at=it.created_at,
            updated_at=it.updated_at,
            pinned=it.is_pinned,
        )

    def status(self, turn_id: str) -> TurnStatus:
        """Where the turn is; raise `NotFound` if the conversation has no such turn."""
        record = self.conversation.turns.get(turn_id)
        if record is None or self.deleted:
            raise NotFound(f"Turn not found: id={turn_id}", reason="turn_not_found")
        end = record.finished or self.closing.get(turn_id)
        if end is not None:
            return TurnStatus(turn_id, "finished", end.outcome, end.code)
        return TurnStatus(turn_id, "running" if turn_id == self.active_turn else "queued")

    def position(self, turn_id: str) -> int:
        """How many turns are before this one: the running one, and those queued earlier."""
        if turn_id not in self.queue:
            return 0
        return self.queue.index(turn_id) + (self.active_turn is not None)

    # ---- what people ask of it -------------------------------------------------

    async def withdraw(self, turn_id: str) -> TurnStatus:
        """Take a queued prompt back; a turn that has started is left alone. Answer how it is."""
        async with self.starting:
            if self.status(turn_id).state == "queued":
                end = TurnFinished(turn_id, "withdrawn", FAILED, reason="withdrawn")
                await self.append([PromptWithdrawn(turn_id), end])
            return self.status(turn_id)

    async def interrupt(self, turn_id: str, by: str) -> TurnStatus:
        """End a turn early: withdraw it if it is queued, else stop it and keep what it said."""
        status = self.status(turn_id)
        if status.state == "queued":
            status = await self.withdraw(turn_id)
        end = Interrupted(FAILED, "interrupted", f"Interrupted by {by}.")
        if status.state == "running" and self.running is not None:
            self.running.post(end)
        elif status.state == "running":
            await self.close_parked(turn_id, end)
        return self.status(turn_id)

    async def close_parked(self, turn_id: str, end: Interrupted) -> None:
        """End a turn that waits for a person, with nobody running it."""
        async with self.starting:
            record = self.conversation.turns[turn_id]
            if record.finished is None and self.running is None:
                await self.append(end_turn(record, end))

    async def append(self, bodies: Sequence[Body]) -> None:
        """Commit events of this conversation, large parts as blobs; they come back by `observe`."""
        lean, blobs = offload_bodies(bodies)
        write = Write(conversation_id=self.id, bodies=lean, blobs=list(blobs.items()))
        # Whoever asks may leave now; the locks around this stay held until it is folded, or the
        # next one would decide by what was before it. The log always answers.
        with trio.CancelScope(shield=True):
            await self.log.append(write)

    async def wait_finished(self, turn_id: str) -> TurnStatus:
        """Wait until the turn is over, stored or not; raise `NotFound` if it is not there."""
        while (status := self.status(turn_id)).state != "finished":
            with self._waiting.place(turn_id) as over:
                await over.wait()
        return status

    def end(self) -> None:
        """The conversation was deleted: whoever waits for one of its turns hears so."""
        self.deleted = True
        self._waiting.release_all()
        self.mailbox.wake()
