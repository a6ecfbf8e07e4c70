"""Clients that ask for hours, as threads of one process, and some as processes that are killed."""

import itertools
import random
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import ask
from tests.system.pairs import CONFIG
from tests.system.servers import write_config
from tests.system.world import Running, World, open_world

USUAL = (
    "ECHO:and so on",
    "THINK",
    "CODE",
    "LENGTH",
    "SUM",
    "tok",
    'CALLS:[["list_directory", {}]]',
)
FAULTS = ("LATE 500", "CUT", "DROP", "FAIL 400", "FAIL 404", "ESC")
"""What a server of models does that it should not; those that are tried again only take longer."""
FAULTS_SHARE = 0.15
INTERRUPTED_SHARE = 0.05
KILLED_EVERY = 40
"""Each so many turns, a client that is a process is killed in the middle of its turn."""
TALK_TURNS = 20
"""Turns of a conversation before another is begun."""

KILLED = """
import ask
with ask.connect() as client:
    for event in client.turn("SLOW:0.05"):
        print(event, flush=True)
"""


@contextmanager
def open_house(directory: Path, program: Sequence[str]) -> Iterator[tuple[World, Running]]:
    """An empty home, a scripted server of models, and this daemon, which is ready."""
    directory.mkdir(parents=True, exist_ok=True)
    with open_world(directory) as world:
        assert world.model is not None
        write_config(world, CONFIG.format(base_url=world.model.base_url))
        del world.env["OPENAI_API_KEY"], world.env["OPENAI_BASE_URL"]
        daemon = world.start(command=program)
        daemon.wait_for("Ready", where="err")
        yield world, daemon


@dataclass
class Load:
    """What was asked and what came of it; all threads share it.

    Attributes:
        accepted: by key, each turn whose acceptance a client was told of: conversation and turn.
        ended: how many turns were read to their end, by their outcome.
        troubles: what a client should never meet.
    """

    world: World
    size: int
    seed: int
    accepted: dict[str, tuple[str, str]] = field(default_factory=dict)
    ended: dict[str, int] = field(default_factory=dict)
    troubles: list[str] = field(default_factory=list)
    leaving: threading.Event = field(default_factory=threading.Event)
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    taken: int = 0

    def take(self) -> int | None:
        """The number of the next turn; None: there are enough."""
        with self._lock:
            if self.taken >= self.size or self.leaving.is_set():
                return None
            self.taken += 1
            return next(self._numbers)

    def note(self, key: str, turn: ask.Turn) -> None:
        """A turn was accepted."""
        with self._lock:
            self.accepted[key] = (turn.conversation_id, turn.id)

    def count(self, outcome: str) -> None:
        """A turn was read to its end."""
        with self._lock:
            self.ended[outcome] = self.ended.get(outcome, 0) + 1

    def count_ended(self) -> int:
        """How many turns were read to their end."""
        with self._lock:
            return sum(self.ended.values())

    def work(self, name: str) -> None:
        """One client: turn after turn, until there are enough, or the daemon is told to leave."""
        dice = random.Random(f"{self.seed} {name}")
        try:
            with ask.connect(self.world.env) as client:
                for own in itertools.count():
                    if (number := self.take()) is None:
                        break
                    self._turn(client, f"{name}-{own // TALK_TURNS}", number, dice)
        except ask.NoDaemon as error:
            if not self.leaving.is_set():
                self.troubles.append(f"{name}: {error!r}")
        except BaseException as error:
            self.troubles.append(f"{name}: {error!r}")

    def _turn(self, client: ask.Client, talk: str, number: int, dice: random.Random) -> None:
        key = f"{self.seed}-{number}"
        usual = dice.random() >= FAULTS_SHARE
        prompt = dice.choice(USUAL if usual else FAULTS)
        stopped = dice.random() < INTERRUPTED_SHARE
        with suppress(ask.TurnFailed):
            turn = client.turn(
                "HOLD:3" if stopped else prompt,
                key=key,
                conversation=talk,
                tools=["read"] if prompt.startswith("CALLS") else None,
                cwd=self.world.home,
            )
            self.note(key, turn)
            for event in turn:
                if stopped and isinstance(event, ask.TextDelta):
                    turn.interrupt()
                    stopped = False
            self.count(str(turn.outcome))
        if number % KILLED_EVERY == KILLED_EVERY - 1:
            self._kill_one()

    def _kill_one(self) -> None:
        """A client of its own, killed as soon as it has read something."""
        running = self.world.start(
            command=(sys.executable, "-c", KILLED), env=dict[str, str | None](self.world.env)
        )
        with suppress(AssertionError):
            running.wait_for("TextDelta")
        running.signal(signal.SIGKILL)
        running.finish()
        self.count("killed clients")


def describe(counts: Mapping[str, int]) -> str:
    """In one line."""
    return ", ".join(f"{count:,} {what}" for what, count in sorted(counts.items()))
