"""What a server offers, page by page and no more of it than is of use.

It believes no count and no promise of an end: a listing is over when enough was seen. What was
left out is said. It is imported with the SDK, when a server is started.
"""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing, suppress
from typing import Protocol, TypeVar

from mcp import ClientSession, MCPError
from mcp.types import (
    ListPromptsRequest,
    ListPromptsResult,
    ListResourcesRequest,
    ListResourcesResult,
    ListResourceTemplatesRequest,
    ListResourceTemplatesResult,
    ListToolsRequest,
    ListToolsResult,
    PaginatedRequestParams,
)

from askd.tools.mcp.base import Resource, ServerPrompt, ServerTool, describe_tool

MOST_THINGS = 1000
"""Of one kind; a model is lost in far fewer tools, and a person in far fewer resources."""
MOST_PAGES = 200
"""Of one listing, of which some may be empty."""
LISTING_BYTES = 4 << 20
"""Of all the names, descriptions and schemas of a listing."""
SAID_CHARACTERS = 2000
"""Of a description of what is no tool: people read its beginning."""

Say = Callable[[str], None]


class _Page(Protocol):
    next_cursor: str | None


Page = TypeVar("Page", bound=_Page)
Thing = TypeVar("Thing", Resource, ServerPrompt)


async def list_tools(session: ClientSession, server: str, say: Say) -> Sequence[ServerTool]:
    """Its tools, each name once; `say` is told what is left out."""

    async def ask(params: PaginatedRequestParams | None) -> ListToolsResult:
        # Not by the session's own method: that one keeps schemas to check results with, and a
        # pattern in a schema of somebody else's could keep the daemon busy for ever.
        return await session.send_request(ListToolsRequest(params=params), ListToolsResult)

    found: dict[str, ServerTool] = {}
    room = LISTING_BYTES
    async with aclosing(_turn(ask)) as pages:
        async for page in pages:
            for each in page.tools:
                tool = describe_tool(server, each.name, each.description or "", each.input_schema)
                room -= _weigh(tool)
                if room < 0 or len(found) >= MOST_THINGS:
                    say(f"It offers more tools than are of use: {len(found):,} of them are taken.")
                    return list(found.values())
                found.setdefault(tool.name, tool)
    return list(found.values())


def _weigh(tool: ServerTool) -> int:
    return len(tool.name) + len(tool.description) + len(json.dumps(tool.schema))


async def list_resources(session: ClientSession, server: str) -> Sequence[Resource]:
    """What it offers to read, then its templates, whose URIs have gaps in braces."""

    async def ask(params: PaginatedRequestParams | None) -> ListResourcesResult:
        return await session.send_request(ListResourcesRequest(params=params), ListResourcesResult)

    async def ask_templates(params: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        request = ListResourceTemplatesRequest(params=params)
        return await session.send_request(request, ListResourceTemplatesResult)

    def read(page: ListResourcesResult) -> Iterator[Resource]:
        for each in page.resources:
            yield _describe_resource(server, each.uri, each.name, each.description, each.mime_type)

    def read_templates(page: ListResourceTemplatesResult) -> Iterator[Resource]:
        for each in page.resource_templates:
            uri = each.uri_template
            yield _describe_resource(server, uri, each.name, each.description, each.mime_type)

    found = await _gather(ask, read)
    # A server need not know of templates; what it has said before counts.
    with suppress(MCPError):
        found += await _gather(ask_templates, read_templates)
    return found


def _describe_resource(
    server: str, uri: str, name: str, description: str | None, media_type: str | None
) -> Resource:
    said = (description or "")[:SAID_CHARACTERS]
    return Resource(server=server, uri=uri, name=name, description=said, media_type=media_type)


async def list_prompts(session: ClientSession, server: str) -> Sequence[ServerPrompt]:
    """The prompts that it offers."""

    async def ask(params: PaginatedRequestParams | None) -> ListPromptsResult:
        return await session.send_request(ListPromptsRequest(params=params), ListPromptsResult)

    def read(page: ListPromptsResult) -> Iterator[ServerPrompt]:
        for each in page.prompts:
            yield ServerPrompt(
                server=server,
                name=each.name,
                description=(each.description or "")[:SAID_CHARACTERS],
                arguments=[
                    (one.name, (one.description or "")[:SAID_CHARACTERS], bool(one.required))
                    for one in each.arguments or ()
                ],
            )

    return await _gather(ask, read)


async def _gather(
    ask: Callable[[PaginatedRequestParams | None], Awaitable[Page]],
    read: Callable[[Page], Iterator[Thing]],
) -> list[Thing]:
    """All things of a listing, or as many as are of use; the next page is not asked for then."""
    found: list[Thing] = []
    room = LISTING_BYTES
    async with aclosing(_turn(ask)) as pages:
        async for page in pages:
            for each in read(page):
                room -= len(repr(each))
                if room < 0 or len(found) >= MOST_THINGS:
                    return found
                found.append(each)
    return found


async def _turn(
    ask: Callable[[PaginatedRequestParams | None], Awaitable[Page]],
) -> AsyncGenerator[Page, None]:
    """One page after the other, until the last or until there have been enough."""
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        page = await ask(None if cursor is None else PaginatedRequestParams(cursor=cursor))
        yield page
        if page.next_cursor in (None, "", cursor):
            return
        cursor = page.next_cursor
