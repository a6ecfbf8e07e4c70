"""Which parts of a message go along as images, and which stay words."""

from askd.core.items import Blob, Part, Text
from askd.providers.codecs.images import Image, split_images

PNG = Blob("aa", 3, "image/png", "cat.png")
CONTENT = {"aa": b"PNG"}


def test_image_leaves_the_parts() -> None:
    parts = (Text("What"), PNG, Text("is it?"))
    assert split_images(parts, CONTENT) == (
        [Image("image/png", "UE5H")],
        (Text("What"), Text("is it?")),
    )


def test_what_cannot_be_sent_stays_among_the_parts() -> None:
    others: tuple[Part, ...] = (
        Blob("bb", 3, "image/png"),  # its content is not in the request
        Blob("aa", 3, "image/tiff"),
        Blob("aa", 3, "application/pdf"),
    )
    assert split_images(others, CONTENT) == ([], others)
    assert split_images((PNG,), {"aa": b""}) == ([], (PNG,))
