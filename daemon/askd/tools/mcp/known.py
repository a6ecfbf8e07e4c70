"""What servers said of their tools when they were last there, kept over restarts.

So that no turn waits for a server that was known once. A file that cannot be read, or holds
something else, is nothing known. It keeps no variable's value, no header and no token, and
a server whose command has changed is another one.
"""

import hashlib
import json
import logging
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trio

from askd.files import replace_file
from askd.tools.mcp.base import ServerTool, describe_tool
from askd.tools.mcp.configs import ServerConfig

MOST_SERVERS = 100
"""That are remembered; the ones not seen for longest are forgotten."""
FILE_BYTES = 16 << 20
"""Of the file. It is read in one go, while everybody waits; a larger one is not ours."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of one server. `at`: unix seconds; `rooted`: it asks for a directory."""

    at: float
    version: str | None = None
    rooted: bool = False
    resources: bool = False
    prompts: bool = False
    tools: Sequence[ServerTool] = ()


class KnownServers:
    """The file, and what is in it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._by_digest: dict[str, Mapping[str, Any]] | None = None
        self._writing = trio.Lock()

    def find(self, config: ServerConfig) -> Known | None:
        """What was known of a server that was configured like this."""
        said = self._load().get(digest_config(config))
        return None if said is None else _decode(config.name, said)

    async def keep(self, config: ServerConfig, known: Known) -> None:
        """Remember it; that it cannot be written costs a warning."""
        kept = self._load()
        kept[digest_config(config)] = _encode(known)
        while len(content := _render(kept)) > FILE_BYTES or len(kept) > MOST_SERVERS:
            del kept[min(kept, key=lambda each: kept[each]["at"])]
        async with self._writing:
            try:
                await trio.to_thread.run_sync(replace_file, self._path, content)
            except OSError as error:
                log.warning("Servers' tools are not kept: %s", error)

    def _load(self) -> dict[str, Mapping[str, Any]]:
        if self._by_digest is None:
            self._by_digest = _read(self._path)
        return self._by_digest


def digest_config(config: ServerConfig) -> str:
    """By what a server is known: what is started or where it listens, and no secret."""
    said = [
        config.command, list(config.args), sorted(config.env), config.cwd,
        config.url, sorted(config.headers),
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def _read(path: Path) -> dict[str, Mapping[str, Any]]:
    try:
        found = path.stat()
        # What is no file, a pipe for instance, could be waited for for ever.
        if not stat.S_ISREG(found.st_mode) or found.st_size > FILE_BYTES:
            return {}
        said = json.loads(path.read_bytes())
        servers = said["servers"] if said["version"] == 1 else {}
        # Decoded once to see whether it can be: what cannot is as if it were not there.
        return {digest: each for digest, each in servers.items() if _decode("", each) is not None}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        log.warning("What is known of servers' tools cannot be read: %s", type(error).__name__)
        return {}


def _render(servers: Mapping[str, Mapping[str, Any]]) -> bytes:
    return json.dumps({"version": 1, "servers": servers}).encode()


def _encode(known: Known) -> Mapping[str, Any]:
    return {
        "at": known.at,
        "version": known.version,
        "rooted": known.rooted,
        "resources": known.resources,
        "prompts": known.prompts,
        "tools": [
            {"name": each.name, "description": each.description, "schema": each.schema}
            for each in known.tools
        ],
    }


def _decode(server: str, said: Any) -> Known | None:
    """A server as it stands in the file; None: that is something else."""
    try:
        tools = [_decode_tool(server, each) for each in said["tools"]]
        version = said["version"]
        if not isinstance(version, str | None):
            return None
        return Known(
            at=float(said["at"]),
            version=version,
            rooted=bool(said["rooted"]),
            resources=bool(said["resources"]),
            prompts=bool(said["prompts"]),
            tools=tools,
        )
    except (KeyError, TypeError, ValueError):
        return None


def _decode_tool(server: str, said: Any) -> ServerTool:
    name, description, schema = said["name"], said["description"], said["schema"]
    if not (isinstance(name, str) and isinstance(description, str) and isinstance(schema, dict)):
        raise ValueError("a tool is something else")
    return describe_tool(server, name, description, schema)
