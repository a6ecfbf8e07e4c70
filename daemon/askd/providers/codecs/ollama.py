"""The dialect "ollama": /api/chat, the native API of Ollama.

A pure codec: requests to bytes; `ollama_decoder` reads the answer. It opens nothing and
tries nothing again. Ollama's own habit is to cut a conversation that is too long from
the front and to say nothing. So the window is always told (`num_ctx`), the server is
asked to refuse instead (`truncate` and `shift`, from 0.12.10 on), and for older ones the
decoder compares the counts.
"""

from collections.abc import Mapping

from askd.errors import ProviderError
from askd.providers.base import Effort, Endpoint, HttpCall, ModelRequest
from askd.providers.codecs.lenient import Json
from askd.providers.codecs.ollama_decoder import OllamaDecoder
from askd.providers.codecs.ollama_messages import encode_messages
from askd.providers.codecs.sent_body import write_body
from askd.providers.refusals import read_refusal

DEFAULT_CONTEXT_WINDOW = 8192
"""Tokens, where nobody knows the model's window: twice what Ollama itself takes on small
machines, and still little memory."""

_THINK: Mapping[Effort, bool | str] = {
    "none": False,
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
}
"""A model without levels takes each of them for yes; one that cannot think refuses them all."""


class Ollama:
    """The codec for one provider, whose name stands in its errors' sentences."""

    dialect = "ollama"

    def __init__(self, provider: str, *, path: str = "/api/chat") -> None:
        self._provider = provider
        self._path = path

    def encode(self, request: ModelRequest) -> HttpCall:
        """The streaming call that asks for this completion."""
        return HttpCall(
            method="POST",
            path=self._path,
            body=write_body(self._body(request)),
            headers={"content-type": "application/json", "accept": "application/x-ndjson"},
        )

    def decoder(self, request: ModelRequest) -> OllamaDecoder:
        """A fresh decoder for one answer to this request."""
        return OllamaDecoder(self._provider, context_window=_window_of(request))

    def read_error(self, status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
        """The error that an answer with an error status means."""
        return read_refusal(self._provider, status, headers, body)

    def _body(self, request: ModelRequest) -> Json:
        options: Json = {"num_ctx": _window_of(request)}
        if request.temperature is not None:
            options["temperature"] = request.temperature
        if request.max_output_tokens is not None:
            options["num_predict"] = request.max_output_tokens
        if request.stop:
            options["stop"] = list(request.stop)
        body: Json = {
            "model": request.model,
            "messages": encode_messages(
                request.items,
                provider=self._provider,
                images=request.images,
                system=request.system,
                system_as_user=request.system_as_user,
            ),
            "stream": True,
            "truncate": False,
            "shift": False,
            "options": options,
        }
        if request.tools:
            body["tools"] = [{"type": "function", "function": dict(t)} for t in request.tools]
        if request.effort is not None:
            body["think"] = _THINK[request.effort]
        if request.schema is not None:
            body["format"] = dict(request.schema)
        return body


def codec_for(endpoint: Endpoint) -> Ollama:
    """The codec as this endpoint understands it.

    Its base URL may end ahead of `/api`, in it, or in the `/v1` of Ollama's imitation of
    OpenAI, which is left again.
    """
    base = endpoint.base_url.rstrip("/")
    if base.endswith("/api"):
        return Ollama(endpoint.provider, path="/chat")
    path = "/../api/chat" if base.endswith("/v1") else "/api/chat"
    return Ollama(endpoint.provider, path=path)


def _window_of(request: ModelRequest) -> int:
    return request.context_window or DEFAULT_CONTEXT_WINDOW
