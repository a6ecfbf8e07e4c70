"""The sessions of the daemon: loaded when someone asks, unloaded when nobody does.

`observe` is the only way in which events reach a session; the writer calls it
after each commit. A conversation that is not in memory is read from the log
first, once however many ask, and what is committed meanwhile is not missed.
"""

import itertools
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import trio

from askd.core.conversation import Conversation
from askd.core.events import Event
from askd.errors import AskdError, Busy, NotFound, RequestError, StorageFailed
from askd.sessions.chores import run_memory_jobs
from askd.sessions.draining import INTERRUPT_WAIT_S, Drain
from askd.sessions.driver import Driver
from askd.sessions.findings import report_load
from askd.sessions.hub import Hub, Published
from askd.sessions.live import LiveSession
from askd.sessions.needs import LogReader, Means, MemoryStore, SessionStore
from askd.sessions.notifying import NotifyingLog
from askd.sessions.targets import Target, ToCreate, check_new_name, find_target
from askd.store import refusals
from askd.store.log import Log, Write

log = logging.getLogger(__name__)

IDLE_UNLOAD_S = 600.0
"""A session that nobody watches and nothing waits for leaves memory after this long."""
SWEEP_S = 60.0
EPHEMERAL_LIMIT = 256
"""Ephemeral conversations at once: they live in memory until the daemon ends, or until this."""
RECOVERY_RETRY_S = 5.0
"""While the log cannot be read after a start, it is tried again this often."""
LOAD_FAILED = "Failed to load conversation: "


class _Loading:
    """A conversation that is being read; what is committed meanwhile is kept here."""

    def __init__(self) -> None:
        self.observed: list[Event] = []
        self.done = trio.Event()


class Sessions:
    """Every session of the daemon.

    Attributes:
        draining: no prompt is accepted and no queued turn is started any more.
    """

    def __init__(
        self,
        *,
        log: Log,
        memory: MemoryStore,
        reader: LogReader,
        means: Means,
        encode: Callable[[Published], bytes],
    ) -> None:
        self.log: Log = NotifyingLog(log, find=self._find_conversation, means=means)
        self.memory = memory
        self.reader = reader
        self.means = means
        self.draining = False
        self._encode = encode
        self._live: dict[str, LiveSession] = {}
        self._loading: dict[str, _Loading] = {}
        self._drivers: dict[str, trio.CancelScope] = {}
        self._terminals: dict[str, str] = {}
        self._nursery: trio.Nursery | None = None
        self._drain = Drain(self.live, harmless_tools=means.tools.harmless)

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run the drivers until cancelled. Sessions may be loaded before; they wait for this."""
        await self.means.rates.load(self.reader)
        # In it: one driver for each live session, and the sweeper. Cancelling `run` ends them.
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            for session in list(self._live.values()):
                self._drive(session)
            task_status.started()
            try:
                await self._sweep()
            finally:
                self._nursery = None

    # ---- events ----------------------------------------------------------------

    def observe(self, events: Sequence[Event]) -> None:
        """Hand committed events to the sessions that they belong to; never raises."""
        for conversation_id, run in itertools.groupby(events, lambda each: each.conversation_id):
            session = self._live.get(conversation_id)
            if session is not None:
                try:
                    session.observe(list(run))
                except Exception:
                    log.exception("Session failed on an event: id=%s", session.id)
                    session.make_stale()
            elif conversation_id in self._loading:
                self._loading[conversation_id].observed.extend(run)

    # ---- one session -----------------------------------------------------------

    async def get(self, conversation_id: str) -> LiveSession:
        """The live session of a conversation, loaded if need be.

        Raises:
            NotFound: there is no such conversation.
            StorageFailed: its log cannot be read.
        """
        while True:
            session = self._live.get(conversation_id)
            if session is not None:
                session.touch()
                return session
            loading = self._loading.get(conversation_id)
            if loading is None:
                return await self._load(conversation_id)
            await loading.done.wait()

    def is_loading(self, conversation_id: str) -> bool:
        """Whether somebody has just asked for it, and it is being read."""
        return conversation_id in self._loading

    def find_live(self, conversation_id: str) -> LiveSession | None:
        """The session if it is in memory."""
        return self._live.get(conversation_id)

    def _find_conversation(self, conversation_id: str) -> Conversation | None:
        session = self._live.get(conversation_id)
        return None if session is None else session.conversation

    def live(self) -> list[LiveSession]:
        """Every session in memory, the one that changed last first."""
        return sorted(self._live.values(), key=lambda each: -each.conversation.updated_at)

    async def resolve(self, target: Target, *, ephemeral: bool = False) -> str | ToCreate:
        """The id of the conversation that is meant, or what to create.

        Raises:
            NotFound: no such conversation, or several; the message names the candidates.
            RequestError: a name that cannot be one; `ephemeral`, and the conversation is stored.
        """
        memory = self._ephemeral()
        found = await find_target(
            target, reader=self.reader, memory=memory, terminals=self._terminals
        )
        if ephemeral and isinstance(found, str) and found not in {each.id for each in memory}:
            raise RequestError(
                f"The conversation {target.value!r} is stored; with --ephemeral a new one is "
                "begun, or one continued that is in memory only."
            )
        return found

    async def check_name(self, name: str) -> str:
        """The name, if a conversation can be given it (`targets.check_new_name`)."""
        return await check_new_name(name, reader=self.reader, memory=self._ephemeral())

    def _ephemeral(self) -> list[LiveSession]:
        return [session for session in self._live.values() if session.ephemeral]

    def bind(self, terminal: str | None, session: LiveSession) -> None:
        """Remember which conversation a terminal used last, if only memory may know of it."""
        if terminal is None:
            return
        if session.ephemeral:
            self._terminals[terminal] = session.id
        else:
            self._terminals.pop(terminal, None)

    async def open(self, conversation_id: str, *, ephemeral: bool = False) -> LiveSession:
        """A session for a conversation that is about to be created; `discard` it if it was not."""
        if ephemeral:
            await self._make_room()
        session = self._make(conversation_id, ephemeral=ephemeral)
        self._live[conversation_id] = session
        self._drive(session)
        return session

    async def create(self, write: Write, *, ephemeral: bool = False) -> LiveSession:
        """The session of a conversation that this write begins; its terminal is bound to it.

        Raises:
            RequestError: the name is taken.
            StorageFailed: nothing was written; there is no such session then.
        """
        session = await self.open(write.conversation_id, ephemeral=ephemeral)
        try:
            # A caller who hangs up now is not told, but what is committed has a session.
            with trio.CancelScope(shield=True):
                await session.log.append(write)
        except AskdError:
            self.discard(session)
            raise
        self.bind(write.terminal, session)
        return session

    def discard(self, session: LiveSession) -> None:
        """Take a session out of memory; whoever waits for one of its turns hears that."""
        session.end()
        if self._live.get(session.id) is session:
            del self._live[session.id]
            scope = self._drivers.pop(session.id, None)
            if scope is not None:
                scope.cancel()
        for terminal, bound in list(self._terminals.items()):
            if bound == session.id and session.ephemeral:
                del self._terminals[terminal]

    async def delete(self, conversation_id: str) -> None:
        """Interrupt what runs, then remove the conversation and all that belongs to it."""
        session = await self.get(conversation_id)
        for turn_id in reversed(session.queue):
            await session.withdraw(turn_id)
        if (running := session.running) is not None:
            await session.interrupt(running.turn_id, "delete")
            with trio.move_on_after(INTERRUPT_WAIT_S):
                await session.wait_finished(running.turn_id)
        with trio.CancelScope(shield=True):  # or a session without its conversation would stay
            await session.log.delete(conversation_id)
            await self.forget(conversation_id)

    async def forget(self, conversation_id: str) -> None:
        """A conversation was removed from the log: its session goes, and whoever watches hears."""
        if conversation_id in self._loading:
            await self._loading[conversation_id].done.wait()
        session = self._live.get(conversation_id)
        if session is not None:
            self.discard(session)
            session.hub.break_off()

    # ---- all of them -----------------------------------------------------------

    async def recover(self) -> None:
        """After a start: load every conversation with a turn that an earlier daemon left open.

        Their drivers do what the crash policy says. One that cannot be read does not keep
        the others from it; if not even the list can, it is asked for again.
        """
        for conversation_id in await self._find_unfinished():
            try:
                await self.get(conversation_id)
            except Exception as error:
                log.error("Cannot recover: id=%s: %s", conversation_id, error)

    async def _find_unfinished(self) -> list[str]:
        while True:
            try:
                return await self.reader.unfinished()
            except AskdError as error:
                log.error("Cannot recover yet: %s", error.message)
                await trio.sleep(RECOVERY_RETRY_S)

    async def drain(self, wait_s: float) -> None:
        """Accept and start nothing more; let running turns end, interrupt those that do not.

        Queued turns stay accepted: the next daemon runs them, and what is detached once more.
        Returns when every end that storage takes is committed.
        """
        self.draining = True
        await self._drain.run(wait_s)

    # ---- inside ----------------------------------------------------------------

    async def _load(self, conversation_id: str) -> LiveSession:
        loading = self._loading[conversation_id] = _Loading()
        try:
            events = await self._read(conversation_id)
            if not events:
                raise refusals.conversation_not_found(conversation_id)
            session = self._make(conversation_id, ephemeral=False)
            session.restore(events)
            session.observe(loading.observed)
            report_load(session)
            self._live[conversation_id] = session
        finally:
            del self._loading[conversation_id]
            loading.done.set()
        self._drive(session)
        return session

    async def _read(self, conversation_id: str) -> list[Event]:
        try:
            return await self.reader.load(conversation_id)
        except NotFound:
            raise
        except Exception as error:
            if isinstance(error, StorageFailed) and error.message.startswith(LOAD_FAILED):
                raise
            raise StorageFailed(f"{LOAD_FAILED}{error}") from error

    def find_store(self, session: LiveSession) -> SessionStore:
        """Where the past of a session is."""
        return self.memory if session.ephemeral else self.reader

    def _make(self, conversation_id: str, *, ephemeral: bool) -> LiveSession:
        return LiveSession(
            conversation_id,
            log=self.memory if ephemeral else self.log,
            hub=Hub(self._encode, later=self.means.later),
            ephemeral=ephemeral,
        )

    def _drive(self, session: LiveSession) -> None:
        if self._nursery is None:
            return
        store = self.find_store(session)
        driver = Driver(session, means=self.means, store=store, is_draining=lambda: self.draining)
        tasks = [driver.run]
        if session.ephemeral:
            read_blob = store.read_blob
            tasks.append(partial(run_memory_jobs, session, means=self.means, read_blob=read_blob))
        scope = self._drivers[session.id] = trio.CancelScope()
        self._nursery.start_soon(_run_within, scope, tasks)

    async def _sweep(self) -> None:
        while True:
            await trio.sleep(SWEEP_S)
            now = trio.current_time()
            for session in list(self._live.values()):
                is_old = not session.ephemeral and now - session.touched_at >= IDLE_UNLOAD_S
                if is_old and session.is_idle():
                    self.discard(session)

    async def _make_room(self) -> None:
        ephemeral = self._ephemeral()
        if len(ephemeral) < EPHEMERAL_LIMIT:
            return
        idle = [session for session in ephemeral if session.is_idle()]
        if not idle:
            raise Busy(f"{EPHEMERAL_LIMIT} ephemeral conversations are at work; try again later.")
        oldest = min(idle, key=lambda session: session.touched_at)
        self.discard(oldest)
        await self.memory.delete(oldest.id)


async def _run_within(
    scope: trio.CancelScope, tasks: Sequence[Callable[[], Awaitable[None]]]
) -> None:
    # In it: what runs for one session; `scope` ends it, when the session is discarded.
    with scope:
        async with trio.open_nursery() as nursery:
            for task in tasks:
                nursery.start_soon(task)
