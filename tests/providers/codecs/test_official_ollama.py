"""The vendor's own package reads the same bytes to the same answer, and takes what we send.

Nothing leaves the process: the package is given a transport that answers by itself.
"""

import json
from pathlib import Path

import httpx
import ollama
import pytest
from ollama._types import ChatRequest

from askd.core.items import (
    AssistantMessage,
    Blob,
    Reasoning,
    Text,
    ToolCall,
    ToolOutput,
    UserMessage,
)
from askd.core.outcome import Stop
from askd.providers.assemble import Assembler
from askd.providers.base import ModelRequest
from askd.providers.codecs.ollama import Ollama

STREAMS = Path(__file__).parents[2] / "data/streams/ollama"
FAILED = {"error": "unavailable", "load": "unavailable", "unload": "unavailable",
          "truncated": "overflow"}  # fmt: skip
READABLE = [path for path in sorted(STREAMS.glob("*.ndjson")) if path.stem != "error"]
STOPS: dict[str | None, Stop] = {"stop": "end", "length": "length", None: "unknown"}
CODEC = Ollama("work")


def read_officially(data: bytes) -> list[ollama.ChatResponse]:
    """The pieces that the vendor's package makes of these bytes."""

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": "application/x-ndjson"}, content=data)

    client = ollama.Client(host="http://ollama.test", transport=httpx.MockTransport(answer))
    messages = [{"role": "user", "content": "Hi"}]
    return list(client.chat(model="qwen3", messages=messages, stream=True))


def read(data: bytes) -> Assembler:
    """The answer that our codec makes of them."""
    assembler = Assembler("i", "work", "work/m")
    decoder = CODEC.decoder(ModelRequest(model="qwen3", items=(), context_window=4096))
    for event in decoder.feed(data):
        assembler.feed(event)
    return assembler


@pytest.mark.parametrize("path", READABLE, ids=lambda path: path.stem)
def test_same_bytes_are_the_same_answer(path: Path) -> None:
    data = path.read_bytes()
    pieces, ours = read_officially(data), read(data)
    message, last = ours.message(), pieces[-1]
    assert ours.text == "".join(piece.message.content or "" for piece in pieces)
    assert "".join(thought.text for thought in message.reasoning) == "".join(
        piece.message.thinking or "" for piece in pieces
    )
    calls = [call.function for piece in pieces for call in piece.message.tool_calls or ()]
    assert [(call.name, json.loads(call.arguments)) for call in message.calls] == (
        [(call.name, call.arguments) for call in calls] if ours.ended else []
    )
    if last.prompt_eval_count is not None:
        assert ours.usage is not None
        assert (ours.usage.input_tokens, ours.usage.output_tokens) == (
            last.prompt_eval_count,
            last.eval_count,
        )
    assert last.done
    if path.stem in FAILED:
        assert ours.failure is not None
        assert ours.failure.reason == FAILED[path.stem]
    else:
        assert ours.ended
        assert ours.stop == ("calls" if calls else STOPS[last.done_reason])


def test_error_inside_a_stream_is_one_to_both() -> None:
    data = (STREAMS / "error.ndjson").read_bytes()
    with pytest.raises(ollama.ResponseError, match="unexpected EOF"):
        read_officially(data)
    ours = read(data)
    assert ours.failure is not None
    assert ours.failure.reason == FAILED["error"]
    assert not ours.ended


def test_what_we_send_is_a_request_of_the_package() -> None:
    request = ModelRequest(
        model="qwen3",
        items=[
            UserMessage("u", (Text("Look"), Blob("aa", 3, "image/png"))),
            AssistantMessage(
                "a", (Text("So."),), (Reasoning("Hm."),), (ToolCall("c", "f", '{"x":1}'),), "work"
            ),
            ToolOutput("o", "c", "f", (Text("no"),)),
        ],
        images={"aa": b"PNG"},
        system="Be brief.",
        tools=[{"name": "f", "description": "Runs.", "parameters": {"type": "object"}}],
        effort="high",
        schema={"type": "object", "properties": {}},
        stop=["END"],
    )
    body = json.loads(CODEC.encode(request).body)
    # These are younger than the package: the server's own types have them.
    assert (body.pop("truncate"), body.pop("shift")) == (False, False)
    for message in body["messages"]:
        message.pop("tool_call_id", None)
        for call in message.get("tool_calls", ()):
            del call["id"]
        wrapped = {**message, "images": [{"value": each} for each in message.get("images", ())]}
        theirs = ollama.Message.model_validate(wrapped).model_dump(exclude_none=True)
        assert {key: value for key, value in theirs.items() if value != []} == message
    assert ChatRequest.model_validate(body).model_dump(exclude_none=True) == body
