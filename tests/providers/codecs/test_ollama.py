"""The dialect "ollama" as a whole: what a request becomes, and where it goes."""

import json
from typing import Any

import httpx
import pytest

from askd.core.items import Text, UserMessage
from askd.errors import Refused, UnknownModel
from askd.providers.base import Effort, Endpoint, Failed, ModelRequest
from askd.providers.codecs.ollama import DEFAULT_CONTEXT_WINDOW, Ollama, codec_for

CODEC = Ollama("work")
USER = UserMessage("u", (Text("Hi"),))
TOOL = {"name": "f", "description": "Runs.", "parameters": {"type": "object"}}


def body_of(**more: Any) -> Any:
    """The JSON that a request becomes."""
    return json.loads(CODEC.encode(ModelRequest(model="m", items=[USER], **more)).body)


def test_request_names_its_window_and_wants_no_truncation() -> None:
    sent = CODEC.encode(ModelRequest(model="m", items=[USER], context_window=32_768))
    assert (sent.method, sent.path) == ("POST", "/api/chat")
    assert json.loads(sent.body) == {
        "model": "m",
        "messages": [{"role": "user", "content": "Hi"}],
        "stream": True,
        "truncate": False,
        "shift": False,
        "options": {"num_ctx": 32_768},
    }


def test_window_that_nobody_knows_has_a_default() -> None:
    assert body_of()["options"] == {"num_ctx": DEFAULT_CONTEXT_WINDOW}


def test_every_option_that_was_said_is_sent() -> None:
    body = body_of(
        system="Be brief.", tools=[TOOL], temperature=0.0, max_output_tokens=7, stop=["END"],
        context_window=4096, schema={"type": "object"},
    )  # fmt: skip
    assert body["options"] == {
        "num_ctx": 4096,
        "temperature": 0.0,
        "num_predict": 7,
        "stop": ["END"],
    }
    assert body["messages"][0] == {"role": "system", "content": "Be brief."}
    assert body["tools"] == [{"type": "function", "function": TOOL}]
    assert body["format"] == {"type": "object"}
    assert "think" not in body


@pytest.mark.parametrize(
    ("effort", "think"),
    [("none", False), ("minimal", "low"), ("low", "low"), ("medium", "medium"), ("high", "high")],
)
def test_effort_is_said_in_its_word(effort: Effort, think: bool | str) -> None:
    assert body_of(effort=effort)["think"] == think


@pytest.mark.parametrize(
    "base_url", ["http://h:11434", "http://h:11434/", "http://h:11434/api", "http://h:11434/v1"]
)
def test_base_url_may_end_in_one_of_the_servers_own_prefixes(base_url: str) -> None:
    endpoint = Endpoint(provider="work", base_url=base_url, dialect="ollama")
    path = codec_for(endpoint).encode(ModelRequest(model="m", items=[USER])).path
    # Whoever sends it resolves the dots, as every URL library does.
    assert httpx.URL(base_url.rstrip("/") + path).path == "/api/chat"


def test_decoder_knows_the_window_that_was_told() -> None:
    end = b'{"done": true, "done_reason": "stop", "prompt_eval_count": 4096}\n'
    told = CODEC.decoder(ModelRequest(model="m", items=(), context_window=4096))
    default = CODEC.decoder(ModelRequest(model="m", items=()))
    assert isinstance(told.feed(end)[-1], Failed)
    assert not any(isinstance(each, Failed) for each in default.feed(end))
    full = end.replace(b"4096", str(DEFAULT_CONTEXT_WINDOW).encode())
    assert isinstance(CODEC.decoder(ModelRequest(model="m", items=())).feed(full)[-1], Failed)


@pytest.mark.parametrize(
    ("status", "words", "expected"),
    [
        (404, "model 'nope' not found", UnknownModel),
        (400, '"m" does not support thinking', Refused),
    ],
)
def test_error_answers_are_understood(status: int, words: str, expected: type[Exception]) -> None:
    body = json.dumps({"error": words}).encode()
    error = CODEC.read_error(status, {"content-type": "application/json"}, body)
    assert type(error) is expected
    assert words in str(error)
