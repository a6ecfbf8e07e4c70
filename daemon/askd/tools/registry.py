"""The tools that there are, and the one way to look at a call and to run it.

Every call gets an output: a tool that is not there, arguments that are no JSON
object and a tool that raises each become an error output that the model can
read. Only cancellation passes through. A tool is called by the name that models are
told and by no other, so a name that some provider would refuse is none: what stands
in a request in place of such a name (`core.pairs`) never runs another tool.
"""

import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from askd.core.approval import OF_SERVERS
from askd.core.arguments import find_refusal
from askd.core.items import Text, ToolCall, ToolOutput
from askd.core.outputs import READ_OUTPUT
from askd.core.pairs import NAMES
from askd.tools.base import CannotRun, Preview, Result, Site, Tool, say
from askd.tools.mcp.names import may_mean

log = logging.getLogger(__name__)

Answer = TypeVar("Answer")

ALL = "all"
READ = "read"
"""The tools that change nothing and of which nobody has to be asked."""
NONE = "none"


class Registry:
    """The tools of a daemon, by name; empty unless given some.

    `more`: those that come and go, as they are now; one whose name is taken is passed over.
    `servers`: the names of those that may offer some, whether or not it is known which.
    """

    def __init__(
        self,
        tools: Iterable[Tool] = (),
        *,
        more: Callable[[], Iterable[Tool]] | None = None,
        servers: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        self._own: dict[str, Tool] = {}
        self._more = more
        self._servers = servers
        for tool in tools:
            if not NAMES.fullmatch(tool.name):
                raise ValueError(f"no provider takes {tool.name!r} for the name of a tool")
            if tool.name in self._own:
                raise ValueError(f"two tools are named {tool.name!r}")
            self._own[tool.name] = tool

    @property
    def _tools(self) -> Mapping[str, Tool]:
        if self._more is None:
            return self._own
        found = dict(self._own)
        for tool in self._more():
            found.setdefault(tool.name, tool)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def select(self, wanted: Sequence[str]) -> "Registry":
        """Those of the tools that are meant: by name, by pattern, or by group."""
        return Registry(
            tool for tool in self._tools.values() if any(_means(each, tool) for each in wanted)
        )

    def find_unknown(self, wanted: Sequence[str]) -> list[str]:
        """Those of the words that mean no tool and are no group.

        One that may mean a tool of a server of which nothing is known yet is not among them.
        """
        tools, unlisted = self._tools.values(), self.find_unlisted()
        return [
            each
            for each in wanted
            if each not in (ALL, READ, NONE)
            and not any(_means(each, tool) for tool in tools)
            and not any(may_mean(each, server) for server in unlisted)
        ]

    def find_servers(self) -> list[str]:
        """The servers that may offer tools."""
        return list(self._servers())

    def find_unlisted(self) -> list[str]:
        """Those of the servers of which no tool is known now."""
        known = {name.partition(OF_SERVERS)[0] for name in self._tools if OF_SERVERS in name}
        return [each for each in self._servers() if each not in known]

    def describe(self) -> Sequence[Mapping[str, Any]]:
        """Name, description and schema of each tool, for a request."""
        return [
            {"name": each.name, "description": each.description, "parameters": each.schema}
            for each in self._tools.values()
        ]

    def harmless(self) -> frozenset[str]:
        """The names of the tools that can be run twice: running them changes nothing."""
        harmless = {name for name, tool in self._tools.items() if not tool.effects}
        # Conversations bring it along themselves; it only reads what they hold.
        return frozenset(harmless if READ_OUTPUT in self._tools else {*harmless, READ_OUTPUT})

    async def look(self, call: ToolCall, *, item_id: str, site: Site) -> Preview | ToolOutput:
        """What a call would do, or its output, if it cannot be carried out as it is.

        What could not be looked at must not be run: by then it may be possible, and nobody
        has seen what it does.
        """

        def look(tool: Tool, arguments: Mapping[str, Any]) -> Awaitable[Preview]:
            return tool.preview(arguments, site)

        tool = self._tools.get(call.name)
        if tool is None:
            return _miss_tool(call, item_id)
        found = await _try(tool, call, look)
        return found if isinstance(found, Preview) else _make_output(call, item_id, found)

    async def run(self, call: ToolCall, *, item_id: str, site: Site) -> ToolOutput:
        """Run one call to its output, whose id is `item_id`."""

        def do(tool: Tool, arguments: Mapping[str, Any]) -> Awaitable[Result]:
            return tool.run(arguments, site)

        tool = self._tools.get(call.name)
        if tool is None:
            return _miss_tool(call, item_id)
        result = await _try(tool, call, do)
        if result.blobs:
            site.keep(result.blobs)
        return _make_output(call, item_id, result)


def _miss_tool(call: ToolCall, item_id: str) -> ToolOutput:
    return ToolOutput(
        item_id,
        call.call_id,
        call.name,
        (Text(f"There is no tool named {call.name!r}."),),
        is_error=True,
        synthetic="unknown_tool",
    )


def _make_output(call: ToolCall, item_id: str, result: Result) -> ToolOutput:
    return ToolOutput(item_id, call.call_id, call.name, result.parts, is_error=result.is_error)


def _means(wanted: str, tool: Tool) -> bool:
    match wanted:
        case "all":
            return True
        case "read":
            return not tool.effects and tool.needs == "auto"
        case _:
            return fnmatchcase(tool.name, wanted)


async def _try(
    tool: Tool, call: ToolCall, act: Callable[[Tool, Mapping[str, Any]], Awaitable[Answer]]
) -> Answer | Result:
    refusal = find_refusal(call.arguments)
    if refusal is not None:
        return say(refusal, is_error=True)
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError) as error:
        return say(f"The arguments of {call.name!r} are not JSON: {error}", is_error=True)
    if not isinstance(arguments, dict):
        return say(f"The arguments of {call.name!r} must be a JSON object.", is_error=True)
    try:
        return await act(tool, arguments)
    except CannotRun as error:
        return say(str(error), is_error=True)
    except Exception as error:
        log.exception("Tool failed: tool_name=%s, call_id=%s", call.name, call.call_id)
        return say(f"{call.name!r} failed: {type(error).__name__}: {error}", is_error=True)
