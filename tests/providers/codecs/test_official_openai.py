"""OpenAI's own package reads the same bytes to the same values as our decoders.

Every stream that its types allow: the same text, calls, counts and stop, and the
same error where the stream holds one.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import httpx2  # the HTTP library of the package from its version 3 on
import openai
import pytest
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.responses import Response, ResponseStreamEvent

from askd.core.outcome import Stop
from askd.providers.codecs.openai_chat import OpenAIChat
from askd.providers.codecs.openai_responses import OpenAIResponses
from tests.fakes.codec_streams import Heard, decode, hear, list_streams, read_stream

CHAT = OpenAIChat("work")
RESPONSES = OpenAIResponses("work")

RAISED = {"openai-chat/error"}
"""Streams that hold an error which the package raises."""

FAILED = {"openai-responses/error", "openai-responses/failed", "openai-responses/overflow"}
"""Streams that end in an error which the package gives as a value."""

CHAT_STOPS: dict[str | None, set[Stop]] = {
    "stop": {"end", "refusal"},
    "length": {"length"},
    "tool_calls": {"calls"},
    "content_filter": {"filtered"},
}


@contextmanager
def serve(data: bytes) -> Iterator[openai.OpenAI]:
    """The official client, whose server answers anything with these bytes."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=data)

    with (
        httpx2.Client(transport=httpx2.MockTransport(answer)) as http,
        openai.OpenAI(
            api_key="k", base_url="http://127.0.0.1:1", http_client=http, max_retries=0
        ) as client,
    ):
        yield client


def listen(name: str) -> Heard:
    """What we hear in a stream."""
    codec = RESPONSES if "responses" in name else CHAT
    return hear(decode(codec, read_stream(name)))


CHAT_STREAMS = [
    *list_streams("openai-chat"),
    *list_streams("copilot"),
    *list_streams("llama-cpp/openai-chat"),
]


@pytest.mark.parametrize("name", [each for each in CHAT_STREAMS if each not in RAISED])
def test_chat(name: str) -> None:
    state = ChatCompletionStreamState()
    with serve(read_stream(name)) as client:
        for chunk in client.chat.completions.create(model="m", messages=[], stream=True):
            state.handle_chunk(chunk)
    theirs = state.current_completion_snapshot
    ours = listen(name)
    messages = [choice.message for choice in theirs.choices]
    text = "".join((each.content or "") + (each.refusal or "") for each in messages)
    calls = [call for each in messages for call in each.tool_calls or []]
    assert ours.text == text
    assert [(c.call_id, c.name, c.arguments) for c in ours.calls] == [
        (call.id, call.function.name, call.function.arguments) for call in calls
    ]
    assert ours.stop in CHAT_STOPS[theirs.choices[0].finish_reason]
    assert theirs.usage is not None
    assert ours.usage is not None
    assert ours.usage.input_tokens == theirs.usage.prompt_tokens
    in_total = theirs.usage.total_tokens - theirs.usage.prompt_tokens
    assert ours.usage.output_tokens == max(theirs.usage.completion_tokens, in_total)
    details = theirs.usage.prompt_tokens_details
    assert ours.usage.cached_tokens == ((details and details.cached_tokens) or 0)
    assert ours.ended


RESPONSES_STREAMS = [
    *list_streams("openai-responses"),
    *list_streams("llama-cpp/openai-responses"),
]


def read_responses(name: str) -> list[ResponseStreamEvent]:
    """The events as the official package gives them."""
    with serve(read_stream(name)) as client:
        return list(client.responses.create(model="m", input="Hi", stream=True))


@pytest.mark.parametrize("name", [each for each in RESPONSES_STREAMS if each not in FAILED])
def test_responses(name: str) -> None:
    events = read_responses(name)
    last = events[-1]
    assert last.type in ("response.completed", "response.incomplete")
    response: Response = last.response
    ours = listen(name)
    shown = [each.delta for each in events if each.type == "response.output_text.delta"]
    refused = [each.delta for each in events if each.type == "response.refusal.delta"]
    assert ours.text == "".join(shown) + "".join(refused)
    assert response.output_text == "".join(shown)
    assert [(c.call_id, c.name, c.arguments) for c in ours.calls] == [
        (item.call_id, item.name, item.arguments)
        for item in response.output
        if item.type == "function_call"
    ]
    thoughts = [item for item in response.output if item.type == "reasoning"]
    assert [each.raw and each.raw["encrypted_content"] for each in ours.thoughts] == [
        item.encrypted_content for item in thoughts
    ]
    assert [each.text for each in ours.thoughts] == [
        "\n\n".join(part.text for part in item.summary) for item in thoughts
    ]
    assert ours.stop == _stop_of(response, refused=bool(refused))
    usage = response.usage
    assert usage is not None
    assert ours.usage is not None
    assert (ours.usage.input_tokens, ours.usage.output_tokens) == (
        usage.input_tokens,
        usage.output_tokens,
    )
    assert ours.usage.cached_tokens == usage.input_tokens_details.cached_tokens
    if not name.startswith("llama-cpp"):  # it does not count reasoning
        assert ours.usage.reasoning_tokens == usage.output_tokens_details.reasoning_tokens


def _stop_of(response: Response, *, refused: bool) -> Stop:
    if response.incomplete_details is not None:
        is_length = response.incomplete_details.reason == "max_output_tokens"
        return "length" if is_length else "filtered"
    if refused:
        return "refusal"
    return "calls" if any(item.type == "function_call" for item in response.output) else "end"


@pytest.mark.parametrize("name", sorted(FAILED))
def test_failure_at_the_end(name: str) -> None:
    last = read_responses(name)[-1]
    assert last.type in ("error", "response.failed")
    error = last if last.type == "error" else last.response.error
    failure = listen(name).failure
    assert error is not None
    assert failure is not None
    assert error.message in failure.message


@pytest.mark.parametrize("name", sorted(RAISED))
def test_error_inside_the_stream(name: str) -> None:
    with serve(read_stream(name)) as client:
        stream = client.chat.completions.create(model="m", messages=[], stream=True)
        with pytest.raises(openai.APIError) as raised:
            list(stream)
    failure = listen(name).failure
    assert failure is not None
    assert raised.value.message in failure.message
