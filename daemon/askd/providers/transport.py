"""HTTP for every dialect: the only module that opens a connection to a provider.

It sends a codec's call to an endpoint and yields decoded events, within time
limits on events (a server that only sends comments is silent), with retries
before the first event and never after it. It follows no redirect, keeps no
cookie, reads no environment, asks for no compression (a small bomb of gzip is
400 MB of memory), and shows no key in any sentence.
"""

import http.cookiejar
import json
import logging
import random
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx
import trio

from askd.errors import BadAnswer, ProviderError, RateLimited, Unavailable
from askd.providers.answer import Answer
from askd.providers.base import (
    Codec,
    Endpoint,
    HttpCall,
    ModelRequest,
    Progress,
    StreamEvent,
    TimeLimits,
)
from askd.providers.bodies import describe_trouble, read_body
from askd.providers.credentials import hide_key
from askd.providers.retry import RetryRules, plan_wait, read_retry_after

logger = logging.getLogger(__name__)

ERROR_BODY_LIMIT_BYTES = 64 * 1024
"""Of an error's body; a sentence is somewhere in its first 64 KiB or nowhere."""

JSON_BODY_LIMIT_BYTES = 8 << 20
"""Of a listing; the largest one known is about 1 MiB."""

CLOSE_S = 5.0


class Transport:
    """Connections to providers, kept open between prompts.

    Args:
        limits: the time limits of an answer.
        rules: how often to try.
        chance: a random number from 0 to 1, for the jitter.
        now: unix seconds, to read a `retry-after` date and to say `retry_at`.
        mock: an httpx transport that is used for everything; tests have one.
    """

    def __init__(
        self,
        *,
        limits: TimeLimits | None = None,
        rules: RetryRules | None = None,
        chance: Callable[[], float] = random.random,
        now: Callable[[], float] = time.time,
        mock: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.limits = limits or TimeLimits()
        self._rules = rules or RetryRules()
        self._chance = chance
        self._now = now
        self._mock = mock
        self._clients: dict[str, httpx.AsyncClient] = {}

    async def aclose(self) -> None:
        """Close every connection."""
        clients, self._clients = self._clients, {}
        with trio.CancelScope(deadline=trio.current_time() + CLOSE_S, shield=True):
            for client in clients.values():
                await client.aclose()

    @asynccontextmanager
    async def stream(
        self,
        endpoint: Endpoint,
        codec: Codec,
        request: ModelRequest,
        *,
        progress: Progress,
        limits: TimeLimits | None = None,
    ) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        """Ask, and iterate over the answer's events; leaving the block closes the connection.

        The iterator ends only after `Ended`. An error inside the stream is
        raised, so `Failed` never comes out.

        Raises:
            ProviderError: from the iterator, as the subclass that it is.
        """
        answer = Answer(
            self,
            endpoint=endpoint,
            codec=codec,
            request=request,
            progress=progress,
            limits=limits or self.limits,
        )
        try:
            yield answer
        finally:
            await answer.close()

    async def fetch_json(self, endpoint: Endpoint, path: str, *, codec: Codec) -> Any:
        """The JSON at a path under the endpoint, once, without a retry.

        Raises:
            ProviderError: refused, unreachable, or not JSON. The caller limits the time.
        """
        call = HttpCall(method="GET", path=path, body=b"", headers={"accept": "application/json"})
        try:
            response = await self.open(endpoint, call, self.limits)
            try:
                if response.status_code != 200:
                    raise await self.read_error(response, endpoint, codec)
                body = await read_body(response, JSON_BODY_LIMIT_BYTES + 1)
            finally:
                await response.aclose()
        except httpx.HTTPError as error:
            raise describe_trouble(endpoint, error) from None
        if len(body) > JSON_BODY_LIMIT_BYTES:
            raise BadAnswer(f"{endpoint.provider}: the listing is larger than 8 MiB")
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            raise BadAnswer(f"{endpoint.provider}: the listing is not JSON") from None

    async def open(self, endpoint: Endpoint, call: HttpCall, limits: TimeLimits) -> httpx.Response:
        """Send one request; the response's body is unread. Raises httpx's errors."""
        client = self._client_for(endpoint, limits)
        headers = {**call.headers, "accept-encoding": "identity", "user-agent": "askd"}
        if endpoint.api_key is not None:
            headers["authorization"] = f"Bearer {endpoint.api_key}"
        url = endpoint.base_url.rstrip("/") + call.path
        request = client.build_request(call.method, url, content=call.body, headers=headers)
        return await client.send(request, stream=True, follow_redirects=False)

    async def read_error(
        self, response: httpx.Response, endpoint: Endpoint, codec: Codec
    ) -> ProviderError:
        """The error that this response means, with `retry_at` if the server said when."""
        headers = dict(response.headers)
        body = await read_body(response, ERROR_BODY_LIMIT_BYTES)
        body = hide_key(body.decode("utf-8", "surrogateescape"), endpoint.api_key).encode(
            "utf-8", "surrogateescape"
        )
        error = codec.read_error(response.status_code, headers, body)
        assert isinstance(error, ProviderError)
        retry_after = read_retry_after(headers, now=self._now())
        if retry_after is not None and isinstance(error, RateLimited | Unavailable):
            error.data["retry_at"] = self._now() + retry_after
        if error.data.get("pairing"):
            logger.error("%s", error.message)
        return error

    def plan_wait(self, tried: int, headers: Mapping[str, str]) -> float | None:
        """Seconds until the next try, or None."""
        retry_after = read_retry_after(headers, now=self._now())
        return plan_wait(self._rules, tried=tried, retry_after=retry_after, chance=self._chance())

    @property
    def tries(self) -> int:
        """How often a request is tried at most."""
        return self._rules.tries

    def _client_for(self, endpoint: Endpoint, limits: TimeLimits) -> httpx.AsyncClient:
        secure = endpoint.base_url.startswith("https:")
        key = endpoint.unix_socket or ("https" if secure else "http")
        client = self._clients.get(key)
        if client is None:
            no_cookies = http.cookiejar.DefaultCookiePolicy(allowed_domains=[])
            client = self._clients[key] = httpx.AsyncClient(
                transport=self._mock
                # Certificates are loaded only for those who need them: 20 ms and 10 MiB.
                or httpx.AsyncHTTPTransport(verify=secure, uds=endpoint.unix_socket),
                # Only connecting is limited here; the rest is limited by events.
                timeout=httpx.Timeout(None, connect=limits.connect_s),
                trust_env=False,
                cookies=http.cookiejar.CookieJar(no_cookies),
            )
        return client
