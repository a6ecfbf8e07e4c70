"""The images of a message, ready for a dialect that can carry them.

Pure. An image goes along when its content is in the request and its type is one
that vision models read; any other blob stays among the parts, where the context's
own rendering names it without showing it.
"""

from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from askd.core.images import IMAGE_TYPES
from askd.core.items import Blob, Part


@dataclass(frozen=True, slots=True)
class Image:
    """One image: its media type and its content in base64."""

    media_type: str
    base64: str

    @property
    def url(self) -> str:
        """The image as a data URL: `data:image/png;base64,...`."""
        return f"data:{self.media_type};base64,{self.base64}"


def split_images(
    parts: Iterable[Part], images: Mapping[str, bytes]
) -> tuple[list[Image], tuple[Part, ...]]:
    """The images that can be sent, and the other parts, each in their order."""
    sent: list[Image] = []
    others: list[Part] = []
    for part in parts:
        content = images.get(part.sha256) if isinstance(part, Blob) else None
        if isinstance(part, Blob) and content and part.media_type in IMAGE_TYPES:
            sent.append(Image(part.media_type, b64encode(content).decode("ascii")))
        else:
            others.append(part)
    return sent, tuple(others)
