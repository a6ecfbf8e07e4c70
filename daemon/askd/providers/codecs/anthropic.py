"""The dialect "anthropic": the Messages API, and the servers that imitate it.

A pure codec: requests to bytes; `anthropic_decoder` reads the answer. It opens nothing
and tries nothing again. A wish that a model does not take (a temperature, on the newer
ones) is sent all the same: the server's own words say so better than silence would.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from askd.core.items import AssistantMessage
from askd.errors import ProviderError
from askd.providers.base import Endpoint, HttpCall, ModelRequest
from askd.providers.codecs.anthropic_decoder import MessagesDecoder
from askd.providers.codecs.anthropic_messages import encode_messages, lacks_thinking
from askd.providers.codecs.anthropic_schema import fit_schema
from askd.providers.codecs.anthropic_thinking import Thinking, plan_thinking
from askd.providers.codecs.counting import count_call
from askd.providers.codecs.lenient import Json
from askd.providers.codecs.sent_body import write_body
from askd.providers.refusals import read_refusal

ANTHROPIC_VERSION = "2023-06-01"
"""The oldest version that streams as this codec reads it, and the one that all servers know.
The next one (2026-10-21) takes no temperature from any model and changes nothing else here."""

DEFAULT_MAX_TOKENS = 32_000
"""The API insists on a cap. Every model that is served takes this one, and thinking counts."""

_CACHED = {"type": "ephemeral"}

_COUNTED = ("model", "messages", "system", "tools", "tool_choice", "thinking")
"""What a count is asked of: it refuses what is about the answer alone."""


class AnthropicMessages:
    """The codec for one provider, whose name stands in its errors' sentences.

    `prefix` goes ahead of the path: empty where the base URL ends in `/v1`.
    """

    dialect = "anthropic"

    def __init__(self, provider: str, *, prefix: str = "") -> None:
        self._provider = provider
        self._path = f"{prefix}/messages"

    def encode(self, request: ModelRequest) -> HttpCall:
        """The streaming call that asks for this completion."""
        return HttpCall(
            method="POST",
            path=self._path,
            body=write_body(self._body(request)),
            headers={
                "content-type": "application/json",
                "accept": "text/event-stream",
                "anthropic-version": ANTHROPIC_VERSION,
            },
        )

    def encode_count(self, request: ModelRequest) -> HttpCall:
        """The call that has this request's tokens counted."""
        return count_call(self.encode(request), "count_tokens", _COUNTED)

    def decoder(self, request: ModelRequest) -> MessagesDecoder:
        """A fresh decoder for one answer."""
        return MessagesDecoder(self._provider)

    def read_error(self, status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
        """The error that an answer with an error status means."""
        return read_refusal(self._provider, status, headers, body)

    def _body(self, request: ModelRequest) -> Json:
        system = request.system if request.system and request.system.strip() else None
        messages = encode_messages(
            request.items,
            provider=self._provider,
            model=request.model,
            images=request.images,
            system=system if request.system_as_user else None,
        )
        max_tokens = _cap_output(request)
        thinking = plan_thinking(request.model, request.effort, max_tokens=max_tokens)
        if thinking.is_manual and lacks_thinking(messages):
            # Calls that another model made, say: the server would refuse to think about them.
            thinking = Thinking()
        body: Json = {
            "model": request.model,
            "max_tokens": max_tokens,
            "messages": messages,
            "stream": True,
        }
        if system and not request.system_as_user:
            body["system"] = [{"type": "text", "text": system}]
        body.update(_encode_tools(request.tools, messages))
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.stop:
            body["stop_sequences"] = list(request.stop)
        if thinking.config is not None:
            body["thinking"] = dict(thinking.config)
        output = _encode_output(thinking, request.schema)
        if output:
            body["output_config"] = output
        if request.tools or any(isinstance(item, AssistantMessage) for item in request.items):
            _mark_cached(body)
        return body


def codec_for(endpoint: Endpoint) -> AnthropicMessages:
    """The codec as this endpoint understands it: its base URL may end in `/v1` or ahead of it."""
    prefix = "" if endpoint.base_url.rstrip("/").endswith("/v1") else "/v1"
    return AnthropicMessages(endpoint.provider, prefix=prefix)


def _cap_output(request: ModelRequest) -> int:
    """The cap that was asked for, else the default, but no more than half of the window."""
    if request.max_output_tokens is not None:
        return request.max_output_tokens
    window = request.context_window
    return DEFAULT_MAX_TOKENS if window is None else max(1, min(DEFAULT_MAX_TOKENS, window // 2))


def _encode_tools(tools: Sequence[Mapping[str, Any]], messages: Sequence[Json]) -> Json:
    """The tools, or those that the messages name: a request with calls must define them."""
    if tools:
        return {"tools": [_encode_tool(tool) for tool in tools]}
    blocks = (block for message in messages for block in message["content"])
    names = dict.fromkeys(block["name"] for block in blocks if block["type"] == "tool_use")
    if not names:
        return {}
    past = [{"name": name, "input_schema": {"type": "object"}} for name in names]
    return {"tools": past, "tool_choice": {"type": "none"}}


def _encode_tool(tool: Mapping[str, Any]) -> Json:
    encoded: Json = {
        "name": tool["name"],
        "input_schema": {"type": "object", **tool.get("parameters", {})},
    }
    if tool.get("description"):
        encoded["description"] = tool["description"]
    return encoded


def _encode_output(thinking: Thinking, schema: Mapping[str, Any] | None) -> Json:
    output: Json = {}
    if thinking.effort is not None:
        output["effort"] = thinking.effort
    if schema is not None:
        output["format"] = {"type": "json_schema", "schema": fit_schema(schema)}
    return output


def _mark_cached(body: Json) -> None:
    """Have the server keep what the next request will begin with, too.

    Two marks: behind tools and system prompt, and behind the last message of the user.
    The server finds its longest beginning by itself. Writing costs a quarter more than
    not caching and reading a tenth, so a question that stands alone is not marked.
    """
    if "system" in body:
        body["system"][-1]["cache_control"] = _CACHED
    for message in reversed(body["messages"]):
        if message["role"] == "user":
            message["content"][-1]["cache_control"] = _CACHED
            return
