"""The place of one configured server: what it offers, and who holds it for which directory.

A server that asks for the caller's directory is held once for each; any other once for all.
Nothing is started before somebody needs it.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import trio

from askd.tools.base import CannotRun, Tool
from askd.tools.mcp.base import ServerState, ServerTool, State
from askd.tools.mcp.configs import ServerConfig
from askd.tools.mcp.known import Known, KnownServers
from askd.tools.mcp.owner import Owner
from askd.tools.mcp.tool import Call, make_server_tool
from askd.tools.mcp.transports import OpenTransport

if TYPE_CHECKING:
    from askd.tools.mcp.session import Offer

MOST_ROOTS = 8
"""Directories for which one server is held at a time; each is a process of its own."""

log = logging.getLogger(__name__)


class Seat:
    """Made for one configuration; another one is another seat.

    Attributes:
        config: what it was made for.
        known: what the server said when it was last there; None: it never was.
        tools: those that are offered.
    """

    def __init__(
        self,
        config: ServerConfig,
        *,
        open_transport: OpenTransport,
        store: KnownServers,
        call: Call,
        now: Callable[[], float],
        nursery: Callable[[], trio.Nursery],
    ) -> None:
        self.config = config
        self.known = store.find(config)
        self.tools: Sequence[Tool] = ()
        self._open_transport = open_transport
        self._store = store
        self._call = call
        self._now = now
        self._nursery = nursery
        self._owners: list[Owner] = []
        self._offer_tools()

    def is_known(self) -> bool:
        """Whether any of its tools was ever known."""
        return bool(self.known and self.known.tools)

    def has_failed(self) -> bool:
        """Whether it could not be started, or has ended, since the daemon was started."""
        return any(each.error is not None for each in self._owners)

    def find_owner(self, root: str | None) -> Owner:
        """Who holds the server for a directory; starts nothing. `CannotRun`: there are too many."""
        is_rooted = self.known is not None and self.known.rooted
        for owner in self._owners:
            if not is_rooted or root is None or owner.root == root:
                return owner
        while len(self._owners) >= MOST_ROOTS:
            self._make_room()
        owner = Owner(
            self.config,
            root,
            open_transport=self._open_transport,
            keeper=self,
            now=self._now,
        )
        self._nursery().start_soon(owner.run)
        self._owners.append(owner)
        return owner

    def close(self) -> None:
        """End all that is held here."""
        for owner in self._owners:
            owner.close("Its settings have changed.")
        self._owners.clear()

    def take_offer(self, offer: "Offer") -> None:
        """As `owner.Keeper.take_offer`."""
        rooted = self.known is not None and self.known.rooted
        self._keep(
            Known(
                at=self._now(),
                version=offer.version,
                rooted=rooted,
                resources=offer.resources,
                prompts=offer.prompts,
                tools=offer.tools,
            )
        )

    def take_rooted(self) -> None:
        """As `owner.Keeper.take_rooted`."""
        self._keep(replace(self.known or Known(at=self._now()), rooted=True))

    def check_described(self, tool: ServerTool) -> None:
        """Raise `CannotRun` for a tool that its server describes otherwise by now.

        What was allowed, and what the model has read, was what it was described as before.
        """
        tools = self.known.tools if self.known is not None else ()
        if any(each.name == tool.name and each.digest != tool.digest for each in tools):
            raise CannotRun(
                f"The server {self.config.name!r} has changed how it describes this tool, so the "
                "call was not run. Read the description again, and call it if that is still right."
            )

    def describe(self) -> ServerState:
        """How it is; of several that are held, how the last one is that was needed."""
        owner = max(self._owners, key=lambda each: each.used_at, default=None)
        state: State = "idle" if owner is None else owner.state
        known = self.known or Known(at=0)
        return ServerState(
            name=self.config.name,
            kind="stdio" if self.config.url is None else "http",
            state=state if self.config.enabled else "off",
            version=known.version,
            tools=tuple(known.tools),
            resources=known.resources,
            prompts=known.prompts,
            error=None if owner is None else owner.error,
            pid=None if owner is None else owner.journal.pid,
            at=known.at or None,
        )

    def read_log(self) -> str:
        """What is kept of each that is held, the last one that was needed last."""
        held = sorted(self._owners, key=lambda each: each.used_at)
        if len(held) < 2:
            return "".join(each.journal.text() for each in held)
        return "".join(f"== {_name_root(each.root)}\n{each.journal.text()}" for each in held)

    def _make_room(self) -> None:
        """End the one that was not needed for longest."""
        idle = [each for each in self._owners if not each.is_busy()]
        if not idle:
            raise CannotRun(
                f"The server {self.config.name!r} works in {MOST_ROOTS} directories already."
            )
        leaving = min(idle, key=lambda each: each.used_at)
        leaving.close("It was needed for other directories.")
        self._owners.remove(leaving)

    def _keep(self, known: Known) -> None:
        is_new = self.known is None or replace(self.known, at=known.at) != known
        self.known = known
        self._offer_tools()
        if is_new:
            self._nursery().start_soon(self._store.keep, self.config, known)

    def _offer_tools(self) -> None:
        if self.config.enabled and self.known is not None:
            self.tools = [
                make_server_tool(each, self._call)
                for each in self.known.tools
                if self.config.offers(each.name)
            ]


def _name_root(root: str | None) -> str:
    return "for no directory (ask mcp test, prompt)" if root is None else f"for {root}"
