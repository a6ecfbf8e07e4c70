"""Addresses: what is this machine, what is OpenAI, what is no address at all."""

import pytest

from askd.providers.addresses import is_loopback, is_openai, read_host
from askd.providers.base import Endpoint


@pytest.mark.parametrize(
    ("host", "expected"),
    [("localhost", True), ("a.localhost", True), ("127.0.0.1", True), ("127.9.9.9", True),
     ("::1", True), ("10.0.0.1", False), ("0.0.0.0", False), ("127.0.0.1.evil.com", False),
     ("localhost.evil.com", False), ("api.openai.com", False)],
)  # fmt: skip
def test_what_is_this_machine(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://api.openai.com/v1", True),
        ("https://api.openai.com/v1/", True),
        ("https://API.OpenAI.com/v1", True),
        ("https://api.openai.com.evil/v1", False),
        ("https://api.openai.com@evil/v1", False),
        ("http://localhost/v1", False),
    ],
)
def test_who_is_openai(address: str, expected: bool) -> None:
    assert is_openai(Endpoint(provider="p", base_url=address)) is expected


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("http://host:8000/v1", "host"),
        ("https://[::1]:1/v1", "::1"),
        ("ftp://host/v1", None),
        ("host:8000/v1", None),
        ("http://h:port/v1", None),
        ("http://[::1", None),
        ("", None),
    ],
)
def test_host_of_an_address(address: str, host: str | None) -> None:
    assert read_host(address) == host
