"""What servers of tools offer besides tools: resources to read, and prompts.

All of it is others' text: it is measured and handed on, never obeyed. What is too large
for a message waits with the connection, as a blob that was sent would.
"""

import hashlib
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from ask.protocol.limits import BLOB_CHUNK_BYTES, BLOB_LIMIT_BYTES
from ask.protocol.messages import (
    McpPrompt,
    McpPromptArgument,
    McpPromptMessage,
    McpPromptPage,
    McpPromptRecord,
    McpPromptResult,
    McpPrompts,
    McpResource,
    McpResourcePage,
    McpResourceRecord,
    McpResourceResult,
    McpResources,
    PromptPart,
)
from askd.core.items import PART_LIMIT_BYTES
from askd.core.writable import make_writable
from askd.errors import NotFound, ServerFailed
from askd.server.house import House
from askd.server.peer import Peer
from askd.server.uploads import Uploads
from askd.tools.base import CannotRun
from askd.tools.mcp.base import Content, Resource, ServerPrompt

INLINE_LIMIT_BYTES = 512 * 1024
"""Of all texts in one answer: a message has 1 MiB, and an escape takes more than its letter."""
PARTS_LIMIT = 64
"""Pieces of one resource: as many blobs may wait with a connection."""
LISTED_LIMIT_BYTES = 512 * 1024
"""Of one listing; what would be beyond it is counted."""
LISTED_LIMIT = 1000
NAME_CHARACTERS = 300
TEXT_CHARACTERS = 1000
"""Of a description in a listing. An address is never cut: it would be another one."""
ADDRESS_CHARACTERS = 2048
ARGUMENTS_LIMIT = 50
"""That a prompt may have; the ones that there are take two or three."""

Answer = TypeVar("Answer")
Row = TypeVar("Row", McpResourceRecord, McpPromptRecord)


async def list_resources(house: House, peer: Peer, params: McpResources) -> McpResourcePage:
    """What a server offers to read; it is started if need be."""
    found = await _ask(
        house, params.server, lambda: house.servers.list_resources(params.server, params.cwd)
    )
    named = [each for each in found if len(each.uri) <= ADDRESS_CHARACTERS]
    rows = take_rows(_describe_resource(each) for each in named)
    return McpResourcePage(data=rows, left_out=len(found) - len(rows))


async def read_resource(house: House, peer: Peer, params: McpResource) -> McpResourceResult:
    """Read a resource; the texts and images that it holds."""
    contents = await _ask(
        house,
        params.server,
        lambda: house.servers.read_resource(params.server, params.uri, params.cwd),
    )
    name = f"{params.server}:{params.uri}"
    if not contents:
        raise ServerFailed(f"{params.server} answers that {params.uri} holds nothing.")
    encoded = [_encode(each) for each in contents]
    size = sum(map(len, encoded))
    if size > BLOB_LIMIT_BYTES or len(contents) > PARTS_LIMIT:
        raise ServerFailed(
            f"It has {len(contents)} parts and {size} bytes; {PARTS_LIMIT} parts and "
            f"{BLOB_LIMIT_BYTES >> 20} MiB are the most."
        )
    parts: list[PromptPart] = []
    room = INLINE_LIMIT_BYTES
    for content, data in zip(contents, encoded, strict=True):
        said = name if len(contents) == 1 else f"{params.server}:{content.uri[:ADDRESS_CHARACTERS]}"
        if content.text is not None and len(data) <= min(room, PART_LIMIT_BYTES):
            room -= len(data)
            parts.append(PromptPart(type="text", text=data.decode(), name=said))
        else:
            parts.append(_put_aside(peer.uploads, content, data, name=said))
    return McpResourceResult(parts=parts)


async def list_prompts(house: House, peer: Peer, params: McpPrompts) -> McpPromptPage:
    """The prompts that a server offers; it is started if need be."""
    found = await _ask(house, params.server, lambda: house.servers.list_prompts(params.server))
    named = [each for each in found if len(each.name) <= NAME_CHARACTERS]
    rows = take_rows(_describe_prompt(each) for each in named)
    return McpPromptPage(data=rows, left_out=len(found) - len(rows))


async def get_prompt(house: House, peer: Peer, params: McpPrompt) -> McpPromptResult:
    """A prompt with its arguments filled in."""
    found = await _ask(
        house,
        params.server,
        lambda: house.servers.get_prompt(params.server, params.name, params.arguments or {}),
    )
    messages = [
        McpPromptMessage(role=make_writable(role), text=make_writable(text)) for role, text in found
    ]
    size = sum(len(each.text.encode()) for each in messages)
    if size > INLINE_LIMIT_BYTES or len(messages) > LISTED_LIMIT:
        raise ServerFailed(
            f"The prompt {params.name!r} has {len(messages)} messages and {size} bytes; "
            f"{INLINE_LIMIT_BYTES >> 10} KiB are the most."
        )
    return McpPromptResult(messages=messages)


async def _ask(house: House, server: str, ask: Callable[[], Awaitable[Answer]]) -> Answer:
    """Ask a server that is configured; raise `NotFound` or `ServerFailed`."""
    names = [each.name for each in house.servers.states()]
    if server not in names:
        raise NotFound(
            f"There is no server of tools named {server!r}; see `ask mcp list`.",
            reason="server_not_found",
            data={"candidates": names},
        )
    try:
        return await ask()
    except CannotRun as error:
        raise ServerFailed(str(error)) from None


def _put_aside(uploads: Uploads, content: Content, data: bytes, *, name: str) -> PromptPart:
    """Keep a piece with the connection, which reads it or names it in its prompt."""
    digest = hashlib.sha256(data).hexdigest()
    for offset in range(0, max(len(data), 1), BLOB_CHUNK_BYTES):
        chunk = data[offset : offset + BLOB_CHUNK_BYTES]
        uploads.put(digest, size=len(data), offset=offset, chunk=chunk)
    kind = "text/plain" if content.text is not None else content.media_type
    return PromptPart(
        type="blob",
        sha256=digest,
        bytes=len(data),
        media_type=_cut(kind or "application/octet-stream", NAME_CHARACTERS),
        name=name,
    )


def _encode(content: Content) -> bytes:
    if content.text is not None:
        return content.text.encode(errors="replace")
    return content.data or b""


def _cut(text: str, characters: int) -> str:
    text = make_writable(text)
    return text if len(text) <= characters else text[: characters - 1] + "…"


def _describe_resource(resource: Resource) -> McpResourceRecord:
    kind = resource.media_type
    return McpResourceRecord(
        uri=make_writable(resource.uri),
        name=_cut(resource.name, NAME_CHARACTERS),
        description=_cut(resource.description, TEXT_CHARACTERS),
        media_type=None if kind is None else _cut(kind, NAME_CHARACTERS),
    )


def _describe_prompt(prompt: ServerPrompt) -> McpPromptRecord:
    return McpPromptRecord(
        name=make_writable(prompt.name),
        description=_cut(prompt.description, TEXT_CHARACTERS),
        arguments=[
            McpPromptArgument(
                name=_cut(name, NAME_CHARACTERS),
                description=_cut(description, TEXT_CHARACTERS),
                required=required,
            )
            for name, description, required in prompt.arguments[:ARGUMENTS_LIMIT]
        ],
    )


def take_rows(rows: Iterable[Row]) -> list[Row]:
    """As many as fit one answer."""
    taken: list[Row] = []
    room = LISTED_LIMIT_BYTES
    for row in rows:
        room -= len(repr(row).encode())
        if room < 0 or len(taken) == LISTED_LIMIT:
            break
        taken.append(row)
    return taken
