"""Addresses: the same place or another one, and whether it is this machine."""

import pytest

from askd.tools.mcp.ways import Token, find_origin, is_loopback_url, may_lead


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("http://a/x", "http://a:80/y?z", True),
        ("https://A.example/", "https://a.example:443/mcp", True),
        ("https://u:p@a/", "https://a/", True),
        ("http://a/", "https://a/", False),
        ("http://a/", "http://a:81/", False),
        ("http://a/", "http://a.evil/", False),
        ("http://a/", "http://b@evil/", False),
    ],
)
def test_origins(one: str, other: str, is_same: bool) -> None:
    assert (find_origin(one) == find_origin(other)) is is_same


@pytest.mark.parametrize(
    ("url", "is_here"),
    [
        ("http://127.0.0.1:1/mcp", True),
        ("http://127.9.9.9/", True),
        ("http://[::1]:1/", True),
        ("http://localhost/", True),
        ("http://127.0.0.1.evil.example/", False),
        ("http://127.evil/", False),
        ("http://localhost.evil.example/", False),
        ("http://evil.example/127.0.0.1", False),
        ("http://0.0.0.0/", False),
        ("nonsense", False),
    ],
)
def test_this_machine(url: str, is_here: bool) -> None:
    assert is_loopback_url(url) is is_here


def test_a_token_is_not_in_its_own_words() -> None:
    assert "abc" not in repr(Token("abc", "settings"))


@pytest.mark.parametrize(
    ("server", "url", "may"),
    [
        ("https://far.example/mcp", "https://sign-in.example/authorize", True),
        ("https://far.example/mcp", "http://sign-in.example/authorize", False),
        ("https://far.example/mcp", "http://127.0.0.1:9000/shutdown", False),
        ("https://far.example/mcp", "https://localhost/shutdown", False),
        ("https://far.example/mcp", "file:///etc/passwd", False),
        ("https://far.example/mcp", "http://169.254.169.254/latest", False),
        ("http://127.0.0.1:1/mcp", "http://localhost:2/authorize", True),
        ("http://127.0.0.1:1/mcp", "https://sign-in.example/authorize", True),
        ("http://127.0.0.1:1/mcp", "http://sign-in.example/authorize", False),
    ],
)
def test_where_a_server_may_lead(server: str, url: str, may: bool) -> None:
    assert may_lead(server, url) is may


@pytest.mark.parametrize("url", ["http://a:99999/", "http://a:b/", "http://[", "http://[::1", ""])
def test_what_is_no_address_is_nowhere(url: str) -> None:
    assert find_origin(url)[1] == ""
    assert not is_loopback_url(url)
    assert not may_lead("https://a/", url)
