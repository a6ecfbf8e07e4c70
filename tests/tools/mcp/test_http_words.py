"""What went wrong, in sentences: one line, no secret, nothing that a server could have written."""

import itertools
import socket
import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.tools.mcp.configs import ServerConfig
from askd.tools.mcp.http_words import (
    explain_redirect,
    explain_status,
    explain_trouble,
    explain_type,
    show_address,
)
from askd.tools.mcp.ways import Token

CONFIG = ServerConfig(name="far", url="https://user:pass@far.example:8443/mcp?key=secret")
SIGNED_IN, OF_SETTINGS = Token("t", "sign-in"), Token("t", "settings")


@pytest.mark.parametrize(
    ("status", "token", "in_session", "words"),
    [
        (401, None, False, "far wants a sign-in: `ask mcp login far`."),
        (401, SIGNED_IN, True, "sign in again with `ask mcp login far`"),
        (401, OF_SETTINGS, False, "`bearer_token_file` or `headers` under [mcpServers.far]"),
        (403, SIGNED_IN, False, "more rights: `ask mcp login far`"),
        (403, OF_SETTINGS, False, "gives too few rights"),
        (404, None, False, "see `url` under [mcpServers.far]"),
        (405, None, True, "see `url` under [mcpServers.far]"),
        (404, None, True, "has ended our session"),
        (407, None, False, "the proxy on the way"),
        (413, None, False, "too large"),
        (429, None, False, "try again later"),
        (500, None, False, "far has failed (HTTP 500)"),
        (599, None, True, "far has failed (HTTP 599)"),
        (418, None, False, "far refuses the request (HTTP 418)."),
    ],
)
def test_statuses(status: int, token: Token | None, in_session: bool, words: str) -> None:
    assert words in explain_status(CONFIG, status, token=token, in_session=in_session)


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("https://u:p@other.example/path?code=1", "to https://other.example,"),
        ("ftp://other.example/", "to another address,"),
        ("https://bad\x1b[31m/", "to another address,"),
        ("https://[", "to another address,"),
        ("", "to another address,"),
    ],
)
def test_a_redirect_shows_no_more_than_a_host(location: str, shown: str) -> None:
    assert shown in explain_redirect(CONFIG, location)


@given(st.text(max_size=200))
def test_whatever_a_server_sends_stays_a_sentence(text: str) -> None:
    for sentence in (explain_redirect(CONFIG, text), explain_type(CONFIG, text)):
        assert sentence.isprintable()
        assert len(sentence) < 700


def chain(*errors: Exception) -> Exception:
    """Each caused by the next."""
    for error, cause in itertools.pairwise(errors):
        error.__cause__ = cause
    return errors[0]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (chain(ValueError(), ConnectionRefusedError(111, "x")), "nothing listens at"),
        (chain(ValueError(), socket.gaierror(-2, "x")), "the name in https://far.example"),
        (chain(ValueError(), ssl.SSLCertVerificationError("x")), "the certificate of"),
        (chain(ValueError(), ssl.SSLError("x")), "does not speak TLS"),
        (chain(ValueError(), OSError(113, "No route to host")), "No route to host."),
        (ExceptionGroup("", [ConnectionRefusedError(111, "x")]), "nothing listens at"),
        (type("ConnectTimeout", (Exception,), {})(), "does not answer at"),
        (ValueError("\x1b"), "broke before the whole answer"),
    ],
)
def test_what_broke_on_the_way(error: Exception, words: str) -> None:
    sentence = explain_trouble(CONFIG, error)
    assert words in sentence
    assert sentence.isprintable()
    for secret in ("pass", "secret"):
        assert secret not in sentence


def test_a_loop_of_causes_ends() -> None:
    one, other = ValueError(), KeyError()
    one.__cause__, other.__cause__ = other, one
    assert "broke" in explain_trouble(CONFIG, one)


def test_an_address_is_shown_without_its_secrets() -> None:
    assert show_address(CONFIG.url or "") == "https://far.example:8443/mcp"
    assert show_address("https://[") == "an address that is none"
