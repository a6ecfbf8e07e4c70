"""What can be attached as an image."""

import pytest

from ask.images import find_image_type


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"GIF87a", "image/gif"),
        (b"RIFF0000WEBP", "image/webp"),
        (b"RIFF0000AVI ", None),
        (b"%PDF-1.7", None),
        (b"", None),
    ],
)
def test_first_bytes_tell(content: bytes, expected: str | None) -> None:
    assert find_image_type(content) == expected
