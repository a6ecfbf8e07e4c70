"""What the house knows of servers of tools, without the SDK: values, and one protocol.

`servers.Servers` keeps the promises; nothing here imports the SDK, so that whoever has no
server configured never loads it.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from askd.tools.base import Result, Site, Tool

State = Literal["off", "idle", "starting", "ready", "failed"]
"""`off`: not enabled; `idle`: nobody has needed it; `failed`: it is tried again when needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTool:
    """A tool as its server describes it.

    `digest`: SHA-256 over name, description and schema, in hex: what was allowed for good was
    allowed for this description.
    """

    server: str
    name: str
    description: str
    schema: Mapping[str, Any]
    digest: str


def describe_tool(
    server: str, name: str, description: str, schema: Mapping[str, Any]
) -> ServerTool:
    """A tool with the digest of how it is described; `schema` is JSON."""
    said = json.dumps([name, description, schema], sort_keys=True)
    return ServerTool(
        server=server,
        name=name,
        description=description,
        schema=schema,
        digest=hashlib.sha256(said.encode()).hexdigest(),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerState:
    """How a server is, for people.

    Attributes:
        tools: as it listed them last, those that are not offered among them.
        error: why it could not be started, or ended; a sentence.
        at: unix seconds of when it was last heard of; None: never.
    """

    name: str
    kind: Literal["stdio", "http"]
    state: State
    version: str | None = None
    tools: Sequence[ServerTool] = ()
    resources: bool = False
    prompts: bool = False
    error: str | None = None
    pid: int | None = None
    at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """Something that a server offers to read."""

    server: str
    uri: str
    name: str
    description: str = ""
    media_type: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """A piece of what a resource holds: `text`, or `data` of some other kind; one of them.

    `media_type` is what its server says; nothing is decided by it.
    """

    uri: str
    text: str | None = None
    data: bytes | None = field(default=None, repr=False)
    media_type: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerPrompt:
    """A prompt that a server offers; `arguments`: name, description, whether it is required."""

    server: str
    name: str
    description: str = ""
    arguments: Sequence[tuple[str, str, bool]] = ()


class McpServers(Protocol):
    """All configured servers. Each raises `CannotRun` with a sentence where it cannot answer."""

    def tools(self) -> Sequence[Tool]:
        """The tools that are offered, as far as they are known now; starts nothing."""
        ...

    async def prepare(self, words: Sequence[str], root: str | None) -> Sequence[str]:
        """Start in the background every server that these words of `-T` may mean.

        Waits for one of which no tool was ever known: up to its limit if it is named outright
        (`time__now`, `time__*`), else the first time alone and for a moment; for no other. Answers
        with a sentence for each that is not there.
        """
        ...

    async def call(self, tool: ServerTool, arguments: Mapping[str, Any], site: Site) -> Result:
        """Call a tool; its server is started if need be. Bounded in time and size."""
        ...

    async def list_resources(self, server: str, root: str | None) -> Sequence[Resource]:
        """What a server offers to read, and its templates."""
        ...

    async def read_resource(self, server: str, uri: str, root: str | None) -> Sequence[Content]:
        """What a resource holds, as it was sent; bounded in time and size."""
        ...

    async def list_prompts(self, server: str) -> Sequence[ServerPrompt]:
        """The prompts that a server offers."""
        ...

    async def get_prompt(
        self, server: str, name: str, arguments: Mapping[str, str]
    ) -> Sequence[tuple[str, str]]:
        """A prompt's messages: role and text of each."""
        ...

    async def check(self, server: str) -> ServerState:
        """Start it now, and say how it is.

        One that is there is asked for its tools, and started anew if it does not answer.
        """
        ...

    def states(self) -> Sequence[ServerState]:
        """How each of them is."""
        ...

    def read_log(self, server: str) -> str:
        """The end of what it wrote to its standard error."""
        ...
