"""One answer: asked for, waited for, asked for again, decoded, and read to its end.

The iterator behind `Transport.stream`. It tries again before the first event
and never after it, and it limits the time between events: a server that only
sends comments is silent. It opens no connection itself.
"""

from collections import deque
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Literal, NoReturn, Protocol

import httpx
import trio

from askd.errors import ProviderError, Unavailable
from askd.providers.base import (
    Codec,
    Ended,
    Endpoint,
    Failed,
    HttpCall,
    ModelRequest,
    Progress,
    StreamEvent,
    TimeLimits,
)
from askd.providers.bodies import abandon, describe_trouble
from askd.providers.credentials import hide_key
from askd.providers.refusals import restore_error
from askd.providers.retry import is_retryable

DRAIN_S = 0.05
"""After the end event, wait this long for the end of the body: the connection can be used again."""

CLOSE_S = 5.0


class Sender(Protocol):
    """What an answer needs of its transport."""

    @property
    def tries(self) -> int:
        """How often a request is tried at most."""
        ...

    async def open(self, endpoint: Endpoint, call: HttpCall, limits: TimeLimits) -> httpx.Response:
        """Send one request; the response's body is unread. Raises httpx's errors."""
        ...

    async def read_error(
        self, response: httpx.Response, endpoint: Endpoint, codec: Codec
    ) -> ProviderError:
        """The error that this response means."""
        ...

    def plan_wait(self, tried: int, headers: Mapping[str, str]) -> float | None:
        """Seconds until the next try, or None."""
        ...


class Answer:
    """The iterator over one answer: opens, tries again, reads, decodes."""

    def __init__(
        self,
        transport: Sender,
        *,
        endpoint: Endpoint,
        codec: Codec,
        request: ModelRequest,
        progress: Progress,
        limits: TimeLimits,
    ) -> None:
        self._transport = transport
        self._endpoint = endpoint
        self._codec = codec
        self._request = request
        self._call = codec.encode(request)
        self._progress = progress
        self._limits = limits
        self._ready: deque[StreamEvent] = deque()
        self._state: Literal["fresh", "shown", "ended", "closed"] = "fresh"
        self._tried = 0
        self._give_up_at = trio.current_time() + limits.total_s
        self._response: httpx.Response | None = None
        self._chunks: AsyncIterator[bytes] | None = None
        self._decoder = codec.decoder(request)

    def __aiter__(self) -> "Answer":
        return self

    async def __anext__(self) -> StreamEvent:
        # A wait is measured from here, so a slow reader of events is not the server's fault.
        gap_at = trio.current_time() + self._limits.gap_s
        while not self._ready:
            if self._state in ("ended", "closed"):
                raise StopAsyncIteration
            try:
                if self._chunks is None:
                    await self._open()
                    gap_at = trio.current_time() + self._limits.gap_s
                else:
                    await self._read(self._chunks, gap_at)
            except httpx.HTTPError as error:
                await self._try_again(describe_trouble(self._endpoint, error), {}, None)
            except ProviderError as error:
                headers, status = _facts(self._response)
                await self._try_again(error, headers, status)
        event = self._ready.popleft()
        if isinstance(event, Failed):
            raise self._read_failure(event)
        if isinstance(event, Ended):
            self._state = "ended"
        else:
            self._state = "shown"
        return event

    async def close(self) -> None:
        """Let go of the connection: kept open if the body is over, else closed."""
        ended = self._state == "ended"
        self._state = "closed"
        await self._let_go(DRAIN_S if ended else 0)

    async def _open(self) -> None:
        self._tried += 1
        limit = min(trio.current_time() + self._limits.first_s, self._give_up_at)
        with trio.move_on_at(limit) as scope:
            self._response = await self._send()
            kind = self._response.headers.get("content-type", "")
            if self._response.status_code != 200 or "json" in kind or "html" in kind:
                raise await self._transport.read_error(self._response, self._endpoint, self._codec)
            self._decoder = self._codec.decoder(self._request)
            self._chunks = self._response.aiter_raw()
        if scope.cancelled_caught:
            self._raise_late(self._limits.first_s)

    async def _send(self) -> httpx.Response:
        try:
            return await self._transport.open(self._endpoint, self._call, self._limits)
        except (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError):
            if self._tried > 1:
                raise
        # A server may close a kept connection at the very moment of its use: that is no
        # trouble worth a word or a wait, and a new connection will show if it is more.
        return await self._transport.open(self._endpoint, self._call, self._limits)

    async def _read(self, chunks: AsyncIterator[bytes], gap_at: float) -> None:
        with trio.move_on_at(min(gap_at, self._give_up_at)) as scope:
            try:
                data = await anext(chunks)
            except StopAsyncIteration:
                self._chunks = None
                raise Unavailable(
                    f"{self._endpoint.provider}: the answer was cut before its end"
                ) from None
            events = self._decoder.feed(data)
            if events and self._state == "fresh" and isinstance(events[0], Failed):
                raise self._read_failure(events[0])
            self._ready.extend(events)
        if scope.cancelled_caught:
            self._raise_late(self._limits.gap_s)

    def _read_failure(self, failed: Failed) -> ProviderError:
        failure = failed.failure
        message = hide_key(failure.message, self._endpoint.api_key)
        failure = replace(failure, message=message)
        return restore_error(failure)

    def _raise_late(self, limit_s: float) -> NoReturn:
        name = self._endpoint.provider
        if trio.current_time() >= self._give_up_at:
            minutes = self._limits.total_s / 60
            sentence = f"{name}: the answer was not over after {minutes:g} minutes"
        else:
            sentence = f"{name} sent nothing for {limit_s:g} seconds"
        raise Unavailable(sentence, data={"final": True})

    async def _try_again(
        self, error: ProviderError, headers: Mapping[str, str], status: int | None
    ) -> None:
        """Wait and be ready for another try, or raise the error."""
        await self._let_go(0)
        if self._state != "fresh" or not is_retryable(error, headers, status):
            raise error
        wait_s = self._transport.plan_wait(self._tried, headers)
        if wait_s is None or trio.current_time() + wait_s >= self._give_up_at:
            raise error
        self._progress(
            "retrying",
            f"{error.message.rstrip('.')}; trying again in {max(wait_s, 0.1):.1f} s "
            f"(try {self._tried + 1} of {self._transport.tries})",
        )
        await trio.sleep(wait_s)

    async def _let_go(self, patience_s: float) -> None:
        response, self._response = self._response, None
        chunks, self._chunks = self._chunks, None
        if response is None:
            return
        try:
            if chunks is not None:
                await abandon(chunks, patience_s=patience_s)
        finally:
            with trio.CancelScope(deadline=trio.current_time() + CLOSE_S, shield=True):
                await response.aclose()


def _facts(response: httpx.Response | None) -> tuple[Mapping[str, str], int | None]:
    return ({}, None) if response is None else (dict(response.headers), response.status_code)
