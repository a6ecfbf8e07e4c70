"""A tool of a server as a tool of the house: named, described and asked about like any other.

All that a server says of it is text of somebody else's making: bounded, and believed in
nothing. A hint that it only reads does not spare a person the question. It knows no
session with a server; what it is asked for goes to `call`.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from askd.core.approval import Approval, Grant
from askd.core.cutting import cut_middle
from askd.core.writable import make_writable
from askd.tools.base import Preview, Result, Site, Tool
from askd.tools.mcp.base import ServerTool
from askd.tools.mcp.names import name_tool
from askd.tools.mcp.schemas import Fitted, fit_schema

DESCRIPTION_CHARACTERS = 4000
"""About a thousand tokens of every request; more than the longest of the usual servers' have."""
SHOWN_CHARACTERS = 100
"""Of a name that a server made up, where people read it."""
NO_DESCRIPTION = "A tool of the server {server!r}, which does not say what it is for."
CONFINEMENT = (
    "It is done by the server {server!r}, which nothing here confines: it can do whatever it is "
    "able to, with your rights if it runs on this machine."
)

Call = Callable[[ServerTool, Mapping[str, Any], Site], Awaitable[Result]]
"""As `McpServers.call`."""


def make_server_tool(tool: ServerTool, call: Call) -> Tool:
    """The tool for a registry; `call` carries its calls to the server."""
    return _OfServer(tool, call)


@dataclass(frozen=True)
class _OfServer:
    """As `Tool`; what it says of itself is made once, for requests are measured often."""

    tool: ServerTool
    call: Call

    @cached_property
    def name(self) -> str:
        return name_tool(self.tool.server, self.tool.name)

    @cached_property
    def description(self) -> str:
        said = _clean(self.tool.description).strip()
        said = cut_middle(said, DESCRIPTION_CHARACTERS)
        said = said or NO_DESCRIPTION.format(server=self.tool.server)
        return f"{said}\n{self._fitted.remark}" if self._fitted.remark else said

    @property
    def schema(self) -> Mapping[str, Any]:
        return self._fitted.schema

    @property
    def effects(self) -> bool:
        return True

    @property
    def needs(self) -> Approval:
        return "ask"

    async def preview(self, arguments: Mapping[str, Any], site: Site) -> Preview:
        """As `Tool.preview`; "always" counts for the tool as it is described now, and here."""
        shown = f"{self.tool.server}: {_shorten(self.tool.name)}"
        return Preview(
            title=shown,
            body=make_writable(json.dumps(arguments, ensure_ascii=False, indent=2))
            if arguments
            else "",
            needs="ask",
            grant=Grant(tool=self.name, cwd=site.cwd, only=self.tool.digest, label=shown),
            confinement=CONFINEMENT.format(server=self.tool.server),
        )

    async def run(self, arguments: Mapping[str, Any], site: Site) -> Result:
        """As `Tool.run`."""
        return await self.call(self.tool, arguments, site)

    @cached_property
    def _fitted(self) -> Fitted:
        return fit_schema(self.tool.schema)


def _shorten(name: str) -> str:
    """A name on one line, at a length that leaves room for what it is about."""
    return " ".join(_clean(cut_middle(name, SHOWN_CHARACTERS)).split())


def _clean(text: str) -> str:
    """What a person who reads it would see; tags and other characters without a shape are gone."""
    return "".join(
        each if each.isprintable() or each in "\n\t" else " " for each in make_writable(text)
    )
