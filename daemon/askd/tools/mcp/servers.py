"""All configured servers: which there are now, what each offers, and the way to each.

It keeps the promises of `base.McpServers`. The settings are compared at each use, and now and
then: a server whose settings have changed is ended, and the new one is started when it is needed.
"""

import math
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import trio

from askd.tools.base import CannotRun, Result, Site, Tool
from askd.tools.mcp.base import Content, Resource, ServerPrompt, ServerState, ServerTool
from askd.tools.mcp.configs import ServerConfig
from askd.tools.mcp.known import KnownServers
from askd.tools.mcp.names import may_mean, names_outright
from askd.tools.mcp.owner import Owner
from askd.tools.mcp.seat import Seat
from askd.tools.mcp.transports import OpenTransport

if TYPE_CHECKING:
    from mcp import ClientSession

Answer = TypeVar("Answer")

LOOK_INTERVAL_S = 1.0
"""How often the settings are looked at while nobody uses a server."""
GRACE_S = 10.0
"""After its start, a server that nobody names holds up no turn: "all" need not mean it. Usual ones
are there within a second, some that a package manager starts within these."""


class Servers:
    """Made once for a daemon; `run` is the life of every session with a server.

    Args:
        configs: the servers of the settings of now.
        stdio, http: how a program and an address are reached.
        known_file: where the tools that were listed last are kept.
        now: unix seconds.
        hide: takes known secrets out of what a server's tool answers.
    """

    def __init__(
        self,
        configs: Callable[[], Sequence[ServerConfig]],
        *,
        stdio: OpenTransport,
        http: OpenTransport,
        known_file: Path,
        now: Callable[[], float],
        hide: Callable[[str], str] = str,
    ) -> None:
        self._configs = configs
        self._stdio = stdio
        self._http = http
        self._known = KnownServers(known_file)
        self._now = now
        self._hide = hide
        self._seats: dict[str, Seat] = {}
        self._nursery: trio.Nursery | None = None

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Hold the sessions until cancelled; then every one is closed."""
        # In it: every owner of a server, over all its starts, and what keeps their tools known.
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            try:
                task_status.started()
                while True:
                    await trio.sleep(LOOK_INTERVAL_S)
                    self._sit()  # who has left the settings ends, though nobody asks for anything
            finally:
                self._nursery = None

    def tools(self) -> Sequence[Tool]:
        """As `McpServers.tools`."""
        return [tool for seat in self._sit() for tool in seat.tools]

    async def prepare(self, words: Sequence[str], root: str | None) -> Sequence[str]:
        """As `McpServers.prepare`."""
        failed: dict[str, str] = {}
        seats = list(self._sit())
        # In it: whoever is waited for, all at once.
        async with trio.open_nursery() as nursery:
            for seat in seats:
                name = seat.config.name
                if not seat.config.enabled or not any(may_mean(each, name) for each in words):
                    continue
                is_named = any(names_outright(each, name) for each in words)
                is_waited_for = not seat.is_known() and (is_named or not seat.has_failed())
                try:
                    owner = seat.find_owner(root)
                except CannotRun as error:
                    failed[name] = str(error)
                    continue
                owner.need()
                if is_waited_for or owner.state == "failed":
                    until = math.inf if is_named else owner.began_at + GRACE_S
                    nursery.start_soon(_see, owner, until, name, failed)
                elif owner.state == "starting" and not seat.is_known():
                    failed[name] = owner.explain()  # nobody waits, and its tools are missing
        # As the settings have them, and not as they happened to fail.
        return [failed[each.config.name] for each in seats if each.config.name in failed]

    async def call(self, tool: ServerTool, arguments: Mapping[str, Any], site: Site) -> Result:
        """As `McpServers.call`."""
        seat = self._find(tool.server)

        async def call(session: "ClientSession") -> Result:
            from askd.tools.mcp.session import call_tool

            # Looked at when it is there: until then it is known from before.
            seat.check_described(tool)
            return await call_tool(session, tool, arguments, site, hide=self._hide)

        return await (await _find_owner(seat, site.cwd)).do(call, site=site)

    async def list_resources(self, server: str, root: str | None) -> Sequence[Resource]:
        """As `McpServers.list_resources`."""
        seat = self._find(server)

        async def list_them(session: "ClientSession") -> Sequence[Resource]:
            from askd.tools.mcp.listings import list_resources

            if not seat.describe().resources:
                return ()  # asked for them, it would know no such method
            return await list_resources(session, server)

        return await self._do(server, root, list_them)

    async def read_resource(self, server: str, uri: str, root: str | None) -> Sequence[Content]:
        """As `McpServers.read_resource`."""

        async def read(session: "ClientSession") -> Sequence[Content]:
            from askd.tools.mcp.reads import read_resource

            return await read_resource(session, uri)

        return await self._do(server, root, read)

    async def list_prompts(self, server: str) -> Sequence[ServerPrompt]:
        """As `McpServers.list_prompts`."""
        seat = self._find(server)

        async def list_them(session: "ClientSession") -> Sequence[ServerPrompt]:
            from askd.tools.mcp.listings import list_prompts

            if not seat.describe().prompts:
                return ()
            return await list_prompts(session, server)

        return await self._do(server, None, list_them)

    async def get_prompt(
        self, server: str, name: str, arguments: Mapping[str, str]
    ) -> Sequence[tuple[str, str]]:
        """As `McpServers.get_prompt`."""

        async def get(session: "ClientSession") -> Sequence[tuple[str, str]]:
            from askd.tools.mcp.reads import get_prompt

            return await get_prompt(session, name, arguments)

        return await self._do(server, None, get)

    async def check(self, server: str) -> ServerState:
        """As `McpServers.check`."""
        seat = self._find(server)
        owner = seat.find_owner(None)
        try:
            if owner.state != "ready" or not await owner.refresh():
                await owner.get_ready(at_once=True)
        except CannotRun:
            pass  # how it is says why
        return seat.describe()

    def states(self) -> Sequence[ServerState]:
        """As `McpServers.states`."""
        return [seat.describe() for seat in self._sit()]

    def read_log(self, server: str) -> str:
        """As `McpServers.read_log`."""
        return self._find(server, enabled=False).read_log()

    async def _do(
        self,
        server: str,
        root: str | None,
        act: "Callable[[ClientSession], Awaitable[Answer]]",
    ) -> Answer:
        return await (await _find_owner(self._find(server), root)).do(act)

    def _find(self, server: str, *, enabled: bool = True) -> Seat:
        for seat in self._sit():
            if seat.config.name == server:
                if enabled and not seat.config.enabled:
                    raise CannotRun(f"The server {server!r} is not enabled in the settings.")
                return seat
        raise CannotRun(f"There is no server of tools named {server!r} in the settings.")

    def _sit(self) -> Iterator[Seat]:
        """The seats as the settings are now, in their order."""
        wanted = {each.name: each for each in self._configs()}
        for name, seat in list(self._seats.items()):
            if wanted.get(name) != seat.config:
                seat.close()
                del self._seats[name]
        for name, config in wanted.items():
            if name not in self._seats:
                self._seats[name] = Seat(
                    config,
                    open_transport=self._stdio if config.url is None else self._http,
                    store=self._known,
                    call=self.call,
                    now=self._now,
                    nursery=self._get_nursery,
                )
        return iter([self._seats[name] for name in wanted])

    def _get_nursery(self) -> trio.Nursery:
        if self._nursery is None:
            raise CannotRun("The daemon is about to end: no server is started any more.")
        return self._nursery


async def _find_owner(seat: Seat, root: str | None) -> Owner:
    """Who is to be asked, for a directory; raise `CannotRun`.

    Looked for again once it is ready: that it asks for directories may be known only then, and it
    may have been started for somebody else's.
    """
    await seat.find_owner(root).get_ready()
    return seat.find_owner(root)


async def _see(owner: Owner, until: float, name: str, failed: dict[str, str]) -> None:
    """Wait until it is ready or has failed, or until that moment of the loop's clock."""
    with trio.CancelScope(deadline=until) as limit:
        try:
            await owner.get_ready()
        except CannotRun as error:
            failed[name] = str(error)
    if limit.cancelled_caught:
        failed[name] = owner.explain()
