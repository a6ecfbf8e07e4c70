"""A daemon is killed, and twenty clients come at once."""

import os
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tests.faults.herds import CLIENTS, LIMIT_S, run_herd, watch_modes
from tests.faults.programmes import Outcome
from tests.system.world import ASK, World, open_world

CLAIM = (
    "Of twenty clients that come at the moment in which their daemon is killed each gets its own"
    " answer, from one daemon that they started together, as soon as may be; the socket and its"
    " directory are nobody else's at any time."
)
CONTROL = (
    "Clients without the start lock, and daemons that take the data directory and the socket"
    " whoever has them."
)
UNIT = "rounds"
CI = 2
FULL = 200

READY_LIMIT_S = 3.0
SLOWER = 3.0
"""So many times what it takes one client alone to start a daemon, and then twenty to be answered
by it: on a machine that is busy with other things nobody is done within `READY_LIMIT_S`."""
MEASURED_EVERY = 10
"""So often that is measured, in rounds."""
CONTROLLED = 10
"""So many rounds at the most."""
SETTLE_S = 10.0
"""A daemon that lost its race for the data directory is gone by then."""

UNLOCKED = Path(__file__).parents[1] / "unlocked.py"


def prove(size: int, seed: int, directory: Path) -> Outcome:
    """So many kills of one daemon after the other; equal seeds change nothing here."""
    harms: list[str] = []
    cold: list[float] = []
    warm: list[float] = []
    alone: list[float] = []
    with open_world(directory) as world:
        world.ok("-q", "ECHO:first")
        place = world.ask_home / "run" / "askd.sock"
        with watch_modes(place, harms):
            for number in range(size):
                if number % MEASURED_EVERY == 0:
                    kill(world)
                    alone += measure(world, f"alone {number}", 1, harms)
                    warm += measure(world, f"warm {number}", CLIENTS, harms)
                started = count_starts(world)
                kill(world)
                herd = run_herd(world, f"round {number}", (ASK,))
                cold += herd.took_s
                harms += herd.harms
                harms += judge_owner(world, f"round {number}", started)
    limit_s = max(READY_LIMIT_S, SLOWER * (max(alone) + find_p99(warm)))
    if find_p99(cold) > limit_s:
        harms.append(f"Of 100 clients 99 were done in {find_p99(cold):.1f} s, not {limit_s:.1f} s.")
    figures = {
        "answered, p50": f"{find_p50(cold):.2f} s",
        "answered, p99": f"{find_p99(cold):.2f} s",
        "one client alone": f"{max(alone):.2f} s",
        "answered where a daemon runs, p99": f"{find_p99(warm):.2f} s",
        "clients": f"{size * CLIENTS:,}",
    }
    return Outcome(size, tuple(harms), figures)


def control(size: int, seed: int, directory: Path) -> Outcome:
    """The same clients and judge, until there is a harm: a race may end well by chance."""
    harms: list[str] = []
    rounds = 0
    with open_world(directory) as world:
        command = (sys.executable, str(UNLOCKED))
        # As in the proof there is a store already: to make one, a daemon has it for itself.
        world.ok("-q", "ECHO:first")
        try:
            while not harms and rounds < CONTROLLED:
                started = count_starts(world)
                kill_all(world)
                herd = run_herd(world, f"round {rounds}", command)
                harms += herd.harms
                harms += judge_owner(world, f"round {rounds}", started)
                rounds += 1
        finally:
            kill_all(world)
    return Outcome(rounds, tuple(harms))


def measure(world: World, name: str, clients: int, harms: list[str]) -> Sequence[float]:
    """What so many clients take, in seconds each."""
    herd = run_herd(world, name, (ASK,), clients)
    harms += herd.harms
    return herd.took_s


def kill(world: World) -> None:
    """End the daemon, and do not wait: clients may find it dying."""
    os.kill(world.daemon_pid(), signal.SIGKILL)


def kill_all(world: World) -> None:
    """End every daemon of this home, however many there are."""
    for pid in world.find_daemons():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def count_starts(world: World) -> int:
    """How many daemons ever took this home for theirs, by what each says when it is ready."""
    return world.log().count("Ready: pid=")


def judge_owner(world: World, name: str, started: int) -> list[str]:
    """That one daemon started since there had been so many, and that it runs, and owns."""
    until = time.monotonic() + SETTLE_S
    while time.monotonic() < until:
        found = world.find_daemons()
        if len(found) == 1 and count_starts(world) > started:
            break
        time.sleep(0.05)
    note = world.owner()
    harms = []
    if (starts := count_starts(world) - started) != 1:
        harms.append(f"{name}: {starts} daemons took the data directory.")
    if len(found) != 1:
        harms.append(f"{name}: {len(found)} daemons run.")
    if note is None or [note["pid"]] != found:
        harms.append(f"{name}: the owner's note names another than the daemon that runs.")
    return harms


def find_p99(values: Sequence[float]) -> float:
    """The value that 99 of 100 do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))] if ordered else LIMIT_S


def find_p50(values: Sequence[float]) -> float:
    """The middle one."""
    return sorted(values)[len(values) // 2] if values else LIMIT_S
