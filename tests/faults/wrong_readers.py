"""Wrong readers of answers, each with a mistake that programs of this kind really make.

A sweep that passes with one of these in place would prove nothing about the right one.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from askd.errors import BadAnswer, ProviderError, Unavailable
from askd.providers.base import (
    CallDelta,
    Codec,
    Decoder,
    Ended,
    HttpCall,
    ModelRequest,
    Stopped,
    StreamEvent,
    TextDelta,
    TimeLimits,
)
from askd.providers.http.transport import Transport
from tests.faults.recordings import REQUEST, Recording
from tests.faults.sweep import ask_properly


class Spoiled:
    """A codec whose decoders' input and output pass through something wrong."""

    def __init__(self, codec: Codec, spoil: Callable[[Decoder], Decoder]) -> None:
        self.dialect = codec.dialect
        self._codec = codec
        self._spoil = spoil

    def encode(self, request: ModelRequest) -> HttpCall:
        return self._codec.encode(request)

    def decoder(self, request: ModelRequest) -> Decoder:
        return self._spoil(self._codec.decoder(request))

    def read_error(self, status: int, headers: Mapping[str, str], body: bytes) -> Exception:
        return self._codec.read_error(status, headers, body)


class Splitlines:
    """Splits lines as Python's text does: also at U+2028, U+0085 and their kin."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder
        self._rest = b""

    def feed(self, data: bytes) -> list[StreamEvent]:
        whole, found, self._rest = (self._rest + data).rpartition(b"\n")
        lines = whole.decode("utf-8", "replace").splitlines()
        return self._decoder.feed("".join(line + "\n" for line in lines).encode()) if found else []


class EachReadDecoded:
    """Decodes UTF-8 read by read, so that a character between two reads is lost."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder

    def feed(self, data: bytes) -> list[StreamEvent]:
        return self._decoder.feed(data.decode("utf-8", "replace").encode())


class EndsAtTheStop:
    """Takes the reason of the stop for the end of the stream."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder

    def feed(self, data: bytes) -> list[StreamEvent]:
        events = self._decoder.feed(data)
        return [*events, Ended()] if any(isinstance(each, Stopped) for each in events) else events


class CallsAtOnce:
    """Takes the beginning of a call for a call."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder

    def feed(self, data: bytes) -> list[StreamEvent]:
        events = self._decoder.feed(data)
        begun = any(isinstance(each, CallDelta) for each in events)
        return [*events, Stopped("calls")] if begun else events


class HoldsBack:
    """Shows nothing before the end, so that a cut answer is lost whole."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder
        self._held: list[StreamEvent] = []

    def feed(self, data: bytes) -> list[StreamEvent]:
        self._held += self._decoder.feed(data)
        if any(isinstance(each, Ended) for each in self._held):
            return self._held
        return []


class SkipsBadLines:
    """Drops the text deltas after the first, as a reader does that swallows its errors."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder
        self._texts = 0

    def feed(self, data: bytes) -> list[StreamEvent]:
        kept = []
        for event in self._decoder.feed(data):
            self._texts += isinstance(event, TextDelta)
            if self._texts != 2 or not isinstance(event, TextDelta):
                kept.append(event)
        return kept


@asynccontextmanager
async def ask_until_eof(
    transport: Transport, recording: Recording, codec: Codec
) -> AsyncIterator[AsyncIterator[StreamEvent]]:
    """Takes the end of the connection for the end of the answer."""

    async def go_on(events: AsyncIterator[StreamEvent]) -> AsyncIterator[StreamEvent]:
        try:
            async for event in events:
                yield event
        except (Unavailable, BadAnswer):
            yield Ended()

    async with ask_properly(transport, recording, codec) as events:
        yield go_on(events)


@asynccontextmanager
async def ask_again(
    transport: Transport, recording: Recording, codec: Codec
) -> AsyncIterator[AsyncIterator[StreamEvent]]:
    """Tries again whatever was shown."""

    async def go_on() -> AsyncIterator[StreamEvent]:
        for last in (False, True):
            try:
                async with ask_properly(transport, recording, codec) as events:
                    async for event in events:
                        yield event
                return
            except ProviderError:
                if last:
                    raise

    yield go_on()


@asynccontextmanager
async def ask_patiently(
    transport: Transport, recording: Recording, codec: Codec
) -> AsyncIterator[AsyncIterator[StreamEvent]]:
    """Waits for an hour between two events."""
    async with transport.stream(
        recording.endpoint,
        codec,
        REQUEST,
        progress=lambda *_: None,
        limits=TimeLimits(first_s=3600.0, gap_s=3600.0, total_s=7200.0),
    ) as events:
        yield events


@asynccontextmanager
async def ask_carelessly(
    transport: Transport, recording: Recording, codec: Codec
) -> AsyncIterator[AsyncIterator[StreamEvent]]:
    """Lets out whatever error there was below."""
    async with ask_properly(transport, recording, codec) as events:

        async def go_on() -> AsyncIterator[StreamEvent]:
            try:
                async for event in events:
                    yield event
            except ProviderError as error:
                raise OSError(str(error)) from error

        yield go_on()
