"""Room for a request: what is done, in order, before a completion that would not fit is sent.

One that fits is sent. Else a compaction that is under way is waited for, for a while
and visibly; then the view is pruned; then the overflow policy decides, or a person:
to summarise at once, to empty the view, or to send it as it is. Each is tried once
for a completion. It asks no model for the answer.
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import trio

from askd.core.events import TurnOptions
from askd.core.overflow import HOPELESS
from askd.core.tokens import Size
from askd.errors import TooLarge
from askd.providers.base import Model, ModelRequest
from askd.sessions.budget import check_budget
from askd.sessions.compaction import STARTED, CompactionFailed, Wish, compact
from askd.sessions.contents import ReadBlob
from askd.sessions.live import LiveSession
from askd.sessions.needs import Means, Report
from askd.sessions.overflow import Excess, decide_overflow
from askd.sessions.shrinking import prune, reset
from askd.sessions.triggers import count_messages

log = logging.getLogger(__name__)

WAIT_S = 30.0
"""A person waits: a summary that takes longer is worth less than an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A request that is ready to be sent; `tokens`: of all of it, about."""

    request: ModelRequest
    size: Size
    tokens: int


Prepare = Callable[[], Awaitable[Prepared]]
"""The request as the view is now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """The completion that room is made for.

    Attributes:
        subject: the id of the item that it will be.
        started: set when the turn's start is committed; the view is not changed before.
        is_stored: what happens can be stored; else nothing is changed.
    """

    turn_id: str
    subject: str
    model: Model
    options: TurnOptions
    read_blob: ReadBlob
    report: Report
    started: trio.Event
    is_stored: bool = True


async def make_room(
    session: LiveSession, asking: Asking, prepare: Prepare, means: Means
) -> Prepared:
    """The request, with the view made small enough for it.

    Raises:
        TooLarge: it does not fit, and nothing that was tried or decided made it.
        Parked: a person is to decide, and has not yet.
        StorageFailed: a change of the view could not be stored.
    """
    return await _Room(session, asking, prepare, means).make()


class _Room:
    """Makes room once."""

    def __init__(
        self, session: LiveSession, asking: Asking, prepare: Prepare, means: Means
    ) -> None:
        self._session = session
        self._asking = asking
        self._prepare = prepare
        self._means = means

    async def make(self) -> Prepared:
        asking = self._asking
        found = await self._prepare()
        if not asking.is_stored:
            check_budget(found.tokens, asking.model)
            return found
        if self._fits(found):
            if not self._has_too_many(found):
                return found
            await asking.started.wait()
            await self._prune()
            return await self._prepare()
        await asking.started.wait()
        for step in (self._wait, self._prune):
            await step()
            # Also if the step had nothing to do: a job may have changed the view just before it.
            found = await self._prepare()
            if self._fits(found):
                return found
        return await self._decide(found)

    def _fits(self, found: Prepared) -> bool:
        return found.tokens <= self._asking.model.limits.budget

    def _has_too_many(self, found: Prepared) -> bool:
        most = self._means.context().bounds(self._asking.model).max_messages
        # The prompt is among them already; its answer is still to come.
        return most is not None and count_messages(found.request.items) + 1 > most

    async def _wait(self) -> None:
        """Wait for a compaction that is under way, or will be, if there is one."""
        compactions = self._session.compactions
        if not compactions.is_due:
            return
        self._asking.report("waiting", STARTED)
        with trio.move_on_after(WAIT_S) as patience:
            await compactions.listen().wait()
        if patience.cancelled_caught:
            log.info("A compaction is not waited for any longer: id=%s", self._session.id)
            compactions.give_up()

    async def _prune(self) -> None:
        await prune(self._session, self._asking.model, means=self._means, reason="room")

    async def _decide(self, found: Prepared) -> Prepared:
        asking, session = self._asking, self._session
        decision = await decide_overflow(
            session,
            asking.turn_id,
            Excess(subject=asking.subject, tokens=found.tokens, model=asking.model),
            options=asking.options,
            means=self._means,
            report=asking.report,
        )
        failure = None
        match decision:
            case "continue":
                return found
            case "reset":
                await reset(session, asking.turn_id, asking.model, means=self._means)
            case "compact":
                failure = await self._compact()
        # Looked at in any case: what failed may have been outrun by a change that helps.
        found = await self._prepare()
        if decision == "compact" and not self._fits(found):
            raise TooLarge(f"{HOPELESS}.") from failure
        check_budget(found.tokens, asking.model)
        return found

    async def _compact(self) -> CompactionFailed | None:
        """Summarise at once; it counts as the one that this turn may cause."""
        asking, session = self._asking, self._session
        session.compactions.spend(asking.turn_id)
        wish = Wish(reason="overflow", target=asking.model.name)
        try:
            await compact(session, wish, means=self._means, read_blob=asking.read_blob)
        except CompactionFailed as failure:
            return failure
        return None
