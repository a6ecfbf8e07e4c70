"""Measures whole processes in pairs: A B A B ..., the ratio of each pair, their median.

Absolute times on a shared machine drift by a factor of three within minutes; the
ratio of two runs that follow each other hardly does. A run whose output is not
the expected one is an error, not a time.
"""

import os
import select
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

RUN_LIMIT_S = 120.0
"""For one process. The slowest takes some seconds; one that hangs must not hang all the rest."""
READ_BYTES = 64 * 1024


@dataclass(frozen=True)
class Run:
    """One process: wall and CPU seconds (of it and its children), peak memory in bytes."""

    wall_s: float
    cpu_s: float
    peak_bytes: int


@dataclass(frozen=True)
class Command:
    """What is run, and what its standard output must be (None: anything).

    Attributes:
        whole: `expected` is all that is to be said; else it is to be somewhere in it, once.
        directory: where it works; None: where the bench does.
    """

    argv: Sequence[str]
    env: Mapping[str, str]
    expected: str | None = None
    before: Callable[[], None] | None = None
    whole: bool = True
    directory: Path | None = None

    def is_said(self, output: bytes) -> bool:
        """Whether this output is what was expected."""
        if self.expected is None:
            return True
        said = output.decode().strip()
        return said == self.expected if self.whole else said.count(self.expected) == 1


def run_once(command: Command) -> Run:
    """Run to the end; raise if it failed or said something else than expected."""
    if command.before is not None:
        command.before()
    started = time.perf_counter()
    process = subprocess.Popen(
        command.argv,
        env=dict(command.env),
        cwd=command.directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    output = read_all(process)
    _, status, usage = os.wait4(process.pid, 0)
    wall_s = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    if process.returncode != 0:
        raise RuntimeError(f"{command.argv}: exit code {process.returncode}")
    if not command.is_said(output):
        raise RuntimeError(f"{command.argv}: said {output!r}")
    return Run(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def read_all(process: subprocess.Popen[bytes]) -> bytes:
    """Its standard output to the end; one that does not end within `RUN_LIMIT_S` is killed."""
    assert process.stdout is not None
    descriptor, pieces = process.stdout.fileno(), list[bytes]()
    until = time.perf_counter() + RUN_LIMIT_S
    while select.select([descriptor], [], [], max(until - time.perf_counter(), 0.0))[0]:
        data = os.read(descriptor, READ_BYTES)
        if not data:
            return b"".join(pieces)
        pieces.append(data)
    process.kill()
    process.wait()
    process.stdout.close()
    raise RuntimeError(f"{process.args!r} did not end within {RUN_LIMIT_S:.0f} s")


@dataclass(frozen=True)
class Pairing:
    """Runs of A and B in turn."""

    a: Sequence[Run]
    b: Sequence[Run]

    def ratio(self, what: Callable[[Run], float]) -> float:
        """The median over the pairs of A's figure by B's."""
        return statistics.median(
            what(a) / max(what(b), 1e-9) for a, b in zip(self.a, self.b, strict=True)
        )

    def spread(self, what: Callable[[Run], float]) -> tuple[float, float]:
        """The smallest and the largest ratio."""
        ratios = [what(a) / max(what(b), 1e-9) for a, b in zip(self.a, self.b, strict=True)]
        return min(ratios), max(ratios)


def wall(run: Run) -> float:
    """Wall seconds."""
    return run.wall_s


def cpu(run: Run) -> float:
    """CPU seconds."""
    return run.cpu_s


def pair(a: Command, b: Command, *, rounds: int) -> Pairing:
    """Run both once to warm up, then `rounds` times in turn."""
    run_once(a)
    run_once(b)
    runs = [(run_once(a), run_once(b)) for _ in range(rounds)]
    return Pairing([a for a, _ in runs], [b for _, b in runs])


def resident_bytes(pid: int) -> int:
    """The resident memory of a process now, from the kernel."""
    with open(f"/proc/{pid}/statm", encoding="ascii") as stream:
        return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def read_cpu_s(pid: int) -> float:
    """The CPU seconds that a process, with all of its threads, has taken so far."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as stream:
        fields = stream.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
