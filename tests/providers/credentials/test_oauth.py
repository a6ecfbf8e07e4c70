"""The pure part of signing in: what is made up, what comes back, what a token says."""

import base64
import hashlib
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.errors import NotConfigured, RequestError
from askd.providers.credentials.oauth import (
    Attempt,
    make_attempt,
    make_url,
    read_account,
    read_claims,
    read_expiry,
    read_return,
)
from tests.fakes.sign_in_servers import make_jwt

ATTEMPT = Attempt("verifier", "the-state", "nonce")
BACK = "http://127.0.0.1:4000/auth/callback"


def test_challenge_is_that_of_the_rfc() -> None:
    # The example of RFC 7636, appendix B.
    attempt = Attempt("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "s", "n")
    assert attempt.challenge == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


def test_every_attempt_is_another_and_is_not_shown() -> None:
    one, two = make_attempt(), make_attempt()
    assert len({one.verifier, one.state, one.nonce, two.verifier, two.state, two.nonce}) == 6
    assert 43 <= len(one.verifier) <= 128
    digest = hashlib.sha256(one.verifier.encode()).digest()
    assert base64.urlsafe_b64decode(one.challenge + "=") == digest
    assert one.verifier not in repr(one)


def test_address_keeps_what_it_had() -> None:
    for address in ("https://a.example/x", "https://a.example/x?y=z"):
        url = make_url(address, {"scope": "a b", "state": "&"})
        query = parse_qs(urlsplit(url).query)
        assert (query["scope"], query["state"]) == (["a b"], ["&"])
        assert query.get("y") == (["z"] if "?" in address else None)


@pytest.mark.parametrize(
    "address",
    [
        f"{BACK}?code=c1&state=the-state&client_id=app",
        f"  {BACK}?state=the-state&client_id=app&code=c1#fragment\n",
        "/auth/callback?code=c1&state=the-state&client_id=app",
        "?code=c1&state=the-state&client_id=app",
        "code=c1&state=the-state&client_id=app",
    ],
)
def test_return_in_every_form_that_people_paste(address: str) -> None:
    returned = read_return(address, ATTEMPT)
    assert (returned.code, returned.client_id) == ("c1", "app")
    assert "c1" not in repr(returned)


def test_return_without_a_client() -> None:
    assert read_return(f"{BACK}?code=c1&state=the-state", ATTEMPT).client_id is None


@pytest.mark.parametrize(
    "address",
    [
        "",
        "hello",
        BACK,
        f"{BACK}?code=c1",
        f"{BACK}?code=c1&state=another",
        f"{BACK}?code=c1&state=\ud800",
        f"{BACK}?code=c1&state=",
        f"{BACK}?code=c1&state=the-state&state=the-state",
        f"{BACK}?code=&state=the-state",
        f"{BACK}?state=the-state",
        f"{BACK}?error=access_denied&state=another",
        "http://[::1",
        "x" * 20_000,
    ],
)
def test_address_that_is_not_of_this_sign_in(address: str) -> None:
    with pytest.raises(RequestError):
        read_return(address, ATTEMPT)


def test_no_is_said_in_the_servers_words() -> None:
    said = urlencode(
        {"error": "access_denied", "error_description": "Not\x1b you", "state": "the-state"}
    )
    with pytest.raises(NotConfigured, match="was not allowed: Not you") as caught:
        read_return(f"{BACK}?{said}", ATTEMPT)
    assert caught.value.reason == "login_failed"
    with pytest.raises(NotConfigured, match="was not allowed: access_denied"):
        read_return("?error=access_denied&state=the-state", ATTEMPT)


@given(st.text(max_size=200))
def test_any_pasted_text_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(RequestError):
        read_return(text, ATTEMPT)


def test_claims() -> None:
    token = make_jwt(exp=1_800_000_000, email="ada@example.com")
    assert read_claims(token)["email"] == "ada@example.com"
    assert read_expiry(token) == 1_800_000_000.0
    assert read_account(token) == "ada@example.com"
    assert read_account(make_jwt(name="Ada")) == "Ada"


@pytest.mark.parametrize(
    "token",
    [None, 5, "", "opaque", "a.b", "a.!.c", "a.bm90IGpzb24.c", "a.W10.c", "a.\u00e9.c",
     "x." + "W" * 70_000 + ".y", make_jwt(exp=True), make_jwt(exp="soon"), make_jwt(exp=-1),
     make_jwt(exp=1e300), make_jwt(email=5, name="\x1b")],
)  # fmt: skip
def test_token_that_says_nothing(token: object) -> None:
    assert read_expiry(token) is None
    assert read_account(token) is None


@given(st.text(max_size=60) | st.builds("a.{}.b".format, st.text(max_size=60)))
def test_any_token_can_be_read(token: str) -> None:
    read_claims(token)
