"""`python -m tests.bench.run`: measures, prints a table, and writes it to docs/reference/speed.md.

Everything talks to loopback alone. Times are whole processes; targets are ratios
of things measured in the same run (see `measure`). A peer that is not on PATH
is named as not measured.
"""

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ask.connection import Client
from tests.bench import appends, compactions, contexts, dialects, history, latency, lengths
from tests.bench.measure import Command, cpu, pair, resident_bytes, run_once, wall
from tests.bench.rows import Row, ratio_row
from tests.system.world import ASK, ROOT, World, open_world

PAGE = ROOT / "docs" / "reference" / "speed.md"
ANSWER = " ".join(f"tok{number}" for number in range(20))
PASS = [sys.executable, "-c", "pass"]
IDLE_SESSIONS = 1000
LLM_CHATS = 100
SAMPLED_CHATS = 3
BARE_IMPORTS = (
    "import trio, httpx, pydantic, msgpack, sys; print('up', flush=True); sys.stdin.read()"
)


def measure_client(world: World, rounds: int) -> Iterator[Row]:
    """G1: the fast path against a Python that does nothing."""
    nothing = Command(PASS, world.env)
    world.ok("warm")
    status = Command([ASK, "daemon", "status"], world.env)
    prompt = Command([ASK, "hi"], world.env, expected=ANSWER)
    yield ratio_row("`ask daemon status`", pair(status, nothing, rounds=rounds), 1.2, must=True)
    one_shot = pair(prompt, nothing, rounds=rounds)
    yield ratio_row('`ask "hi"`, answered and durable', one_shot, 1.8, must=True)
    ratio = one_shot.ratio(wall)
    yield Row("the same, stretch target", f"{ratio:.2f}× wall", "≤ 1.3× wall", ratio <= 1.3)


def measure_cold(world: World, rounds: int) -> Iterator[Row]:
    """The first prompt of the day: no daemon runs before it."""

    def stop() -> None:
        if world.owner() is not None:
            world.ok("daemon", "stop")

    cold = Command([ASK, "hi"], world.env, expected=ANSWER, before=stop)
    pairing = pair(cold, Command(PASS, world.env), rounds=rounds)
    low, high = pairing.spread(wall)
    yield Row(
        '`ask "hi"` that starts the daemon',
        f"{pairing.ratio(wall):.1f}× wall ({low:.1f}–{high:.1f})",
        "of `python -c pass`; reported",
        None,
    )


def measure_llm(world: World, rounds: int, llm: str | None) -> Iterator[Row]:
    """G2: `llm` with its log on, the same server, the same prompt."""
    name = "`llm` one-shot against `ask` one-shot"
    if llm is None:
        yield Row(name, "llm is not on PATH", "≥ 40× wall", None)
        return
    home = world.home / "llm"
    home.mkdir()
    (home / "extra-openai-models.yaml").write_text(
        f"- model_id: fake\n  model_name: fake\n  api_base: {world.env['OPENAI_BASE_URL']}\n"
    )
    env = {**world.env, "LLM_USER_PATH": str(home)}
    peer = Command([llm, "-m", "fake", "--key", "k", "hi"], env, expected=ANSWER)
    ours = Command([ASK, "hi"], world.env, expected=ANSWER)
    pairing = pair(peer, ours, rounds=rounds)
    low, high = pairing.spread(wall)
    version = subprocess.run([llm, "--version"], capture_output=True, text=True, check=True).stdout
    yield Row(
        f"{name} ({version.strip()})",
        f"{pairing.ratio(wall):.0f}× wall ({low:.0f}–{high:.0f}), {pairing.ratio(cpu):.0f}× CPU",
        "≥ 40× wall",
        pairing.ratio(wall) >= 40,
    )


def measure_latency(world: World, rounds: int) -> Iterator[Row]:
    """G4: a token's delay through the daemon against the provider's own stream."""
    world.ok("warm")
    median, worst, delays = latency.compare(world.env, rounds)
    name = "a token's delay through the daemon, against httpx straight from the provider"
    figure = f"{median:.2f}× ({delays.median * 1e6:.0f} µs)"
    yield Row(name, figure, "≤ 1.25×", median <= 1.25)
    figure = f"{worst:.2f}× ({delays.worst * 1e6:.0f} µs)"
    yield Row("the same, the 99th of a hundred", figure, "≤ 1.6×", worst <= 1.6)


def measure_dialects(rounds: int) -> Iterator[Row]:
    """Events a second beside the bare socket, for each dialect."""
    for dialect in dialects.DIALECTS:
        rate = dialects.measure(dialect, rounds)
        yield Row(
            f"events read in `{dialect}`, against lines and JSON from a bare socket",
            f"{rate.ratio:.2f}× ({rate.events:,.0f} a second)",
            "reported",
            None,
        )


def measure_appends() -> Iterator[Row]:
    """G7: durable appends."""
    single, bare, rate = appends.compare()
    yield Row(
        "durable appends, 64 sessions, against a commit per append",
        f"{single:.1f}× ({rate:,.0f} a second)",
        "≥ 10×",
        single >= 10,
    )
    yield Row("the same against bare SQLite, 64 a commit", f"{bare:.2f}×", "≥ 0.5×", bare >= 0.5)


@contextmanager
def bare_process(env: Mapping[str, str]) -> Iterator[int]:
    """A Python that has imported what the daemon imports, and waits."""
    process = subprocess.Popen(
        [sys.executable, "-c", BARE_IMPORTS], env=dict(env), stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
    finally:
        process.communicate()


def measure_memory(world: World, llm: str | None) -> Iterator[Row]:
    """G9: what an idle daemon keeps, and what a thousand idle conversations add."""
    if world.owner() is not None:
        world.ok("daemon", "stop")
    world.ok("warm")
    pid = world.daemon_pid()
    idle = resident_bytes(pid)
    with bare_process(world.env) as bare_pid:
        bare = resident_bytes(bare_pid)
    yield Row(
        "idle daemon's memory against its bare imports",
        f"{idle / bare:.2f}× ({idle / 2**20:.0f} MiB)",
        "≤ 1.4×",
        idle / bare <= 1.4,
    )
    client = Client.connect(world.env)
    for number in range(IDLE_SESSIONS):
        made = client.call("conversation/create", {"name": f"idle {number}"})
        reference = {"conversation_id": made["id"]}
        client.call("conversation/subscribe", reference)
        client.call("conversation/unsubscribe", reference)
    client.close()
    full = resident_bytes(pid)
    yield Row(
        f"the same with {IDLE_SESSIONS} idle conversations in memory, against idle",
        f"{full / idle:.2f}× ({full / 2**20:.0f} MiB)",
        "≤ 1.5×",
        full / idle <= 1.5,
    )
    yield from measure_attached(world, llm)


def measure_attached(world: World, llm: str | None) -> Iterator[Row]:
    """G9: a hundred attached terminals and their daemon, against as many `llm chat`."""
    name = f"{LLM_CHATS} attached terminals with the daemon, against {LLM_CHATS} `llm chat`"
    if llm is None:
        yield Row(name, "llm is not on PATH", "≤ 1/20", None)
        return
    world.ok("-s", "watched", "seen")
    watchers = [world.start("attach", "watched", "--no-input") for _ in range(LLM_CHATS)]
    for watcher in watchers:
        watcher.wait_for("seen")
    ours = unique_bytes(world.daemon_pid()) + sum(unique_bytes(w.process.pid) for w in watchers)
    for watcher in watchers:
        watcher.process.terminate()
        watcher.finish()
    env = {**world.env, "LLM_USER_PATH": str(world.home / "llm")}
    chats = [
        world.start("chat", "-m", "fake", "--key", "k", command=(llm,), env=env,
                    stdin=subprocess.PIPE)
        for _ in range(SAMPLED_CHATS)
    ]  # fmt: skip
    for chat in chats:
        chat.wait_for("Chatting with")
    theirs = LLM_CHATS * sum(unique_bytes(c.process.pid) for c in chats) / SAMPLED_CHATS
    for chat in chats:
        chat.process.terminate()
        chat.finish()
    yield Row(
        f"{name} (private memory; {SAMPLED_CHATS} chats sampled)",
        f"1/{theirs / ours:.1f} ({ours / 2**20:.0f} against {theirs / 2**20:.0f} MiB)",
        "≤ 1/20",
        ours <= theirs / 20,
    )


def unique_bytes(pid: int) -> int:
    """The memory that would come free if only this process ended."""
    total = 0
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as stream:
        for line in stream:
            if line.startswith(("Private_Clean", "Private_Dirty")):
                total += int(line.split()[1]) * 1024
    return total


@contextmanager
def fast_provider() -> Iterator[str]:
    """The base URL of a provider without latency."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.provider"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.communicate()


@dataclass(frozen=True)
class Asked:
    """What the command line says."""

    rounds: int
    only: frozenset[str]
    corpora: Path | None
    messages: int
    llm: str | None


def measure_all(asked: Asked) -> list[Row]:
    """Every row that was asked for, in one run."""
    rows: list[Row] = []
    rounds = asked.rounds
    with (
        tempfile.TemporaryDirectory() as directory,
        fast_provider() as base_url,
        open_world(Path(directory), model=False) as world,
    ):
        world.env |= {"OPENAI_API_KEY": "key-for-loopback", "OPENAI_BASE_URL": base_url}
        for name in ("COVERAGE_PROCESS_START", "COVERAGE_FILE"):
            world.env.pop(name, None)
        sources: dict[str, Callable[[], Iterator[Row]]] = {
            "client": lambda: measure_client(world, rounds),
            "cold": lambda: measure_cold(world, max(5, rounds // 4)),
            "llm": lambda: measure_llm(world, max(5, rounds // 4), asked.llm),
            "latency": lambda: measure_latency(world, max(5, rounds // 4)),
            "dialects": lambda: measure_dialects(max(3, rounds // 8)),
            "appends": measure_appends,
            "memory": lambda: measure_memory(world, asked.llm),
            "contexts": lambda: contexts.measure_contexts(max(3, rounds // 4)),
            "lengths": lambda: lengths.measure_lengths(Path(directory), max(5, rounds // 2)),
            "plans": lambda: compactions.measure_plans(max(3, rounds // 4)),
            "compactions": lambda: measure_compactions(base_url, max(5, rounds // 4)),
            "history": lambda: measure_store(asked),
        }
        if unknown := asked.only - sources.keys():
            raise SystemExit(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(sources)}")
        for name, source in sources.items():
            if asked.only and name not in asked.only:
                continue
            for row in source():
                print(row.render(), flush=True)
                rows.append(row)
    return rows


def measure_compactions(base_url: str, rounds: int) -> Iterator[Row]:
    """In a home of its own: it has settings that the other rows have not."""
    with (
        tempfile.TemporaryDirectory() as directory,
        open_world(Path(directory), model=False) as world,
    ):
        world.env |= {"OPENAI_API_KEY": "key-for-loopback", "OPENAI_BASE_URL": base_url}
        yield from compactions.measure_beside(world, rounds)


def measure_store(asked: Asked) -> Iterator[Row]:
    """G8, on stores that take minutes to build and so have a place of their own."""
    if asked.corpora is None:
        name = f"a store of {asked.messages:,} messages against a tenth"
        yield Row(name, "no --corpora directory was given", "≤ 2.5×", None)
        return
    yield from history.measure_history(
        asked.corpora, asked.rounds, messages=asked.messages, llm=asked.llm
    )


def render(rows: list[Row], rounds: int) -> str:
    """The page."""
    kernel, python = platform.release().partition("-")[0], platform.python_version()
    machine = f"{os.cpu_count()} cores, Linux {kernel}, Python {python}"
    base = run_once(Command(PASS, dict(os.environ)))
    lines = [
        "# Speed and size",
        "",
        f"Written by `python -m tests.bench.run` in one run: {rounds} pairs a row, run in turn,",
        f"the median of the pairs' ratios (smallest–largest). {machine};",
        f"`python -c pass` took {base.wall_s * 1000:.0f} ms at the end. Trust the ratios.",
        "",
        "| what | measured | target | holds |",
        "|---|---|---|---|",
        *(row.render() for row in rows),
        "",
    ]
    return "\n".join(lines)


def main() -> int:
    """Measure, print, write; 1 if a target that must hold does not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    parser.add_argument("--only", default="", help="parts, with commas: client, history, ...")
    parser.add_argument("--corpora", type=Path, help="where the large stores are, or are built")
    parser.add_argument("--messages", type=int, default=history.MESSAGES, help="of the largest")
    parser.add_argument("--llm", default=shutil.which("llm"), help="the program, if not on PATH")
    options = parser.parse_args()
    asked = Asked(
        rounds=options.rounds,
        only=frozenset(filter(None, options.only.split(","))),
        corpora=options.corpora,
        messages=options.messages,
        llm=options.llm,
    )
    rows = measure_all(asked)
    page = render(rows, options.rounds)
    if options.write:
        PAGE.write_text(page)
    failed = [row.name for row in rows if row.must and row.holds is False]
    for name in failed:
        print(f"does not hold: {name}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
