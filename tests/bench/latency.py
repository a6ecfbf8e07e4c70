"""How much later a token comes through the daemon than straight from the provider.

The provider writes into each token when it was sent; the moment of its arrival is
taken here, in one process for all ways, which take turns. There are two direct ones:

- An event loop and events by the letter of the specification, as httpx-sse reads
  them on trio: what a program pays that waits for anything beside the answer, as the
  daemon does. The targets were set by this way.
- A blocking socket and httpx's own lines, which break a text at U+2028: the least that
  Python can do. A daemon cannot be as near to it, whatever it does: an answer that goes
  through a second process wakes a second process.
"""

import json
import statistics
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import httpx
import trio

from ask.connection import Client
from tests.bench.provider import STAMPED, STAMPS
from tests.bench.rows import Row
from tests.system.world import World

PROMPT = STAMPED.decode()
BODY = {"stream": True, "messages": [{"role": "user", "content": PROMPT}]}
KEPT = 0.9
"""The first tenth of an answer is its start, which other rows measure."""

WHY = """\
An answer through a daemon wakes two processes for each token, one straight from the provider wakes
one. With a clock at each step (a token every 4 ms, beside other work but at a real-time priority),
of 466 µs 151 are over when the daemon wakes, and 118 more when httpx has the token: on an event
loop a program without a daemon waits for these too. Then 94 are reading, hiding what is secret and
assembling, 38 keeping the text and encoding it, 27 the write, and some 30 the client's own. Those
94 are 15 if tokens come without a pause: it is caches that others have used meanwhile, and not work
that could be left out. At this pace no timer, no thread and no commit stands between a token and
its write; the 99th of a hundred follows the load of the machine."""


@dataclass(frozen=True)
class Delays:
    """Of one answer's tokens, in seconds."""

    median: float
    worst: float  # the 99th of a hundred


def read_delays(pieces: Iterator[tuple[float, str]]) -> Delays:
    """From texts and the moments they came, in nanoseconds, to the delays of their tokens."""
    delays: list[float] = []
    rest = ""
    for moment, text in pieces:
        *stamps, rest = (rest + text).split(" ")
        delays += [(moment - int(stamp)) / 1e9 for stamp in stamps]
    if len(delays) != STAMPS:
        raise RuntimeError(f"{len(delays)} tokens came of {STAMPS}")
    kept = delays[int(STAMPS * (1 - KEPT)) :]
    return Delays(statistics.median(kept), statistics.quantiles(kept, n=100)[-1])


def read_piece(data: str) -> tuple[float, str]:
    """What an event says, and when it was known."""
    text = json.loads(data)["choices"][0]["delta"].get("content", "")
    return time.perf_counter_ns(), text


def ask_blocking(client: httpx.Client, base_url: str) -> Delays:
    """One answer straight from the provider, with nothing else to wait for."""

    def pieces() -> Iterator[tuple[float, str]]:
        with client.stream("POST", f"{base_url}/chat/completions", json=BODY) as response:
            for line in response.iter_lines():
                if line.startswith("data: {"):
                    yield read_piece(line[6:])

    return read_delays(pieces())


async def read_events(response: httpx.Response) -> AsyncIterator[str]:
    """The data of each event: lines end with CRLF, LF or CR alone, fields are told apart."""
    rest, data = "", list[str]()
    async for text in response.aiter_text():
        *lines, rest = (rest + text).replace("\r\n", "\n").replace("\r", "\n").split("\n")
        for line in lines:
            field, _, value = line.partition(":")
            if field == "data":
                data.append(value.removeprefix(" "))
            elif not line and data:
                yield "\n".join(data)
                data.clear()


async def ask_waiting(base_url: str) -> Delays:
    """One answer straight from the provider, on an event loop."""
    pieces: list[tuple[float, str]] = []
    async with (
        httpx.AsyncClient(trust_env=False) as client,
        client.stream("POST", f"{base_url}/chat/completions", json=BODY) as response,
    ):
        async for data in read_events(response):
            if data != "[DONE]":
                pieces.append(read_piece(data))
    return read_delays(iter(pieces))


def ask_daemon(client: Client, env: Mapping[str, str]) -> Delays:
    """One answer through the daemon, in a conversation of its own."""

    def pieces() -> Iterator[tuple[float, str]]:
        client.call(
            "turn/start",
            {
                "target": {"kind": "session", "value": f"l{uuid.uuid4().hex}", "create": True},
                "key": str(uuid.uuid4()),
                "parts": [{"type": "text", "text": PROMPT}],
                "env": {"OPENAI_BASE_URL": env["OPENAI_BASE_URL"]},
                "secrets": {"OPENAI_API_KEY": env["OPENAI_API_KEY"]},
                "follow": True,
            },
        )
        while True:
            method, fields = client.receive()
            if method == "delta" and fields["kind"] == "text":
                yield time.perf_counter_ns(), fields["text"]
            elif fields.get("type") == "turn_finished":
                return

    return read_delays(pieces())


@dataclass(frozen=True)
class Ratios:
    """Medians over the rounds of the daemon's delays by those of one direct way."""

    median: float
    worst: float


def compare(env: Mapping[str, str], rounds: int) -> tuple[Delays, Ratios, Ratios]:
    """The daemon's own delays; against the direct ways, on an event loop and blocking."""
    taken: list[tuple[Delays, Delays, Delays]] = []
    base_url = env["OPENAI_BASE_URL"]
    with Client.connect(env) as daemon, httpx.Client(trust_env=False) as blocking:
        ways: Sequence[Callable[[], Delays]] = (
            lambda: ask_daemon(daemon, env),
            lambda: trio.run(ask_waiting, base_url),
            lambda: ask_blocking(blocking, base_url),
        )
        for number in range(rounds):
            order = (0, 1, 2) if number % 2 else (2, 1, 0)
            found = {place: ways[place]() for place in order}
            taken.append((found[0], found[1], found[2]))
    own = [ours for ours, _, _ in taken]
    return (
        Delays(
            statistics.median(each.median for each in own),
            statistics.median(each.worst for each in own),
        ),
        find_ratios([(ours, waiting) for ours, waiting, _ in taken]),
        find_ratios([(ours, blocking) for ours, _, blocking in taken]),
    )


def find_ratios(pairs: Sequence[tuple[Delays, Delays]]) -> Ratios:
    """Of each pair the first by the second, and their medians."""
    return Ratios(
        statistics.median(ours.median / theirs.median for ours, theirs in pairs),
        statistics.median(ours.worst / theirs.worst for ours, theirs in pairs),
    )


def measure_latency(world: World, rounds: int) -> Iterator[Row]:
    """A token's delay through the daemon against the provider's own stream."""
    world.ok("warm")
    own, waiting, blocking = compare(world.env, rounds)
    name = "a token's delay through the daemon, against httpx straight from the provider"
    yield from rate(f"{name}, on an event loop", waiting, own)
    yield from rate(f"{name}, blocking, by its own lines", blocking, own)


def rate(name: str, ratios: Ratios, own: Delays) -> Iterator[Row]:
    """The rows of one direct way."""
    figure = f"{ratios.median:.2f}× ({own.median * 1e6:.0f} µs)"
    yield Row(name, figure, "≤ 1.25×", ratios.median <= 1.25, ratio=ratios.median)
    figure = f"{ratios.worst:.2f}× ({own.worst * 1e6:.0f} µs)"
    name = "the same, the 99th of a hundred"
    yield Row(name, figure, "≤ 1.6×", ratios.worst <= 1.6, ratio=ratios.worst)
