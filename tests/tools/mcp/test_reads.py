"""Resources and prompts as values of the house; what is no text is named."""

from typing import Any

import pytest

from askd.tools.base import CannotRun
from askd.tools.mcp.base import Content
from askd.tools.mcp.reads import get_prompt, read_resource

Map = dict[str, Any]


class Answers:
    """A session that answers everything with one result, by the SDK's own models."""

    def __init__(self, result: Map) -> None:
        self.result = result
        self.requests: list[Any] = []

    async def send_request(self, request: Any, result: Any) -> Any:
        self.requests.append(request)
        return result.model_validate(self.result)


async def test_text_and_bytes_of_a_resource() -> None:
    session: Any = Answers(
        {
            "contents": [
                {"uri": "note://a", "text": "words", "mimeType": "text/plain"},
                {"uri": "note://b", "blob": "AAEC/w=="},
            ]
        }
    )
    assert await read_resource(session, "note://a") == [
        Content(uri="note://a", text="words", media_type="text/plain"),
        Content(uri="note://b", data=b"\x00\x01\x02\xff"),
    ]
    assert session.requests[0].params.uri == "note://a"


async def test_bytes_that_are_no_base64() -> None:
    session: Any = Answers({"contents": [{"uri": "note://b", "blob": "A"}]})
    with pytest.raises(CannotRun, match="no base64"):
        await read_resource(session, "note://b")


RESOURCE: Map = {"uri": "note://a", "text": "held"}
BYTES: Map = {"uri": "note://b", "blob": "AAEC"}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({"type": "text", "text": "words"}, "words"),
        ({"type": "resource", "resource": RESOURCE}, "held"),
        ({"type": "resource", "resource": BYTES}, "[Resource note://b; it is no text.]"),
        ({"type": "resource_link", "uri": "note://c", "name": "c"}, "[Resource note://c]"),
        ({"type": "image", "data": "AA", "mimeType": "image/png"}, "[image/png; it is no text.]"),
        ({"type": "audio", "data": "AA", "mimeType": "audio/wav"}, "[audio/wav; it is no text.]"),
    ],
)
async def test_messages_of_a_prompt(content: Map, text: str) -> None:
    session: Any = Answers({"messages": [{"role": "assistant", "content": content}]})
    assert await get_prompt(session, "greet", {"who": "Bob"}) == [("assistant", text)]
    (request,) = session.requests
    assert (request.params.name, request.params.arguments) == ("greet", {"who": "Bob"})
