"""One answer: asked for, waited for, asked for again, decoded, and read to its end.

The iterator behind `Transport.stream`. It tries again before anything was shown
and never after it, and it limits the time between events: a server that only
sends comments, or half an event for ever, is silent. It opens no connection
itself, and it believes no `content-type`: the first bytes tell what an answer is.
"""

import logging
from collections import deque
from collections.abc import AsyncIterator
from typing import Literal, NoReturn, Protocol

import httpx
import trio

from askd.errors import BadAnswer, ProviderError, RateLimited, Refused, Unavailable
from askd.providers.base import (
    Codec,
    Ended,
    Endpoint,
    Failed,
    HttpCall,
    ModelRequest,
    Progress,
    Renew,
    StreamEvent,
    TimeLimits,
    UsageReported,
)
from askd.providers.http.bodies import (
    ERROR_BODY_LIMIT_BYTES,
    JSON_LINES,
    find_compression,
    judge_beginning,
    let_go,
    read_rest,
)
from askd.providers.http.limiter import Limiter, Pass
from askd.providers.http.retry import RetryRules, is_retryable, plan_wait, write_seconds
from askd.providers.http.screen import Screen
from askd.providers.http.trouble import describe_garbage, describe_late, describe_trouble
from askd.providers.origins import find_origin, keep_own_thoughts, mark_thought
from askd.providers.refusals import restore_error

logger = logging.getLogger(__name__)

AT_ONCE = 32
"""Events between two turns of everybody else's. One read of a fast answer can bring hundreds,
twenty milliseconds' work, and all that a neighbour asks for takes some ten turns."""


class Sender(Protocol):
    """What an answer needs of its transport."""

    rules: RetryRules
    limiter: Limiter

    def learn(self, endpoint: Endpoint) -> Screen:
        """Remember what is secret of this endpoint; a screen against all that is."""
        ...

    async def open(self, endpoint: Endpoint, call: HttpCall, limits: TimeLimits) -> httpx.Response:
        """Send one request; the response's body is unread. Raises httpx's errors."""
        ...

    async def read_error(
        self, response: httpx.Response, endpoint: Endpoint, codec: Codec, body: bytes | None = None
    ) -> ProviderError:
        """The error that this response means; its body is read if it is not given."""
        ...

    def finish_error(self, error: ProviderError) -> ProviderError:
        """The error without secrets, and with `retry_at` if its words say when."""
        ...

    def seconds_until_retry(self, error: ProviderError) -> float | None:
        """How long the server asks to wait, or None."""
        ...

    async def let_go(
        self, response: httpx.Response | None, chunks: AsyncIterator[bytes] | None
    ) -> None:
        """Let go of the connection of an answer that has ended, now or in a moment."""
        ...

    def chance(self) -> float:
        """A random number from 0 to 1."""
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
        renew: Renew | None = None,
    ) -> None:
        self._transport = transport
        self._codec = codec
        self._request = request
        self._address(endpoint)
        self._progress = progress
        self._limits = limits
        self._renew = renew
        self._ready: deque[StreamEvent] = deque()
        self._state: Literal["fresh", "shown", "ended", "closed"] = "fresh"
        self._error: ProviderError | None = None  # raised when all that is ready was taken
        self._tried = 0
        self._taken = 0
        self._turn = transport.limiter.take_turn(lambda words: progress("waiting", words))
        self._give_up_at = trio.current_time() + limits.total_s
        self._gap_at = self._give_up_at
        self._pass: Pass | None = None
        self._response: httpx.Response | None = None
        self._chunks: AsyncIterator[bytes] | None = None
        self._begin()

    def __aiter__(self) -> "Answer":
        return self

    async def __anext__(self) -> StreamEvent:
        self._taken += 1
        if self._taken % AT_ONCE == 0:
            await trio.lowlevel.checkpoint()
        # A wait is measured from here, so a slow reader of events is not the server's fault.
        self._gap_at = trio.current_time() + self._limits.gap_s
        while True:
            while not self._ready:
                self._check_over()
                try:
                    if self._chunks is None:
                        await self._open()
                        self._gap_at = trio.current_time() + self._limits.gap_s
                    else:
                        await self._read(self._chunks)
                except httpx.HTTPError as error:
                    await self._fail(describe_trouble(self._endpoint, error), is_answer=False)
                except ProviderError as error:
                    await self._fail(error)
            event = self._ready.popleft()
            if isinstance(event, Failed):
                await self._fail(restore_error(event.failure))
                continue
            if isinstance(event, Ended):
                self._state = "ended"
            elif not isinstance(event, UsageReported):
                self._state = "shown"  # a count alone shows nothing, and comes first in some
            return mark_thought(event, self._origin)

    async def close(self) -> None:
        """Let go of the connection: kept open if the body is over, else closed."""
        let_go_of = self._transport.let_go if self._state == "ended" else let_go
        self._state = "closed"
        await let_go_of(*self._part())

    def _address(self, endpoint: Endpoint) -> None:
        """Ask there, from here on: with the thoughts that came from there alone."""
        self._endpoint = endpoint
        self._origin = find_origin(endpoint)
        self._call = self._codec.encode(keep_own_thoughts(self._request, self._origin))

    def _begin(self) -> None:
        """Nothing has come yet, of a first try or of another one."""
        self._ready.clear()
        self._head: bytes | None = b""  # what came while it was not clear what it is
        self._decoder = self._codec.decoder(self._request)
        self._screen = self._transport.learn(self._endpoint)

    def _check_over(self) -> None:
        """Raise what the answer ends with, when all that was ready is taken."""
        if self._error is not None:
            error, self._error, self._state = self._error, None, "closed"
            raise error
        if self._state in ("ended", "closed"):
            raise StopAsyncIteration

    async def _open(self) -> None:
        self._pass = await self._enter()
        self._tried += 1
        limit = min(trio.current_time() + self._limits.first_s, self._give_up_at)
        with trio.move_on_at(limit) as scope:
            self._response = response = await self._send()
            compression = find_compression(response.headers)
            if response.status_code != 200 or "html" in response.headers.get("content-type", ""):
                raise await self._transport.read_error(response, self._endpoint, self._codec)
            if compression is not None:
                raise BadAnswer(
                    f"{self._endpoint.provider} compresses its answer ({compression}) though asked "
                    "not to; is a proxy on the way?"
                )
            self._pass.leave(succeeded=True)
            # Not by `aiter_raw`: it would only hand these chunks on, at a price for each.
            assert isinstance(response.stream, httpx.AsyncByteStream)
            self._chunks = aiter(response.stream)
        if scope.cancelled_caught:
            self._raise_late(self._limits.first_s)

    async def _enter(self) -> Pass:
        """Wait until the provider takes requests again, if it just had too many."""
        entered: Pass | None = None
        with trio.move_on_at(self._give_up_at):
            entered = await self._transport.limiter.enter(self._endpoint, self._turn)
        if entered is None:
            self._raise_late(self._limits.total_s)
        return entered

    async def _send(self) -> httpx.Response:
        try:
            return await self._transport.open(self._endpoint, self._call, self._limits)
        except (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError):
            if self._tried > 1:
                raise
        # A server may close a kept connection at the very moment of its use: that is no
        # trouble worth a word or a wait, and a new connection will show if it is more.
        return await self._transport.open(self._endpoint, self._call, self._limits)

    async def _read(self, chunks: AsyncIterator[bytes]) -> None:
        with trio.move_on_at(min(self._gap_at, self._give_up_at)) as scope:
            try:
                data = await anext(chunks)
            except StopAsyncIteration:
                self._chunks = None
                raise Unavailable(
                    f"{self._endpoint.provider}: the answer was cut before its end"
                ) from None
            if self._head is not None:
                await self._judge(chunks, self._head + data)
            events = self._decoder.feed(data)
            if events:
                self._ready.extend(self._screen.feed(events))
                if not self._ready:  # all of it is held back, but the server goes on
                    self._gap_at = trio.current_time() + self._limits.gap_s
        if scope.cancelled_caught:
            self._raise_late(self._limits.gap_s)

    async def _judge(self, chunks: AsyncIterator[bytes], head: bytes) -> None:
        """Raise if this is no stream: a page, one piece of JSON, anything else."""
        match judge_beginning(head, takes_json=self._codec.dialect == JSON_LINES):
            case "stream":
                self._head = None
            case "unknown":
                self._head = head.lstrip()
            case "json" | "page":
                assert self._response is not None
                body = await read_rest(chunks, head, ERROR_BODY_LIMIT_BYTES)
                self._chunks = None
                raise await self._transport.read_error(
                    self._response, self._endpoint, self._codec, body
                )
            case "garbage":
                raise describe_garbage(self._endpoint)

    def _raise_late(self, limit_s: float) -> NoReturn:
        is_over = trio.current_time() >= self._give_up_at
        whole_s = self._limits.total_s if is_over else None
        raise describe_late(self._endpoint, silence_s=limit_s, whole_s=whole_s)

    async def _fail(self, error: ProviderError, *, is_answer: bool = True) -> None:
        """Be ready for another try, after a wait; or keep the error, behind what was held back."""
        response = self._response if is_answer else None
        status = None if response is None else response.status_code
        headers = {} if response is None else dict(response.headers)
        error = self._transport.finish_error(error)
        wait_s = None
        if self._state == "fresh" and is_retryable(error, headers, status):
            wait_s = plan_wait(
                self._transport.rules,
                tried=self._tried,
                retry_after=self._transport.seconds_until_retry(error),
                chance=self._transport.chance(),
            )
        is_limited = self._tell_limiter(error, status, wait_s)
        await let_go(*self._part())
        try:
            if status == 401 and await self._try_renewed():
                return
        except ProviderError as trouble:
            error = self._transport.finish_error(trouble)
        if wait_s is None or trio.current_time() + wait_s >= self._give_up_at:
            self._give_up(error)
            return
        self._progress(
            "retrying",
            f"{error.message.rstrip('.')}; trying again in {write_seconds(wait_s)} "
            f"(try {self._tried + 1} of {self._transport.rules.tries})",
        )
        self._turn.told_until = trio.current_time() + wait_s
        if not is_limited:  # else it waits at the gate, ahead of all who came later
            await trio.sleep(wait_s)
        self._begin()

    def _give_up(self, error: ProviderError) -> None:
        if error.data.get("pairing") or isinstance(error, Refused):
            logger.error("%s", error.message)
        seconds = self._transport.seconds_until_retry(error)
        if isinstance(error, RateLimited) and seconds and " again in " not in error.message:
            error.message = f"{error.message.rstrip('.')}. Try again in {write_seconds(seconds)}."
            error.args = (error.message,)
        self._error = error
        self._ready.clear()
        self._ready.extend(self._screen.flush())

    def _tell_limiter(self, error: ProviderError, status: int | None, wait_s: float | None) -> bool:
        """What this answer means for all who want to ask this provider: whether they wait."""
        if self._pass is None:
            return False
        asked_s = self._transport.seconds_until_retry(error)
        is_busy = status in (503, 529) and asked_s is not None
        is_limited = not error.data.get("final") and (isinstance(error, RateLimited) or is_busy)
        if is_limited:
            first_s = self._transport.rules.base_s
            self._pass.limit(next(each for each in (asked_s, wait_s, first_s) if each is not None))
        else:
            self._pass.leave(succeeded=status is not None and status < 500)
        return is_limited

    async def _try_renewed(self) -> bool:
        """Whether there is another key to try, which is asked for once."""
        renew, self._renew = self._renew, None
        if renew is None or self._state != "fresh":
            return False
        another: Endpoint | None = None
        with trio.move_on_at(self._give_up_at):
            another = await renew()
        if another is None:
            return False
        self._address(another)
        self._begin()
        self._tried -= 1  # a key that ran out is no fault of the server's
        return True

    def _part(self) -> tuple[httpx.Response | None, AsyncIterator[bytes] | None]:
        """Leave the gate, and give up the connection to whoever lets go of it."""
        if self._pass is not None:
            self._pass.leave()
            self._pass = None
        response, self._response = self._response, None
        chunks, self._chunks = self._chunks, None
        return response, chunks
