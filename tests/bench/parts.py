"""The parts of the bench by their names, each with all that it needs; see `page.TITLES`."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from tests.bench import (
    appends,
    client,
    compactions,
    contexts,
    dialects,
    fan_out,
    first_tokens,
    guards,
    history,
    latency,
    lengths,
    memory,
    one_shots,
    requests,
    tabs,
)
from tests.bench.peers import Peer
from tests.bench.provider_process import run_provider
from tests.bench.rows import Row
from tests.system.world import World, open_world


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line says.

    Attributes:
        corpora: where the large stores are, or are built; None: nowhere.
        messages: of the largest store.
        peers: other programs, by their names.
        loop: how uvloop is found; None: it is not there.
    """

    rounds: int
    corpora: Path | None
    messages: int
    peers: Mapping[str, Peer]
    loop: Mapping[str, str] | None


@dataclass(frozen=True, slots=True)
class Bench:
    """What the parts measure: a home with its provider, and a directory beside it."""

    asked: Asked
    world: World
    directory: Path

    @property
    def rounds(self) -> int:
        """Pairs a row."""
        return self.asked.rounds

    @property
    def some(self) -> int:
        """Pairs a row of what takes long."""
        return max(min(5, self.rounds), self.rounds // 4)


Part = Callable[[Bench], Iterator[Row]]

PARTS: Mapping[str, Part] = {
    "client": lambda on: client.measure_client(on.world, on.rounds),
    "tabs": lambda on: tabs.measure_tabs(on.world, on.rounds),
    "first": lambda on: first_tokens.measure_first_tokens(on.world, on.rounds),
    "cold": lambda on: client.measure_cold(on.world, on.some),
    "peers": lambda on: one_shots.measure_peers(on.world, on.some, on.asked.peers),
    "herd": lambda on: one_shots.measure_herds(on.world, on.some, on.asked.peers),
    "latency": lambda on: latency.measure_latency(on.world, on.some),
    "requests": lambda on: requests.measure_requests(
        on.world, on.directory, on.some, on.asked.loop
    ),
    "fan-out": lambda on: fan_out.measure_fan_out(on.some, on.asked.loop),
    "appends": lambda on: appends.measure_appends(on.some),
    "history": lambda on: measure_store(on.asked),
    "memory": lambda on: memory.measure_memory(on.world, on.asked.peers.get("llm")),
    "guards": lambda on: guards.measure_guards(on.directory, on.world.env),
    "dialects": lambda on: dialects.measure_dialects(on.some),
    "contexts": lambda on: contexts.measure_contexts(on.some),
    "lengths": lambda on: lengths.measure_lengths(on.directory, max(2, on.rounds // 2)),
    "plans": lambda on: compactions.measure_plans(on.some),
    "compactions": lambda on: measure_compactions(on),
}

EXPLAINED: Mapping[str, ModuleType] = {
    "client": client,
    "peers": one_shots,
    "herd": one_shots,
    "latency": latency,
    "requests": requests,
    "fan-out": fan_out,
    "appends": appends,
    "memory": memory,
}
"""The parts whose modules may say, in a text `WHY`, why a target is missed, by a profile."""


def explain(part: str, rows: Sequence[Row]) -> str:
    """Why targets of this part are missed, in Markdown; empty: none is, or nothing is said."""
    if all(row.holds is not False for row in rows):
        return ""
    return str(getattr(EXPLAINED.get(part), "WHY", ""))


@contextmanager
def open_bench(asked: Asked) -> Iterator[Bench]:
    """A home of its own on a provider without latency, ended when the block is."""
    with (
        tempfile.TemporaryDirectory() as directory,
        run_provider() as base_url,
        open_measured(Path(directory), base_url) as world,
    ):
        yield Bench(asked, world, Path(directory))


@contextmanager
def open_measured(home: Path, base_url: str) -> Iterator[World]:
    """A world with this provider and without what would slow it."""
    with open_world(home, model=False) as world:
        world.env |= {"OPENAI_API_KEY": "key-for-loopback", "OPENAI_BASE_URL": base_url}
        for name in ("COVERAGE_PROCESS_START", "COVERAGE_FILE"):
            world.env.pop(name, None)
        yield world


def measure_compactions(on: Bench) -> Iterator[Row]:
    """In a home of its own: it has settings that the other rows have not."""
    with (
        tempfile.TemporaryDirectory() as directory,
        open_measured(Path(directory), on.world.env["OPENAI_BASE_URL"]) as world,
    ):
        yield from compactions.measure_beside(world, on.some)


def measure_store(asked: Asked) -> Iterator[Row]:
    """On stores that take minutes to build and so have a place of their own."""
    if asked.corpora is None:
        name = f"a store of {asked.messages:,} messages against a tenth"
        yield Row(name, "not measured: no --corpora directory was given", "≤ 2.5×", None)
        return
    yield from history.measure_history(
        asked.corpora, asked.rounds, messages=asked.messages, llm=asked.peers.get("llm")
    )
