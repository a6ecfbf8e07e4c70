"""Every dialect has a codec and a place where its models are listed; none is imported early."""

import json
import subprocess
import sys
from typing import Any, get_args

import pytest

from askd.providers.base import Dialect, Endpoint
from askd.providers.models.dialects import (
    Question,
    ask_listing,
    ask_model,
    codec_for,
    prepare_endpoint,
    read_model,
    read_page,
)
from askd.providers.models.listings import Listed

DIALECTS = get_args(Dialect)


def endpoint(dialect: str, base_url: str = "http://127.0.0.1:1/v1", **more: object) -> Endpoint:
    return Endpoint(provider="p", base_url=base_url, dialect=dialect, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_has_a_codec(dialect: str) -> None:
    spoken = "openai-chat" if dialect == "local" else dialect
    assert codec_for(endpoint(dialect)).dialect == spoken


def test_codecs_are_imported_when_they_are_needed() -> None:
    program = (
        "import sys, askd.providers.models.registry;"
        "print([name for name in sys.modules if name.startswith('askd.providers.')"
        " and name.rsplit('.')[-1] in"
        " ('anthropic', 'ollama', 'openai_responses', 'openai_chat', 'copilot', 'transport')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"


def test_the_http_client_comes_without_its_command_line() -> None:
    program = (
        "import sys, askd.providers.http.transport;"
        "print([name for name in ('httpx', 'rich', 'pygments', 'click') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "['httpx']"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_lists_somewhere_and_any_answer_is_read(dialect: str) -> None:
    question = ask_listing(endpoint(dialect))
    assert question.path.startswith("/")
    assert question.body is None
    answers: list[Any] = [None, [], {}, "text", 7, {"data": None}, {"models": [1]}]
    for answer in answers:
        page = read_page(endpoint(dialect), answer)
        assert (page.models, page.names, page.more) == ((), (), None)


def test_only_openai_itself_lists_what_does_not_chat() -> None:
    answer = {"data": [{"id": "gpt-5"}, {"id": "gpt-4o-audio-preview"}]}
    at_openai = read_page(endpoint("openai-responses", "https://api.openai.com/v1"), answer)
    assert at_openai.models == (Listed(name="gpt-5"),)
    assert len(read_page(endpoint("openai-chat"), answer).models) == 2


def test_anthropics_pages_and_its_version() -> None:
    asked = endpoint("anthropic", headers={"x-mine": "1"})
    assert prepare_endpoint(asked).headers == {"anthropic-version": "2023-06-01", "x-mine": "1"}
    # What the settings say stays.
    mine = endpoint("anthropic", headers={"anthropic-version": "2030-01-01"})
    assert prepare_endpoint(mine).headers == mine.headers
    assert prepare_endpoint(endpoint("ollama")) == endpoint("ollama")
    page = read_page(asked, {"data": [{"id": "a"}], "has_more": True, "last_id": "a&b=/"})
    assert page.models == (Listed(name="a"),)
    assert page.more == Question(path="/models?limit=1000&after_id=a%26b%3D%2F")


def test_ollamas_names_are_asked_about() -> None:
    page = read_page(endpoint("ollama"), {"models": [{"model": 'a"b'}]})
    assert page.names == ('a"b',)
    question = ask_model('a"b')
    assert question.path == "/api/show"
    assert json.loads(question.body or b"") == {"model": 'a"b'}
    assert read_model("m", {"capabilities": ["embedding"]}) is None
    assert read_model("m", {}) == Listed(name="m")


def test_copilots_own_fields_are_read() -> None:
    row = {"id": "m", "capabilities": {"type": "chat", "supports": {"vision": True}}}
    assert read_page(endpoint("copilot"), {"data": [row]}).models == (
        Listed(name="m", images=True),
    )
