"""Hostile peers: some send a byte a second, some never read; healthy ones are beside them."""

import math
import subprocess
import sys
from pathlib import Path

import trio

from tests.faults.peers_scene import EVENT_BYTES, Scene, Seen
from tests.faults.programmes import Outcome
from tests.faults.wire_peer import MEBIBYTE, House, find_p99, wait_for
from tests.house.floors import ROOT
from tests.system.world import open_world

CLAIM = (
    "While peers that send a byte a second and subscribers that never read surround it, a stream "
    "of megabytes reaches every healthy subscriber whole, in order, and nearly as soon as without "
    "them; they cost the daemon less than 64 MiB beyond what the stream costs it alone; whoever "
    "did not read is told, and has what the journal has once it subscribes again; and a peer that "
    "does not finish its hello, or stops amid a message, is closed within 6 s."
)
CONTROL = "A server that waits for each subscriber in turn, and closes nobody for being slow."
UNIT = "hostile connections"
CI = 72
FULL = 600

SILENT_SHARE = 6
"""One in so many never reads; the others send a byte a second."""
STREAM_BYTES = 20_000_000
"""In full; the test suite streams less of it."""
CI_STREAM_BYTES = 5_000_000
GROWTH_BYTES = 64 * MEBIBYTE
CLOSED_S = 6.0
DELAY_S = 0.05
DELAY_RATIO = 3.0
"""The p99 beside the hostile peers is within this much of the one without, or within this many
times of it: a busy machine is slow for both."""
PATIENCE_S = 120.0
CONTROL_PATIENCE_S = 8.0
CONTROL_SIZE = 24
CONTROL_EVENTS = 100
WARM_UP_EVENTS = 20
"""Before anything is measured: imports, caches, threads."""


def _find_unclosed(seen: Seen) -> list[str]:
    """A sentence for each peer that was not closed in time; a late timer of ours is not its."""
    harms = []
    for number, drip in enumerate(seen.drips):
        took = drip.closed_at - min(drip.read_at, drip.closed_at)
        if math.isinf(drip.closed_at) or took > CLOSED_S + seen.lag:
            harms.append(f"peer {number}, amid its hello, was closed after {took:.1f} s")
    for number, drip in enumerate(seen.greeted):
        took = drip.closed_at - min(drip.stopped_at, drip.closed_at)
        if not drip.refused and (math.isinf(drip.closed_at) or took > CLOSED_S + seen.lag):
            harms.append(f"peer {number}, amid a request, was closed after {took:.1f} s")
    return harms


async def _judge(house: House, size: int, events: int, patience: float) -> Outcome:
    silent = size // SILENT_SHARE
    scene = Scene(house, events, patience)
    await Scene(house, WARM_UP_EVENTS, patience).play(0, 0)
    started = house.weigh()
    calm = await scene.play(0, 0)
    before = house.weigh()
    seen = await scene.play(size - silent, silent)
    harms = [*calm.harms, *seen.harms, *_find_unclosed(seen)]
    grown, calm_grown = seen.largest - before, calm.largest - started
    if grown - calm_grown >= GROWTH_BYTES:
        harms.append(
            f"memory grew by {grown / MEBIBYTE:.0f} MiB, and {calm_grown / MEBIBYTE:.0f} without"
        )
    calm_p99, p99 = find_p99(calm.latencies), find_p99(seen.latencies)
    if p99 >= max(calm_p99 + DELAY_S, calm_p99 * DELAY_RATIO) + seen.lag:
        harms.append(f"p99 of an event is {p99 * 1000:.0f} ms, and {calm_p99 * 1000:.0f} without")
    if not house.lives():
        harms.append("the process died")
    lives = [each.closed_at - min(each.read_at, each.closed_at) for each in seen.drips]
    told = sum(1 for each in seen.silent if each.gaps or each.ends)
    figures = {
        "streamed": f"{events * EVENT_BYTES / 1e6:.0f} MB in {events} events",
        "amid hello, closed after, longest": f"{max(lives, default=0):.1f} s",
        "never read": f"{len(seen.silent)}, {told} told; {seen.silent_refused} not let in",
        "never read, gaps and closings": f"{sum(each.gaps for each in seen.silent)} and "
        f"{sum(each.ends for each in seen.silent)}",
        "a newcomer amid them, answered after": f"{seen.newcomer:.2f} s",
        "memory, growth": f"{grown / MEBIBYTE:.1f} MiB",
        "memory, growth of as long a stream without them": f"{calm_grown / MEBIBYTE:.1f} MiB",
        "event to healthy subscriber, p99": f"{p99 * 1000:.1f} ms",
        "event to healthy subscriber, p99 without them": f"{calm_p99 * 1000:.1f} ms",
        "the latest that a timer of the measuring process was": f"{seen.lag * 1000:.1f} ms",
    }
    return Outcome(size, tuple(harms), figures)


def prove(size: int, seed: int, directory: Path) -> Outcome:
    """Surround a daemon. Nothing is left to chance but the machine: the seed is not used."""
    with open_world(directory, model=False) as world:
        house = House.start(world)
        stream = STREAM_BYTES if size >= FULL else CI_STREAM_BYTES
        return trio.run(_judge, house, size, stream // EVENT_BYTES, PATIENCE_S)


def control(size: int, seed: int, directory: Path) -> Outcome:
    """Surround a server that trusts its peers."""
    path = str(directory / "careless.sock")
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.peers_careless", path], cwd=ROOT
    )
    try:
        wait_for(path)
        house = House(process.pid, path)
        few = min(size, CONTROL_SIZE)
        return trio.run(_judge, house, few, CONTROL_EVENTS, CONTROL_PATIENCE_S)
    finally:
        process.kill()
        process.wait()
