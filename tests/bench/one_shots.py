"""One question asked by a whole process, beside other programs that ask the same provider.

Peers do more than `ask`: codex, claude and opencode load tools, rules and a sandbox, and opencode
asks a second time, for a title; all but sgpt write what was said, as `ask` does. What the daemon
works for a question is in no CPU figure of these pairs; the herd counts it. A peer that does not
give the answer in an untimed run is not measured, and the row says why; one that fails in a timed
run makes the whole part void.
"""

import os
import statistics
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tests.bench.client import PASS
from tests.bench.measure import Command, cpu, pair, read_cpu_s, wall
from tests.bench.peers import KINDS, Peer, make_ready, missing_row
from tests.bench.program import find_ask
from tests.bench.provider import ANSWER_TEXT
from tests.bench.rows import Row
from tests.system.world import World

HERD = 16
HERD_GOALS = {"codex": 8.0, "llm": 40.0}
HERD_WORDS = {"llm": ["-n"]}
"""Without its log: of sixteen that write it at once, some end with "database is locked"."""
CPU_SHARE = 30
"""A question's work in client and daemon is to be this part of what llm does for it."""

WHY = """\
The CPU of a question is 1/14 to 1/390 of the others'. By the clock the distance is smaller, for
they spread their work over both cores (claude's CPU is 41 times that of `ask`, its time 19 times),
and of the time that `ask` takes three fifths are what a bare Python takes to start; the rest is
the turn in the daemon, whose parts are told with the client's. Four runs, three of them before
`ask` had its launcher, gave codex 7.9 to 9.6, claude 16 to 19, llm 35 to 41, sgpt 59 to 72,
opencode 108 to 147: each program is slowed by a busy machine in its own way. Of sixteen at once,
41 ms of CPU a question, in daemon and client, fill both cores."""


def measure_peers(world: World, rounds: int, peers: Mapping[str, Peer]) -> Iterator[Row]:
    """One process after the other, in pairs."""
    world.ok("warm")
    ours = Command([find_ask(), "hi"], world.env, expected=ANSWER_TEXT)
    for kind in KINDS:
        name, target = f"`{kind.shown}` against `ask`, one question", f"≥ {kind.goal:.0f}× wall"
        theirs = make_ready(peers.get(kind.name), world.home, world.env)
        if isinstance(theirs, str):
            yield missing_row(name, kind.name, target, theirs)
            continue
        pairing = pair(theirs, ours, rounds=rounds)
        ratio, (low, high) = pairing.ratio(wall), pairing.spread(wall)
        yield Row(
            f"{name} ({kind.name} {peers[kind.name].version})",
            f"{ratio:.1f}× wall ({low:.0f}–{high:.0f}), {pairing.ratio(cpu):.0f}× CPU",
            target,
            ratio >= kind.goal,
            ratio=ratio,
        )


@dataclass(frozen=True, slots=True)
class Herd:
    """So many processes at once: from the first start to the last end, and their CPU seconds."""

    wall_s: float
    cpu_s: float


def run_herd(command: Command, *, daemon: int | None = None) -> Herd:
    """Start all, wait for all; each must have said what it has to.

    Args:
        daemon: a process that works for them, whose CPU time counts too.
    """
    before = 0.0 if daemon is None else read_cpu_s(daemon)
    children = os.times()
    started = time.perf_counter()
    herd = [
        subprocess.Popen(
            command.argv,
            env=dict(command.env),
            cwd=command.directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(HERD)
    ]
    # What one says fits its pipe, so that none waits for another to be read.
    said = [each.communicate()[0] for each in herd]
    wall_s = time.perf_counter() - started
    for each, output in zip(herd, said, strict=True):
        if each.returncode or not command.is_said(output):
            raise RuntimeError(f"{command.argv}: exit code {each.returncode}, said {output!r}")
    after = os.times()
    cpu_s = after.children_user + after.children_system
    cpu_s -= children.children_user + children.children_system
    if daemon is not None:
        cpu_s += read_cpu_s(daemon) - before
    return Herd(wall_s, cpu_s)


def measure_herds(world: World, rounds: int, peers: Mapping[str, Peer]) -> Iterator[Row]:
    """Sixteen at once, each with a question; the herds take turns."""
    world.ok("warm")
    ours = Command([find_ask(), "hi"], world.env, expected=ANSWER_TEXT)
    pairs = pair_herds(Command(PASS, world.env), ours, world.daemon_pid(), rounds)
    ratio = statistics.median(herd.wall_s / nothing.wall_s for nothing, herd in pairs)
    each_ms = statistics.median(herd.wall_s for _, herd in pairs) * 1000 / HERD
    yield Row(
        f"{HERD} `ask` at once, against as many `python -c pass`",
        f"{ratio:.2f}× wall ({each_ms:.0f} ms each)",
        "reported",
        None,
        ratio=ratio,
    )
    for program, goal in HERD_GOALS.items():
        words = HERD_WORDS.get(program, [])
        shown = " ".join([program, *words])
        name, target = f"{HERD} `{shown}` at once, against {HERD} `ask`", f"≥ {goal:.0f}× wall"
        work = f"CPU of a question: `ask` with its daemon, against `{shown}`"
        command = make_ready(peers.get(program), world.home, world.env, words)
        if isinstance(command, str):
            yield missing_row(name, program, target, command)
            if program == "llm":
                yield missing_row(work, program, f"≤ 1/{CPU_SHARE}", command)
            continue
        pairs = pair_herds(command, ours, world.daemon_pid(), rounds)
        ratios = [theirs.wall_s / herd.wall_s for theirs, herd in pairs]
        ratio = statistics.median(ratios)
        yield Row(
            f"{name} ({program} {peers[program].version})",
            f"{ratio:.1f}× wall ({min(ratios):.0f}–{max(ratios):.0f})",
            target,
            ratio >= goal,
            ratio=ratio,
        )
        if program == "llm":
            share = statistics.median(theirs.cpu_s / herd.cpu_s for theirs, herd in pairs)
            each_ms = statistics.median(herd.cpu_s for _, herd in pairs) * 1000 / HERD
            figure = f"1/{share:.0f} ({each_ms:.0f} ms)"
            yield Row(work, figure, f"≤ 1/{CPU_SHARE}", share >= CPU_SHARE, ratio=1 / share)


def pair_herds(theirs: Command, ours: Command, daemon: int, rounds: int) -> list[tuple[Herd, Herd]]:
    """Herds in turn, after one of each to warm up."""
    run_herd(theirs)
    run_herd(ours, daemon=daemon)
    return [(run_herd(theirs), run_herd(ours, daemon=daemon)) for _ in range(rounds)]
