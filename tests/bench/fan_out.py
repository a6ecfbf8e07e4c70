"""What it costs to tell many what one answer says, beside the way that first comes to mind.

Both ways are processes of their own (`fan_out_server`); here all subscribers read, and what each
has read is compared to the last byte. The CPU seconds are the server's, from the kernel.
"""

import os
import select
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ask.protocol.frames import FrameReader, Notification
from askd.server.wire import encode_delta
from tests.bench.fan_out_server import TEXT_LENGTH, Kind, Plan, allow_files, make_delta
from tests.bench.loops import ABSENT, join
from tests.bench.measure import read_cpu_s
from tests.bench.rows import Row
from tests.system.world import ROOT

DELIVERIES = 200_000
"""Of one sample, to however many."""
CROWDS = (100, 1000)
FASTER = 8.0
AS_FAST = 1.0
PACED_CROWD = 100
PACED_MESSAGES = 400
PACED_GAP_MS = 5
"""Two hundred deltas a second, as of a fast provider."""
PACED_SHARE = 0.5
STALL_LIMIT = 1.2
HUNDREDTHS = 100
LIMIT_S = 60.0
READ_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Sample:
    """One stream to all of its subscribers.

    Attributes:
        wall_s: from the first delta to the last byte at the last subscriber.
        cpu_s: of the server.
        worst_s: the 99th of a hundred delays of a stamped delta; 0: none was.
    """

    wall_s: float
    cpu_s: float
    worst_s: float


@dataclass(slots=True)
class Reader:
    """What one subscriber has read: of stamped deltas each, of others their bytes' sum."""

    stream: socket.socket
    size: int = 0
    check: int = 0
    frames: FrameReader = field(default_factory=FrameReader)
    delays: list[float] = field(default_factory=list)

    def take(self, data: bytes) -> None:
        """More of the same deltas to everyone."""
        self.size += len(data)
        self.check = zlib.crc32(data, self.check)

    def take_stamped(self, data: bytes) -> None:
        """Deltas one by one, in their order; raises `RuntimeError` if one is missing."""
        now = time.perf_counter_ns()
        for message in self.frames.feed(data):
            if not isinstance(message, Notification) or message.method != "delta":
                raise RuntimeError(f"no delta came: {message!r}")
            if message.params["offset"] != len(self.delays) * TEXT_LENGTH:
                raise RuntimeError(f"after {len(self.delays)} deltas came {message!r}")
            self.delays.append((now - int(message.params["text"])) / 1e9)


@contextmanager
def open_server(
    plan: Plan, env: Mapping[str, str]
) -> Iterator[tuple[subprocess.Popen[bytes], list[socket.socket]]]:
    """The server with all of its subscribers."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.fan_out_server", plan.encode()],
        cwd=ROOT,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    streams: list[socket.socket] = []
    try:
        assert process.stdout is not None
        _expect(process, b"ready\n")
        for _ in range(plan.subscribers):
            stream = socket.socket(socket.AF_UNIX)
            streams.append(stream)
            stream.settimeout(LIMIT_S)
            stream.connect(plan.path)
        _expect(process, b"full\n")
        yield process, streams
    finally:
        for stream in streams:
            stream.close()
        process.communicate()


def _expect(process: subprocess.Popen[bytes], wanted: bytes) -> None:
    assert process.stdout is not None
    said = process.stdout.readline()
    if said != wanted:
        raise RuntimeError(f"the server said {said!r}")


def run(
    kind: Kind,
    subscribers: int,
    messages: int,
    *,
    gap_ms: int = 0,
    stalled: bool = False,
    loop: Mapping[str, str] | None = None,
) -> Sample:
    """One sample; raises `RuntimeError` if anybody read something else than was sent."""
    with tempfile.TemporaryDirectory() as directory:
        path = str(Path(directory) / "fan-out.sock")
        plan = Plan(kind, path, subscribers, messages, gap_ms=gap_ms, stalled=stalled)
        with open_server(plan, join(os.environ, loop or {})) as (process, streams):
            readers = [Reader(stream) for stream in streams[stalled:]]
            cpu_s, started = read_cpu_s(process.pid), time.perf_counter()
            assert process.stdin is not None
            process.stdin.write(b"go\n")
            process.stdin.flush()
            read_all(readers, plan)
            wall_s = time.perf_counter() - started
            cpu_s = read_cpu_s(process.pid) - cpu_s
    delays = [delay for reader in readers for delay in reader.delays]
    worst_s = statistics.quantiles(delays, n=HUNDREDTHS)[-1] if delays else 0.0
    return Sample(wall_s, cpu_s, worst_s)


def read_all(readers: Sequence[Reader], plan: Plan) -> None:
    """Read until each has all, and compare."""
    wanted = b"".join(encode_delta(make_delta(n, stamped=False)) for n in range(plan.messages))
    unread = {reader.stream.fileno(): reader for reader in readers}
    with select.epoll() as poll:
        for descriptor in unread:
            poll.register(descriptor, select.EPOLLIN)
        while unread:
            ready = poll.poll(LIMIT_S)
            if not ready:
                raise RuntimeError(f"{len(unread)} subscribers never got all")
            for descriptor, _ in ready:
                reader = unread[descriptor]
                data = reader.stream.recv(READ_BYTES)
                if not data:
                    raise RuntimeError("the server hung up")
                if plan.gap_ms:
                    reader.take_stamped(data)
                    done = len(reader.delays) == plan.messages
                else:
                    reader.take(data)
                    done = reader.size >= len(wanted)
                if done:
                    poll.unregister(descriptor)
                    del unread[descriptor]
    if not plan.gap_ms:
        check = zlib.crc32(wanted)
        if any(each.size != len(wanted) or each.check != check for each in readers):
            raise RuntimeError("a subscriber has read something else than was sent")


def measure_fan_out(rounds: int, loop: Mapping[str, str] | None) -> Iterator[Row]:
    """As fast as it goes, at a provider's pace, and beside one that never reads.

    `loop`: how uvloop is found.
    """
    allow_files()
    for crowd in CROWDS:
        messages = DELIVERIES // crowd
        pairs = [
            (run("house", crowd, messages), run("naive", crowd, messages)) for _ in range(rounds)
        ]
        ratios = [theirs.wall_s / ours.wall_s for ours, theirs in pairs]
        ratio = statistics.median(ratios)
        rate = statistics.median(DELIVERIES / ours.wall_s for ours, _ in pairs)
        micro = statistics.median(ours.cpu_s for ours, _ in pairs) / DELIVERIES * 1e6
        less = statistics.median(theirs.cpu_s / ours.cpu_s for ours, theirs in pairs)
        spread = f"{min(ratios):.1f}–{max(ratios):.1f}"
        work = f"1/{less:.1f} CPU ({micro:.1f} µs each)"
        yield Row(
            f"deltas to {crowd:,} subscribers, against `send_all` to each in turn",
            f"{ratio:.1f}× as many a second ({spread}; {rate:,.0f}), {work}",
            f"≥ {FASTER:.0f}×",
            ratio >= FASTER,
            ratio=ratio,
        )
        yield measure_loop(crowd, rounds, loop)
    yield from measure_paced(rounds)


def measure_loop(crowd: int, rounds: int, loop: Mapping[str, str] | None) -> Row:
    """As fast as it goes, beside transports of the fastest loop there is."""
    messages = DELIVERIES // crowd
    name = f"deltas to {crowd:,} subscribers, against a frame packed once on uvloop"
    target = f"≥ {AS_FAST:.0f}×"
    if loop is None:
        return Row(name, ABSENT, target, None)
    pairs = [
        (run("house", crowd, messages), run("uvloop", crowd, messages, loop=loop))
        for _ in range(rounds)
    ]
    ratios = [theirs.wall_s / ours.wall_s for ours, theirs in pairs]
    ratio = statistics.median(ratios)
    figure = f"{ratio:.1f}× as many a second ({min(ratios):.1f}–{max(ratios):.1f})"
    return Row(name, figure, target, ratio >= AS_FAST, ratio=ratio)


def measure_paced(rounds: int) -> Iterator[Row]:
    """At a pace; CPU a delivery, and delays beside one that never reads."""

    def paced(kind: Kind, *, stalled: bool = False) -> Sample:
        return run(kind, PACED_CROWD, PACED_MESSAGES, gap_ms=PACED_GAP_MS, stalled=stalled)

    samples = [
        (paced("house"), paced("naive"), paced("house", stalled=True)) for _ in range(rounds)
    ]
    ratios = [ours.cpu_s / theirs.cpu_s for ours, theirs, _ in samples]
    ratio = statistics.median(ratios)
    micro = statistics.median(ours.cpu_s for ours, _, _ in samples)
    micro *= 1e6 / (PACED_CROWD * PACED_MESSAGES)
    yield Row(
        f"CPU of a delta, {1000 // PACED_GAP_MS} a second to {PACED_CROWD}, against the same",
        f"{ratio:.2f}× ({min(ratios):.2f}–{max(ratios):.2f}; {micro:.1f} µs)",
        f"≤ {PACED_SHARE}×",
        ratio <= PACED_SHARE,
        ratio=ratio,
    )
    ratios = [beside.worst_s / ours.worst_s for ours, _, beside in samples]
    ratio = statistics.median(ratios)
    worst_ms = statistics.median(beside.worst_s for _, _, beside in samples) * 1000
    yield Row(
        "a delta's delay beside a subscriber that never reads, against without (99th of a hundred)",
        f"{ratio:.2f}× ({min(ratios):.2f}–{max(ratios):.2f}; {worst_ms:.1f} ms)",
        f"≤ {STALL_LIMIT}×",
        ratio <= STALL_LIMIT,
        ratio=ratio,
    )
