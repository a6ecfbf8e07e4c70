"""Frames that nobody should send, by the hundred thousand, at the socket of a running daemon."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ask.protocol.frames import BadFrame
from tests.faults.frames_flood import open_with, read_answers
from tests.faults.frames_made import HELLO_FRAME, make_bombs, make_huge_hello
from tests.faults.programmes import Outcome
from tests.faults.wire_peer import MEBIBYTE, House, Peer, find_p99, wait_for
from tests.house.floors import ROOT
from tests.system.world import open_world

CLAIM = (
    "Whatever bytes come on its socket, the daemon stays, grows by less than 64 MiB over all of "
    "them and by less than 32 MiB for any single message, accepts nothing that is over a limit, "
    "and answers a well-behaved client beside them rightly: 99 of 100 requests within 100 ms, or "
    "within three times what they take on the same machine without the flood (a pause of the "
    "client's own that comes late is the machine's share, and is added)."
)
CONTROL = "A server that decodes whatever comes, with no limit on lengths, lists or depth."
UNIT = "fuzzed frames"
CI = 5_000
FULL = 1_000_000

FLOOD_GROWTH_BYTES = 64 * MEBIBYTE
MESSAGE_GROWTH_BYTES = 32 * MEBIBYTE
P99_S = 0.1
P99_RATIO = 3.0
FLOODERS = 2
WARM_UP = 400
"""Frames before anything is measured: imports, caches, and what an allocator keeps."""
BASELINE_S = 3.0
PAUSE_S = 0.005
"""Between two requests of the well-behaved client."""
CONTROL_FRAMES = 400
"""The bombs show the control's harm; the flood needs to be no longer than this."""
HARMLESS = ("lists nested 1 deep", "maps nested 1 deep", "maps nested 31 deep")
"""Bombs that are within every limit, or nearly: that they are answered is no harm."""

Ask = Callable[[Peer], Any]


@dataclass(slots=True)
class Look:
    """What a well-behaved client saw: seconds, and the most memory of the house in bytes.

    Attributes:
        latencies: of each answer.
        delays: by which each of its own pauses was too long: the machine's share.
    """

    largest: int
    latencies: list[float] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)


class Watch:
    """A well-behaved client: it asks the same again and again, and knows the answer."""

    def __init__(self, house: House, ask: Ask) -> None:
        self.house = house
        self._ask = ask
        self._peer = Peer(house.socket)
        self._right = ask(self._peer)
        self.harms: list[str] = []

    def close(self) -> None:
        """Leave."""
        self._peer.close()

    def look(self, until: Callable[[], bool]) -> Look:
        """Ask until told, or until something is wrong."""
        look = Look(self.house.weigh())
        while not until() and not self.harms:
            began = time.perf_counter()
            try:
                answer = self._ask(self._peer)
            except (OSError, ValueError) as error:
                self.harms.append(f"the well-behaved client: {type(error).__name__}: {error}")
                break
            look.latencies.append(time.perf_counter() - began)
            if answer != self._right:
                self.harms.append(f"the well-behaved client was answered {str(answer)[:100]}")
            look.largest = max(look.largest, self.house.weigh())
            began = time.perf_counter()
            time.sleep(PAUSE_S)
            look.delays.append(time.perf_counter() - began - PAUSE_S)
        return look


@contextmanager
def _flooding(house: House, seed: int, size: int) -> Iterator[list[subprocess.Popen[str]]]:
    share = -(-size // FLOODERS)
    flooders = [
        subprocess.Popen(
            [
                *(sys.executable, "-m", "tests.faults.frames_flood", house.socket, str(seed)),
                *(str(first), str(min(share, size - first))),
            ],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        for first in range(0, size, share)
    ]
    try:
        yield flooders
    finally:
        for flooder in flooders:
            flooder.kill()
            flooder.wait()
            if flooder.stdout is not None:
                flooder.stdout.close()


def _flood(watch: Watch, seed: int, size: int) -> tuple[Look, int, int]:
    """What the client saw, how many frames were sent, and how many were answered."""
    with _flooding(watch.house, seed, size) as flooders:
        look = watch.look(lambda: all(flooder.poll() is not None for flooder in flooders))
        sent = answered = 0
        for flooder in flooders:
            if watch.harms:
                flooder.kill()
            out, _ = flooder.communicate()
            if not watch.harms:
                tally = json.loads(out)
                sent += tally["sent"]
                answered += tally["answered"]
                watch.harms += tally["faults"]
    return look, sent, answered


def _throw_bombs(house: House) -> tuple[list[str], int]:
    """Each bomb alone: what it harmed; and the most that one message cost, in bytes."""
    harms: list[str] = []
    worst = 0
    bombs = {name: HELLO_FRAME + bomb for name, bomb in make_bombs().items()}
    bombs["a hello of a megabyte"] = make_huge_hello()
    for name, content in bombs.items():
        house.forget_peak()
        before = house.weigh()
        try:
            answers = read_answers(open_with(house.socket, content))
        except (OSError, BadFrame) as error:
            harms.append(f"{name}: {type(error).__name__}: {error}")
            answers = []
        grown = house.read_peak() - before
        worst = max(worst, grown)
        if grown >= MESSAGE_GROWTH_BYTES:
            harms.append(f"{name}: memory grew by {grown / MEBIBYTE:.0f} MiB")
        accepted = [each for each in answers if each.error is None]
        if name not in HARMLESS and len(accepted) > content.startswith(HELLO_FRAME):
            harms.append(f"{name}: was accepted")
        if not house.lives():
            return [*harms, f"{name}: the process died"], worst
    return harms, worst


def _judge(house: House, ask: Ask, size: int, seed: int) -> Outcome:
    watch = Watch(house, ask)
    try:
        _flood(watch, seed + 1, WARM_UP)
        until = time.monotonic() + BASELINE_S
        calm = watch.look(lambda: time.monotonic() >= until)
        before = watch.house.weigh()
        busy, sent, answered = _flood(watch, seed, size)
        bomb_harms, worst = _throw_bombs(house)
        watch.look(lambda: True)
        harms = watch.harms + bomb_harms
    finally:
        watch.close()
    grown = busy.largest - before
    if grown >= FLOOD_GROWTH_BYTES:
        harms.append(f"memory grew by {grown / MEBIBYTE:.0f} MiB over the flood")
    calm_p99, busy_p99 = find_p99(calm.latencies), find_p99(busy.latencies)
    delay_p99 = find_p99(busy.delays)
    if busy_p99 >= max(P99_S, P99_RATIO * calm_p99) + delay_p99:
        harms.append(f"p99 is {busy_p99 * 1000:.0f} ms, and {calm_p99 * 1000:.0f} ms without")
    if not house.lives():
        harms.append("the process died")
    figures = {
        "frames that were answered, not only refused by closing": f"{answered:,}",
        "bombs": str(len(make_bombs()) + 1),
        "memory, growth over the flood": f"{grown / MEBIBYTE:.1f} MiB",
        "memory, most for one message": f"{worst / MEBIBYTE:.1f} MiB",
        "well-behaved client, requests beside the flood": f"{len(busy.latencies):,}",
        "well-behaved client, p99": f"{busy_p99 * 1000:.1f} ms",
        "well-behaved client, p99 without the flood": f"{calm_p99 * 1000:.1f} ms",
        "well-behaved client, p99 of its own pauses' lateness": f"{delay_p99 * 1000:.1f} ms",
    }
    return Outcome(sent, tuple(harms), figures)


def prove(size: int, seed: int, directory: Path) -> Outcome:
    """Flood a daemon."""
    with open_world(directory, model=False) as world:
        house = House.start(world)
        with Peer(house.socket) as peer:
            made = peer.call("conversation/create", {"name": "kept"})
            wanted = {"conversation_id": made["id"]}
            peer.call("conversation/note", {**wanted, "text": "to be read again and again"})
        outcome = _judge(house, lambda peer: peer.call("conversation/read", wanted), size, seed)
        after = world.owner()
        if after is None or after["pid"] != house.pid:
            return Outcome(outcome.cases, (*outcome.harms, "another daemon"), outcome.figures)
        return outcome


def control(size: int, seed: int, directory: Path) -> Outcome:
    """Flood a server that trusts its peers."""
    path = str(directory / "careless.sock")
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.frames_careless", path],
        cwd=ROOT,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(path)
        house = House(process.pid, path)
        ask: Ask = lambda peer: peer.call("anything", {})  # noqa: E731
        return _judge(house, ask, min(size, CONTROL_FRAMES), seed)
    finally:
        process.kill()
        process.wait()
