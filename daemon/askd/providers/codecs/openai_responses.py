"""The dialect "openai-responses": OpenAI's Responses API, and ChatGPT's backend for Codex.

A pure codec: requests to bytes here and in `responses_items`, bytes to stream
events in `responses_stream`. It opens nothing and tries nothing again.

- The server stores nothing (`store: false`), so hidden reasoning is asked for
  in its sealed form and comes along with the next request.
- There is no stop sequence in this dialect: `request.stop` is not sent and
  nothing is cut.
- OpenAI refuses to summarise reasoning for organisations that it has not
  verified, so a summary is asked for only where somebody chose an effort, or
  where a ChatGPT subscription answers.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from askd.errors import ProviderError
from askd.providers.addresses import is_openai
from askd.providers.base import Endpoint, HttpCall, ModelRequest
from askd.providers.codecs.answer_schemas import place_schema
from askd.providers.codecs.counting import count_call
from askd.providers.codecs.lenient import Json
from askd.providers.codecs.openai_chat import HEADERS
from askd.providers.codecs.responses_items import encode_input
from askd.providers.codecs.responses_stream import ResponsesDecoder
from askd.providers.codecs.sent_body import write_body
from askd.providers.refusals import read_refusal

CODEX_PATH = "/backend-api/codex"
"""Where an address ends that is ChatGPT's backend for Codex."""

INSTRUCTIONS = "You are a helpful assistant."
"""ChatGPT's backend refuses a request without instructions."""

SEALED = "reasoning.encrypted_content"

_COUNTED = ("model", "input", "instructions", "tools", "text", "reasoning")
"""What a count is asked of: it refuses what is about the answer alone."""

_THINKING = re.compile(r"(o\d|gpt-[5-9]|codex)(?!.*chat)")
"""OpenAI's models that reason, by name: the others refuse every word about reasoning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Who answers at an address.

    Attributes:
        is_official: OpenAI's own API.
        is_codex: ChatGPT's backend; it takes neither a temperature nor a limit of the output.
    """

    is_official: bool = False
    is_codex: bool = False


class OpenAIResponses:
    """The codec for one provider. `provider` stands in its errors' sentences."""

    dialect = "openai-responses"

    def __init__(self, provider: str, rules: Rules | None = None) -> None:
        self._provider = provider
        self._rules = rules or Rules()

    def encode(self, request: ModelRequest) -> HttpCall:
        """The streaming call that asks for this completion."""
        schema, system = place_schema(request.schema, request.system)
        opening = system if request.system_as_user else None
        instructions = None if request.system_as_user else system
        if self._rules.is_codex:
            instructions = instructions or INSTRUCTIONS
        body: Json = {
            "model": request.model,
            "input": encode_input(request, provider=self._provider, opening=opening),
            "stream": True,
            "store": False,
        }
        if instructions:
            body["instructions"] = instructions
        if request.tools:
            body["tools"] = [encode_tool(tool) for tool in request.tools]
        if not self._rules.is_codex:
            if request.temperature is not None:
                body["temperature"] = request.temperature
            if request.max_output_tokens is not None:
                body["max_output_tokens"] = request.max_output_tokens
        if schema is not None:
            body["text"] = {"format": {"type": "json_schema", **schema}}
        body |= self._encode_reasoning(request)
        return HttpCall(method="POST", path="/responses", body=write_body(body), headers=HEADERS)

    def encode_count(self, request: ModelRequest) -> HttpCall | None:
        """The call that has this request's tokens counted; ChatGPT's backend has none."""
        if self._rules.is_codex:
            return None
        return count_call(self.encode(request), "input_tokens", _COUNTED)

    def decoder(self, request: ModelRequest) -> ResponsesDecoder:
        """A fresh decoder for one answer."""
        says_so = self._rules.is_official or self._rules.is_codex
        limit = None if says_so else request.max_output_tokens
        return ResponsesDecoder(self._provider, output_limit=limit)

    def read_error(self, status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
        """The error that an answer with an error status means."""
        return read_refusal(self._provider, status, headers, body)

    def _encode_reasoning(self, request: ModelRequest) -> Json:
        is_chosen = request.effort not in (None, "none")
        if self._rules.is_official and not (is_chosen or _THINKING.match(request.model)):
            return {}
        reasoning: Json = {}
        if request.effort is not None:
            reasoning["effort"] = request.effort
        if self._rules.is_codex or is_chosen:
            reasoning["summary"] = "auto"
        fields: Json = {"include": [SEALED]}
        return {**fields, "reasoning": reasoning} if reasoning else fields


def codec_for(endpoint: Endpoint) -> OpenAIResponses:
    """The codec as this endpoint understands it."""
    path = urlsplit(endpoint.base_url).path.rstrip("/")
    rules = Rules(is_official=is_openai(endpoint), is_codex=path.endswith(CODEX_PATH))
    return OpenAIResponses(endpoint.provider, rules)


def encode_tool(tool: Mapping[str, Any]) -> Json:
    """A tool; not strict, which this API would be by itself, changing the tool's schema."""
    return {"type": "function", **tool, "strict": False}
