"""What is sent: the request of a call, before anything opens a connection."""

import base64

import pytest

from askd import __version__
from askd.errors import ProviderError
from askd.providers.base import Endpoint, HttpCall, TimeLimits
from askd.providers.http.request import make_request

CALL = HttpCall(method="POST", path="/chat", body=b"{}", headers={"Content-Type": "text/x"})
BASE = Endpoint(provider="work", base_url="http://host:81/v1", api_key="sk-1")
LIMITS = TimeLimits()


def test_a_call_goes_to_its_path_with_the_key() -> None:
    request = make_request(BASE, CALL, LIMITS)
    assert (request.method, str(request.url)) == ("POST", "http://host:81/v1/chat")
    assert request.content == b"{}"
    assert dict(request.headers) == {
        "host": "host:81",
        "accept": "*/*",
        "connection": "keep-alive",
        "user-agent": f"askd/{__version__}",
        "authorization": "Bearer sk-1",
        "content-type": "text/x",
        "accept-encoding": "identity",
        "content-length": "2",
    }


def test_only_connecting_is_limited() -> None:
    limited = make_request(BASE, CALL, LIMITS).extensions["timeout"]
    assert limited == {"connect": LIMITS.connect_s, "read": None, "write": None, "pool": None}


def test_a_key_may_have_a_header_of_its_own() -> None:
    endpoint = Endpoint(provider="p", base_url="http://h", api_key="sk-2", auth="x-api-key")
    headers = make_request(endpoint, CALL, LIMITS).headers
    assert headers["x-api-key"] == "sk-2"
    assert "authorization" not in headers


def test_the_endpoints_headers_win_except_over_the_encoding() -> None:
    given = {"USER-AGENT": "mine", "Content-type": "text/y", "Accept-Encoding": "gzip"}
    endpoint = Endpoint(provider="p", base_url="http://h", headers=given)
    headers = make_request(endpoint, CALL, LIMITS).headers
    assert headers.get_list("user-agent") == ["mine"]
    assert headers.get_list("content-type") == ["text/y"]
    assert headers.get_list("accept-encoding") == ["identity"]


def test_the_query_of_an_address_stays_at_the_end() -> None:
    endpoint = Endpoint(provider="p", base_url="http://h/v1/?api-version=3")
    assert str(make_request(endpoint, CALL, LIMITS).url) == "http://h/v1/chat?api-version=3"


def test_a_name_and_password_of_the_address_are_sent_as_such_and_nowhere_else() -> None:
    endpoint = Endpoint(provider="p", base_url="http://me:pa%20ss@h/v1", api_key="sk-3")
    headers = make_request(endpoint, CALL, LIMITS).headers
    assert headers["authorization"] == f"Basic {base64.b64encode(b'me:pa ss').decode()}"
    assert headers["host"] == "h"


def test_a_call_without_a_body_says_no_length() -> None:
    call = HttpCall(method="GET", path="/models", body=b"", headers={})
    assert "content-length" not in make_request(BASE, call, LIMITS).headers


@pytest.mark.parametrize("url", ["", "host/v1", "ftp://host/v1", "http://", "http://[::1/v1"])
def test_an_address_that_is_none_is_said(url: str) -> None:
    endpoint = Endpoint(provider="work", base_url=url)
    with pytest.raises(ProviderError, match=r"work: .*cannot be asked") as caught:
        make_request(endpoint, CALL, LIMITS)
    assert caught.value.data["final"]


def test_a_header_that_cannot_be_sent_is_said() -> None:
    endpoint = Endpoint(provider="work", base_url="http://h", headers={"x-name": "żółw"})
    with pytest.raises(ProviderError, match="cannot be asked"):
        make_request(endpoint, CALL, LIMITS)
