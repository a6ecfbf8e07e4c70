"""The tools that there are, and the one way to run a call.

Every call gets an output: a tool that is not there, arguments that are no JSON
object and a tool that raises each become an error output that the model can
read. Only cancellation passes through. A tool is called by the name that models are
told and by no other, so a name that some provider would refuse is none: what stands
in a request in place of such a name (`core.pairs`) never runs another tool.
"""

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from askd.core.items import Text, ToolCall, ToolOutput
from askd.core.outputs import READ_OUTPUT
from askd.core.pairs import NAMES
from askd.tools.base import Result, Tool

log = logging.getLogger(__name__)


class Registry:
    """The tools of a daemon, by name; empty unless given some."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            if not NAMES.fullmatch(tool.name):
                raise ValueError(f"no provider takes {tool.name!r} for the name of a tool")
            if tool.name in self._tools:
                raise ValueError(f"two tools are named {tool.name!r}")
            self._tools[tool.name] = tool

    def __contains__(self, name: object) -> bool:
        return name in self._tools

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

    async def run(self, call: ToolCall, *, item_id: str) -> ToolOutput:
        """Run one call to its output, whose id is `item_id`."""
        tool = self._tools.get(call.name)
        if tool is None:
            return ToolOutput(
                item_id,
                call.call_id,
                call.name,
                (Text(f"There is no tool named {call.name!r}."),),
                is_error=True,
                synthetic="unknown_tool",
            )
        result = await _run(tool, call)
        return ToolOutput(item_id, call.call_id, call.name, result.parts, is_error=result.is_error)


async def _run(tool: Tool, call: ToolCall) -> Result:
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError) as error:
        return _fail(f"The arguments of {call.name!r} are not JSON: {error}")
    if not isinstance(arguments, dict):
        return _fail(f"The arguments of {call.name!r} must be a JSON object.")
    try:
        return await tool.run(arguments)
    except Exception as error:
        log.exception("Tool failed: tool_name=%s, call_id=%s", call.name, call.call_id)
        return _fail(f"{call.name!r} failed: {type(error).__name__}: {error}")


def _fail(sentence: str) -> Result:
    return Result((Text(sentence),), is_error=True)
