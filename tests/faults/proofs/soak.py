"""The daemon under many clients and a bad server, for long; then told to end in the middle."""

import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from os import close, pidfd_open
from pathlib import Path
from typing import TypeVar

import ask
from tests.faults.programmes import Outcome
from tests.faults.soak_ends import DRAIN_LIMIT_S, run_both
from tests.faults.soak_load import Load, describe, open_house
from tests.faults.soak_watch import MIB, Watch, count_descriptors, find_slope
from tests.system.servers import DAEMON
from tests.system.world import LIMIT_S, World

T = TypeVar("T")
U = TypeVar("U")

CLAIM = (
    "Thousands of turns by 50 clients, among them faults of the server, interruptions and killed "
    "clients, let the daemon's memory, once it has taken what it needs, grow by less than 1 MiB "
    "for 1,000 turns, its descriptors not at all and its write-ahead log to no 16 MiB (idle "
    "conversations leave memory after 5 s and not after 10 min, for the run to reach its steady "
    "state). Told to end in the middle of turns, the daemon lets them end, within 20 s; told "
    "twice, it interrupts them and is gone, within 1 s where the machine has time for it and 10 s "
    "where it has not; the next daemon knows exactly one end of each turn that was accepted."
)
CONTROL = (
    "One daemon keeps 1 MiB and an open file for each turn; another ends at the first word, with "
    "its turns in the middle. Both have to be found out."
)
UNIT = "turns"
CI = 120
FULL = 5_000

CLIENTS, CLIENTS_FULL = 12, 50
WARM, WARM_FULL = 60, 4_000
"""Turns that go by before those that are counted: by then the database's caches are full, and the
allocators have what they come to need, which takes them thousands of turns."""
GROWTH_LIMIT_BYTES = 25 * MIB
"""At sizes too small for a slope: what allocators and caches may take once."""
SLOPE_LIMIT_BYTES = 1 * MIB
"""For 1,000 turns, at the full size."""
SPARE_DESCRIPTORS = 8
"""Of pooled connections and the database's readers, which come and go."""
LOG_LIMIT_BYTES = 16 * MIB
STEADY_S, SETTLE_S = 2.0, 15.0
"""Descriptors that change no more for so long; what is closed is gone by then on a busy machine."""
STUCK_S = 90.0
"""Without any turn that ends; a lost daemon is waited for 30 s."""
TURNS_OF_CONTROL = 40
LAST_TURNS = 40
"""Asked for behind the soak, for some to be under way when the daemon is told to end."""

ENDS, ENDS_FULL = 1, 50
"""Of each kind: told once, and told twice."""

SOON = """
import sys
from askd.sessions import registry
registry.IDLE_UNLOAD_S, registry.SWEEP_S = 5.0, 1.0
from askd.__main__ import main
sys.exit(main(["run"]))
"""
"""The daemon as it is, but that what is idle leaves memory soon: at some 20 turns a second, 10 min
hold more conversations than the whole run begins."""
LEAKY = """
import os, sys
from askd.sessions.turns import TurnRun
kept, run = [], TurnRun.run
async def run_and_keep(self, **more):
    kept.append((os.urandom(1 << 20), open(os.devnull)))
    await run(self, **more)
TurnRun.run = run_and_keep
from askd.__main__ import main
sys.exit(main(["run"]))
"""
RASH = """
import signal, sys
import askd.signals
askd.signals.WATCHED = (signal.SIGHUP,)
from askd.__main__ import main
sys.exit(main(["run"]))
"""


def _start(load: Load, clients: int, name: str) -> list[threading.Thread]:
    threads = [
        threading.Thread(target=load.work, args=(f"{name}{each}",), daemon=True)
        for each in range(clients)
    ]
    for thread in threads:
        thread.start()
    return threads


def _finish(load: Load, threads: list[threading.Thread]) -> None:
    """Wait for all clients; one that waits for ever while nothing else happens is a trouble."""
    seen, until = load.count_ended(), time.monotonic() + STUCK_S
    while (left := sum(each.is_alive() for each in threads)) and time.monotonic() < until:
        time.sleep(0.1)
        if (now := load.count_ended()) != seen:
            seen, until = now, time.monotonic() + STUCK_S
    if left:
        load.troubles.append(f"{left} clients never saw the end of their turns")


def _wait_steady(pid: int) -> int:
    """How many descriptors are open, when they change no more."""
    until = time.monotonic() + SETTLE_S
    found, steady_at = count_descriptors(pid), time.monotonic() + STEADY_S
    while time.monotonic() < min(steady_at, until):
        time.sleep(0.1)
        now = count_descriptors(pid)
        if now != found:
            found, steady_at = now, time.monotonic() + STEADY_S
    return found


def _find_lost(load: Load) -> list[str]:
    """Turns that were accepted, and of whose end the next daemon knows nothing."""
    by_talk: dict[str, set[str]] = {}
    for conversation_id, turn_id in load.accepted.values():
        by_talk.setdefault(conversation_id, set()).add(turn_id)
    lost: list[str] = []
    until = time.monotonic() + SETTLE_S
    with ask.connect(load.world.env) as client:
        for conversation_id, turn_ids in by_talk.items():
            missing = turn_ids
            # The next daemon may have to end, or to repeat, what the last one left.
            while missing := missing - _find_ended(client, conversation_id):
                if time.monotonic() > until:
                    break
                time.sleep(0.2)
            lost += [f"the turn {each} of {conversation_id} was lost" for each in missing]
    return lost


def _find_ended(client: ask.Client, conversation_id: str) -> set[str | None]:
    """The turns of a conversation that have ended, in what is stored."""
    events = client.conversations.read(conversation_id)
    return {event.turn_id for event in events if isinstance(event, ask.Finished)}


def _end_in_the_middle(world: World, seed: int, clients: int) -> tuple[float, Load]:
    """SIGTERM while turns run: seconds until the daemon was gone."""
    load = Load(world, LAST_TURNS, seed)
    threads = _start(load, clients, "last")
    _wait_until(lambda: load.taken >= LAST_TURNS // 2)
    pid = world.daemon_pid()
    handle = pidfd_open(pid)
    try:
        load.leaving.set()
        told = time.monotonic()
        signal.pidfd_send_signal(handle, signal.SIGTERM)
        assert select.select([handle], [], [], LIMIT_S)[0], "the daemon did not end"
        took_s = time.monotonic() - told
    finally:
        close(handle)
    _finish(load, threads)
    return took_s, load


def _wait_until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < until, "it never came so far"
        time.sleep(0.01)


def run_soak(size: int, seed: int, directory: Path, program: Sequence[str]) -> Outcome:
    """Warm up, soak, and end."""
    is_full = size >= FULL
    clients = CLIENTS_FULL if is_full else min(CLIENTS, size)
    with open_house(directory, program) as (world, _):
        pid = world.daemon_pid()
        first = Load(world, WARM_FULL if is_full else min(WARM, size // 2), seed)
        soaked = Load(world, size, seed + 1)
        watch = Watch(
            pid, world.ask_home / "data" / "ask.db-wal", lambda: first.taken + soaked.taken
        )
        watcher = threading.Thread(target=watch.run)
        watcher.start()
        try:
            _finish(first, _start(first, clients, "warm"))
            begun = _wait_steady(pid)
            warmed = len(watch.memory)
            _finish(soaked, _start(soaked, clients, "soak"))
            left = _wait_steady(pid)
        finally:
            watch.end()
            watcher.join()
        took_s, last = _end_in_the_middle(world, seed + 2, clients)
        lost = [each for load in (first, soaked, last) for each in _find_lost(load)]
        troubles = [*first.troubles, *soaked.troubles, *last.troubles]
    points = watch.memory[warmed - 1 :]  # the first of them was taken at rest, before the soak
    slope = find_slope(points) * 1_000
    growth = points[-1][1] - points[0][1]
    harms = [*lost, *troubles]
    if is_full and slope >= SLOPE_LIMIT_BYTES:
        harms.append(f"memory grows by {slope / MIB:.2f} MiB for 1,000 turns")
    if growth >= GROWTH_LIMIT_BYTES:
        harms.append(f"memory grew by {growth / MIB:.1f} MiB")
    if left > begun + SPARE_DESCRIPTORS:
        harms.append(f"{left} descriptors are open, and {begun} were")
    if watch.longest_log >= LOG_LIMIT_BYTES:
        harms.append(f"the write-ahead log had {watch.longest_log / MIB:.1f} MiB")
    if took_s >= DRAIN_LIMIT_S:
        harms.append(f"the daemon ended after {took_s:.1f} s")
    figures = {
        "clients": f"{clients}",
        "turns": f"{describe(soaked.ended)}, after {first.taken:,} to warm up",
        "memory, before and after": f"{points[0][1] / MIB:.1f}, {points[-1][1] / MIB:.1f} MiB",
        **({"memory, for 1,000 turns": f"{slope / MIB:.2f} MiB"} if is_full else {}),
        "descriptors, before and after": f"{begun}, {left}",
        "write-ahead log, at most": f"{watch.longest_log / MIB:.1f} MiB",
        f"end with {clients} clients in the middle of turns": f"{took_s:.1f} s",
        "turns accepted by then": f"{sum(len(each.accepted) for each in (first, soaked, last)):,}, "
        f"{len(lost)} lost",
    }
    return Outcome(soaked.taken, tuple(harms), figures)


def prove(size: int, seed: int, directory: Path) -> Outcome:
    """The daemon as it is, but for when it unloads; and as it is, told to end again and again."""
    count = ENDS_FULL if size >= FULL else ENDS
    soaked, (harms, figures) = _run_beside(
        partial(run_soak, size, seed, directory / "soak", _launch(SOON)),
        partial(run_both, count, seed, directory / "ends", DAEMON),
    )
    return Outcome(soaked.cases, (*soaked.harms, *harms), {**soaked.figures, **figures})


def control(size: int, seed: int, directory: Path) -> Outcome:
    """A daemon that keeps what it should not, and one that drains nothing."""
    size = min(size, TURNS_OF_CONTROL)
    soaked, (harms, _) = _run_beside(
        partial(run_soak, size, seed, directory / "soak", _launch(LEAKY)),
        partial(run_both, ENDS, seed, directory / "ends", _launch(RASH)),
    )
    found = (_sees(soaked.harms, "memory"), _sees(soaked.harms, "descriptors"), bool(harms))
    return Outcome(soaked.cases, (*soaked.harms, *harms) if all(found) else ())


def _run_beside(one: Callable[[], T], other: Callable[[], U]) -> tuple[T, U]:
    """Both at a time: each waits more than it works."""
    with ThreadPoolExecutor(1) as pool:
        others = pool.submit(other)
        return one(), others.result()


def _launch(program: str) -> tuple[str, ...]:
    return (sys.executable, "-P", "-c", program)


def _sees(harms: Sequence[str], what: str) -> bool:
    return any(what in each for each in harms)
