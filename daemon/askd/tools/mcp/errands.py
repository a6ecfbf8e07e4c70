"""One thing that is wanted of a server: its owner does it, and whoever wants it waits here.

The two are different tasks, so that a caller who is cancelled takes nothing of the session with
him. What the server wants of a person meanwhile is asked in the caller's task, for it
belongs to his turn; while a person thinks, the time of the errand does not run.
"""

import logging
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import trio

from askd.tools.base import CannotRun, Said, Site, Wish

if TYPE_CHECKING:
    from mcp import ClientSession

Answer = TypeVar("Answer")

MOST_WISHES = 8
"""Of one errand that wait for a person; further ones are cancelled at once."""
CANCEL = Said(action="cancel")

log = logging.getLogger(__name__)


class SessionOver(Exception):
    """Nothing more will be answered."""


@dataclass(slots=True, eq=False)
class _Pending:
    """A wish on its way to a person and back."""

    wish: Wish
    said: Said = CANCEL
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)
    done: trio.Event = field(default_factory=trio.Event)


class Errand(Generic[Answer]):
    """`do` is what is to be done, within `limit_s` seconds.

    `site`: where and for whom a call runs; None: for nobody who could be asked.
    """

    def __init__(
        self,
        do: "Callable[[ClientSession], Awaitable[Answer]]",
        *,
        limit_s: float,
        site: Site | None = None,
    ) -> None:
        self.site = site
        self._do = do
        self._limit_s = limit_s
        self._scope = trio.CancelScope()
        self._done = trio.Event()
        self._answers: list[Answer] = []
        self._error: Exception | None = None
        self._give, self._take = trio.open_memory_channel[_Pending](MOST_WISHES)
        self._open: set[_Pending] = set()
        self._left_s = math.inf

    async def carry_out(
        self, session: "ClientSession", explain: Callable[[Exception], str]
    ) -> None:
        """Do it, for the owner; never raises but for cancellation. `explain` makes a sentence."""
        try:
            self._scope.deadline = trio.current_time() + self._limit_s
            with self._scope:
                self._answers.append(await self._do(session))
            if self._scope.cancelled_caught:
                self._error = CannotRun(f"It took longer than {self._limit_s:g} s, and was ended.")
        except trio.Cancelled:
            # Not by the caller, whose scope is ours: it is the session that ends.
            self._error = CannotRun(explain(SessionOver()))
            raise
        except CannotRun as error:
            self._error = error
        except Exception as error:
            self._error = CannotRun(explain(error))
        finally:
            self._done.set()

    async def wait(self) -> Answer:
        """Wait for the answer, for the caller; raise `CannotRun`. Cancelled, it is given up."""
        try:
            # In it: who asks people, as long as it is not done.
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._ask_people)
                await self._done.wait()
                nursery.cancel_scope.cancel()
        finally:
            self._scope.cancel()
            for pending in self._open:
                pending.done.set()
        if self._error is not None:
            raise self._error
        return self._answers[0]

    async def ask(self, wish: Wish) -> Said:
        """Have a person say something, for the server; cancelled, the question is withdrawn."""
        if self.site is None or self._done.is_set() or len(self._open) >= MOST_WISHES:
            return CANCEL
        pending = _Pending(wish)
        self._open.add(pending)
        if len(self._open) == 1:
            self._left_s = self._scope.deadline - trio.current_time()
            self._scope.deadline = math.inf
        try:
            self._give.send_nowait(pending)
            await pending.done.wait()
            return pending.said
        finally:
            pending.scope.cancel()
            self._open.discard(pending)
            if not self._open:
                self._scope.deadline = trio.current_time() + self._left_s

    async def _ask_people(self) -> None:
        """One wish after the other: a person reads one question at a time."""
        async for pending in self._take:
            with pending.scope:
                pending.said = await self._ask(pending.wish)
            pending.done.set()

    async def _ask(self, wish: Wish) -> Said:
        assert self.site is not None
        try:
            return await self.site.ask(wish)
        except Exception:
            log.exception("A wish could not be asked: call_id=%s", self.site.call_id)
            return CANCEL


Doing = Errand[Any]
