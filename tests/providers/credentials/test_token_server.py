"""Questions to a sign-in server: what is sent, what is read, what is never shown."""

import json

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from askd.errors import BadAnswer, NotConfigured, ProviderError, RateLimited, Unavailable
from askd.providers.base import Endpoint, HttpCall
from askd.providers.credentials.token_server import Answer, TokenServer, explain_failure
from askd.providers.redact import KnownSecrets
from tests.fakes.sign_in_servers import Said, say

CANARY = "canary-secret-value"

LEAVES = st.none() | st.booleans() | st.text() | st.floats()
NAMES = st.sampled_from(["error", "message", "code", "error_details"])


class Echo:
    """Answers with what it was made with, and remembers what it was sent."""

    def __init__(self, said: Said) -> None:
        self.said = said
        self.sent: list[tuple[Endpoint, HttpCall]] = []

    async def __call__(self, endpoint: Endpoint, call: HttpCall) -> Said:
        await trio.lowlevel.checkpoint()
        self.sent.append((endpoint, call))
        return self.said


def make_server(echo: Echo) -> TokenServer:
    """A server that the provider `work` asks."""
    return TokenServer(
        echo,
        lambda address: Endpoint(provider="work", base_url=address, proxy="http://proxy"),
        KnownSecrets([CANARY]),
    )


async def test_form_and_json_go_out_whole() -> None:
    echo = Echo(say(200, {"a": "b"}))
    server = make_server(echo)
    answer = await server.post_form("https://x.example/a/b?c=d", {"token": CANARY, "e": "f g"})
    assert answer.is_ok
    assert answer.read_text("a") == "b"
    await server.post_json("https://x.example/j", {"token": CANARY})
    await server.get("https://x.example/g", {"authorization": f"token {CANARY}"})
    (way, form), (_, body), (asked, _) = echo.sent
    assert (way.base_url, form.path, form.method) == ("https://x.example", "/a/b?c=d", "POST")
    assert way.proxy == "http://proxy"
    assert form.body == b"token=canary-secret-value&e=f+g"
    assert json.loads(body.body) == {"token": CANARY}
    assert asked.headers["authorization"] == f"token {CANARY}"
    assert CANARY not in repr(echo.sent)
    assert CANARY not in repr(answer)


@pytest.mark.parametrize(
    ("data", "code", "words"),
    [
        ({"error": "invalid_grant"}, "invalid_grant", ""),
        ({"error": "invalid_grant", "error_description": "Too old."}, "invalid_grant", "Too old."),
        ({"error": {"code": "reused", "message": "Used."}}, "reused", "Used."),
        ({"error": {"type": "bad", "message": "Used."}}, "bad", "Used."),
        ({"message": "Bad credentials"}, "", "Bad credentials"),
        ({"error_details": {"message": "No access."}, "message": "x"}, "", "No access."),
        (
            {"error": {"message": f"You sent {CANARY}\x1b[31m\nand more"}},
            "",
            "You sent *** and more",
        ),
        ({"error": 5, "message": ["x"]}, "", ""),
    ],
)
async def test_errors_in_every_shape(data: object, code: str, words: str) -> None:
    answer = await make_server(Echo(say(400, data))).get("https://x.example/")
    assert (answer.code, answer.words.replace("[31m", "")) == (code, words)
    assert not answer.is_ok
    assert answer.is_refusal


@pytest.mark.parametrize("body", [b"", b"<html>", b"[1]", b"\xff", b"[" * 100_000, b"null"])
async def test_what_is_no_object_is_an_empty_answer(body: bytes) -> None:
    answer = await make_server(Echo(Said(200, body))).get("https://x.example/")
    assert (answer.data, answer.code, answer.words) == ({}, "", "")


@settings(max_examples=50)
@given(st.recursive(LEAVES, lambda each: st.lists(each) | st.dictionaries(NAMES, each)))
def test_any_json_can_be_read(data: object) -> None:
    answer = trio.run(make_server(Echo(say(400, data))).get, "https://x.example/")
    assert len(answer.words) <= 300
    assert answer.words.isprintable()
    answer.read_number("code")
    answer.read_text("code")


@pytest.mark.parametrize(
    ("value", "number"),
    [(5, 5.0), ("7", 7.0), (1.5, 1.5), (True, None), ("x", None), (None, None), (1e300, None),
     ("nan", None), ("inf", None), ([], None)],
)  # fmt: skip
def test_numbers_are_read_leniently(value: object, number: float | None) -> None:
    assert Answer(status=200, data={"n": value}).read_number("n") == number


@pytest.mark.parametrize(
    ("status", "kind", "refusal"),
    [(400, BadAnswer, True), (401, BadAnswer, True), (429, RateLimited, False),
     (408, Unavailable, False), (500, Unavailable, False), (200, BadAnswer, False),
     (302, Unavailable, False), (403, Unavailable, False), (407, Unavailable, False)],
)  # fmt: skip
def test_which_error_a_status_is(status: int, kind: type[ProviderError], refusal: bool) -> None:
    answer = Answer(status=status, data={})
    assert answer.is_refusal is refusal
    error = explain_failure("work", "it failed", answer)
    assert type(error) is kind
    assert error.message == f"work: it failed: HTTP {status}"


def test_no_in_words_is_one_whatever_the_status() -> None:
    assert Answer(status=403, data={}, words="Blocked for your country.").is_refusal
    assert Answer(status=200, data={}, code="access_denied").is_refusal
    assert not Answer(status=407, data={}, words="The proxy wants a name.").is_refusal


async def test_half_a_character_can_be_sent() -> None:
    echo = Echo(say(200, {}))
    assert (await make_server(echo).post_form("https://x.example/", {"code": "\ud800"})).is_ok


def test_yes_with_an_error_in_it_is_none() -> None:
    assert not Answer(status=200, data={}, code="authorization_pending").is_ok


async def test_silence_has_an_end(autojump_clock: MockClock) -> None:
    async def never(endpoint: Endpoint, call: HttpCall) -> Said:
        await trio.sleep_forever()
        raise AssertionError

    server = TokenServer(never, lambda a: Endpoint(provider="work", base_url=a), KnownSecrets())
    with pytest.raises(Unavailable, match=r"work: x\.example did not answer in 30 seconds"):
        await server.get("https://x.example/")


async def test_way_that_is_forbidden_is_not_gone() -> None:
    def refuse(address: str) -> Endpoint:
        raise NotConfigured("no", reason="local_only")

    echo = Echo(say(200, {}))
    with pytest.raises(NotConfigured):
        await TokenServer(echo, refuse, KnownSecrets()).get("https://x.example/")
    assert echo.sent == []
