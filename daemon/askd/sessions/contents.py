"""Contents: what the blobs in a context hold, as a model takes it.

Text becomes text again; images stay where they are, with their content beside
them. What a model cannot take, or what is lost, is refused if it was asked about
just now, and named in place of being shown if it is from earlier: another model
saw it, and nothing in a conversation's past may keep it from going on.
"""

from collections.abc import Awaitable, Callable, Sequence, Set
from dataclasses import dataclass, field, replace

from askd.core.images import IMAGE_TYPES
from askd.core.items import AssistantMessage, Blob, Item, Part, Text, ToolOutput, UserMessage
from askd.errors import NotFound, Refused
from askd.providers.base import Model

ReadBlob = Callable[[str], Awaitable[bytes]]


@dataclass(frozen=True, slots=True)
class Contents:
    """Items whose blobs are images alone, and the images by their sha256."""

    items: list[Item]
    images: dict[str, bytes] = field(default_factory=dict)


async def resolve_blobs(
    items: Sequence[Item], read_blob: ReadBlob, *, model: Model, asked: Set[str]
) -> Contents:
    """Read every blob of the items; `asked`: the ids of those that the turn is about.

    Raises:
        Refused: one that was asked about is no text, or an image that the model cannot see.
        NotFound: one that was asked about is not there any more.
    """
    found = Contents([])
    for item in items:
        match item:
            case UserMessage() | AssistantMessage() | ToolOutput() if _has_blobs(item.parts):
                parts = [
                    await _resolve(part, read_blob, found, model, is_asked=item.id in asked)
                    for part in item.parts
                ]
                found.items.append(replace(item, parts=tuple(parts)))
            case _:
                found.items.append(item)
    return found


def has_images(parts: Sequence[Part]) -> bool:
    """Whether an image is among them."""
    return any(isinstance(part, Blob) and part.media_type in IMAGE_TYPES for part in parts)


def hide_images(items: Sequence[Item], model: Model | None) -> list[Item]:
    """The items as a model gets them that cannot see; others get them as they are."""
    if model is None or model.manners.images is not False:
        return list(items)
    hidden: list[Item] = []
    for item in items:
        match item:
            case UserMessage() | AssistantMessage() | ToolOutput() if has_images(item.parts):
                parts = tuple(
                    _stand_in(part) if isinstance(part, Blob) and has_images([part]) else part
                    for part in item.parts
                )
                hidden.append(replace(item, parts=parts))
            case _:
                hidden.append(item)
    return hidden


def explain_blindness(model: Model) -> str:
    """The sentence for a person who shows something to a model that cannot see."""
    return (
        f"{model.name} cannot see images. Leave them out, or choose a model that can see (-m); "
        f"if this one can, set images = true under {model.table}."
    )


def _has_blobs(parts: Sequence[Part]) -> bool:
    return any(isinstance(part, Blob) for part in parts)


async def _resolve(
    part: Part, read_blob: ReadBlob, found: Contents, model: Model, *, is_asked: bool
) -> Part:
    if isinstance(part, Text):
        return part
    is_image = part.media_type in IMAGE_TYPES
    if is_image and model.manners.images is False:
        if is_asked:
            raise Refused(explain_blindness(model))
        return _stand_in(part)
    try:
        content = await read_blob(part.sha256)
        if not is_image:
            return Text(content.decode("utf-8"), part.name)
    except (NotFound, UnicodeDecodeError) as error:
        if not is_asked:
            return _stand_in(part)
        if isinstance(error, NotFound):
            raise
        name = part.name or "An attachment"
        raise Refused(f"{name} is no text ({part.media_type}).") from None
    found.images[part.sha256] = content
    return part


def _stand_in(part: Blob) -> Text:
    """What is said of content in place of the content."""
    return Text(f"[{part.media_type}, {part.bytes} bytes, not shown]", part.name)
