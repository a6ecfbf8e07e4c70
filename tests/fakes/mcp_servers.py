"""Servers of tools without any: they offer what a test says, and remember what was asked.

They keep the promises of `McpServers`: whoever is not among them raises `CannotRun`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import trio

from askd.tools.base import CannotRun, Result, Site, Tool, say
from askd.tools.mcp.base import Content, Resource, ServerPrompt, ServerState, ServerTool


@dataclass
class FakeServers:
    """What each server has, by its name.

    Attributes:
        offered: what `tools` answers.
        unready: a sentence for each server that could not be prepared.
        results: what the next calls answer; none left: the arguments as they came.
        contents: of resources, by server and URI.
        messages: of prompts, by server and name.
        asked: every call that was made, with its arguments.
    """

    how: dict[str, ServerState] = field(default_factory=dict)
    offered: list[Tool] = field(default_factory=list)
    unready: list[str] = field(default_factory=list)
    results: list[Result | Exception] = field(default_factory=list)
    resources: list[Resource] = field(default_factory=list)
    contents: dict[tuple[str, str], Sequence[Content]] = field(default_factory=dict)
    prompts: list[ServerPrompt] = field(default_factory=list)
    messages: dict[tuple[str, str], Sequence[tuple[str, str]]] = field(default_factory=dict)
    logs: dict[str, str] = field(default_factory=dict)
    asked: list[tuple[Any, ...]] = field(default_factory=list)

    def tools(self) -> Sequence[Tool]:
        return tuple(self.offered)

    async def prepare(self, words: Sequence[str], root: str | None) -> Sequence[str]:
        await self._note("prepare", tuple(words), root)
        return tuple(self.unready)

    async def call(self, tool: ServerTool, arguments: Mapping[str, Any], site: Site) -> Result:
        await self._note("call", tool.server, tool.name, dict(arguments))
        found = self.results.pop(0) if self.results else say(repr(dict(arguments)))
        if isinstance(found, Exception):
            raise found
        return found

    async def list_resources(self, server: str, root: str | None) -> Sequence[Resource]:
        await self._note("list_resources", server, root)
        self._check(server)
        return [each for each in self.resources if each.server == server]

    async def read_resource(self, server: str, uri: str, root: str | None) -> Sequence[Content]:
        await self._note("read_resource", server, uri, root)
        self._check(server)
        if (server, uri) not in self.contents:
            raise CannotRun(f"{server!r} has no {uri!r}.")
        return self.contents[server, uri]

    async def list_prompts(self, server: str) -> Sequence[ServerPrompt]:
        await self._note("list_prompts", server)
        self._check(server)
        return [each for each in self.prompts if each.server == server]

    async def get_prompt(
        self, server: str, name: str, arguments: Mapping[str, str]
    ) -> Sequence[tuple[str, str]]:
        await self._note("get_prompt", server, name, dict(arguments))
        self._check(server)
        if (server, name) not in self.messages:
            raise CannotRun(f"{server!r} has no prompt {name!r}.")
        return self.messages[server, name]

    async def check(self, server: str) -> ServerState:
        await self._note("check", server)
        self._check(server)
        return self.how[server]

    def states(self) -> Sequence[ServerState]:
        return tuple(self.how.values())

    def read_log(self, server: str) -> str:
        self._check(server)
        return self.logs.get(server, "")

    def _check(self, server: str) -> None:
        if server not in self.how:
            raise CannotRun(f"There is no server of tools named {server!r}.")

    async def _note(self, *asked: Any) -> None:
        self.asked.append(asked)
        await trio.lowlevel.checkpoint()
