"""One turn being run: the machine's commands carried out, and what became of them fed back.

What to do is decided by `core.turn`; here it is only done: events appended, the
model asked, calls worked off. When storage fails, the answer goes on without it and
the end is reported as unsaved; what could not be appended is folded into a copy
of the conversation that nobody else sees.
"""

import copy
import logging
from collections.abc import Callable, Sequence
from typing import assert_never

import trio

from askd.core.conversation import Conversation
from askd.core.events import Body, Event, TurnStarted
from askd.core.instructions import InstructionFile
from askd.core.outcome import TIME_LIMIT, Failure
from askd.core.turn import (
    Append,
    CallModel,
    CancelModel,
    Command,
    CompletionCancelled,
    CompletionFailed,
    Finish,
    Input,
    Interrupted,
    Resumed,
    RunTool,
    Started,
    StopTools,
    Turn,
)
from askd.errors import AskdError, StorageFailed
from askd.providers.base import Caller, Model
from askd.sessions.ahead import Finding
from askd.sessions.calls import Calls
from askd.sessions.completion import Completion, Setting
from askd.sessions.contents import ReadBlob
from askd.sessions.defaults import add_defaults
from askd.sessions.endings import end_unsaved
from askd.sessions.inbox import Inbox
from askd.sessions.instructions import find_instructions, find_told
from askd.sessions.keeping import Kept
from askd.sessions.live import LiveSession
from askd.sessions.needs import Means
from askd.sessions.offload import offload_bodies
from askd.sessions.parking import Parked, find_time_left
from askd.sessions.requests import explain_guess, find_asked
from askd.sessions.saving import save_now_and_then
from askd.sessions.triggers import add_title, expect_jobs, find_jobs
from askd.sessions.turn_status import RunningTurn
from askd.sessions.voice import Voice
from askd.store.log import Write

log = logging.getLogger(__name__)


class TurnRun:
    """Runs one accepted turn to its end, or until it waits for a person. Made for one `run`."""

    def __init__(
        self, session: LiveSession, turn_id: str, *, means: Means, read_blob: ReadBlob
    ) -> None:
        self._session = session
        self._turn_id = turn_id
        self._means = means
        self._kept = Kept(read_blob)
        self._read_blob = self._kept.read
        record = session.conversation.turns[turn_id]
        self._prompt = record.prompt
        # One that was parked, and that nobody has to try anew, goes on as it was.
        goes_on = record.attempt > 0 and turn_id not in session.resumable
        self._attempt = None if goes_on else record.attempt + 1
        self._time_left = find_time_left(record, means.now) if goes_on else None
        self._parks = False
        self._machine = Turn(turn_id)  # as its log is when it begins
        session.compactions.keep_caller(session.callers.get(turn_id))
        self._caller = session.callers.get(turn_id) or Caller(
            env=record.prompt.env or {}, secrets={}
        )
        self._inbox = Inbox()
        self._completion: Completion | None = None
        self._calls: Calls | None = None
        self._finish: Finish | None = None
        self._chosen: str | None = None
        self._instructions: tuple[InstructionFile, ...] | None = None
        self._has_tools = trio.Event()
        self._voice = Voice(session, turn_id)
        self._unsaved: StorageFailed | None = None
        self._shadow: Conversation | None = None

    def post(self, happened: Input) -> None:
        """Something happened to the turn; after its end nothing does."""
        self._inbox.post(happened)

    def _can_join(self) -> bool:
        """Whether a message that is accepted into the turn now will be answered by it."""
        is_running = self._machine.phase in ("asking", "working") and not self._inbox.brings_end
        return is_running and self._unsaved is None

    async def run(self, *, is_due: Callable[[], bool]) -> None:
        """Run the turn, if it is still due when all is ready; return when it is over or parked."""
        session = self._session
        known = session.ahead.take(self._turn_id)
        model = await self._resolve(known)
        if self._attempt is not None and isinstance(model, Model):
            self._instructions = await find_instructions(
                session.conversation,
                self._prompt,
                self._means,
                report=self._voice.tell,
                read=None if known is None else known.read,
            )
        async with session.starting:
            if not is_due():
                return
            name = model.name if isinstance(model, Model) else None
            record = session.conversation.turns[self._turn_id]
            limit = self._means.toolbox().max_completions
            self._machine = Turn.rebuild(record, max_completions=limit)
            self.post(Resumed() if self._attempt is None else Started(self._attempt, name))
            session.running = RunningTurn(self._turn_id, self.post, self._can_join)
        try:
            # In it: the running completion, running tools, the time limit, and what keeps the text
            # so far; run() ends them all.
            async with trio.open_nursery() as nursery:
                nursery.start_soon(save_now_and_then, session)
                if self._prompt.options.timeout_s is not None:
                    nursery.start_soon(self._limit_time, self._prompt.options.timeout_s)
                while self._finish is None and not self._parks:
                    await self._inbox.wait()
                    while self._inbox and self._finish is None:
                        async with session.starting:  # nothing joins what is about to end
                            commands = self._machine.feed(self._inbox.take())
                            await self._carry_out(commands, model, nursery)
                if self._parks:  # from this moment on, whoever ends the turn does so without us
                    session.running = None
                nursery.cancel_scope.cancel()
            if self._unsaved is not None and self._finish is not None:
                end = end_unsaved(self._turn_id, self._machine.usage, self._unsaved)
                session.report_unsaved(end, outcome=self._finish.outcome)
        finally:
            session.running = None
            # They tell this run of what happens, so that each keeps the other: parted, all is
            # freed at once, and the session with it when its time has come.
            self._completion = self._calls = None

    async def _resolve(self, known: Finding | None) -> Model | Failure:
        settings = self._session.conversation.settings
        wanted = self._prompt.options.model or settings.model
        try:
            model = known.model if known is not None else None
            model = model or await self._means.models.resolve(wanted, self._caller)
        except AskdError as error:
            return error.failure
        if wanted is None:
            self._chosen = model.why
        return model

    # ---- carrying out ----------------------------------------------------------

    async def _carry_out(
        self, commands: Sequence[Command], model: Model | Failure, nursery: trio.Nursery
    ) -> None:
        bodies: list[Body] = []
        runs: list[RunTool] = []
        for command in commands:
            if isinstance(command, Append):
                bodies.append(command.body)
                continue
            is_start = bool(bodies) and all(isinstance(each, TurnStarted) for each in bodies)
            if isinstance(command, CallModel) and isinstance(model, Model) and is_start:
                # The model needs longer than the disk: it is asked while the start is committed,
                # and what it says meanwhile is read, and not shown or kept. After a crash in
                # between the turn has not started and is asked anew, which no tool has noticed.
                self._begin(command, model, nursery)
                await self._append(bodies, model)
                self._voice.speak()
                bodies = []
                continue
            await self._append(bodies, model)
            bodies = []
            match command:
                case CallModel():
                    if isinstance(model, Failure):
                        self.post(CompletionFailed(model))
                    else:
                        self._begin(command, model, nursery)
                        self._voice.speak()
                case CancelModel() if self._parks:  # it has just ended, to wait for a person
                    self._parks = False
                    self.post(CompletionCancelled())
                case CancelModel():
                    if self._completion is not None:
                        self._completion.cancel()
                case RunTool():
                    runs.append(command)
                case StopTools():
                    self._stop_calls()
                case Finish():
                    self._finish = command
                case _:
                    assert_never(command)
        await self._append(bodies, model)
        if runs:
            self._calls = self._collect_calls(runs, model)
            nursery.start_soon(self._work_off, self._calls)

    def _begin(self, command: CallModel, model: Model, nursery: trio.Nursery) -> None:
        self._completion = self._prepare(command, model, self._voice.hush())
        if self._chosen is not None:
            self._voice.tell("model_chosen", self._chosen)
            self._chosen = None
        if not model.limits.known and model.name not in self._means.guessed:
            self._means.guessed.add(model.name)
            self._voice.tell("warning", explain_guess(model))
        nursery.start_soon(self._complete, self._completion)

    def _prepare(self, command: CallModel, model: Model, started: trio.Event) -> Completion:
        options = self._prompt.options
        conversation = self._shadow or self._session.conversation
        setting = Setting(
            turn_id=self._turn_id,
            model=model,
            caller=self._caller,
            options=options,
            system=find_told(conversation, options, self._instructions),
            asked=find_asked(conversation.turns[self._turn_id]),
            read_blob=self._read_blob,
            report=self._voice.tell,
            say=self._voice.say,
            root=self._prompt.cwd,
            has_tools=self._has_tools,
        )
        return Completion(
            command,
            session=self._session,
            conversation=conversation,
            setting=setting,
            means=self._means,
            started=started,
        )

    async def _complete(self, completion: Completion) -> None:
        try:
            self.post(await completion.run())
        except Parked:
            if self._unsaved is None:
                self._park()
            else:  # what is not stored cannot be come back to
                self.post(CompletionCancelled())

    def _collect_calls(self, commands: Sequence[RunTool], model: Model | Failure) -> Calls:
        return Calls(
            commands,
            session=self._session,
            turn_id=self._turn_id,
            shadow=self._shadow,
            model=model,
            means=self._means,
            read_blob=self._read_blob,
            keep=self._kept.keep,
            report=self._voice.tell,
            post=self.post,
            lose_storage=self._lose_storage,
        )

    async def _work_off(self, calls: Calls) -> None:
        try:
            await calls.run()
        except Parked:
            self._park()

    def _stop_calls(self) -> None:
        if self._calls is None:
            return
        self._calls.stop()
        if self._parks:  # it has just ended, to wait for a person
            self._parks = False
            self._calls.abandon()

    def _park(self) -> None:
        self._parks = True
        self._inbox.wake()

    async def _limit_time(self, timeout_s: float) -> None:
        await trio.sleep(timeout_s if self._time_left is None else max(self._time_left, 0.0))
        self.post(
            Interrupted(TIME_LIMIT, "time_limit", f"The time limit of {timeout_s:g} s was reached.")
        )

    # ---- appending -------------------------------------------------------------

    async def _append(self, bodies: Sequence[Body], model: Model | Failure) -> None:
        if not bodies:
            return
        name = model.name if isinstance(model, Model) else None
        conversation, options = self._session.conversation, self._prompt.options
        bodies = add_defaults(
            bodies, conversation, options, model=name, instructions=self._instructions
        )
        if self._unsaved is None:
            try:
                write = self._make_write(bodies, model)
                await self._session.log.append(write)
                self._kept.drop(digest for digest, _ in write.blobs)
                expect_jobs(self._session, self._turn_id, write.jobs)
                return
            except StorageFailed as error:
                self._lose_storage(error)
        self._fold_unsaved(bodies)

    def _lose_storage(self, error: StorageFailed) -> Conversation:
        """From here on nothing is stored; answer with the conversation that goes on by itself."""
        log.error("Failed to save turn: id=%s: %s", self._session.id, error.message)
        self._unsaved = error
        self._shadow = copy.deepcopy(self._session.conversation)
        return self._shadow

    def _make_write(self, bodies: Sequence[Body], model: Model | Failure) -> Write:
        bodies = add_title(bodies, self._session, self._means)
        lean, blobs = offload_bodies(bodies)
        blobs |= self._kept.find(lean)
        jobs = find_jobs(
            self._session,
            self._turn_id,
            bodies,
            model=model if isinstance(model, Model) else None,
            means=self._means,
        )
        return Write(
            conversation_id=self._session.id, bodies=lean, jobs=jobs, blobs=list(blobs.items())
        )

    def _fold_unsaved(self, bodies: Sequence[Body]) -> None:
        shadow = self._shadow
        if shadow is None:
            return
        for body in bodies:
            shadow.apply(Event(self._session.id, shadow.last_seq + 1, self._means.now(), body))
