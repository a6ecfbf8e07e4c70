"""Addresses: what is this machine, what is OpenAI, what is no address, and the way there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.errors import NotConfigured
from askd.providers.addresses import (
    LOCAL_ONLY,
    find_way,
    is_loopback,
    is_openai,
    read_address,
    read_host,
    read_ollama_host,
)
from askd.providers.base import Endpoint
from tests.fakes.credentials import make_config

PROXIES = {"HTTPS_PROXY": "http://proxy.example:3128", "HTTP_PROXY": "http://proxy.example:3128"}


@pytest.mark.parametrize(
    ("host", "expected"),
    [("localhost", True), ("a.localhost", False), ("127.0.0.1", True), ("127.9.9.9", True),
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


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("", "http://127.0.0.1:11434"),
        ("127.0.0.1", "http://127.0.0.1:11434"),
        ("box", "http://box:11434"),
        ("box:1234", "http://box:1234"),
        (":1234", "http://127.0.0.1:1234"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:1234", "http://127.0.0.1:1234"),
        ("[::]:1234", "http://[::1]:1234"),
        ("::1", "http://[::1]:11434"),
        ("[::1]", "http://[::1]:11434"),
        ("http://box", "http://box:80"),
        ("https://box", "https://box:443"),
        ("https://box/ollama/", "https://box:443/ollama"),
        ("http://box:1234", "http://box:1234"),
        (" box \n", "http://box:11434"),
    ],
)
def test_ollama_host(text: str, url: str) -> None:
    assert read_ollama_host(text) == url


def test_ollama_host_that_is_none_stays_for_the_error() -> None:
    assert read_host(read_ollama_host("http://box:port")) is None


@given(st.text(max_size=40))
def test_any_ollama_host_is_an_address_or_is_refused(text: str) -> None:
    read_host(read_ollama_host(text))


@pytest.mark.parametrize(
    ("variable", "value", "url"),
    [
        ("OPENAI_BASE_URL", "https://a.example/v1/", "https://a.example/v1"),
        ("ANTHROPIC_BASE_URL", "https://a.example/", "https://a.example/v1"),
        ("ANTHROPIC_BASE_URL", "https://a.example/v1", "https://a.example/v1"),
        ("OLLAMA_HOST", "box", "http://box:11434"),
    ],
)
def test_address_of_a_variable(variable: str, value: str, url: str) -> None:
    assert read_address(variable, value) == url


def test_proxy_of_the_settings_goes_before_the_environments() -> None:
    config = make_config(proxy="http://mine.example:1")
    way = find_way(config, "https://a.example/v1", environ=PROXIES, local_only=False)
    assert way.proxy == "http://mine.example:1"
    way = find_way(make_config(), "https://a.example/v1", environ=PROXIES, local_only=False)
    assert way.proxy == "http://proxy.example:3128"
    assert "3128" not in repr(way)


@pytest.mark.parametrize("address", ["http://127.0.0.1:1/v1", "http://localhost/v1", "unix:/run/x"])
def test_no_proxy_to_this_machine(address: str) -> None:
    assert find_way(make_config(), address, environ=PROXIES, local_only=True).proxy is None


def test_certificates_are_passed_on() -> None:
    config = make_config(ca_file="/ca.pem")
    assert find_way(config, config.base_url, environ={}, local_only=False).ca_file == "/ca.pem"


@pytest.mark.parametrize(
    ("dialect", "url"), [("openai-chat", "http://localhost/v1"), ("ollama", "http://localhost")]
)
def test_unix_socket(dialect: str, url: str) -> None:
    config = make_config(dialect=dialect)
    way = find_way(config, "unix:/run/x.sock", environ={}, local_only=True)
    assert (way.unix_socket, way.base_url, way.dialect) == ("/run/x.sock", url, dialect)


@pytest.mark.parametrize(
    "address", ["", "host:80/v1", "ftp://host/v1", "http://", "http://[::1", "http://h:port/v1"]
)
def test_address_that_is_none(address: str) -> None:
    with pytest.raises(NotConfigured, match="is not an address"):
        find_way(make_config(), address, environ={}, local_only=False)


def test_local_only_refuses_other_machines_and_proxies_there() -> None:
    for config, address in (
        (make_config(), "http://10.0.0.1/v1"),
        (make_config(proxy="http://10.0.0.1:3128"), "http://127.0.0.1/v1"),
    ):
        with pytest.raises(NotConfigured, match="`local_only` is set") as caught:
            find_way(config, address, environ={}, local_only=True)
        assert caught.value.reason == LOCAL_ONLY
    config = make_config(proxy="http://127.0.0.1:3128")
    assert find_way(config, "http://127.0.0.1/v1", environ={}, local_only=True).proxy
