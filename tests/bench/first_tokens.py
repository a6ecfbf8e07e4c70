"""How long until the first token of an answer can be seen: in a pipe, on a terminal, in a chat.

Everything is whole processes with a real daemon, from their start (in a chat: from Enter) to
the byte that shows the token, in turn, and compared in pairs. One of the ways is made slow on
purpose: it imports what paints before it asks. A run that cannot tell it from the others
measures nothing, and is an error.
"""

import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tests.bench.program import find_ask
from tests.bench.provider import LATE
from tests.bench.rows import Row
from tests.bench.terminals import Terminal, open_terminal
from tests.system.world import World

LATENESSES_MS = (0, 20, 100, 500)
"""What models take before their first token; hosted ones are seldom faster than the third."""
PAINTED_LIMIT = 1.05
"""Of a plain terminal's; pairs of one and the same differ by half of that on a busy machine."""
SLOW_CLIENT = (
    "from ask.markdown.loading import import_painter; import_painter();"
    "from ask.__main__ import main; main()"
)
BARE_PROMPT = "from prompt_toolkit import PromptSession; PromptSession('> ').prompt()"
"""A program that does nothing but what a chat's line is made of."""
TYPING_S = 0.5
"""Of a person who is quick."""
SEED = 1
TYPED = "z"
"""A key that no greeting shows."""


@dataclass(frozen=True)
class First:
    """Seconds to the first token: since the start, and since the model had sent it."""

    since_start: float
    since_sent: float


Way = Callable[[int], First]
"""How a prompt is asked of a model that is late by so many milliseconds."""


def word_prompt(late_ms: int) -> str:
    """What such a model is asked."""
    return f"{LATE.decode()}{late_ms:04}"


def find_first(read: Callable[[], bytes], started: float) -> First:
    """Read until the first token is there."""
    seen = b""
    while seen.count(b"@") < 2:
        chunk = read()
        if not chunk:
            raise RuntimeError(f"it ended without an answer: {seen!r}")
        seen += chunk
    now = time.perf_counter_ns()
    return First(now / 1e9 - started, (now - int(seen.split(b"@")[1])) / 1e9)


def ask_in_pipe(env: Mapping[str, str], late_ms: int) -> First:
    """`ask PROMPT | ...`."""
    command = [find_ask(), "-q", word_prompt(late_ms)]
    started = time.perf_counter()
    with subprocess.Popen(
        command,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        bufsize=0,
    ) as process:
        assert process.stdout is not None
        descriptor = process.stdout.fileno()
        first = find_first(lambda: os.read(descriptor, 65536), started)
        while os.read(descriptor, 65536):
            pass
    if process.returncode:
        raise RuntimeError(f"ask in a pipe: exit code {process.returncode}")
    return first


def ask_on_terminal(env: Mapping[str, str], late_ms: int, command: tuple[str, ...] = ()) -> First:
    """`ask PROMPT` typed in a shell."""
    with open_terminal([*(command or [find_ask()]), "-q", word_prompt(late_ms)], env) as terminal:
        return find_first(terminal.read, terminal.started)


def ask_in_chat(env: Mapping[str, str], late_ms: int) -> tuple[float, First]:
    """A chat from its start to a key that it takes; then a prompt from its Enter on."""
    with open_terminal([find_ask(), "chat"], env) as terminal:
        ready_s = type_key(terminal)
        terminal.type(f"\b{word_prompt(late_ms)}")
        terminal.read_until(word_prompt(late_ms).encode())
        time.sleep(TYPING_S)
        started = time.perf_counter()
        terminal.type("\r")
        first = find_first(terminal.read, started)
        terminal.read_until(b"tok19")
        terminal.type("\x04")
    return ready_s, first


def open_prompt(env: Mapping[str, str]) -> float:
    """The same of a program that only takes a line."""
    with open_terminal([sys.executable, "-c", BARE_PROMPT], env) as terminal:
        ready_s = type_key(terminal)
        terminal.type("\r")
    return ready_s


def type_key(terminal: Terminal) -> float:
    """Seconds from the start of a program to the key that it shows: typed when it has asked."""
    terminal.wait_raw()
    terminal.type(TYPED)
    terminal.read_until(TYPED.encode())
    return time.perf_counter() - terminal.started


@dataclass(frozen=True)
class Comparison:
    """Two ways, run in turn."""

    ours: list[First]
    theirs: list[First]

    @property
    def ratio(self) -> float:
        """The median of the pairs' ratios, from the start."""
        pairs = zip(self.ours, self.theirs, strict=True)
        return statistics.median(a.since_start / b.since_start for a, b in pairs)

    @property
    def figure(self) -> str:
        """The ratio, its times, and how much later a token came than the model had sent it."""
        ours, theirs = (
            statistics.median(each.since_start for each in runs) * 1e3
            for runs in (self.ours, self.theirs)
        )
        late, other = (
            statistics.median(each.since_sent for each in runs) * 1e3
            for runs in (self.ours, self.theirs)
        )
        return (
            f"{self.ratio:.2f}× ({ours:.0f} ms against {theirs:.0f} ms;"
            f" {late:.1f} ms against {other:.1f} ms after it was sent)"
        )


def compare(ways: Mapping[str, Way], late_ms: int, rounds: int) -> dict[str, list[First]]:
    """Every way once to warm up, then all of them in turn, each time in another order.

    By chance, for what one way leaves to be done would else always fall to the same next one.
    """
    names, chance = list(ways), random.Random(SEED)
    for way in ways.values():
        way(late_ms)
    runs: dict[str, list[First]] = {name: [] for name in names}
    for _ in range(rounds):
        chance.shuffle(names)
        for name in names:
            runs[name].append(ways[name](late_ms))
    return runs


def measure_first_tokens(world: World, rounds: int) -> Iterator[Row]:
    """One-shot prompts and chats; a painted answer's first token may come no later."""
    world.ok("warm")
    env = {**world.env, "ASK_MODEL": "openai/fake"}
    env = {name: text for name, text in env.items() if name not in ("NO_COLOR", "ASK_RENDER")}
    plain = {**env, "NO_COLOR": "1"}
    slow = (sys.executable, "-c", SLOW_CLIENT)
    ways: dict[str, Way] = {
        "pipe": lambda late_ms: ask_in_pipe(env, late_ms),
        "plain": lambda late_ms: ask_on_terminal(plain, late_ms),
        "again": lambda late_ms: ask_on_terminal(plain, late_ms),
        "painted": lambda late_ms: ask_on_terminal(env, late_ms),
        "slow": lambda late_ms: ask_on_terminal(env, late_ms, slow),
    }
    runs = compare(ways, 0, rounds)
    found = Comparison(runs["plain"], runs["pipe"])
    name = "the first token on a terminal with `NO_COLOR`, against a pipe"
    yield Row(name, found.figure, "≤ 1.1×", found.ratio <= 1.1, ratio=found.ratio)
    found = Comparison(runs["again"], runs["plain"])
    name = "the same terminal against itself: what noise there is"
    yield Row(name, found.figure, "-", None, ratio=found.ratio)
    found = Comparison(runs["painted"], runs["plain"])
    name = "the first token on a terminal, painted against plain"
    limit = f"≤ {PAINTED_LIMIT}×"
    yield Row(name, found.figure, limit, found.ratio <= PAINTED_LIMIT, ratio=found.ratio)
    found = Comparison(runs["slow"], runs["plain"])
    if found.ratio <= PAINTED_LIMIT:
        raise RuntimeError(f"a client that imports first is not seen to be slow: {found.figure}")
    name = "the same of a client that imports rich before it asks: it must be seen"
    yield Row(name, found.figure, f"> {PAINTED_LIMIT}×", True, ratio=found.ratio)
    for late_ms in LATENESSES_MS[1:]:
        chosen = {name: ways[name] for name in ("plain", "painted")}
        runs = compare(chosen, late_ms, max(rounds * 2 // 3, 5))
        found = Comparison(runs["painted"], runs["plain"])
        name = f"painted against plain, of a model that is late by {late_ms} ms"
        yield Row(name, found.figure, limit, found.ratio <= PAINTED_LIMIT, ratio=found.ratio)
    yield from measure_chat(env, max(rounds // 2, 5))


def measure_chat(env: Mapping[str, str], rounds: int) -> Iterator[Row]:
    """Its start against a bare prompt's; its answer against `ask` in a pipe."""
    started: list[float] = []
    chats: list[First] = []
    bare: list[float] = []
    pipes: list[First] = []
    for number in range(-1, rounds):
        ready_s, first = ask_in_chat(env, 0)
        bare_s, pipe = open_prompt(env), ask_in_pipe(env, 0)
        if number >= 0:  # the first warms up
            started.append(ready_s)
            chats.append(first)
            bare.append(bare_s)
            pipes.append(pipe)
    ratio = statistics.median(ours / theirs for ours, theirs in zip(started, bare, strict=True))
    figure = f"{ratio:.2f}× ({statistics.median(started) * 1e3:.0f} ms)"
    name = "`ask chat` from its start to a key that it shows, against a bare prompt_toolkit"
    yield Row(name, figure, "≤ 2×", ratio <= 2, ratio=ratio)
    found = Comparison(chats, pipes)
    name = "the first token in a chat since Enter, against a whole `ask` in a pipe"
    yield Row(name, found.figure, "≤ 1.5×", found.ratio <= 1.5, ratio=found.ratio)
