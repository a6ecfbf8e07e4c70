"""A codec's call to an endpoint as an HTTP request.

Nothing is in it but what is said here and by the endpoint: no cookie, nothing of
the environment, no wish for compression. It opens no connection.
"""

import functools

import httpx

from askd import __version__
from askd.providers.base import Endpoint, HttpCall, TimeLimits
from askd.providers.http.trouble import describe_trouble

ADDRESSES_KEPT = 64
"""Every prompt asks one of a few addresses; to read one takes as long as a token."""


def make_request(endpoint: Endpoint, call: HttpCall, limits: TimeLimits) -> httpx.Request:
    """The request, with its key; only connecting has a time limit in it.

    Raises:
        ProviderError: the endpoint's address is none, or a header cannot be sent.
    """
    headers = {
        "accept": "*/*",
        "connection": "keep-alive",
        "user-agent": f"askd/{__version__}",
    }
    if endpoint.api_key is not None and endpoint.auth == "x-api-key":
        headers["x-api-key"] = endpoint.api_key
    elif endpoint.api_key is not None:
        headers["authorization"] = f"Bearer {endpoint.api_key}"
    for more in (call.headers, endpoint.headers):
        headers |= {name.lower(): value for name, value in more.items()}
    headers["accept-encoding"] = "identity"
    # Some servers want a query with every call; it stays at the end.
    base, mark, query = endpoint.base_url.partition("?")
    limited = {"connect": limits.connect_s, "read": None, "write": None, "pool": None}
    try:
        url = _read_url(base.rstrip("/") + call.path + mark + query)
        request = httpx.Request(
            call.method, url, content=call.body, headers=headers, extensions={"timeout": limited}
        )
    except (httpx.InvalidURL, ValueError) as error:  # a header that is not ASCII, too
        raise describe_trouble(endpoint, httpx.UnsupportedProtocol(str(error))) from None
    if url.userinfo:
        request = next(httpx.BasicAuth(url.username, url.password).sync_auth_flow(request))
    return request


@functools.lru_cache(maxsize=ADDRESSES_KEPT)
def _read_url(text: str) -> httpx.URL:
    url = httpx.URL(text)
    if url.scheme not in ("http", "https") or not url.host:
        raise httpx.InvalidURL("it is no http or https address")
    return url
