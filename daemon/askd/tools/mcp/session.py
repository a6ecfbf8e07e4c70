"""One session with a server, from its first word to its last: the only room of the SDK's client.

One task enters and leaves it, and holds all that belongs to it; what is wanted of the server is
handed in as errands. A server that ends, or is told to, ends the session; who still waits
then is told why. It is imported with the SDK, when a server is started.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any, Protocol, assert_never

import trio
from mcp import ClientSession, MCPError
from mcp.client.session import ClientRequestContext
from mcp.types import (
    CONNECTION_CLOSED,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
    Implementation,
    ListRootsResult,
    LoggingMessageNotificationParams,
    Root,
    ServerNotification,
    ToolListChangedNotification,
)
from pydantic import ValidationError

from askd import __version__
from askd.core.items import Text
from askd.core.writable import make_all_writable
from askd.tools.base import Result, Site, Wish
from askd.tools.escapes import strip_escapes
from askd.tools.mcp.base import ServerTool
from askd.tools.mcp.configs import ServerConfig
from askd.tools.mcp.content import read_result
from askd.tools.mcp.errands import Doing, SessionOver
from askd.tools.mcp.intake import Intake, Outlet
from askd.tools.mcp.journal import Journal
from askd.tools.mcp.listings import list_tools
from askd.tools.mcp.transports import OpenTransport

SAID_CHARACTERS = 300
"""Of what a server says in an error, or of how far it is."""
RELIST_S = 1.0
CALM_RELIST_S = 60.0
"""Between two listings, however often a server says that its tools have changed: twice as long each
time that it says so again meanwhile, up to a minute."""
REPORT_S = 0.25
"""Between two reports of how far a call is: more nobody reads."""
ROOTS_S = 2.0
"""How long a server that asks for roots may take until it has them."""
SETTLE_S = 0.2
"""What it may then need to look at them: until it has, it refuses whatever lies in them. Nothing
in the protocol says that it is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What a server said of itself when it was ready, and the tools that it listed."""

    version: str | None
    resources: bool
    prompts: bool
    tools: Sequence[ServerTool]


class Owner(Protocol):
    """Whom a session tells what it learns."""

    def take_offer(self, offer: Offer) -> None:
        """It is ready, or its tools have changed."""
        ...

    def take_failure(self, why: str) -> None:
        """It could not be begun; what there is of it is about to be closed."""
        ...

    def find_root(self, cwd: str | None) -> str | None:
        """The directory that it may know of; it has asked. `cwd`: of the call that it is in."""
        ...


class Session:
    """Made for one start of a server."""

    def __init__(self, config: ServerConfig, *, journal: Journal, owner: Owner) -> None:
        self._config = config
        self._journal = journal
        self._owner = owner
        self._calls: list[Doing] = []
        self._asks_roots = False
        self._changed = trio.Event()
        self._nursery: trio.Nursery | None = None
        self._session: ClientSession | None = None

    async def run(self, open_transport: OpenTransport) -> str:
        """Open it and keep it open; answer why it is over.

        Raises:
            CannotRun: the server cannot be reached.
        """
        late = f"It was not ready within {self._config.startup_s:g} s."
        with trio.CancelScope() as starting:
            starting.deadline = trio.current_time() + self._config.startup_s
            async with (
                open_transport(self._config, journal=self._journal) as (incoming, outgoing),
                ClientSession(
                    Intake(incoming, outlet := Outlet(outgoing), self._journal.note),
                    outlet,
                    elicitation_callback=self._elicit,
                    list_roots_callback=self._list_roots,
                    logging_callback=self._log,
                    message_handler=self._hear,
                    client_info=Implementation(name="askd", version=__version__),
                ) as session,
                # In it: every errand. They end with the session.
                trio.open_nursery() as nursery,
            ):
                deadline, starting.deadline = starting.deadline, math.inf
                with trio.CancelScope(deadline=deadline) as beginning:
                    nursery.start_soon(self._watch, beginning)
                    await self._begin(session)
                if self._journal.ended is None and not beginning.cancelled_caught:
                    nursery.start_soon(self._watch, nursery.cancel_scope)
                    self._nursery, self._session = nursery, session
                    try:
                        await self._keep_listed(session)
                    finally:
                        self._nursery = None
                self._owner.take_failure(self._journal.ended or late)
                nursery.cancel_scope.cancel()
        return self._journal.ended or late

    def do(self, errand: Doing) -> bool:
        """Begin an errand; False: the session is over."""
        if self._nursery is None or self._session is None or self._journal.gone.is_set():
            return False
        self._nursery.start_soon(self._carry_out, errand, self._session)
        return True

    def is_busy(self) -> bool:
        """Whether an errand is not done yet."""
        return bool(self._calls)

    def explain(self, error: Exception) -> str:
        """A sentence for what went wrong in an errand."""
        match error:
            case _ if self._journal.ended is not None:
                return f"The server {self._config.name!r} is gone. {self._journal.ended}"
            case SessionOver():
                return f"The server {self._config.name!r} was ended."
            case MCPError(code=code) if code == CONNECTION_CLOSED:
                self._journal.end("It closed the connection.")
                return f"The server {self._config.name!r} closed the connection."
            case MCPError(message=message):
                said = shorten(self._journal.hide(message))
                return f"The server {self._config.name!r} answered: {said}"
            case ValidationError():
                return f"What the server {self._config.name!r} answered is not in the protocol."
            case _:
                kind = type(error).__name__
                return f"The server {self._config.name!r} failed: {kind}: {shorten(str(error))}"

    async def _begin(self, session: ClientSession) -> None:
        try:
            said = await session.initialize()
            await self._let_settle(session)
            await self.list_anew(session)
            self._journal.note(
                f"Ready: {shorten(said.server_info.name)}, protocol of {said.protocol_version}"
            )
        except Exception as error:
            self._journal.end(self.explain(error))

    async def _let_settle(self, session: ClientSession) -> None:
        """Let a server that asks for roots have them before it is asked for anything.

        What it asks for when it is told that we are ready comes before its answer to a ping, and
        our answer reaches it before the next ping.
        """
        with trio.move_on_after(ROOTS_S), suppress(MCPError):
            await session.send_ping()
            if self._asks_roots:
                await session.send_ping()
                await trio.sleep(SETTLE_S)

    async def list_anew(self, session: ClientSession) -> None:
        """Ask it what it offers; an errand like others."""
        said = session.server_capabilities
        assert session.server_info is not None
        assert said is not None
        tools: Sequence[ServerTool] = ()
        if said.tools is not None:
            tools = await list_tools(session, self._config.name, self._journal.note)
        self._owner.take_offer(
            Offer(
                version=shorten(session.server_info.version),
                resources=said.resources is not None,
                prompts=said.prompts is not None,
                tools=tools,
            )
        )

    async def _keep_listed(self, session: ClientSession) -> None:
        """List the tools anew whenever the server says that they have changed."""
        wait_s = RELIST_S
        while True:
            wait_s = min(2 * wait_s, CALM_RELIST_S) if self._changed.is_set() else RELIST_S
            await self._changed.wait()
            self._changed = trio.Event()
            try:
                with trio.fail_after(self._config.startup_s):
                    await self.list_anew(session)
            except Exception as error:
                self._journal.note(f"Its tools could not be listed anew. {self.explain(error)}")
            await trio.sleep(wait_s)

    async def _watch(self, scope: trio.CancelScope) -> None:
        await self._journal.gone.wait()
        scope.cancel()

    async def _carry_out(self, errand: Doing, session: ClientSession) -> None:
        self._calls.append(errand)
        try:
            await errand.carry_out(session, self.explain)
        finally:
            self._calls.remove(errand)

    def _find_asker(self) -> Doing | None:
        """The call that a request of the server's belongs to.

        The protocol does not say over stdio: the newest call that has a person behind it is the
        best guess. A server that asks at all is mostly one that does one thing at a time.
        """
        return next((each for each in reversed(self._calls) if each.site is not None), None)

    async def _elicit(
        self, context: ClientRequestContext, params: ElicitRequestParams
    ) -> ElicitResult:
        call = self._find_asker()
        if call is None:
            return ElicitResult(action="cancel")
        who, text = self._config.name, self._journal.hide(params.message)
        match params:
            case ElicitRequestFormParams(requested_schema=schema):
                said = await call.ask(Wish(who=who, text=text, schema=schema))
                if said.action == "accept":
                    return ElicitResult(action="accept", content=dict(said.content or {}))
            case ElicitRequestURLParams(url=url):
                said = await call.ask(Wish(who=who, text=text, url=url))
            case _:
                assert_never(params)
        return ElicitResult(action=said.action)

    async def _list_roots(self, context: ClientRequestContext) -> ListRootsResult:
        self._asks_roots = True
        call = self._find_asker()
        cwd = None if call is None or call.site is None else call.site.cwd
        root = self._owner.find_root(cwd)
        await trio.lowlevel.checkpoint()
        if root is None:
            return ListRootsResult(roots=[])
        path = PurePosixPath(root)
        return ListRootsResult(
            roots=[Root.model_validate({"uri": path.as_uri(), "name": path.name})]
        )

    async def _log(self, params: LoggingMessageNotificationParams) -> None:
        self._journal.note(f"{params.level}: {shorten(self._journal.hide(str(params.data)))}")
        await trio.lowlevel.checkpoint()

    async def _hear(self, message: ServerNotification | Exception) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._changed.set()
        await trio.lowlevel.checkpoint()


async def call_tool(
    session: ClientSession,
    tool: ServerTool,
    arguments: Mapping[str, Any],
    site: Site,
    *,
    hide: Callable[[str], str] = str,
) -> Result:
    """Call a tool and read what it answers; `hide`: takes known secrets out of a text.

    Not by the session's own method: that one checks results against the tool's own schema,
    and a pattern in it could keep the daemon busy for ever.
    """
    request = CallToolRequest(
        params=CallToolRequestParams(name=tool.name, arguments=make_all_writable(arguments))
    )
    result = await session.send_request(
        request, CallToolResult, progress_callback=_Reporting(tool.server, site, hide)
    )
    found = read_result(result)
    parts = [Text(hide(each.text)) if isinstance(each, Text) else each for each in found.parts]
    return replace(found, parts=tuple(parts))


class _Reporting:
    """Says how far a call is, now and then."""

    def __init__(self, server: str, site: Site, hide: Callable[[str], str]) -> None:
        self._server = server
        self._site = site
        self._hide = hide
        self._next_at = 0.0

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        await trio.lowlevel.checkpoint()
        if trio.current_time() < self._next_at:
            return
        self._next_at = trio.current_time() + REPORT_S
        far = f"{progress:g}" if total is None else f"{progress:g} of {total:g}"
        said = shorten(self._hide(message or ""))
        self._site.report(f"{self._server}: {said} ({far})" if said else f"{self._server}: {far}")


def shorten(text: str) -> str:
    """One line of what a server said, at a length that can be shown."""
    line = " ".join(strip_escapes(text[: 4 * SAID_CHARACTERS]).split())
    return line if len(line) <= SAID_CHARACTERS else f"{line[:SAID_CHARACTERS]} ..."
