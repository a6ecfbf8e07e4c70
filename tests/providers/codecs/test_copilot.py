"""The dialect "copilot": OpenAI's, with headers that say who asked and what is shown."""

import json

import pytest

from askd.core.items import Blob, Item, Notice, Summary, Text, ToolCall, ToolOutput, UserMessage
from askd.core.outcome import Usage
from askd.providers.base import Endpoint, HttpCall, ModelRequest
from askd.providers.codecs.copilot import Copilot, codec_for, is_asked_by_person
from tests.fakes.codec_streams import assistant, decode, hear, output, read_stream, user

CODEC = Copilot("copilot", make_id=lambda: "id-1")
PICTURE = Blob("aa", 3, "image/png")


def encode(*items: Item) -> HttpCall:
    """The call for these items."""
    return CODEC.encode(ModelRequest(model="m", items=items, images={"aa": b"PNG"}))


def test_request_is_a_chat_request_with_its_headers() -> None:
    call = encode(user("Hi"))
    assert call.path == "/chat/completions"
    assert json.loads(call.body)["messages"] == [{"role": "user", "content": "Hi"}]
    assert call.headers == {
        "content-type": "application/json",
        "accept": "text/event-stream",
        "x-initiator": "user",
        "x-request-id": "id-1",
    }


CALL = assistant("", ToolCall("c1", "f", "{}"))


@pytest.mark.parametrize(
    ("items", "initiator"),
    [
        ([user("Go"), CALL, output("c1")], "agent"),
        ([user("Go"), CALL, output("c1"), Notice("n", "/help")], "agent"),
        ([user("Go"), assistant("Half of it")], "agent"),
        ([user("Go"), CALL, output("c1"), assistant("Done."), user("More")], "user"),
        ([Summary("s", "Before.")], "user"),
        ([], "user"),
    ],
)
def test_whoever_spoke_last_asks(items: list[Item], initiator: str) -> None:
    assert encode(*items).headers["x-initiator"] == initiator
    assert is_asked_by_person(items) is (initiator == "user")


@pytest.mark.parametrize(
    "items",
    [
        [UserMessage("u", (Text("What?"), PICTURE))],
        [user("Go"), CALL, ToolOutput("o", "c1", "f", (PICTURE,))],
    ],
)
def test_images_are_announced(items: list[Item]) -> None:
    assert encode(*items).headers["copilot-vision-request"] == "true"
    without = ModelRequest(model="m", items=items)
    assert "copilot-vision-request" not in CODEC.encode(without).headers


def test_every_request_has_an_id_of_its_own() -> None:
    codec = codec_for(Endpoint(provider="copilot", base_url="http://127.0.0.1:1"))
    request = ModelRequest(model="m", items=[user("Hi")])
    ids = {codec.encode(request).headers["x-request-id"] for _ in range(3)}
    assert len(ids) == 3


def test_ids_fit_claude_too() -> None:
    items: list[Item] = [
        user("Go"),
        assistant("", ToolCall("functions.f:0", "f", "{}")),
        output("functions.f:0"),
    ]
    messages = json.loads(encode(*items).body)["messages"]
    sent = messages[1]["tool_calls"][0]["id"]
    assert sent == messages[2]["tool_call_id"]
    assert sent.replace("_", "").isalnum()


def test_answers_with_fields_of_their_own() -> None:
    heard = hear(decode(CODEC, read_stream("copilot/text")))
    assert (heard.text, heard.stop, heard.usage) == ("Hello there.", "end", Usage(9, 4))
    heard = hear(decode(CODEC, read_stream("copilot/thinking")))
    [thought] = heard.thoughts
    assert (heard.text, thought.text) == ("Four.", "Two and two.")
    assert thought.raw is not None
    assert thought.raw["opaque"] == "b3BhcXVl"
