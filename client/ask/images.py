"""Images to attach: told by their first bytes, whatever a file's name says.

It decodes no image and sends none. The daemon looks again, in the same way.
"""

IMAGE_NAMES = "PNG, JPEG, GIF or WebP"
"""The kinds that models take, for people."""


def find_image_type(content: bytes) -> str | None:
    """The media type of an image that can be sent; None: it is none."""
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if content.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if content.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        return "image/webp"
    return None
