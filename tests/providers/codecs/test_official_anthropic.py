"""The vendor's own package reads the same bytes to the same answer, and takes what we send.

Nothing leaves the process: the package is given a transport that answers by itself.
"""

import json
from pathlib import Path
from typing import Any

import anthropic
import httpx2  # the HTTP library of the package from its version 2 on
import pytest
from anthropic.types import MessageParam, OutputConfigParam, ThinkingConfigParam, ToolUnionParam
from pydantic import TypeAdapter

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
from askd.providers.base import Effort, ModelRequest
from askd.providers.codecs.anthropic import AnthropicMessages

STREAMS = Path(__file__).parents[2] / "data/streams"
BROKEN = {"overloaded"}
WHOLE = [
    path
    for folder in ("anthropic", "llama-cpp/anthropic")
    for path in sorted((STREAMS / folder).glob("*.sse"))
    if path.stem not in BROKEN
]
CODEC = AnthropicMessages("work")
REQUEST = ModelRequest(model="claude-sonnet-4-5", items=[UserMessage("u", (Text("Hi"),))])
STOPS: dict[str, Stop] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "max_tokens": "length",
    "tool_use": "calls",
    "pause_turn": "pause",
    "refusal": "refusal",
}


def read_officially(data: bytes) -> anthropic.types.Message:
    """The message that the vendor's package makes of these bytes."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=data)

    transport = httpx2.MockTransport(answer)
    with (
        anthropic.Anthropic(
            api_key="none", max_retries=0, http_client=httpx2.Client(transport=transport)
        ) as client,
        client.messages.stream(
            model="claude-haiku-4-5", max_tokens=9, messages=[{"role": "user", "content": "Hi"}]
        ) as stream,
    ):
        return stream.get_final_message()


def read(data: bytes) -> Assembler:
    """The answer that our codec makes of them."""
    assembler = Assembler("i", "work", "work/m")
    for event in CODEC.decoder(REQUEST).feed(data):
        assembler.feed(event)
    return assembler


@pytest.mark.parametrize("path", WHOLE, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_same_bytes_are_the_same_answer(path: Path) -> None:
    data = path.read_bytes()
    theirs, ours = read_officially(data), read(data)
    message = ours.message()
    texts = [block.text for block in theirs.content if block.type == "text"]
    assert ours.text == "".join(texts)
    thoughts: list[Any] = [
        block.to_dict()
        for block in theirs.content
        if block.type in ("thinking", "redacted_thinking")
    ]
    raws = [dict(thought.raw or {}) for thought in message.reasoning]
    assert [{k: v for k, v in raw.items() if k != "place"} for raw in raws] == thoughts
    assert [thought.text for thought in message.reasoning] == [
        thought.get("thinking", "") for thought in thoughts
    ]
    calls = [block for block in theirs.content if block.type == "tool_use"]
    assert [(call.call_id, call.name, json.loads(call.arguments)) for call in message.calls] == [
        (call.id, call.name, call.input) for call in calls
    ]
    usage = theirs.usage
    assert ours.usage is not None
    assert ours.usage.output_tokens == usage.output_tokens
    assert ours.usage.cached_tokens == (usage.cache_read_input_tokens or 0)
    assert ours.usage.input_tokens == sum(
        count or 0
        for count in (
            usage.input_tokens, usage.cache_creation_input_tokens, usage.cache_read_input_tokens
        )
    )  # fmt: skip
    details = usage.output_tokens_details
    assert ours.usage.reasoning_tokens == (details.thinking_tokens if details else 0)
    assert theirs.stop_reason is not None
    if theirs.stop_reason == "model_context_window_exceeded":
        assert ours.failure is not None
        assert ours.failure.reason == "overflow"
    else:
        assert ours.ended
        assert ours.stop == STOPS[theirs.stop_reason]


def test_error_inside_a_stream_is_one_to_both() -> None:
    data = (STREAMS / "anthropic/overloaded.sse").read_bytes()
    with pytest.raises(anthropic.APIError, match="Overloaded"):
        read_officially(data)
    ours = read(data)
    assert ours.failure is not None
    assert not ours.ended


def test_order_of_the_blocks_comes_back_as_it_was() -> None:
    data = (STREAMS / "anthropic/interleaved.sse").read_bytes()
    theirs, ours = read_officially(data), read(data).message()
    items = [*REQUEST.items, ours, ToolOutput("o", ours.calls[0].call_id, "read", (Text("ok"),))]
    request = ModelRequest(model="m", items=items)
    sent = json.loads(CODEC.encode(request).body)["messages"][1]["content"]
    assert sent == [block.to_dict() for block in theirs.content]


@pytest.mark.parametrize("effort", [None, "none", "low", "high"])
@pytest.mark.parametrize(
    "model", ["claude-haiku-4-5", "claude-opus-4-8", "claude-sonnet-5-5", "claude-opus-5-5"]
)
def test_what_we_send_has_the_vendors_shape(model: str, effort: Effort | None) -> None:
    raw = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    request = ModelRequest(
        model=model,
        items=[
            UserMessage("u", (Text("Look"), Blob("aa", 3, "image/png"))),
            AssistantMessage(
                "a", (Text("So."),), (Reasoning("Hm.", raw),), (ToolCall("c", "f", "{"),), "work"
            ),
            ToolOutput("o", "c", "f", (Text("no"),), is_error=True),
        ],
        images={"aa": b"PNG"},
        system="Be brief.",
        tools=[{"name": "f", "description": "Runs.", "parameters": {"type": "object"}}],
        effort=effort,
        schema={"type": "object", "properties": {}},
    )
    body = json.loads(CODEC.encode(request).body)
    TypeAdapter(list[MessageParam]).validate_python(body["messages"])
    TypeAdapter(list[ToolUnionParam]).validate_python(body["tools"])
    TypeAdapter(OutputConfigParam).validate_python(body["output_config"])
    if "thinking" in body:
        TypeAdapter(ThinkingConfigParam).validate_python(body["thinking"])
