"""One server, for one directory or for all: it is started when it is needed, and held.

Its task starts it, keeps the session, and waits before it tries again what failed. Whoever needs
it waits for it at most as long as it may take to start; while it is known to fail, nobody
waits. It knows no other server and no settings.
"""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

import trio

from askd.tools.base import CannotRun, Site
from askd.tools.mcp.base import State
from askd.tools.mcp.configs import ServerConfig
from askd.tools.mcp.errands import Errand
from askd.tools.mcp.journal import Journal
from askd.tools.mcp.transports import OpenTransport, check_installed

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from mcp import ClientSession

    from askd.tools.mcp.session import Offer, Session

Answer = TypeVar("Answer")

FIRST_WAIT_S = 1.0
LAST_WAIT_S = 300.0
"""Between two tries; doubled each time."""
STEADY_S = 60.0
"""A server that was there for so long had no trouble to start."""
LAST_WORDS = 300
"""Characters of what it wrote last, where people read why it failed."""

log = logging.getLogger(__name__)


class Keeper(Protocol):
    """Whom an owner tells what it learns of its server."""

    def take_offer(self, offer: "Offer") -> None:
        """It is ready, or its tools have changed."""
        ...

    def take_rooted(self) -> None:
        """It has asked for the directory that it may know of."""
        ...


class Owner:
    """Holds one server; `run` is its life, over many starts.

    Attributes:
        root: the directory for which it is started; the first one, as long as it has not asked.
        state, error: how it is, and why it failed.
        ready_at: unix seconds of when it was last ready; None: never.
        began_at: when it was last started, by the clock of the loop.
    """

    def __init__(
        self,
        config: ServerConfig,
        root: str | None,
        *,
        open_transport: OpenTransport,
        keeper: Keeper,
        now: Callable[[], float],
    ) -> None:
        self.root = root
        self.state: State = "idle"
        self.error: str | None = None
        self.ready_at: float | None = None
        self.began_at = 0.0
        self.used_at = now()
        self.journal = Journal(now)
        self._config = config
        self._open_transport = open_transport
        self._keeper = keeper
        self._now = now
        self._is_rooted = False
        self._session: Session | None = None
        self._wanted = trio.Event()
        self._settled = trio.Event()
        self._over = trio.Event()
        self._wait_s = 0.0
        self._retry_at = 0.0
        self._has_failed = False
        self._scope = trio.CancelScope()

    async def run(self) -> None:
        """Start it whenever it is needed, until it is closed."""
        try:
            with self._scope:
                while True:
                    await self._wanted.wait()
                    self._wanted, self._over = trio.Event(), trio.Event()
                    await self._hold()
                    self._session = None
                    self._over.set()
        finally:
            self.state, self._session = "idle", None
            self._settled.set()
            self._over.set()

    def close(self, why: str) -> None:
        """End it for good; `why` is told to who still waits for it."""
        self.journal.end(why)
        self._scope.cancel()

    def need(self, *, at_once: bool = False) -> None:
        """See that it is started, unless it has just failed; `at_once`: even then."""
        if self._scope.cancel_called or self.state in ("starting", "ready"):
            return
        if at_once or trio.current_time() >= self._retry_at:
            self.state = "starting"
            self.began_at = trio.current_time()
            self._settled = trio.Event()
            self._wanted.set()

    def is_busy(self) -> bool:
        """Whether somebody waits for it, or may."""
        return self.state == "starting" or (self._session is not None and self._session.is_busy())

    async def get_ready(self, *, at_once: bool = False) -> None:
        """Wait until it can be asked; raise `CannotRun` with why it cannot."""
        self.need(at_once=at_once)
        while self.state == "starting":
            await self._settled.wait()
        if self.state != "ready":
            raise CannotRun(self.explain())

    def explain(self) -> str:
        """Why it cannot be asked just now, and when it is tried again."""
        name = repr(self._config.name)
        again = ""
        if self.state == "starting":
            if self.error is None:
                return (
                    f"The server {name} is still starting: its tools are offered once it is there."
                )
            again = " It is being tried again."
        elif (wait_s := self._retry_at - trio.current_time()) >= 1:
            again = f" It is tried again in {wait_s:.0f} s."
        why = self.error or self.journal.ended or "It is not running."
        if again and not why.endswith((".", "!", "?")):
            why += "."  # others' words, and commands, end as they like
        return f"{why}{again}" if name in why else f"The server {name} is not there. {why}{again}"

    async def do(
        self,
        act: "Callable[[ClientSession], Awaitable[Answer]]",
        *,
        site: Site | None = None,
    ) -> Answer:
        """Have the server asked, started if need be; raise `CannotRun`."""
        self.used_at = self._now()
        await self.get_ready()
        errand = Errand(act, limit_s=self._config.call_s, site=site)
        if self._session is None or not self._session.do(errand):
            raise CannotRun(self.explain())
        return await errand.wait()

    async def refresh(self) -> bool:
        """Ask it for its tools anew; False: it did not answer, and has been ended."""
        session, over = self._session, self._over
        if session is None:
            return False
        errand = Errand(session.list_anew, limit_s=self._config.startup_s)
        try:
            if session.do(errand):
                await errand.wait()
                return True
        except CannotRun as error:
            self.journal.end(str(error))
        await over.wait()
        return False

    def take_offer(self, offer: "Offer") -> None:
        """As `session.Owner.take_offer`."""
        self.state, self.error = "ready", None
        self.ready_at = self._now()
        self._keeper.take_offer(offer)
        self._settled.set()

    def find_root(self, cwd: str | None) -> str | None:
        """As `session.Owner.find_root`; from the first time on, it has this one."""
        if not self._is_rooted:
            self._is_rooted = True
            self.root = cwd or self.root
            self._keeper.take_rooted()
        return self.root

    async def _hold(self) -> None:
        """One start and what follows, until it ends."""
        self.journal.renew()
        self._has_failed = False
        try:
            check_installed()
            # Loaded here: half a second, for whoever has a server alone.
            from askd.tools.mcp.session import Session

            self._session = Session(self._config, journal=self.journal, owner=self)
            why = await self._session.run(self._open_transport)
        except CannotRun as error:
            why = str(error)
        except Exception as error:
            log.exception("A server's session failed: server=%s", self._config.name)
            kind = type(error).__name__
            why = f"Its session failed: {kind}. The daemon's log says more: ask daemon logs"
        self.take_failure(why)

    def take_failure(self, why: str) -> None:
        """As `session.Owner.take_failure`; nobody waits any more, and the next try is later."""
        if self._has_failed:
            return  # the next start may have been asked for by now
        self._has_failed = True
        was_ready = self.state == "ready"
        words = self.journal.last_line()[:LAST_WORDS]
        self.error = f"{why} Its last words: {words}" if words and not was_ready else why
        self.journal.end(why)
        is_steady = was_ready and trio.current_time() - self.began_at >= STEADY_S
        self._wait_s = FIRST_WAIT_S if is_steady or not self._wait_s else self._wait_s * 2
        self._wait_s = min(self._wait_s, LAST_WAIT_S)
        self._retry_at = trio.current_time() + self._wait_s
        self.state = "failed"
        self._settled.set()
        log.warning("A server of tools is not there: server=%s", self._config.name)
