"""What servers answer: text as it is, images as images, words for the rest, and never too much."""

import base64
import hashlib

from hypothesis import given
from hypothesis import strategies as st
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

from askd.core.items import Blob, Text, join_text
from askd.tools.base import Result
from askd.tools.mcp.content import (
    IMAGE_BYTES,
    MOST_BLOCKS,
    MOST_IMAGES,
    NOTHING,
    TEXT_CHARACTERS,
    read_result,
)

PNG = b"\x89PNG\r\n\x1a\n and more"
GIF = b"GIF89a and more"


def encode(content: bytes) -> str:
    return base64.b64encode(content).decode()


def image(content: bytes, media_type: str = "image/png") -> ImageContent:
    return ImageContent(data=encode(content), mime_type=media_type)


def read(*blocks: ContentBlock, structured: object = None, is_error: bool = False) -> Result:
    result = CallToolResult(content=list(blocks), structured_content=structured, is_error=is_error)
    return read_result(result)


def text_of(*blocks: ContentBlock, structured: object = None) -> str:
    return join_text(read(*blocks, structured=structured).parts)


def test_text_stays_as_it_is_and_says_whether_it_is_an_error() -> None:
    assert read(TextContent(text="a\r\n b\t")) == Result((Text("a\r\n b\t"),))
    assert read(TextContent(text="no"), is_error=True) == Result((Text("no"),), is_error=True)
    assert read(TextContent(text="a"), TextContent(text="b")).parts == (Text("a\nb"),)


def test_an_image_is_one_whatever_its_server_calls_it() -> None:
    result = read(TextContent(text="see"), image(PNG, "text/plain"), image(GIF))
    png, gif = hashlib.sha256(PNG).hexdigest(), hashlib.sha256(GIF).hexdigest()
    assert result.parts == (
        Text("see"),
        Blob(png, len(PNG), "image/png"),
        Blob(gif, len(GIF), "image/gif"),
    )
    assert result.blobs == {png: PNG, gif: GIF}


def test_what_no_model_takes_is_named() -> None:
    assert text_of(image(b"<svg/>", "image/svg+xml")) == (
        "[Image: image/svg+xml, about 6 bytes; it is not shown.]"
    )
    assert "no base64" in text_of(ImageContent(data="abcde", mime_type="image/png"))
    assert "too large" in text_of(image(PNG + b"x" * IMAGE_BYTES))
    assert text_of(AudioContent(data=encode(b"x" * 3000), mime_type="audio/wav")) == (
        "[Audio: audio/wav, about 3,000 bytes; it is not shown.]"
    )
    assert text_of(image(b"")) == "[Image: image/png, about 0 bytes; it is not shown.]"


def test_resources_are_text_images_or_named() -> None:
    page = TextResourceContents(uri="docs://a", text="Hello.")
    assert text_of(EmbeddedResource(resource=page)) == "[docs://a]\nHello."
    picture = BlobResourceContents(uri="pic://a", blob=encode(PNG))
    assert list(read(EmbeddedResource(resource=picture)).blobs.values()) == [PNG]
    archive = BlobResourceContents(uri="file:///a.zip", blob=encode(b"PK"), mime_type="a/zip")
    assert text_of(EmbeddedResource(resource=archive)) == (
        "[Resource file:///a.zip: a/zip, about 3 bytes; it is not shown.]"
    )
    link = ResourceLink(name="a\nb", uri="docs://b", mime_type="text/plain", description="Long.")
    assert text_of(link) == "[Resource, not fetched: a b, docs://b, text/plain: Long.]"


def test_structured_content_counts_where_nothing_is_said() -> None:
    assert text_of(structured={"a": ["\u00fc"]}) == '{\n  "a": [\n    "\u00fc"\n  ]\n}'
    assert text_of(TextContent(text="said"), structured={"a": 1}) == "said"
    assert text_of(TextContent(text=" "), structured=[1]).split() == ["[", "1", "]"]
    assert text_of() == NOTHING


def test_there_is_never_too_much_of_it() -> None:
    half = TextContent(text="x" * TEXT_CHARACTERS)
    many = read(half, image(PNG), half, half)
    assert len(join_text(many.parts)) < TEXT_CHARACTERS + 1000
    assert "characters truncated" in join_text(many.parts)
    pictures = [image(GIF + bytes([k])) for k in range(MOST_IMAGES + 3)]
    assert len(read(*pictures).blobs) == MOST_IMAGES
    assert text_of(*pictures).count("left out behind 8 others") == 3
    pieces = text_of(*[TextContent(text="x")] * (MOST_BLOCKS + 5))
    assert pieces.endswith("[5 further pieces are left out.]")
    assert len(text_of(ResourceLink(name="n" * 10_000, uri="u:" + "x" * 10_000))) < 1000


BLOCKS: st.SearchStrategy[ContentBlock] = (
    st.builds(TextContent, text=st.text())
    | st.builds(ImageContent, data=st.text() | st.just(encode(PNG)), mime_type=st.text())
    | st.builds(AudioContent, data=st.text(), mime_type=st.text())
    | st.builds(ResourceLink, name=st.text(), uri=st.text())
    | st.builds(
        EmbeddedResource,
        resource=st.builds(TextResourceContents, uri=st.text(), text=st.text())
        | st.builds(BlobResourceContents, uri=st.text(), blob=st.text()),
    )
)


@given(st.lists(BLOCKS), st.none() | st.lists(st.floats()))
def test_whatever_comes_is_a_result_that_can_be_stored(
    blocks: list[ContentBlock], structured: object
) -> None:
    result = read(*blocks, structured=structured)
    assert result.parts
    named = {part.sha256 for part in result.parts if isinstance(part, Blob)}
    assert named == set(result.blobs)
    for part in result.parts:
        if isinstance(part, Text):
            assert part.text
            part.text.encode()
