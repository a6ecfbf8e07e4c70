"""Which proxy is on the way: the environment's variables as curl reads them."""

import pytest

from askd.providers.http.proxies import find_proxy

A, B, C = "http://a:1", "http://b:2", "http://c:3"
FAR = "https://api.example.com/v1"


@pytest.mark.parametrize(
    ("url", "environ", "expected"),
    [
        (FAR, {}, None),
        (FAR, {"HTTPS_PROXY": A}, A),
        (FAR, {"https_proxy": A}, A),
        (FAR, {"https_proxy": A, "HTTPS_PROXY": B}, A),
        (FAR, {"HTTP_PROXY": A}, None),
        (FAR, {"ALL_PROXY": A}, A),
        (FAR, {"all_proxy": A, "ALL_PROXY": B}, A),
        (FAR, {"ALL_PROXY": A, "HTTPS_PROXY": B}, B),
        ("http://example.com/v1", {"HTTP_PROXY": A, "HTTPS_PROXY": B}, A),
        ("http://example.com/v1", {"HTTPS_PROXY": B}, None),
        (FAR, {"HTTPS_PROXY": "proxy:3128"}, "http://proxy:3128"),
        (FAR, {"HTTPS_PROXY": " http://me:pw@proxy:3128 "}, "http://me:pw@proxy:3128"),
        # set and empty: none, whatever else is said
        (FAR, {"HTTPS_PROXY": ""}, None),
        (FAR, {"https_proxy": "", "HTTPS_PROXY": A, "ALL_PROXY": B}, None),
        (FAR, {"HTTPS_PROXY": A, "NO_PROXY": ""}, A),
        (FAR, {"HTTPS_PROXY": A, "no_proxy": "", "NO_PROXY": "*"}, A),
        # never for this machine
        ("http://localhost:1/v1", {"HTTP_PROXY": A, "ALL_PROXY": A}, None),
        ("http://LOCALHOST./v1", {"HTTP_PROXY": A}, None),
        ("http://model.localhost/v1", {"HTTP_PROXY": A}, None),
        ("http://127.1.2.3:8000/v1", {"HTTP_PROXY": A}, None),
        ("http://[::1]:8000/v1", {"HTTP_PROXY": A}, None),
        ("http://[::ffff:127.0.0.1]/v1", {"HTTP_PROXY": A}, None),
        # what is no address to ask through a proxy
        ("unix:/run/x.sock", {"ALL_PROXY": A}, None),
        ("http://host:port/", {"ALL_PROXY": A}, None),
        ("", {"ALL_PROXY": A}, None),
    ],
)
def test_proxy_on_the_way(url: str, environ: dict[str, str], expected: str | None) -> None:
    assert find_proxy(url, environ) == expected


@pytest.mark.parametrize(
    ("url", "exceptions", "direct"),
    [
        (FAR, "*", True),
        (FAR, "other.org, *", True),
        (FAR, "api.example.com", True),
        (FAR, "example.com", True),
        (FAR, ".example.com", True),
        (FAR, "*.example.com", True),
        (FAR, "EXAMPLE.COM.", True),
        (FAR, "other.org example.com", True),
        (FAR, "ample.com", False),
        (FAR, "com.example", False),
        (FAR, "v1.api.example.com", False),
        ("https://example.com", ".example.com", True),
        ("https://example.com.", "example.com", True),
        (FAR, "example.com:443", True),
        (FAR, "example.com:8443", False),
        ("https://example.com:8443/", "example.com:8443", True),
        ("http://example.com/", "example.com:80", True),
        ("http://10.1.2.3/", "10.1.2.3", True),
        ("http://10.1.2.3/", "10.1.2.4", False),
        ("http://10.1.2.3/", "10.0.0.0/8", True),
        ("http://10.1.2.3/", "10.1.2.99/24", True),
        ("http://11.1.2.3/", "10.0.0.0/8", False),
        ("http://10.1.2.3/", "10.0.0.0/99", False),
        ("http://10.1.2.3/", "2.3", False),
        ("http://10.1.2.3:8000/", "10.1.2.3:8000", True),
        ("http://10.1.2.3:8000/", "10.1.2.3:80", False),
        ("http://[fd00::1]/", "fd00::1", True),
        ("http://[fd00::1]/", "[fd00::1]", True),
        ("http://[fd00::1]:8000/", "[fd00::1]:8000", True),
        ("http://[fd00::1]:8000/", "[fd00::1]:80", False),
        ("http://[fd00::1]/", "fd00::/16", True),
        ("http://[fd00::1]/", "10.0.0.0/8", False),
        (FAR, " , ,", False),
        (FAR, ".", False),
    ],
)
def test_exceptions(url: str, exceptions: str, direct: bool) -> None:
    environ = {"ALL_PROXY": A, "NO_PROXY": exceptions}
    assert find_proxy(url, environ) == (None if direct else A)
