"""What a request costs the daemon, beside servers that only read and write frames.

Sixty-four connections each have a request under way, all the time; the CPU seconds of the server
are the kernel's. The request is one that the daemon answers out of its memory, so that what is
measured is its way there and back: the frame, the parameters checked, the handler, the answer.
"""

import select
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ask.connection import Client
from ask.fast.caller import introduce
from ask.paths import Paths
from ask.protocol.frames import encode_request, encode_response
from tests.bench.loops import ABSENT, join
from tests.bench.measure import read_cpu_s
from tests.bench.rows import Row
from tests.system.world import ROOT, World

CONNECTIONS = 64
REQUESTS = 6400
"""Of one sample: about a second of the kernel's ticks, which are a hundredth of one."""
WARM_REQUESTS = 640
METHOD = "conversation/unsubscribe"
PARAMS = {"conversation_id": "0" * 8 + "-0000-4000-8000-" + "0" * 12}
"""Of one that is not followed: answered, and nothing changes."""
ECHO_LIMIT = 1.3
UVLOOP_LIMIT = 4.0
LIMIT_S = 30.0
WHY = """\
Why, by a profile of this request's way in the daemon, in µs of a core that others use too: of 11
after the frame is read, 2.1 ask the file system whether the settings have changed (who asks next
gets what the file says now), 1.6 check the parameters, 1.2 make the result a map, 1.7 write it,
and the rest counts requests in flight and finds the handler. The echo does none of this but the
writing; reading the frame, 4.5, both do. On uvloop the same echo takes a third to a half of what
it takes on trio, whose loop is written in Python: four times as much is less than two echoes on
trio."""


@dataclass(frozen=True, slots=True)
class Server:
    """What answers: its process, its connections, and what each answer must be beside its id."""

    pid: int
    streams: list[socket.socket]
    result: object


@dataclass(frozen=True, slots=True)
class Load:
    """What one sample took: of the server, and of the clock."""

    cpu_s: float
    wall_s: float


def connect(path: str, hello: bytes, count: int) -> list[socket.socket]:
    """Connections that have said hello and were answered."""
    streams = []
    for _ in range(count):
        stream = socket.socket(socket.AF_UNIX)
        stream.settimeout(LIMIT_S)
        stream.connect(path)
        stream.sendall(hello)
        if not stream.recv(65536):
            raise RuntimeError("a server hung up on hello")
        streams.append(stream)
    return streams


def load(server: Server, requests: int) -> Load:
    """Ask so often, a request under way on each connection; every answer is compared."""
    poll = select.epoll()
    by_descriptor = {stream.fileno(): stream for stream in server.streams}
    wanted: dict[int, bytes] = {}
    sent = 0

    def ask(descriptor: int) -> None:
        nonlocal sent
        sent += 1
        wanted[descriptor] = encode_response(sent, None, server.result)
        by_descriptor[descriptor].sendall(encode_request(sent, METHOD, PARAMS))

    cpu_s, started = read_cpu_s(server.pid), time.perf_counter()
    with poll:
        for descriptor in by_descriptor:
            poll.register(descriptor, select.EPOLLIN)
            ask(descriptor)
        while wanted:
            ready = poll.poll(LIMIT_S)
            if not ready:
                raise RuntimeError(f"{len(wanted)} requests were never answered")
            for descriptor, _ in ready:
                came = by_descriptor[descriptor].recv(65536)
                if came != wanted.pop(descriptor):
                    raise RuntimeError(f"another answer came: {came!r}")
                if sent < requests:
                    ask(descriptor)
    return Load(read_cpu_s(server.pid) - cpu_s, time.perf_counter() - started)


@contextmanager
def open_echo(kind: str, directory: Path, env: dict[str, str]) -> Iterator[Server]:
    """An echo and its connections."""
    path = str(directory / f"{kind}.sock")
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.echo", kind, path],
        cwd=ROOT,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    streams: list[socket.socket] = []
    try:
        assert process.stdout is not None
        if not process.stdout.readline():
            raise RuntimeError(f"the echo on {kind} did not start")
        streams += connect(path, encode_request(0, "hello", {}), CONNECTIONS)
        yield Server(process.pid, streams, {})
    finally:
        for stream in streams:
            stream.close()
        process.communicate()


@contextmanager
def open_daemon(world: World) -> Iterator[Server]:
    """The world's daemon and connections to it."""
    world.ok("daemon", "start")
    with Client.connect(world.env) as client:
        result = client.call(METHOD, dict(PARAMS))
    path = str(Paths.of(world.env).sockets[0])
    streams = connect(path, encode_request(0, "hello", dict(introduce(world.env))), CONNECTIONS)
    try:
        yield Server(world.daemon_pid(), streams, result)
    finally:
        for stream in streams:
            stream.close()


def compare(ours: Server, theirs: Server, rounds: int) -> list[tuple[Load, Load]]:
    """Samples in turn, after one of each to warm up."""
    ways: list[Callable[[int], Load]] = [
        lambda count: load(ours, count),
        lambda count: load(theirs, count),
    ]
    for way in ways:
        way(WARM_REQUESTS)
    pairs = []
    for number in range(rounds):
        order = ways if number % 2 else ways[::-1]
        first, second = (way(REQUESTS) for way in order)
        pairs.append((first, second) if number % 2 else (second, first))
    return pairs


def measure_requests(
    world: World, directory: Path, rounds: int, loop: Mapping[str, str] | None
) -> Iterator[Row]:
    """The daemon beside each echo; `loop`: how uvloop is found."""
    kinds = {"trio": ECHO_LIMIT, "uvloop": UVLOOP_LIMIT}
    for kind, limit in kinds.items():
        name = f"CPU of a request, {CONNECTIONS} at a time, against a bare echo on {kind}"
        target = f"≤ {limit:.1f}×"
        if kind == "uvloop" and loop is None:
            yield Row(name, ABSENT, target, None)
            continue
        with ExitStack() as stack:
            ours = stack.enter_context(open_daemon(world))
            theirs = stack.enter_context(open_echo(kind, directory, join(world.env, loop or {})))
            pairs = compare(ours, theirs, rounds)
        ratios = [mine.cpu_s / other.cpu_s for mine, other in pairs]
        ratio = statistics.median(ratios)
        micro = [
            statistics.median(each[side].cpu_s for each in pairs) / REQUESTS * 1e6
            for side in (0, 1)
        ]
        spread = f"{min(ratios):.2f}–{max(ratios):.2f}; {micro[0]:.0f} µs against {micro[1]:.0f}"
        yield Row(name, f"{ratio:.2f}× ({spread})", target, ratio <= limit, ratio=ratio)
