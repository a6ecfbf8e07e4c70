"""Power cuts: what was answered is on the disk, and the store starts on whatever else is there."""

import hashlib
import os
import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import trio

from tests.faults.power_disk import Disk, State
from tests.faults.power_start import hear, start
from tests.faults.power_trace import Step, record
from tests.faults.programmes import Outcome

CLAIM = (
    "After a power cut the store starts, with every event that a caller was told of and none of a "
    "conversation that was deleted; its rollouts tell what the log tells. Unsynced writes are "
    "lost, out of order or torn at 512 bytes, names that no sync covers are lost from the last on."
)
CONTROL = "The writer commits with synchronous=NORMAL, which leaves the log to the kernel."
UNIT = "states after a cut"
CI = 600
FULL = 5000

TRACES = 5
"""At the least in full size: what is at work at once differs from one to the other."""
PER_TRACE = 300
"""Of one trace in smaller sizes; a trace has some 1,700 steps."""
ROUNDS = 1000
"""Through a trace, for states that differ; a round of the last few costs no start."""
CONTROLLED = 100
"""States of the control: more than half of them lose something."""
SHARED_MEMORY = Path("/dev/shm")
"""Here the states are made if it is there: what they are synced to says nothing."""


def prove(size: int, seed: int, directory: Path) -> Outcome:
    """So many states that differ, from as many traces as it takes."""
    return _run(size, seed, directory, "FULL")


def control(size: int, seed: int, directory: Path) -> Outcome:
    """The same with a writer that is in a hurry."""
    return _run(min(size, CONTROLLED), seed, directory, "NORMAL")


def _run(size: int, seed: int, directory: Path, mode: str) -> Outcome:
    traces = max(1, min(TRACES, size // PER_TRACE))
    harms: list[str] = []
    cases = steps = broken = 0
    memory = SHARED_MEMORY if os.access(SHARED_MEMORY, os.W_OK) else None
    for number in range(traces):
        trace = record(directory / f"trace-{number}", seed=seed + number, mode=mode)
        steps += len(trace)
        wanted = size // traces + (number < size % traces)
        dice = random.Random(f"{seed}:{number}")
        with tempfile.TemporaryDirectory(prefix="ask-power-", dir=memory) as place:
            for at, state in _cut(trace, wanted, dice):
                found = _judge(state, Path(place) / str(cases))
                cases += 1
                broken += bool(found)
                harms += [f"trace {number}, step {at}: {harm}" for harm in found]
    figures = {
        "traces": str(traces),
        "steps, in all of them": f"{steps:,}",
        "states with a harm": f"{broken:,}",
    }
    return Outcome(cases, tuple(harms), figures)


def _cut(trace: list[Step], wanted: int, dice: random.Random) -> Iterator[tuple[int, State]]:
    """So many different states, spread over the whole trace; each with its step."""
    seen: set[str] = set()
    for _ in range(ROUNDS):
        disk = Disk()
        points = set(dice.sample(range(len(trace)), min(wanted - len(seen), len(trace))))
        for at, step in enumerate(trace):
            disk.take(step)
            if at not in points:
                continue
            state = disk.cut(dice)
            mark = _digest(state)
            if mark not in seen:
                seen.add(mark)
                yield at, state
        if len(seen) == wanted:
            return
    raise RuntimeError(f"A trace of {len(trace)} steps has only {len(seen)} states.")


def _digest(state: State) -> str:
    digest = hashlib.sha256(state.told.encode())
    for name, content in sorted(state.files.items()):
        digest.update(f"{name}:{len(content)}:".encode() + content)
    return digest.hexdigest()


def _judge(state: State, home: Path) -> list[str]:
    """Start on a state; what is wrong."""
    home.mkdir(mode=0o700)
    state.put(home)
    try:
        return trio.run(start, home, hear(state.told))
    finally:
        # A thread of the mirror may still be at its last file.
        shutil.rmtree(home, ignore_errors=True)
