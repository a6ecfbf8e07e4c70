"""A prompt by itself: what of it shows, and which parts can be none."""

import pytest

from ask.protocol import names
from askd.core.items import Blob, Part, Text
from askd.errors import RequestError
from askd.sessions.prompts import PROXY_NAMES, Prompt, check_parts
from askd.sessions.targets import Target


def prompt(*parts: Part, **more: object) -> Prompt:
    return Prompt(target=Target("new"), key="k", digest="d", parts=parts, **more)  # type: ignore[arg-type]  # fields of Prompt


def test_secrets_do_not_show() -> None:
    assert "hush-hush" not in repr(prompt(secrets={"KEY": "hush-hush"}))


def test_the_proxies_are_those_of_the_contract() -> None:
    assert {name.lower() for name in names.PROXY_NAMES} == set(PROXY_NAMES)
    assert not {name.lower() for name in names.KEY_NAMES} & PROXY_NAMES


def test_a_proxy_is_no_key() -> None:
    assert not prompt(secrets={"HTTPS_PROXY": "http://p"}).has_keys
    assert prompt(secrets={"HTTPS_PROXY": "http://p", "KEY": "k"}).has_keys


@pytest.mark.parametrize("parts", [(), (Text(" \n"),)])
def test_a_prompt_says_something(parts: tuple[Part, ...]) -> None:
    with pytest.raises(RequestError) as caught:
        check_parts(prompt(*parts))
    assert caught.value.reason == "empty_prompt"


@pytest.mark.parametrize(
    ("media_type", "content", "why"),
    [
        ("image/png", b"no image", "is no image/png"),
        ("text/plain", b"\xff\xfe", "is not UTF-8 text"),
        ("audio/wav", b"RIFF", "not audio/wav"),
    ],
)
def test_parts_that_no_model_can_read(media_type: str, content: bytes, why: str) -> None:
    part = Blob("s", len(content), media_type, "a file")
    with pytest.raises(RequestError, match=why):
        check_parts(prompt(part, blobs={"s": content}))


def test_words_and_texts_pass() -> None:
    check_parts(prompt(Text("hi"), Blob("s", 2, "text/plain"), blobs={"s": b"hi"}))
