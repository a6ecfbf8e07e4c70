"""A resource's content and a prompt's messages, as values of the house.

What they hold is somebody else's: it is decoded, and nothing is decided by it. It is imported
with the SDK, when a server is asked.
"""

import binascii
from collections.abc import Mapping, Sequence
from typing import assert_never

from mcp import ClientSession
from mcp.types import (
    AudioContent,
    BlobResourceContents,
    ContentBlock,
    EmbeddedResource,
    GetPromptRequest,
    GetPromptRequestParams,
    GetPromptResult,
    ImageContent,
    ReadResourceRequest,
    ReadResourceRequestParams,
    ReadResourceResult,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from askd.tools.base import CannotRun
from askd.tools.mcp.base import Content


async def read_resource(session: ClientSession, uri: str) -> Sequence[Content]:
    """What a resource holds; raise `CannotRun` for bytes that were not sent as such."""
    request = ReadResourceRequest(params=ReadResourceRequestParams(uri=uri))
    result = await session.send_request(request, ReadResourceResult)
    return [_decode(each) for each in result.contents]


def _decode(content: TextResourceContents | BlobResourceContents) -> Content:
    match content:
        case TextResourceContents(text=text):
            return Content(uri=content.uri, text=text, media_type=content.mime_type)
        case BlobResourceContents(blob=blob):
            try:
                data = binascii.a2b_base64(blob)
            except ValueError:
                raise CannotRun("What the resource holds was sent as no base64.") from None
            return Content(uri=content.uri, data=data, media_type=content.mime_type)
        case _:
            assert_never(content)


async def get_prompt(
    session: ClientSession, name: str, arguments: Mapping[str, str]
) -> Sequence[tuple[str, str]]:
    """The messages of a prompt: role and text of each."""
    params = GetPromptRequestParams(name=name, arguments=dict(arguments))
    result = await session.send_request(GetPromptRequest(params=params), GetPromptResult)
    return [(each.role, _read(each.content)) for each in result.messages]


def _read(content: ContentBlock) -> str:
    """The text of a message's content; what is none is named."""
    match content:
        case TextContent(text=text):
            return text
        case EmbeddedResource(resource=TextResourceContents(text=text)):
            return text
        case EmbeddedResource(resource=resource):
            return f"[Resource {resource.uri}; it is no text.]"
        case ResourceLink(uri=uri):
            return f"[Resource {uri}]"
        case ImageContent(mime_type=media_type) | AudioContent(mime_type=media_type):
            return f"[{media_type}; it is no text.]"
        case _:
            assert_never(content)
