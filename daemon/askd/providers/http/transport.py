"""HTTP for every dialect: calls to providers, and what comes back of them.

It sends a codec's call to an endpoint and yields decoded events, within time
limits on events, with retries before anything was shown and never after it.
It follows no redirect, keeps no cookie, reads no environment, asks for no
compression (a small bomb of gzip is 400 MB of memory) and decodes none, and
lets no known secret into an event or a sentence.
"""

import json
import random
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import httpx
import trio

from askd.errors import BadAnswer, ProviderError, RateLimited, Unauthenticated, Unavailable
from askd.providers.base import (
    Codec,
    Endpoint,
    HttpCall,
    ModelRequest,
    Progress,
    Renew,
    StreamEvent,
    TimeLimits,
)
from askd.providers.http.answer import Answer
from askd.providers.http.bodies import (
    CLOSE_S,
    ERROR_BODY_LIMIT_BYTES,
    find_compression,
    let_go,
    read_body,
)
from askd.providers.http.limiter import Limiter
from askd.providers.http.request import make_request
from askd.providers.http.retry import RetryRules, read_retry_after, read_retry_words
from askd.providers.http.screen import Screen
from askd.providers.http.trouble import describe_trouble
from askd.providers.http.ways import Ways
from askd.providers.redact import SECRET_NAMES, KnownSecrets

JSON_BODY_LIMIT_BYTES = 8 << 20
"""Of a listing; the largest one known is about 1 MiB."""

REPLY_LIMIT_BYTES = 256 * 1024
"""Of a reply to a sign-in; tokens are some kilobytes."""

ERROR_BODY_S = 5.0
"""How long to wait for an error's body; its status says the most."""


PARTING_S = 0.003
"""After the end event, before its connection is let go: meanwhile the answer is stored, which its
reader waits for. The next request of a turn that calls tools comes later than that."""

DRAIN_S = 0.05
"""For the end of the body after the end event: then the connection is used again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A whole answer, whatever its status. `headers`: names in lower case."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


class Transport:
    """Connections to providers, kept open between prompts.

    Args:
        limits: the time limits of an answer.
        rules: how often to try.
        secrets: what nobody may see; it learns the keys that it sends.
        chance: a random number from 0 to 1, for the jitter.
        now: unix seconds, to read a `retry-after` date and to say `retry_at`.
        mock: an httpx transport that is used for everything; tests have one.
    """

    def __init__(
        self,
        *,
        limits: TimeLimits | None = None,
        rules: RetryRules | None = None,
        secrets: KnownSecrets | None = None,
        chance: Callable[[], float] = random.random,
        now: Callable[[], float] = time.time,
        mock: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.limits = limits or TimeLimits()
        self.rules = rules or RetryRules()
        self.limiter = Limiter(now=now)
        self.chance = chance
        self._secrets = KnownSecrets() if secrets is None else secrets
        self._now = now
        self._partings: trio.Nursery | None = None
        self._ways = Ways(mock)

    async def run(self) -> None:
        """Let go of connections beside whatever comes next; until cancelled, and close them all."""
        try:
            # In it: one task for each answer that has just ended.
            async with trio.open_nursery() as self._partings:
                try:
                    await trio.sleep_forever()
                finally:
                    self._partings = None
        finally:
            await self.aclose()

    async def aclose(self) -> None:
        """Close every connection."""
        await self._ways.aclose()

    @asynccontextmanager
    async def stream(
        self,
        endpoint: Endpoint,
        codec: Codec,
        request: ModelRequest,
        *,
        progress: Progress,
        limits: TimeLimits | None = None,
        renew: Renew | None = None,
    ) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        """Ask, and iterate over the answer's events; leaving the block closes the connection.

        The iterator ends only after `Ended`. An error inside the stream is
        raised, so `Failed` never comes out. `renew` is called once, if the key
        is refused before anything was shown.

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
            renew=renew,
        )
        try:
            yield answer
        finally:
            await answer.close()

    async def fetch_json(
        self, endpoint: Endpoint, path: str, *, codec: Codec, body: bytes | None = None
    ) -> Any:
        """The JSON at a path under the endpoint, once, without a retry; with a body by POST.

        Raises:
            ProviderError: refused, unreachable, or not JSON. The caller limits the time.
        """
        headers = {"accept": "application/json"}
        if body is not None:
            headers["content-type"] = "application/json"
        method = "GET" if body is None else "POST"
        call = HttpCall(method=method, path=path, body=body or b"", headers=headers)
        reply = await self._exchange(endpoint, call, JSON_BODY_LIMIT_BYTES)
        if reply.status != 200:
            response = httpx.Response(reply.status, headers=dict(reply.headers))
            raise await self.read_error(response, endpoint, codec, reply.body)
        if len(reply.body) > JSON_BODY_LIMIT_BYTES:
            raise BadAnswer(f"{endpoint.provider}: the listing is larger than 8 MiB")
        try:
            # A name that a server lists is shown and kept; one that repeats the key is neither.
            return Screen(self._secrets).hide_in(json.loads(reply.body))
        except (ValueError, RecursionError):
            raise BadAnswer(f"{endpoint.provider}: the listing is not JSON") from None

    async def ask(self, endpoint: Endpoint, call: HttpCall) -> Reply:
        """Send one call, once, and take whatever comes back: for sign-ins.

        Raises:
            Unavailable: no whole answer came, or one that cannot be read.
        """
        try:
            with trio.fail_after(self.limits.first_s):
                reply = await self._exchange(endpoint, call, REPLY_LIMIT_BYTES)
        except trio.TooSlowError:
            raise Unavailable(
                f"{endpoint.provider} sent nothing for {self.limits.first_s:g} seconds"
            ) from None
        except Unavailable:
            raise
        except ProviderError as error:
            raise Unavailable(error.message, data=error.data) from None
        if len(reply.body) > REPLY_LIMIT_BYTES:
            raise Unavailable(f"{endpoint.provider}: the reply is larger than 256 KiB")
        return reply

    async def open(self, endpoint: Endpoint, call: HttpCall, limits: TimeLimits) -> httpx.Response:
        """Send one request; the response's body is unread. Raises httpx's errors."""
        request = make_request(endpoint, call, limits)
        return await self._ways.find(endpoint).handle_async_request(request)

    async def let_go(
        self, response: httpx.Response | None, chunks: AsyncIterator[bytes] | None
    ) -> None:
        """Let go of the connection of an answer that has ended: in a moment, if `run` runs."""
        if self._partings is None:
            await let_go(response, chunks, patience_s=DRAIN_S)
        else:
            self._partings.start_soon(_let_go_later, response, chunks)

    async def read_error(
        self, response: httpx.Response, endpoint: Endpoint, codec: Codec, body: bytes | None = None
    ) -> ProviderError:
        """The error that this response means, with `retry_at` if the server said when."""
        if body is None:
            body = await read_body(response, ERROR_BODY_LIMIT_BYTES, patience_s=ERROR_BODY_S)
        headers = dict(response.headers)
        if find_compression(headers) is not None:
            body = b""  # the status alone must do
        error = codec.read_error(response.status_code, headers, body)
        assert isinstance(error, ProviderError)
        if isinstance(error, Unauthenticated) and not error.data.get("final"):
            _say_which_key(error, endpoint)
        seconds = read_retry_after(headers, now=self._now())
        if seconds is not None and isinstance(error, RateLimited | Unavailable):
            error.data.setdefault("retry_at", self._now() + seconds)
        return self.finish_error(error)

    def finish_error(self, error: ProviderError) -> ProviderError:
        """The error without secrets, and with `retry_at` if its words say when."""
        error.message = self._secrets.hide(error.message)
        error.args = (error.message,)
        if isinstance(error, RateLimited):
            seconds = error.data.pop("retry_in_s", None)
            if seconds is None and not error.data.get("final"):
                seconds = read_retry_words(error.message)
            if seconds is not None:
                error.data.setdefault("retry_at", self._now() + seconds)
        return error

    def seconds_until_retry(self, error: ProviderError) -> float | None:
        """How long the server asks to wait, or None."""
        retry_at = error.data.get("retry_at")
        return None if retry_at is None else max(0.0, float(retry_at) - self._now())

    def learn(self, endpoint: Endpoint) -> Screen:
        """Remember what is secret of this endpoint; a screen against all that is."""
        self._secrets.add(endpoint.api_key)
        self._secrets.add_url(endpoint.base_url)
        self._secrets.add_url(endpoint.proxy)
        for name, value in endpoint.headers.items():
            self._secrets.add_named(name, value)
        return Screen(self._secrets)

    async def _exchange(self, endpoint: Endpoint, call: HttpCall, limit: int) -> Reply:
        """One call and its whole answer, up to a byte more than the limit."""
        self.learn(endpoint)
        gate = await self.limiter.enter(endpoint)
        try:
            response = await self.open(endpoint, call, self.limits)
            try:
                headers = dict(response.headers)
                seconds = read_retry_after(headers, now=self._now())
                if response.status_code in (429, 503, 529) and seconds is not None:
                    gate.limit(seconds)
                gate.leave(succeeded=response.status_code < 429)
                compression = find_compression(headers)
                if compression is not None and response.status_code == 200:
                    raise BadAnswer(
                        f"{endpoint.provider} compresses its answer ({compression}) though asked "
                        "not to; is a proxy on the way?"
                    )
                body = await read_body(response, limit + 1)
            finally:
                with trio.CancelScope(deadline=trio.current_time() + CLOSE_S, shield=True):
                    await response.aclose()
        except httpx.HTTPError as error:
            raise self.finish_error(describe_trouble(endpoint, error)) from None
        finally:
            gate.leave()
        return Reply(status=response.status_code, headers=headers, body=body)


async def _let_go_later(
    response: httpx.Response | None, chunks: AsyncIterator[bytes] | None
) -> None:
    try:
        await trio.sleep(PARTING_S)
    finally:
        with suppress(httpx.HTTPError):  # nobody is left whom it would concern
            await let_go(response, chunks, patience_s=DRAIN_S)


def _say_which_key(error: Unauthenticated, endpoint: Endpoint) -> None:
    """A key that was not sent was not refused; and what to do in either case."""
    name, message = endpoint.provider, error.message
    message += "" if message.endswith((".", "?", "!")) else "."
    is_sent = endpoint.api_key is not None or any(
        each in header.lower() for header in endpoint.headers for each in SECRET_NAMES
    )
    if is_sent:
        error.message = f"{message} See where it comes from: ask auth status"
    elif message.startswith(f"{name} refused the key"):
        said = message.removeprefix(f"{name} refused the key")
        error.message = f"{name} wants a key, and has none{said} Keep one: ask auth set-key {name}"
