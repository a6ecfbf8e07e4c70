"""The roads to servers over HTTP: proxies, certificates, and bounds on all that comes back.

One transport of httpx2 for all hosts that a server of tools leads to: its own, and those where
one signs in for it. It asks for no compression and lets none through, reads no environment,
follows no redirect, and leaves this machine only where the settings allow it. It adds no
credential to anything.
"""

import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable

import httpx2
import trio

from askd.tools.base import CannotRun
from askd.tools.mcp.configs import ServerConfig
from askd.tools.mcp.http_words import explain_compression, explain_size, explain_things
from askd.tools.mcp.lines import Pieces
from askd.tools.mcp.ways import HttpWay, find_origin, may_lead

CONNECT_S = 10.0
CLOSE_S = 2.0
"""To close connections: a server that does not hear of it finds out."""
ANSWER_LIMIT_BYTES = 32 << 20
"""Of one answer, with all that a call reports on its way; the largest result takes half of it."""
LISTENING_LIMIT_BYTES = 8 << 20
LISTENING_S = 60.0
"""So much may come in a minute where a server speaks on its own, for as long as it likes and on
however many streams."""
IDENTITY = {"", "identity"}

KEEP_ALIVE = ((socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),)
"""A stream may be silent for hours; the kernel finds out whether somebody is still there."""


class Roads(httpx2.AsyncBaseTransport):
    """Connections for one session with a server, kept open between its requests.

    Raises `CannotRun`, with a sentence, where a way is forbidden.
    """

    def __init__(self, config: ServerConfig, way: HttpWay) -> None:
        self._config = config
        self._way = way
        self._heard = Allowance(LISTENING_LIMIT_BYTES, LISTENING_S)
        self._open: dict[tuple[str | None, bool], httpx2.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request and bound what comes back."""
        url = str(request.url)
        self._check(url)
        proxy = self._way.find_proxy(self._config.name, url)
        is_secure = request.url.scheme == "https"
        road = self._open.get((proxy, is_secure))
        if road is None:
            road = await self._make(proxy, is_secure)
            self._open[proxy, is_secure] = road
        request.headers["accept-encoding"] = "identity"
        request.extensions = {
            **request.extensions,
            "timeout": {"connect": CONNECT_S, "read": None, "write": None, "pool": CONNECT_S},
        }
        response = await road.handle_async_request(request)
        if response.headers.get("content-encoding", "").strip().lower() not in IDENTITY:
            await response.aclose()
            raise CannotRun(explain_compression(self._config))
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        is_listening = request.method == "GET" and _is_stream(response)
        response.stream = Bounded(
            response.stream,
            self._heard if is_listening else Allowance(ANSWER_LIMIT_BYTES),
            explain=lambda limit: explain_size(self._config, limit),
            explain_things=lambda: explain_things(self._config),
            is_stream=_is_stream(response),
        )
        return response

    async def aclose(self) -> None:
        """Close every connection."""
        roads, self._open = self._open, {}
        with trio.CancelScope(deadline=trio.current_time() + CLOSE_S, shield=True):
            for road in roads.values():
                await road.aclose()

    def _check(self, url: str) -> None:
        server = self._config.url or ""
        if find_origin(url) != find_origin(server) and not may_lead(server, url):
            raise CannotRun(
                f"{self._config.name} leads to an address that is not asked: only https:// is, or "
                "this machine for a server that runs here."
            )

    async def _make(self, proxy: str | None, is_secure: bool) -> httpx2.AsyncHTTPTransport:
        is_proxy_secure = proxy is not None and proxy.lower().startswith("https:")
        trust = None
        if is_secure or is_proxy_secure:
            trust = await trio.to_thread.run_sync(self._way.trust)
        try:
            return httpx2.AsyncHTTPTransport(
                verify=trust if trust is not None and is_secure else False,
                proxy=None
                if proxy is None
                else httpx2.Proxy(proxy, ssl_context=trust if is_proxy_secure else None),
                trust_env=False,
                limits=httpx2.Limits(max_connections=None, max_keepalive_connections=8),
                socket_options=KEEP_ALIVE,
            )
        except (httpx2.InvalidURL, ValueError):
            raise CannotRun(
                f"{self._config.name}: the proxy on the way is none that can be used."
            ) from None


class Allowance:
    """So many bytes in all, or within each `window_s` seconds if that is set."""

    def __init__(self, limit_bytes: int, window_s: float | None = None) -> None:
        self.limit_bytes = limit_bytes
        self._window_s = window_s
        self._came = 0
        self._began = trio.current_time()

    def take(self, amount: int) -> bool:
        """Whether that much more may come."""
        now = trio.current_time()
        if self._window_s is not None and now - self._began > self._window_s:
            self._came, self._began = 0, now
        self._came += amount
        return self._came <= self.limit_bytes


class Bounded(httpx2.AsyncByteStream):
    """A body that ends with an error when more comes than anybody waits for, or looks at.

    Args:
        is_stream: it is one of events, each of them a message; else it is one message.
    """

    def __init__(
        self,
        stream: httpx2.AsyncByteStream,
        allowance: Allowance,
        *,
        explain: Callable[[int], str],
        explain_things: Callable[[], str],
        is_stream: bool,
    ) -> None:
        self._stream = stream
        self._allowance = allowance
        self._explain = explain
        self._explain_things = explain_things
        self._things = Pieces(by_event=is_stream)
        self._pieces: AsyncIterator[bytes] | None = None

    def __aiter__(self) -> AsyncIterator[bytes]:
        """The pieces as they come. Raises httpx2's `SSEError`, which its readers understand."""
        self._pieces = aiter(self._stream)
        return self

    async def __anext__(self) -> bytes:
        """The next piece."""
        assert self._pieces is not None
        piece = await anext(self._pieces)
        if not self._allowance.take(len(piece)):
            raise httpx2.SSEError(self._explain(self._allowance.limit_bytes))
        if self._things.feed(piece):
            raise httpx2.SSEError(self._explain_things())
        return piece

    async def aclose(self) -> None:
        """Let go of the connection."""
        await self._stream.aclose()
        if isinstance(self._pieces, AsyncGenerator):
            await self._pieces.aclose()


def _is_stream(response: httpx2.Response) -> bool:
    kind = response.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower() == "text/event-stream"
