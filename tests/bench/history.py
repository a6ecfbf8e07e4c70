"""How a store of a million messages answers, beside one of a hundred thousand.

Two daemons run at once, on stores of the same making, and answer in turn: what does
not depend on the size has the ratio 1. What a person would wait for is measured as
whole processes, beside `grep` over the same messages and `llm` over the same number.
"""

import re
import shutil
import sqlite3
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ask.commands.calls import list_pages, read_tail, resolve
from ask.connection import Client
from ask.tails import find_last_messages
from ask.transcript import Map
from tests.bench.corpus import COMMON, RARE, Corpus, open_corpus
from tests.bench.measure import Command, Run, cpu, pair, resident_bytes, run_once, wall
from tests.bench.peers import Peer, missing_row
from tests.bench.program import find_ask
from tests.bench.rows import Row
from tests.system.world import World

MESSAGES = 1_000_000
SCALE = 10
"""The smaller store is a tenth of the larger one."""
REPEATS = 5
"""Requests of one sample: a single one is as long as a turn of the scheduler."""
HITS = 20
CHOSEN = 20
"""Conversations that are read, so that no page of the file is read twice in a row."""
SIZES = (90, 110)
"""Messages of those: as many in both stores."""
SETTINGS = "[rollouts]\nenabled = false\n"
"""Nothing is written beside the store that is measured."""
LLM_LOG = Path(__file__).with_name("llm_log.py")
LLM_HIT = re.compile(r"^# 20\d\d-", re.MULTILINE)
"""How each answer that `llm logs` shows begins."""

Ask = Callable[["Side"], object]


@dataclass(frozen=True, slots=True)
class Side:
    """A store, its running daemon, and a connection to it."""

    corpus: Corpus
    world: World
    client: Client
    chosen: Sequence[str]

    def search(self, text: str, *, rank: bool = False) -> list[dict[str, Any]]:
        """A page of hits, which must be full."""
        asked = {"text": text, "rank": rank, "limit": HITS}
        hits: list[dict[str, Any]] = self.client.call("conversation/search", asked)["data"]
        if len(hits) != HITS:
            raise RuntimeError(f"{len(hits)} hits of {text!r} came of {HITS}")
        return hits

    def read_last(self, number: int) -> None:
        """The last messages of a conversation, as `ask history show -n 20` reads them."""
        found = resolve(self.client, self.chosen[number % len(self.chosen)])

        def is_enough(events: Sequence[Map]) -> bool:
            return find_last_messages(events, HITS) is not None

        if not is_enough(read_tail(self.client, found, HITS, is_enough=is_enough)):
            raise RuntimeError(f"the last {HITS} messages of {found['id']} did not come")


@contextmanager
def open_side(corpus: Corpus) -> Iterator[Side]:
    """The store's daemon, for as long as the block lasts."""
    world = World(corpus.home, None)
    config = world.ask_home / "config" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text(SETTINGS)
    for name in ("COVERAGE_PROCESS_START", "COVERAGE_FILE"):
        world.env.pop(name, None)
    try:
        world.ok("daemon", "start")  # a schema that is newer than the store is made here
        with closing(sqlite3.connect(f"file:{corpus.database}?mode=ro", uri=True)) as reader:
            rows = reader.execute(
                "SELECT id FROM conversations WHERE message_count BETWEEN ? AND ?"
                " ORDER BY id LIMIT ?",
                (*SIZES, CHOSEN),
            ).fetchall()
        with Client.connect(world.env) as client:
            yield Side(corpus, world, client, [id for (id,) in rows])
    finally:
        world.close()


def measure_history(
    directory: Path, rounds: int, *, messages: int, llm: Peer | None
) -> Iterator[Row]:
    """Every row, with stores below `directory`."""
    corpora = [open_corpus(directory, number) for number in (messages // SCALE, messages)]
    with ExitStack() as stack:
        small, large = (stack.enter_context(open_side(corpus)) for corpus in corpora)
        yield from _measure_requests(small, large, rounds)
        yield from _measure_processes(small, large, rounds)
        yield from _measure_grep(large, rounds)
        yield from _measure_llm(small, directory, rounds, llm)
        yield from _measure_daemons(small, large, rounds)


def _measure_requests(small: Side, large: Side, rounds: int) -> Iterator[Row]:
    turns = iter(range(10**9))
    asked: list[tuple[str, float | None, Ask]] = [
        ("the first page of `ask history list`", 1.5, lambda side: list_first(side)),
        ("the last 20 messages of a conversation", 2.5, lambda side: side.read_last(next(turns))),
        ("a search, the newest first: a rare word", 2.5, lambda side: side.search(RARE)),
        ("a search, the newest first: a frequent word", 2.5, lambda side: side.search(COMMON)),
        ("a search by rank: a rare word", None, lambda side: side.search(RARE, rank=True)),
        ("a search by rank: a frequent word", None, lambda side: side.search(COMMON, rank=True)),
        ("all of `ask history list`", None, lambda side: list_pages(side.client, live=False)),
    ]
    size = f"{large.corpus.facts.messages:,} messages against a tenth"
    for name, limit, ask in asked:
        pairs = time_in_turn(partial(ask, large), partial(ask, small), rounds)
        yield scale_row(f"{name}, {size}", pairs, limit)


def list_first(side: Side) -> object:
    """The newest conversations, and how many there are."""
    rows, total = list_pages(side.client, live=False, limit=HITS)
    if len(rows) != HITS or total != side.corpus.facts.conversations:
        raise RuntimeError(f"{len(rows)} rows of {total} conversations")
    return rows


def time_in_turn(
    a: Callable[[], object], b: Callable[[], object], rounds: int
) -> list[tuple[float, float]]:
    """Seconds of one call of each, in pairs; the first of a pair is the other one each time."""

    def sample(what: Callable[[], object]) -> float:
        started = time.perf_counter()
        for _ in range(REPEATS):
            what()
        return (time.perf_counter() - started) / REPEATS

    sample(a)
    sample(b)
    pairs = []
    for number in range(rounds):
        if number % 2:
            first = sample(a)
            pairs.append((first, sample(b)))
        else:
            second = sample(b)
            pairs.append((sample(a), second))
    return pairs


def scale_row(name: str, pairs: Sequence[tuple[float, float]], limit: float | None) -> Row:
    """How many times as long the larger store takes."""
    ratios = [large / small for large, small in pairs]
    ratio = statistics.median(ratios)
    took_ms = statistics.median(large for large, _ in pairs) * 1000
    figure = f"{ratio:.2f}× ({min(ratios):.2f}–{max(ratios):.2f}; {took_ms:.1f} ms)"
    if limit is None:
        return Row(name, figure, "reported", None, ratio=ratio)
    return Row(name, figure, f"≤ {limit}×", ratio <= limit, ratio=ratio)


def _measure_processes(small: Side, large: Side, rounds: int) -> Iterator[Row]:
    for name, words in (
        ("`ask history search` of a rare word", ("history", "search", RARE)),
        ("`ask history show -n 20`", ("history", "show", large.chosen[0], "-n", str(HITS))),
    ):
        commands = []
        for side in (large, small):
            said = (*words[:2], side.chosen[0], *words[3:]) if "show" in words else words
            commands.append(checked(Command([find_ask(), *said], side.world.env)))
        pairing = pair(*commands, rounds=rounds)
        low, high = pairing.spread(wall)
        ratio = pairing.ratio(wall)
        took_ms = statistics.median(run.wall_s for run in pairing.a) * 1000
        yield Row(
            f"{name} as a whole process, the same two stores",
            f"{ratio:.2f}× wall ({low:.2f}–{high:.2f}; {took_ms:.0f} ms)",
            "≤ 2.5× wall",
            ratio <= 2.5,
            ratio=ratio,
        )


def checked(command: Command) -> Command:
    """The command with what it says now as what it has to say each time."""
    done = subprocess.run(command.argv, env=dict(command.env), capture_output=True, text=True)
    if done.returncode or not done.stdout.strip():
        raise RuntimeError(f"{command.argv}: {done.returncode}, {done.stderr!r}")
    return Command(command.argv, command.env, expected=done.stdout.strip())


def _measure_grep(large: Side, rounds: int) -> Iterator[Row]:
    name = f"`grep` of a rare word in {large.corpus.facts.messages:,} messages as JSON lines"
    grep = shutil.which("grep")
    if grep is None:
        yield Row(name, "grep is not on PATH", "≥ 50×", None)
        return
    found = str(large.corpus.facts.rare)
    theirs = Command([grep, "-c", RARE, str(large.corpus.lines)], large.world.env, expected=found)
    ours = checked(Command([find_ask(), "history", "search", RARE], large.world.env))
    request = time_in_turn(
        lambda: run_once(theirs), lambda: large.search(RARE), max(3, rounds // 4)
    )
    ratio = statistics.median(grep_s / ours_s for grep_s, ours_s in request)
    took_ms = statistics.median(ours_s for _, ours_s in request) * 1000
    yield Row(
        f"{name}, against a search in the daemon",
        f"{ratio:.0f}× ({took_ms:.1f} ms)",
        "≥ 50×",
        ratio >= 50,
        ratio=ratio,
    )
    pairing = pair(theirs, ours, rounds=max(3, rounds // 4))
    yield Row(
        "the same, against `ask history search` as a whole process",
        f"{pairing.ratio(wall):.1f}× wall",
        "reported",
        None,
        ratio=pairing.ratio(wall),
    )


def _measure_llm(small: Side, directory: Path, rounds: int, llm: Peer | None) -> Iterator[Row]:
    number = small.corpus.facts.messages
    name = f"`llm logs -q` against `ask history search`, a rare word in {number:,} messages"
    if llm is None:
        yield missing_row(name, "llm", "≥ 20× wall")
        return
    env = {**small.world.env, "LLM_USER_PATH": str(fill_llm(small.corpus, directory, llm.program))}
    peer = checked(Command([llm.program, "logs", "list", "-q", RARE, "-n", str(HITS)], env))
    if len(LLM_HIT.findall(peer.expected or "")) != HITS:
        raise RuntimeError(f"llm found something else: {peer.expected!r:.500}")
    ours = checked(Command([find_ask(), "history", "search", RARE], small.world.env))
    pairing = pair(peer, ours, rounds=max(5, rounds // 4))
    low, high = pairing.spread(wall)
    ratio = pairing.ratio(wall)
    yield Row(
        f"{name} (llm {llm.version})",
        f"{ratio:.0f}× wall ({low:.0f}–{high:.0f}), {pairing.ratio(cpu):.0f}× CPU",
        "≥ 20× wall",
        ratio >= 20,
        ratio=ratio,
    )


def fill_llm(corpus: Corpus, directory: Path, llm: str) -> Path:
    """A home of `llm` with the corpus's messages in its log, made once by its own interpreter."""
    home = directory / f"llm-{corpus.facts.messages}"
    if not home.exists():
        with open(llm, encoding="utf-8") as script:
            python = script.readline().removeprefix("#!").strip()
        partial = home.with_name(f"{home.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        subprocess.run(
            [python, str(LLM_LOG), str(corpus.lines), str(partial / "logs.db")],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        partial.rename(home)
    return home


def _measure_daemons(small: Side, large: Side, rounds: int) -> Iterator[Row]:
    """What the size costs a daemon that has answered all of this, and one that starts."""
    sizes = [resident_bytes(side.world.daemon_pid()) for side in (large, small)]
    yield Row(
        "memory of a daemon after all this, the same two stores",
        f"{sizes[0] / sizes[1]:.2f}× ({sizes[0] / 2**20:.0f} MiB)",
        "reported",
        None,
        ratio=sizes[0] / sizes[1],
    )

    def restart(side: Side) -> Run:
        side.world.ok("daemon", "stop")
        return run_once(Command([find_ask(), "daemon", "start"], side.world.env))

    runs = [(restart(large).wall_s, restart(small).wall_s) for _ in range(max(3, rounds // 4))]
    yield scale_row("`ask daemon start`, the same two stores", runs, None)
