"""One stream of deltas to many subscribers: `python -m tests.bench.fan_out_server PLAN`, as JSON.

As the daemon does it, by a conversation's hub and an outbox for each connection; or naively, by a
frame packed and an `await send_all` for each subscriber; or on uvloop, by a frame that is packed
once and written to each transport. It says `ready` when it listens and
`full` when everyone is there, publishes when a line comes, and ends with its standard input.
"""

import asyncio
import importlib
import json
import resource
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Literal, cast

import trio

from askd.server.peer import Peer
from askd.server.wire import encode_delta, encode_published
from askd.sessions.hub import Delta, Hub
from askd.sessions.live import LiveSession
from askd.store.log import Log

Kind = Literal["house", "naive", "uvloop"]
ID = "00000000-0000-4000-8000-000000000000"
ITEM_IDS = (f"{ID}.0", f"{ID}.1")
TEXT_LENGTH = 45
"""Of a delta: a few words."""
TURN = 8
"""Deltas between two checkpoints: as many come in one read from a fast provider."""
ROUND = 256
"""Deltas after which all must have been written: an outbox would take four times as many."""
STALLED_BYTES = 4096
"""What the kernel holds for one that never reads; it is full after some twenty deltas."""
FILES = 4096


@dataclass(frozen=True, slots=True)
class Plan:
    """What is sent to whom.

    Attributes:
        gap_ms: between two deltas; 0: as fast as it can.
        stalled: the first to connect will never read.
    """

    kind: Kind
    path: str
    subscribers: int
    messages: int
    gap_ms: int = 0
    stalled: bool = False

    def encode(self) -> str:
        """For the command line."""
        return json.dumps(asdict(self))


def make_delta(number: int, *, stamped: bool) -> Delta:
    """One delta; a stamped one says when it was made, in nanoseconds of the machine's clock.

    Of another item than the one before it: else many would go out as one, and what is measured
    is the way of each.
    """
    text = str(time.perf_counter_ns() if stamped else number).ljust(TEXT_LENGTH)
    return Delta(
        conversation_id=ID,
        turn_id=ID,
        item_id=ITEM_IDS[number % len(ITEM_IDS)],
        kind="text",
        offset=number * TEXT_LENGTH,
        text=text,
    )


def allow_files() -> None:
    """Let this process have a descriptor for each of a thousand connections."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def wait_turn(plan: Plan, number: int, began: float) -> None:
    """Before a delta: until it is due, or what others have to do is done."""
    if plan.gap_ms:
        await trio.sleep_until(began + number * plan.gap_ms / 1000)
    elif number % TURN == 0:
        await trio.lowlevel.checkpoint()


async def publish_by_house(plan: Plan, streams: Sequence[trio.SocketStream]) -> None:
    """The daemon's own parts, from the conversation to the sockets."""
    hub = Hub(encode_published, later=trio.lowlevel.current_trio_token().run_sync_soon)
    session = LiveSession(ID, log=cast("Log", None), hub=hub, ephemeral=True)
    peers = [Peer() for _ in streams]
    async with trio.open_nursery() as nursery:
        for peer, stream in zip(peers, streams, strict=True):
            nursery.start_soon(write_all, peer, stream)
            peer.subscribe(session, interactive=False)
        began = trio.current_time()
        for number in range(plan.messages):
            await wait_turn(plan, number, began)
            hub.publish(make_delta(number, stamped=plan.gap_ms > 0))
            if not plan.gap_ms and number % ROUND == ROUND - 1:
                hub.flush()
                await wait_written(peers)
        hub.flush()
        for peer in peers[plan.stalled :]:
            peer.outbox.finish()
        if plan.stalled:
            await wait_written(peers[1:])
            nursery.cancel_scope.cancel()


async def write_all(peer: Peer, stream: trio.SocketStream) -> None:
    """As a connection does: one that leaves is none of the others' business."""
    with suppress(trio.BrokenResourceError):
        await peer.outbox.write_all(stream)


async def wait_written(peers: Sequence[Peer]) -> None:
    """Until all that they have queued is in the sockets."""
    waiting = len(peers)
    done = trio.Event()

    def count() -> None:
        nonlocal waiting
        waiting -= 1
        if not waiting:
            done.set()

    for peer in peers:
        peer.outbox.post(b"", on_sent=count)
    await done.wait()


async def publish_naively(plan: Plan, streams: Sequence[trio.SocketStream]) -> None:
    """Whoever comes later waits for whoever is slow."""
    began = trio.current_time()
    for number in range(plan.messages):
        await wait_turn(plan, number, began)
        delta = make_delta(number, stamped=plan.gap_ms > 0)
        for stream in streams:
            await stream.send_all(encode_delta(delta))


async def serve(plan: Plan) -> None:
    """Wait for all, publish, and wait for the end."""
    listening = trio.socket.socket(trio.socket.AF_UNIX, trio.socket.SOCK_STREAM)
    await listening.bind(plan.path)
    listening.listen(socket.SOMAXCONN)
    print("ready", flush=True)
    streams: list[trio.SocketStream] = []
    for number in range(plan.subscribers):
        accepted, _ = await listening.accept()
        if plan.stalled and number == 0:
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, STALLED_BYTES)
        streams.append(trio.SocketStream(accepted))
    print("full", flush=True)
    await trio.to_thread.run_sync(sys.stdin.readline)
    publish = publish_by_house if plan.kind == "house" else publish_naively
    await publish(plan, streams)
    await trio.to_thread.run_sync(sys.stdin.read)


async def serve_protocols(plan: Plan) -> None:
    """The same by transports, as fast as it goes; now and then all of them are waited for."""
    loop = asyncio.get_running_loop()
    writers: list[asyncio.StreamWriter] = []
    everyone = asyncio.Event()

    async def welcome(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        if len(writers) == plan.subscribers:
            everyone.set()

    server = await asyncio.start_unix_server(welcome, plan.path, backlog=socket.SOMAXCONN)
    print("ready", flush=True)
    await everyone.wait()
    print("full", flush=True)
    await loop.run_in_executor(None, sys.stdin.readline)
    for number in range(plan.messages):
        frame = encode_delta(make_delta(number, stamped=False))
        for writer in writers:
            writer.write(frame)
        if number % TURN == 0:
            await asyncio.sleep(0)
        if number % ROUND == ROUND - 1:
            await wait_drained(writers)
    await wait_drained(writers)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


async def wait_drained(writers: Sequence[asyncio.StreamWriter]) -> None:
    """Until each takes more."""
    for writer in writers:
        await writer.drain()


def main() -> None:
    """Serve as the plan says."""
    allow_files()
    plan = Plan(**json.loads(sys.argv[1]))
    if plan.kind == "uvloop":
        uvloop: Any = importlib.import_module("uvloop")  # no part of the project needs it
        uvloop.run(serve_protocols(plan))
    else:
        trio.run(serve, plan)


if __name__ == "__main__":
    main()
