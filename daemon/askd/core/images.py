"""Images: which kinds models take, and how their first bytes tell them.

Pure, and by content alone: a file's name says nothing. It decodes no image.
"""

IMAGE_TYPES: tuple[str, ...] = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""What the large providers take in common."""


def find_image_type(content: bytes) -> str | None:
    """The media type of an image of these kinds; None: it is none.

    The signatures are those of the formats' own specifications (for WebP a RIFF
    container whose form is `WEBP`).
    """
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if content.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if content.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        return "image/webp"
    return None
