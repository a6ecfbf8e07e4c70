"""The dialect "openai-chat": OpenAI's Chat Completions and all that imitate it.

A pure codec: requests to bytes here and in `chat_messages`, bytes to stream
events in `chat_stream`. It opens nothing and tries nothing again. What one
server wants otherwise than the next is a `Rules` value, made from the address.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from askd.errors import ProviderError
from askd.providers.addresses import is_loopback, is_openai, read_host
from askd.providers.base import Endpoint, HttpCall, ModelRequest
from askd.providers.codecs.answer_schemas import place_schema
from askd.providers.codecs.chat_messages import encode_messages
from askd.providers.codecs.chat_stream import ChatDecoder
from askd.providers.codecs.counting import count_call
from askd.providers.codecs.lenient import Json
from askd.providers.codecs.sent_body import write_body
from askd.providers.codecs.sent_calls import NINE_IDS, USUAL_IDS
from askd.providers.refusals import read_refusal

HEADERS = {"content-type": "application/json", "accept": "text/event-stream"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What one server wants otherwise than the next.

    Attributes:
        limit_field: the field that caps the output: OpenAI's own newer models take only
            `max_completion_tokens`, most other servers know only `max_tokens`.
        call_ids: the ids of calls that it takes.
        is_openrouter: it understands `usage: {include}` and `reasoning: {effort}`, and says
            what an answer cost, in US dollars.
        is_llama_cpp: it gives `chat_template_kwargs` to the model's template.
        counts: it may be llama.cpp, which counts a request's tokens; others would be sent it all
            for nothing.
    """

    limit_field: str = "max_tokens"
    call_ids: re.Pattern[str] = USUAL_IDS
    is_openrouter: bool = False
    is_llama_cpp: bool = False
    counts: bool = False


_COUNTED = ("model", "messages", "tools", "response_format", "chat_template_kwargs")
"""What the template makes tokens of."""


class OpenAIChat:
    """The codec for one provider. `provider` stands in its errors' sentences."""

    dialect = "openai-chat"

    def __init__(self, provider: str, rules: Rules | None = None) -> None:
        self._provider = provider
        self._rules = rules or Rules()

    def encode(self, request: ModelRequest) -> HttpCall:
        """The streaming call that asks for this completion."""
        rules = self._rules
        schema, system = place_schema(request.schema, request.system)
        messages = encode_messages(
            request, provider=self._provider, system=system, call_ids=rules.call_ids
        )
        body: Json = {
            "model": request.model,
            "messages": messages,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if request.tools:
            body["tools"] = [{"type": "function", "function": dict(t)} for t in request.tools]
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.max_output_tokens is not None:
            body[rules.limit_field] = request.max_output_tokens
        if request.stop:
            body["stop"] = list(request.stop)
        if schema is not None:
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        body |= _encode_effort(request, rules)
        if rules.is_openrouter:
            body["usage"] = {"include": True}
        return HttpCall(
            method="POST", path="/chat/completions", body=write_body(body), headers=HEADERS
        )

    def encode_count(self, request: ModelRequest) -> HttpCall | None:
        """The call that has this request's tokens counted, which llama.cpp's server does."""
        if not self._rules.counts:
            return None
        return count_call(self.encode(request), "input_tokens", _COUNTED)

    def decoder(self, request: ModelRequest) -> ChatDecoder:
        """A fresh decoder for one answer."""
        return ChatDecoder(self._provider, reads_cost=self._rules.is_openrouter)

    def read_error(self, status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
        """The error that an answer with an error status means."""
        return read_refusal(self._provider, status, headers, body)


def codec_for(endpoint: Endpoint) -> OpenAIChat:
    """The codec as this endpoint understands it."""
    return OpenAIChat(endpoint.provider, find_rules(endpoint))


def find_rules(endpoint: Endpoint) -> Rules:
    """What is known of the server at this address."""
    host = read_host(endpoint.base_url) or ""
    is_azure = host.endswith(".azure.com")
    return Rules(
        limit_field="max_completion_tokens" if is_openai(endpoint) or is_azure else "max_tokens",
        call_ids=NINE_IDS if host.endswith("mistral.ai") else USUAL_IDS,
        is_openrouter=host.endswith("openrouter.ai") or endpoint.provider == "openrouter",
        is_llama_cpp=endpoint.dialect == "local",
        counts=endpoint.dialect == "local" or is_loopback(host),
    )


def _encode_effort(request: ModelRequest, rules: Rules) -> Json:
    if request.effort is None:
        return {}
    if rules.is_openrouter:
        return {"reasoning": {"effort": request.effort}}
    if rules.is_llama_cpp:
        # A template either thinks or not; the few that know more read the word itself.
        word = {} if request.effort == "none" else {"reasoning_effort": request.effort}
        return {"chat_template_kwargs": {"enable_thinking": request.effort != "none", **word}}
    return {"reasoning_effort": request.effort}
