"""Events a second of every dialect, beside the bare socket, on one stream.

The same long answer is read twice in turn: by the daemon's own way (httpx, our
lines, the codec), and by a trio socket that only finds the lines and parses
their JSON. The ratio says what everything between the two costs.
"""

import json
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

import trio

from askd.core.items import Text, UserMessage
from askd.providers.base import Dialect, Endpoint, ModelRequest, TextDelta
from askd.providers.http.transport import Transport
from askd.providers.models import dialects
from tests.bench.provider import FLOOD_TOKENS
from tests.bench.provider_process import run_provider
from tests.bench.rows import Row

DIALECTS: tuple[Dialect, ...] = (
    "openai-chat",
    "openai-responses",
    "anthropic",
    "ollama",
    "copilot",
)
REQUEST = ModelRequest(
    model="fake", items=[UserMessage("u", (Text("Hi"),))], max_output_tokens=100_000
)
READ_BYTES = 65536


@dataclass(frozen=True)
class Rate:
    """Events a second of the daemon's way, and its part of what the bare socket reads."""

    dialect: Dialect
    events: float
    ratio: float


async def read_properly(transport: Transport, endpoint: Endpoint) -> float:
    """Seconds for one answer through transport and codec."""
    codec = dialects.codec_for(endpoint)
    started = time.perf_counter()
    count = 0
    async with transport.stream(endpoint, codec, REQUEST, progress=lambda *_: None) as events:
        async for event in events:
            count += isinstance(event, TextDelta)
    if count != FLOOD_TOKENS:
        raise RuntimeError(f"{endpoint.dialect}: {count} deltas came of {FLOOD_TOKENS}")
    return time.perf_counter() - started


async def read_barely(address: str) -> float:
    """Seconds for the same bytes: lines and their JSON, nothing else."""
    where = urlsplit(address)
    assert where.hostname is not None
    assert where.port is not None
    request = b'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 15\r\n\r\n{"stream":true}'
    started = time.perf_counter()
    count, rest, end = 0, b"", False
    async with await trio.open_tcp_stream(where.hostname, where.port) as stream:
        await stream.send_all(request)
        while not end:
            *lines, rest = (rest + await stream.receive_some(READ_BYTES)).split(b"\n")
            for line in lines:
                if line.startswith((b"data: {", b"{")):
                    json.loads(line.removeprefix(b"data: "))
                    count += 1
                elif line == b"0\r":
                    end = True
    if count < FLOOD_TOKENS:
        raise RuntimeError(f"{count} events came of {FLOOD_TOKENS}")
    return time.perf_counter() - started


def measure(dialect: Dialect, rounds: int) -> Rate:
    """Both ways in turn, the median of the pairs."""

    async def run(address: str) -> list[tuple[float, float]]:
        transport = Transport()
        endpoint = Endpoint(provider="bench", base_url=address, dialect=dialect, api_key="k")
        pairs = [
            (await read_properly(transport, endpoint), await read_barely(address))
            for _ in range(rounds)
        ]
        await transport.aclose()
        return pairs

    with run_provider(dialect) as address:
        pairs = trio.run(run, address)
    events = statistics.median(FLOOD_TOKENS / ours for ours, _ in pairs)
    return Rate(dialect, events, statistics.median(bare / ours for ours, bare in pairs))


def measure_dialects(rounds: int) -> Iterator[Row]:
    """Events a second beside the bare socket, for each dialect."""
    for dialect in DIALECTS:
        rate = measure(dialect, rounds)
        yield Row(
            f"events read in `{dialect}`, against lines and JSON from a bare socket",
            f"{rate.ratio:.2f}× ({rate.events:,.0f} a second)",
            "reported",
            None,
            ratio=rate.ratio,
        )
