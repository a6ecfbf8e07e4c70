"""What the servers of the fake daemon offer besides tools: resources, prompts."""

import hashlib
from collections.abc import Callable
from typing import Any

from tests.client.commands.fake_log import Refusal

Map = dict[str, Any]


class FakeContents:
    """The contents of one daemon's servers.

    Attributes:
        resources: the rows of `mcp/resources`.
        contents: what a resource holds, by its URI; bytes become a blob.
        prompts: the rows of `mcp/prompts`.
        messages: what each prompt says, by its name.
        unlisted: how many more there are of either.
        reading: called before resources, or one of them, are answered.
    """

    blobs: dict[str, bytes]

    def __init__(self) -> None:
        super().__init__()
        self.resources: list[Map] = []
        self.contents: dict[str, list[str | bytes]] = {}
        self.prompts: list[Map] = []
        self.messages: dict[str, list[Map]] = {}
        self.unlisted = 0
        self.reading: Callable[[], object] = lambda: None

    def _mcp_resources(self, params: Map) -> Map:
        self.reading()
        return {"data": self.resources, "left_out": self.unlisted}

    def _mcp_resource(self, params: Map) -> Map:
        self.reading()
        if params["uri"] not in self.contents:
            raise Refusal("server_failed", "It has no such thing.")
        name = f"{params['server']}:{params['uri']}"
        parts = [self._make_part(each, name) for each in self.contents[params["uri"]]]
        return {"parts": parts}

    def _make_part(self, content: str | bytes, name: str) -> Map:
        if isinstance(content, str):
            return {"type": "text", "text": content, "name": name}
        digest = hashlib.sha256(content).hexdigest()
        self.blobs[digest] = content
        described = {"sha256": digest, "bytes": len(content), "media_type": "text/\x1b[31mcss"}
        return {"type": "blob", "name": name, **described}

    def _mcp_prompts(self, params: Map) -> Map:
        return {"data": self.prompts, "left_out": self.unlisted}

    def _mcp_prompt(self, params: Map) -> Map:
        return {"messages": self.messages[params["name"]]}
