"""The driver: one task per live session that runs its turns, one after the other.

It takes the next prompt in the order of acceptance, and keeps the session going
whatever happens to one turn: a turn that crashes is closed as failed, one that
storage did not take is closed as soon as storage allows, and neither runs twice
or stands in the way of the next.
"""

import logging
from collections.abc import Callable

import trio

from askd.core.events import TurnFinished
from askd.core.outcome import FAILED
from askd.core.recovery import SECRETS_WAIT_S
from askd.errors import StorageFailed, find_leaves
from askd.sessions.endings import end_turn_as
from askd.sessions.live import LiveSession
from askd.sessions.needs import Means, SessionStore
from askd.sessions.parking import find_parked, is_answered, keep_time
from askd.sessions.recovery import recover_session
from askd.sessions.turns import TurnRun

log = logging.getLogger(__name__)

CLOSE_RETRY_S = 5.0
"""How often an end that could not be stored is tried again while nothing else happens."""


class Driver:
    """Runs the turns of one session until it is cancelled or the conversation is deleted."""

    def __init__(
        self,
        session: LiveSession,
        *,
        means: Means,
        store: SessionStore,
        is_draining: Callable[[], bool],
    ) -> None:
        self._session = session
        self._means = means
        self._store = store
        self._is_draining = is_draining

    async def run(self) -> None:
        """Run turns as they come. Only cancellation and deletion end it."""
        while not self._session.deleted:
            try:
                await self._step()
            except Exception:
                log.exception("Session stumbled: id=%s", self._session.id)
                await trio.sleep(CLOSE_RETRY_S)

    async def _step(self) -> None:
        await self._mend()
        waits = await self._keep_time()
        turn_id = self._choose()
        if turn_id is None:
            if self._session.ahead.is_wanted():
                await self._session.ahead.look(self._session.conversation, self._means)
            else:
                await self._rest(waits)
            return
        async with self._means.turns:
            await self._run_turn(turn_id)

    # ---- choosing --------------------------------------------------------------

    def _choose(self) -> str | None:
        """The turn to run now, if there is one."""
        session = self._session
        if self._is_draining() or session.deleted or session.needs_recovery:
            return None
        turn_id = self._find_next()
        return None if turn_id is None or self._secrets_wait(turn_id) > 0 else turn_id

    def _find_next(self) -> str | None:
        """The turn that is next in order, whether or not it can be run now."""
        session = self._session
        if session.active_turn is None:
            return next(iter(session.queue), None)
        if session.active_turn in session.resumable:
            return session.active_turn  # begun by an earlier daemon, and to be tried again
        parked = find_parked(session)
        is_due = parked is not None and is_answered(parked)
        return session.active_turn if is_due else None

    def _secrets_wait(self, turn_id: str) -> float:
        """Seconds that the turn may still wait for its caller to bring the keys again."""
        session = self._session
        prompt = session.conversation.turns[turn_id].prompt
        if not prompt.caller_credentials or turn_id in session.callers:
            return 0.0
        return session.loaded_at + SECRETS_WAIT_S - trio.current_time()

    async def _rest(self, parked_s: float | None) -> None:
        """Wait until something happened, or until waiting for it has taken long enough."""
        session = self._session
        unmended = session.closing or session.is_stale or session.needs_recovery
        waits = [CLOSE_RETRY_S] if unmended else []
        if parked_s is not None:
            waits.append(parked_s)
        turn_id = None if self._is_draining() else self._find_next()
        if turn_id is not None and (wait_s := self._secrets_wait(turn_id)) > 0:
            waits.append(wait_s)
        with trio.move_on_after(min(waits, default=float("inf"))):
            await session.mailbox.wait()

    # ---- running ---------------------------------------------------------------

    async def _run_turn(self, turn_id: str) -> None:
        session = self._session
        run = TurnRun(session, turn_id, means=self._means, read_blob=self._store.read_blob)
        try:
            # While it waited for its place and its model, the turn may have been withdrawn.
            await run.run(is_due=lambda: self._choose() == turn_id)
        except Exception as error:
            if session.deleted:
                return
            log.error("Turn crashed: id=%s, turn_id=%s", session.id, turn_id, exc_info=error)
            await self._close_crashed(turn_id, error)
        finally:
            session.resumable.discard(turn_id)
        if session.closing:
            session.make_stale()

    async def _close_crashed(self, turn_id: str, error: Exception) -> None:
        session = self._session
        # The name alone: its words may hold anything, and the log hides what is secret.
        name = type(next(find_leaves(error))).__name__
        message = f"Something went wrong inside askd ({name}); its log says more."
        end = TurnFinished(turn_id, "failed", FAILED, reason="internal", message=message)
        session.make_stale()
        try:
            session.rebuild(await self._store.load(session.id))
            await self._close(end)
        except Exception as refusal:
            log.error("Turn could not be closed: turn_id=%s: %s", turn_id, refusal)
            session.report_unsaved(end, outcome="failed")

    async def _keep_time(self) -> float | None:
        try:
            return await keep_time(self._session, self._means.now)
        except StorageFailed as error:
            log.warning("Storage fails: id=%s: %s", self._session.id, error.message)
            return CLOSE_RETRY_S

    # ---- mending ---------------------------------------------------------------

    async def _mend(self) -> None:
        """See that the session is what the log says, and the log what has happened."""
        session = self._session
        try:
            if session.is_stale:
                session.rebuild(await self._store.load(session.id))
            if session.needs_recovery:
                partials = await self._store.partials(session.id)
                await recover_session(
                    session, partials, harmless_tools=self._means.tools.harmless()
                )
            for end in list(session.closing.values()):
                await self._close(end)
        except StorageFailed as error:
            log.warning("Storage still fails: id=%s: %s", session.id, error.message)
        except Exception:
            # It must not stand in the way of the next prompt.
            log.exception("Session cannot be mended: id=%s", session.id)

    async def _close(self, end: TurnFinished) -> None:
        """Store the end of a turn that nobody runs, unless it has one."""
        session = self._session
        async with session.starting:
            record = session.conversation.turns.get(end.turn_id)
            if record is not None and record.finished is None:
                await session.append(end_turn_as(record, end))
            session.closing.pop(end.turn_id, None)
