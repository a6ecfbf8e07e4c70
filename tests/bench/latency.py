"""How much later a token comes through the daemon than straight from the provider.

The provider writes into each token when it was sent; the moment of its arrival is
taken here, in one process for both ways, which take turns. Direct is httpx with
its own lines and nothing else, which is what a program without a daemon does.
"""

import json
import statistics
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import httpx

from ask.connection import Client
from tests.bench.provider import STAMPED, STAMPS
from tests.bench.rows import Row
from tests.system.world import World

PROMPT = STAMPED.decode()
KEPT = 0.9
"""The first tenth of an answer is its start, which other rows measure."""


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


def ask_direct(client: httpx.Client, base_url: str) -> Delays:
    """One answer straight from the provider."""

    def pieces() -> Iterator[tuple[float, str]]:
        body = {"stream": True, "messages": [{"role": "user", "content": PROMPT}]}
        with client.stream("POST", f"{base_url}/chat/completions", json=body) as response:
            for line in response.iter_lines():
                if line.startswith("data: {"):
                    delta = json.loads(line[6:])["choices"][0]["delta"]
                    yield time.perf_counter_ns(), delta.get("content", "")

    return read_delays(pieces())


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


def compare(env: Mapping[str, str], rounds: int) -> tuple[float, float, Delays]:
    """Medians of the pairs' ratios, of the median and of the worst; the daemon's own delays."""
    pairs: list[tuple[Delays, Delays]] = []
    with Client.connect(env) as daemon, httpx.Client(trust_env=False) as direct:
        ways: list[Callable[[], Delays]] = [
            lambda: ask_daemon(daemon, env),
            lambda: ask_direct(direct, env["OPENAI_BASE_URL"]),
        ]
        for number in range(rounds):
            first, second = (way() for way in (ways if number % 2 else reversed(ways)))
            pairs.append((first, second) if number % 2 else (second, first))
    return (
        statistics.median(ours.median / theirs.median for ours, theirs in pairs),
        statistics.median(ours.worst / theirs.worst for ours, theirs in pairs),
        Delays(
            statistics.median(ours.median for ours, _ in pairs),
            statistics.median(ours.worst for ours, _ in pairs),
        ),
    )


def measure_latency(world: World, rounds: int) -> Iterator[Row]:
    """A token's delay through the daemon against the provider's own stream."""
    world.ok("warm")
    median, worst, delays = compare(world.env, rounds)
    name = "a token's delay through the daemon, against httpx straight from the provider"
    figure = f"{median:.2f}× ({delays.median * 1e6:.0f} µs)"
    yield Row(name, figure, "≤ 1.25×", median <= 1.25)
    figure = f"{worst:.2f}× ({delays.worst * 1e6:.0f} µs)"
    yield Row("the same, the 99th of a hundred", figure, "≤ 1.6×", worst <= 1.6)
