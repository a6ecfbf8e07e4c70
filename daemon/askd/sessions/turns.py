"""One turn being run: the machine's commands carried out, and what became of them fed back.

What to do is decided by `core.turn`; here it is only done: events appended, the
model asked, tools run. When storage fails, the answer goes on without it and
the end is reported as unsaved; what could not be appended is folded into a copy
of the conversation that nobody else sees.
"""

import copy
import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import assert_never

import trio

from askd.core.conversation import Conversation
from askd.core.events import (
    Body,
    Event,
    SettingsChanged,
    TurnFinished,
    TurnStarted,
)
from askd.core.outcome import STORAGE, TIME_LIMIT, Failure
from askd.core.pairs import interrupt_call
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
    ToolReturned,
    Turn,
)
from askd.errors import AskdError, StorageFailed
from askd.providers.base import Caller, Model
from askd.sessions.completion import Completion, Setting
from askd.sessions.contents import ReadBlob
from askd.sessions.hub import Progress
from askd.sessions.live import UNSAVED, LiveSession
from askd.sessions.needs import Means
from askd.sessions.offload import offload_bodies
from askd.sessions.outputs import run_tool
from askd.sessions.parking import Parked, find_time_left
from askd.sessions.requests import explain_guess
from askd.sessions.triggers import expect_jobs, find_jobs
from askd.sessions.turn_status import RunningTurn
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
        self._read_blob = read_blob
        record = session.conversation.turns[turn_id]
        self._prompt = record.prompt
        # One that was parked, and that nobody has to try anew, goes on as it was.
        goes_on = record.attempt > 0 and turn_id not in session.resumable
        self._attempt = None if goes_on else record.attempt + 1
        self._time_left = find_time_left(record, means.now) if goes_on else None
        self._parks = False
        self._machine = Turn.rebuild(record)
        session.compactions.keep_caller(session.callers.get(turn_id))
        self._caller = session.callers.get(turn_id) or Caller(
            env=record.prompt.env or {}, secrets={}
        )
        self._inbox: deque[Input] = deque()
        self._poke = trio.Event()
        self._completion: Completion | None = None
        self._tools: dict[str, trio.CancelScope] = {}
        self._finish: Finish | None = None
        self._chosen: str | None = None
        self._may_speak = trio.Event()
        self._held: list[tuple[str, str]] = []
        self._unsaved: StorageFailed | None = None
        self._shadow: Conversation | None = None

    def post(self, happened: Input) -> None:
        """Something happened to the turn; after its end nothing does."""
        self._inbox.append(happened)
        self._poke.set()

    async def run(self, *, is_due: Callable[[], bool]) -> None:
        """Run the turn, if it is still due when all is ready; return when it is over or parked."""
        model = await self._resolve()
        session = self._session
        async with session.starting:
            if not is_due():
                return
            name = model.name if isinstance(model, Model) else None
            self.post(Resumed() if self._attempt is None else Started(self._attempt, name))
            session.running = RunningTurn(self._turn_id, self.post)
        try:
            # In it: the running completion, running tools and the time limit; run() ends them all.
            async with trio.open_nursery() as nursery:
                if self._prompt.options.timeout_s is not None:
                    nursery.start_soon(self._limit_time, self._prompt.options.timeout_s)
                while self._finish is None and not self._parks:
                    await self._poke.wait()
                    self._poke = trio.Event()
                    while self._inbox and self._finish is None:
                        commands = self._machine.feed(self._inbox.popleft())
                        await self._carry_out(commands, model, nursery)
                if self._parks:  # from this moment on, whoever ends the turn does so without us
                    session.running = None
                nursery.cancel_scope.cancel()
            if self._unsaved is not None and self._finish is not None:
                self._report_unsaved(self._finish, self._unsaved)
        finally:
            session.running = None

    async def _resolve(self) -> Model | Failure:
        settings = self._session.conversation.settings
        wanted = self._prompt.options.model or settings.model
        try:
            model = await self._means.models.resolve(wanted, self._caller)
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
        for command in commands:
            if isinstance(command, Append):
                bodies.append(command.body)
                continue
            if isinstance(command, CallModel) and isinstance(model, Model) and _is_start(bodies):
                # The model needs longer than the disk: it is asked while the start is committed,
                # and nothing of what it says is shown or kept before. After a crash in between
                # the turn has not started and is asked anew, which no tool has noticed.
                self._begin(command, model, nursery)
                await self._append(bodies, model)
                self._let_through()
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
                        self._let_through()
                case CancelModel() if self._parks:  # it has just ended, to wait for a person
                    self._parks = False
                    self.post(CompletionCancelled())
                case CancelModel():
                    if self._completion is not None:
                        self._completion.cancel()
                case RunTool():
                    nursery.start_soon(self._run_tool, command, model)
                case StopTools():
                    for scope in self._tools.values():
                        scope.cancel()
                case Finish():
                    self._finish = command
                case _:
                    assert_never(command)
        await self._append(bodies, model)

    def _begin(self, command: CallModel, model: Model, nursery: trio.Nursery) -> None:
        self._may_speak = trio.Event()
        self._completion = self._prepare(command, model, self._may_speak)
        if self._chosen is not None:
            self._tell("model_chosen", self._chosen)
            self._chosen = None
        if not model.limits.known and model.name not in self._means.guessed:
            self._means.guessed.add(model.name)
            self._tell("warning", explain_guess(model))
        nursery.start_soon(self._complete, self._completion)

    def _let_through(self) -> None:
        """The turn has started for everybody; whoever asked is listening by now."""
        self._may_speak.set()
        held, self._held = self._held, []
        for kind, text in held:
            self._tell(kind, text)

    def _prepare(self, command: CallModel, model: Model, may_speak: trio.Event) -> Completion:
        options = self._prompt.options
        conversation = self._shadow or self._session.conversation
        setting = Setting(
            turn_id=self._turn_id,
            model=model,
            caller=self._caller,
            options=options,
            system=options.system or conversation.settings.system,
            asked=frozenset(item.id for item in self._prompt.items),
            read_blob=self._read_blob,
            report=self._tell,
        )
        return Completion(
            command,
            session=self._session,
            conversation=conversation,
            setting=setting,
            means=self._means,
            may_speak=may_speak,
        )

    async def _complete(self, completion: Completion) -> None:
        try:
            self.post(await completion.run())
        except Parked:
            if self._unsaved is None:
                self._parks = True
                self._poke.set()
            else:  # what is not stored cannot be come back to
                self.post(CompletionCancelled())

    async def _run_tool(self, command: RunTool, model: Model | Failure) -> None:
        with trio.CancelScope() as scope:
            self._tools[command.item_id] = scope
            try:
                output = await run_tool(
                    self._shadow or self._session.conversation,
                    command,
                    model=model,
                    means=self._means,
                    read_blob=self._read_blob,
                )
            finally:
                del self._tools[command.item_id]
        if scope.cancelled_caught:
            output = interrupt_call(command.call, command.item_id)
        self.post(ToolReturned(output))

    async def _limit_time(self, timeout_s: float) -> None:
        await trio.sleep(timeout_s if self._time_left is None else max(self._time_left, 0.0))
        self.post(
            Interrupted(TIME_LIMIT, "time_limit", f"The time limit of {timeout_s:g} s was reached.")
        )

    def _tell(self, kind: str, text: str) -> None:
        if not self._may_speak.is_set():
            self._held.append((kind, text))
            return
        self._session.hub.publish(
            Progress(conversation_id=self._session.id, turn_id=self._turn_id, kind=kind, text=text)
        )

    # ---- appending -------------------------------------------------------------

    async def _append(self, bodies: Sequence[Body], model: Model | Failure) -> None:
        if not bodies:
            return
        bodies = self._add_settings(bodies, model)
        if self._unsaved is None:
            try:
                write = self._make_write(bodies, model)
                await self._session.log.append(write)
                expect_jobs(self._session, self._turn_id, write.jobs)
                return
            except StorageFailed as error:
                log.error("Failed to save turn: id=%s: %s", self._session.id, error.message)
                self._unsaved = error
                self._shadow = copy.deepcopy(self._session.conversation)
        self._fold_unsaved(bodies)

    def _make_write(self, bodies: Sequence[Body], model: Model | Failure) -> Write:
        lean, blobs = offload_bodies(bodies)
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

    def _add_settings(self, bodies: Sequence[Body], model: Model | Failure) -> Sequence[Body]:
        """With a conversation's first turn its model and system prompt become its settings."""
        if not any(isinstance(body, TurnStarted) for body in bodies):
            return bodies
        conversation = self._session.conversation
        new_model = new_system = None
        if conversation.settings.model is None and isinstance(model, Model):
            new_model = model.name
        if conversation.settings.system is None and not conversation.started:
            new_system = self._prompt.options.system
        if new_model is None and new_system is None:
            return bodies
        return [SettingsChanged(new_model, new_system), *bodies]

    def _fold_unsaved(self, bodies: Sequence[Body]) -> None:
        shadow = self._shadow
        if shadow is None:
            return
        for body in bodies:
            shadow.apply(Event(self._session.id, shadow.last_seq + 1, self._means.now(), body))

    def _report_unsaved(self, finish: Finish, error: StorageFailed) -> None:
        end = TurnFinished(
            self._turn_id,
            "interrupted",
            STORAGE,
            usage=self._machine.usage,
            reason="storage_failed",
            message=f"{UNSAVED}{error.message}",
        )
        self._session.report_unsaved(end, outcome=finish.outcome)


def _is_start(bodies: Sequence[Body]) -> bool:
    """Whether a request need not wait for these: it holds nothing of them."""
    return bool(bodies) and all(isinstance(body, TurnStarted) for body in bodies)
