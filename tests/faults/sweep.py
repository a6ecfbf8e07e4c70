"""Runs one answer through a broken network, and judges what came of it.

`run_case` is the daemon's own way: transport, codec, assembler. `judge` knows only
the bytes that were sent and the meaning that was written by hand; it never asks
a decoder what should have come.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import cache

import trio

from askd.core.items import AssistantMessage
from askd.core.outcome import Usage
from askd.errors import ProviderError
from askd.providers.assemble import Assembler
from askd.providers.base import Codec, StreamEvent, TimeLimits
from askd.providers.http.retry import RetryRules
from askd.providers.http.transport import Transport
from tests.fakes.fault_network import Fault, FaultNetwork, FaultTransport, Framing, Kind, Wire
from tests.faults.recordings import CALL, REQUEST, TEXT, Recording

LIMITS = TimeLimits()
RULES = RetryRules(tries=2)
SLACK_S = 6.0
"""The wait between two tries, and the times to close and to drain."""

Ask = Callable[
    [Transport, Recording, Codec], AbstractAsyncContextManager[AsyncIterator[StreamEvent]]
]


@dataclass(slots=True)
class Result:
    """What one answer came to. `shown`: pieces to read; `took_s`: on the mock clock."""

    message: AssistantMessage
    text: str = ""
    shown: int = 0
    ended: bool = False
    usage: Usage | None = None
    error: Exception | None = None
    took_s: float = 0.0
    requests: int = 0
    left_open: int = 0  # neither closed nor ready for another request


def ask_properly(
    transport: Transport, recording: Recording, codec: Codec
) -> AbstractAsyncContextManager[AsyncIterator[StreamEvent]]:
    """The daemon's own way."""
    return transport.stream(
        recording.endpoint, codec, REQUEST, progress=lambda *_: None, limits=LIMITS
    )


def make_wire(recording: Recording, framing: Framing) -> Wire:
    """The recording as a whole response."""
    return Wire(
        recording.events,
        framing=framing,
        content_type=recording.vendor.stream_type,
        keep_alive=recording.keep_alive,
    )


async def go_on() -> None:
    """Nothing, at once."""


async def run_case(
    recording: Recording,
    wire: Wire,
    fault: Fault,
    *,
    codec: Codec,
    ask: Ask = ask_properly,
    between: Callable[[], Awaitable[None]] = go_on,
) -> Result:
    """One answer from the first byte to the closed connection; `between` two events, this."""
    network = FaultNetwork(wire, fault)
    faulty = FaultTransport(network)
    transport = Transport(mock=faulty, rules=RULES, chance=lambda: 1.0)
    assembler = Assembler("a1")
    started = trio.current_time()
    shown = 0
    error: Exception | None = None
    try:
        async with ask(transport, recording, codec) as events:
            async for event in events:
                shown += len(assembler.feed(event))
                await between()
    except Exception as caught:
        error = caught
    took_s = trio.current_time() - started
    left_open = network.count_open() - faulty.count_idle()
    await transport.aclose()
    return Result(
        message=assembler.message(),
        text=assembler.text,
        shown=shown,
        ended=assembler.ended,
        usage=assembler.usage,
        error=error,
        took_s=took_s,
        requests=network.requests,
        left_open=left_open,
    )


def judge(recording: Recording, wire: Wire, fault: Fault, result: Result) -> Iterable[str]:
    """Every promise that was not kept, as a sentence."""
    yield from _judge_end(recording, wire, fault, result)
    yield from _judge_content(recording, wire, fault, result)
    if result.took_s > LIMITS.total_s + SLACK_S:
        yield f"took {result.took_s:g} s"
    silent_s = RULES.tries * (LIMITS.first_s + LIMITS.gap_s)
    if fault.kind in ("stall", "drip") and result.took_s > silent_s + SLACK_S:
        yield f"took {result.took_s:g} s with nothing new"
    if result.requests > (1 if result.shown else RULES.tries + 1):
        yield f"asked {result.requests} times, though {result.shown} pieces were shown"
    if result.left_open:
        yield f"left {result.left_open} connections open"


def _has_come(marker: bytes, wire: Wire, fault: Fault) -> bool:
    """Whether these bytes have arrived as they were meant."""
    if fault.kind in ("none", "split", "trickle"):
        return True
    sent = wire.bytes[: fault.at]
    # The keep-alives that follow bring the line break that was missing.
    return marker in sent or (fault.kind == "drip" and sent.endswith(marker[:-1]))


def _judge_end(recording: Recording, wire: Wire, fault: Fault, result: Result) -> Iterable[str]:
    ended = result.error is None
    if ended != result.ended:
        yield f"ended {result.ended}, but raised {result.error!r}"
    if result.error is not None:
        if not isinstance(result.error, ProviderError):
            yield f"raised {result.error!r}"
        elif len(result.error.message.split()) < 3 or "canary" in result.error.message:
            yield f"said {result.error.message!r}"
    match fault.kind:
        case "none" | "split":
            if not ended:
                yield f"did not end: {result.error!r}"
        case "garble" | "insert":
            start = wire.bytes.rindex(recording.essence)
            if start < fault.at < start + len(recording.essence) and ended:
                yield "ended without its end event"
        case "trickle":
            pass  # it ends if the bytes come in time
        case _:
            if ended and not _has_come(recording.end, wire, fault):
                yield "ended before its end event had come"
            if not ended and recording.end in wire.bytes[: fault.at]:
                yield f"did not end, though its end event had come: {result.error!r}"


def _judge_content(recording: Recording, wire: Wire, fault: Fault, result: Result) -> Iterable[str]:
    text = "".join(TEXT)
    calls = [(call.call_id, call.name, call.arguments) for call in result.message.calls]
    if fault.kind in ("garble", "insert"):
        if result.ended and fault.at < wire.head and result.text != text:
            yield f"said {result.text!r} after a broken head"
        return
    if not text.startswith(result.text):
        yield f"said {result.text!r}"
    if fault.kind in ("cut", "reset", "stall") and result.text != _text_until(
        fault.at, recording, wire
    ):
        yield f"kept {result.text!r} of what had come"
    if calls and not _has_come(recording.stop, wire, fault):
        yield f"called {calls} before the model had stopped"
    # Ollama gives its calls no ids, and their arguments as an object, which has no spaces.
    if any((name, said.replace(" ", "")) != CALL[1:] for _, name, said in calls):
        yield f"called {calls}"
    if result.error is None:
        if result.text != text or len(calls) != 1:
            yield f"ended with {result.text!r} and {calls}"
        usage = result.usage
        if usage is None or (usage.input_tokens, usage.output_tokens) != (7, 3):
            yield f"ended with {usage}"


def _text_until(at: int, recording: Recording, wire: Wire) -> str:
    """The text of every event that had wholly come."""
    ends = wire.find_ends(recording.events)
    spoken = zip(TEXT, _find_places(recording), strict=True)
    return "".join(piece for piece, place in spoken if ends[place] <= at)


@cache
def _find_places(recording: Recording) -> list[int]:
    """The first event that says it, for each piece of the text."""
    said = [json.dumps(piece, ensure_ascii=False).encode() for piece in TEXT]
    return [
        next(place for place, event in enumerate(recording.events) if each in event)
        for each in said
    ]


async def sweep(
    recording: Recording,
    kind: Kind,
    framing: Framing,
    *,
    codec: Codec | None = None,
    ask: Ask = ask_properly,
    every: int = 1,
) -> tuple[int, list[str]]:
    """This fault at every byte of the response: how many cases, and what was wrong in them."""
    wire = make_wire(recording, framing)
    complaints: list[str] = []
    offsets = range(0, len(wire.bytes) + 1, every)
    for at in offsets:
        fault = Fault(kind, at)
        result = await run_case(recording, wire, fault, codec=codec or recording.codec, ask=ask)
        where = f"{recording.dialect} {kind}@{at}/{wire.head}+{len(wire.bytes) - wire.head}"
        complaints += [
            f"{where} {framing}: {complaint}" for complaint in judge(recording, wire, fault, result)
        ]
    return len(offsets), complaints
