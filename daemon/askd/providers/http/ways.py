"""The ways to providers: the only module that opens a connection to one.

A way is httpx's transport without its client, which follows redirects, keeps cookies
and reads the environment, or takes its time to find that it shall not. Its connections
are kept open between requests.
"""

import httpx
import trio

from askd.errors import Unavailable
from askd.providers.base import Endpoint
from askd.providers.http.bodies import CLOSE_S
from askd.providers.http.certificates import load_certificates


class Ways:
    """Every way that was gone so far. `mock`: a transport that is each of them; tests have one."""

    def __init__(self, mock: httpx.AsyncBaseTransport | None = None) -> None:
        self._mock = mock
        self._ways: dict[tuple[str | None, ...], httpx.AsyncBaseTransport] = {}

    def find(self, endpoint: Endpoint) -> httpx.AsyncBaseTransport:
        """The way to an endpoint, which others share; made when first needed.

        Raises:
            Unavailable: its proxy or its certificates cannot be used.
        """
        scheme = endpoint.base_url.partition(":")[0].lower()
        key = (endpoint.proxy, endpoint.ca_file, endpoint.unix_socket, scheme)
        way = self._ways.get(key)
        if way is None:
            way = self._ways[key] = self._mock or _open(endpoint)
        return way

    async def aclose(self) -> None:
        """Close every connection."""
        ways, self._ways = self._ways, {}
        with trio.CancelScope(deadline=trio.current_time() + CLOSE_S, shield=True):
            for way in ways.values():
                await way.aclose()


def _open(endpoint: Endpoint) -> httpx.AsyncHTTPTransport:
    # Certificates are loaded only for those who need them: 20 ms and up to 10 MiB.
    is_secure = endpoint.base_url.lower().startswith("https:")
    proxy = endpoint.proxy if endpoint.unix_socket is None else None
    if proxy is not None and not proxy.lower().startswith(("http://", "https://")):
        raise Unavailable(
            f"{endpoint.provider}: a proxy is reached over http or https, not as "
            f"{proxy.partition(':')[0]}: set `proxy`.",
            data={"final": True},
        )
    try:
        return httpx.AsyncHTTPTransport(
            verify=load_certificates(endpoint) if is_secure else False,
            uds=endpoint.unix_socket,
            proxy=None
            if proxy is None
            else httpx.Proxy(
                proxy,
                ssl_context=load_certificates(endpoint)
                if proxy.lower().startswith("https:")
                else None,
            ),
            trust_env=False,
            # As many at once as are asked for: others' turns must not wait for ours.
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=20),
        )
    except (httpx.InvalidURL, ValueError):
        raise Unavailable(
            f"{endpoint.provider}: the proxy's address is none: set `proxy`.", data={"final": True}
        ) from None
