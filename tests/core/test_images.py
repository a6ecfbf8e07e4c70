"""Images are told by their first bytes, on both sides of the wire alike."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import ask.images
from askd.core.images import IMAGE_TYPES, find_image_type

BEGINNINGS = {
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR": "image/png",
    b"\xff\xd8\xff\xe0\0\x10JFIF": "image/jpeg",
    b"\xff\xd8\xff\xe1 Exif": "image/jpeg",
    b"GIF87a\x01\0": "image/gif",
    b"GIF89a\x01\0": "image/gif",
    b"RIFF\x1a\0\0\0WEBPVP8L": "image/webp",
}


@pytest.mark.parametrize("content", BEGINNINGS)
def test_kinds(content: bytes) -> None:
    assert find_image_type(content) == BEGINNINGS[content]
    assert find_image_type(b" " + content) is None


def test_every_kind_can_be_told() -> None:
    assert set(BEGINNINGS.values()) == set(IMAGE_TYPES)


@pytest.mark.parametrize(
    "content",
    [b"", b"RIFF\x1a\0\0\0WAVE", b"%PDF-1.7", b"<svg/>", b"\x89PNG", b"BM", b"II*\0"],
)
def test_what_is_none_of_them(content: bytes) -> None:
    assert find_image_type(content) is None


@given(st.sampled_from([*BEGINNINGS, b""]), st.integers(0, 16), st.binary(max_size=16))
@example(b"RIFF\x1a\0\0\0WEBP", 12, b"")
def test_the_client_says_the_same(content: bytes, length: int, rest: bytes) -> None:
    piece = content[:length] + rest
    assert ask.images.find_image_type(piece) == find_image_type(piece)
