"""What a server's tool answered, as a result of the house: text, images, and words for the rest.

Whatever a model cannot be given is named in a sentence where it stood. It fetches nothing
that a result links to, believes no media type of an image, and takes no more than it says.
It is imported with the SDK, when a server answers.
"""

import binascii
import hashlib
import json
from typing import assert_never

from mcp.types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from askd.core.cutting import cut_middle
from askd.core.images import find_image_type
from askd.core.items import Blob, Part, Text
from askd.core.writable import make_writable
from askd.tools.base import Result

TEXT_CHARACTERS = 1 << 20
"""Of all the text of a result: as much as of a command's output; the middle is left out."""
IMAGE_BYTES = 3_750_000
"""Of one image: 5 MB as base64, which is the most that Anthropic's API takes. A larger one would
stay in the conversation and be refused with every later request."""
MOST_IMAGES = 8
"""Of one result; each counts for a thousand tokens and more."""
MOST_BLOCKS = 1000
"""That are looked at; a result of more is nonsense, or meant to keep us busy."""
LABEL_CHARACTERS = 300
"""Of a name, an address or a media type that a server made up."""
NOTHING = "[The tool answered without any content.]"


def read_result(result: CallToolResult) -> Result:
    """The result of a call. It is an error where its server says so."""
    reading = _Reading()
    for block in result.content[:MOST_BLOCKS]:
        reading.take(block)
    if len(result.content) > MOST_BLOCKS:
        reading.say(f"[{len(result.content) - MOST_BLOCKS} further pieces are left out.]")
    if result.structured_content is not None and not reading.has_text:
        reading.say(_render(result.structured_content))
    parts = reading.finish()
    return Result(parts or (Text(NOTHING),), is_error=result.is_error, blobs=reading.blobs)


class _Reading:
    """The pieces so far; text that follows text is one part with it."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.has_text = False
        self._pieces: list[list[str] | Blob] = []

    def take(self, block: ContentBlock) -> None:
        match block:
            case TextContent(text=text):
                self.has_text = self.has_text or bool(text.strip())
                self.say(text)
            case ImageContent(data=data, mime_type=media_type):
                self._show(data, media_type)
            case AudioContent(data=data, mime_type=media_type):
                self.say(_describe("Audio", media_type, data))
            case ResourceLink():
                self.say(_describe_link(block))
            case EmbeddedResource(resource=resource):
                self._open(resource)
            case _:
                assert_never(block)

    def _open(self, resource: TextResourceContents | BlobResourceContents) -> None:
        match resource:
            case TextResourceContents(uri=uri, text=text):
                self.has_text = True
                self.say(f"[{_clean(uri)}]\n{text}")
            case BlobResourceContents(uri=uri, blob=data):
                self._show(data, resource.mime_type or "", uri=uri)
            case _:
                assert_never(resource)

    def say(self, text: str) -> None:
        if self._pieces and isinstance(self._pieces[-1], list):
            self._pieces[-1].append(text)
        else:
            self._pieces.append([text])

    def _show(self, data: str, media_type: str, *, uri: str = "") -> None:
        """Take an image, or say in its place what it is."""
        what = f"Resource {_clean(uri)}" if uri else "Image"
        content = _decode(data)
        kind = None if content is None else find_image_type(content)
        if content is None:
            self.say(f"[{what}: what was sent is no base64, or too large.]")
        elif kind is None:
            self.say(_describe(what, media_type, data))
        elif len(self.blobs) >= MOST_IMAGES:
            self.say(_describe(f"{what}, left out behind {MOST_IMAGES} others", kind, data))
        else:
            digest = hashlib.sha256(content).hexdigest()
            self.blobs[digest] = content
            self._pieces.append(Blob(digest, len(content), kind))

    def finish(self) -> tuple[Part, ...]:
        """All of it; long text with its middle left out, each piece by its share."""
        texts = ["\n".join(each) for each in self._pieces if isinstance(each, list)]
        total = sum(map(len, texts))
        clean = iter([_fit(each, total) for each in texts])
        parts: list[Part] = [
            each if isinstance(each, Blob) else Text(next(clean)) for each in self._pieces
        ]
        return tuple(each for each in parts if isinstance(each, Blob) or each.text)


def _fit(text: str, total: int) -> str:
    if total > TEXT_CHARACTERS:
        text = cut_middle(text, len(text) * TEXT_CHARACTERS // total)
    return make_writable(text)


def _decode(data: str) -> bytes | None:
    """What base64 stands for; None: it is none, or stands for too much."""
    if len(data) > IMAGE_BYTES * 4 // 3 + 4:
        return None
    try:
        return binascii.a2b_base64(data, strict_mode=False)
    except ValueError:
        return None


def _render(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, indent=2)
    except (ValueError, TypeError, RecursionError):
        return "[Structured content that cannot be written down.]"


def _describe(what: str, media_type: str, data: str) -> str:
    """What is not shown: `[Audio: audio/wav, about 12,000 bytes; it is not shown.]`."""
    kind = _clean(media_type) or "of no stated type"
    return f"[{what}: {kind}, about {len(data) * 3 // 4:,} bytes; it is not shown.]"


def _describe_link(link: ResourceLink) -> str:
    said = [_clean(link.name), _clean(link.uri), _clean(link.mime_type or "")]
    about = f": {_clean(link.description)}" if link.description else ""
    return f"[Resource, not fetched: {', '.join(filter(None, said))}{about}]"


def _clean(text: str) -> str:
    """One line of what a server made up."""
    return " ".join(cut_middle(text, LABEL_CHARACTERS).split())
