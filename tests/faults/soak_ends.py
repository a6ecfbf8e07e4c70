"""Daemons told to end while turns run, once or twice, each followed by the next one.

A herd asks, some of it behind others, some with nobody waiting, and one without a pause. What was
accepted has to have exactly one end in the log of the next daemon; told once, and not hurried,
the end of what runs is that of the answer.
"""

import random
import signal
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import ask
from tests.faults.soak_load import open_house
from tests.system.world import LIMIT_S, Running, World

SHORT = "SLOW:0.06"
"""An answer of 1.2 s: longer than it takes to tell, and far shorter than a daemon has patience."""
ENDLESS = "HOLD:3"
"""An answer that never ends: the daemon would wait for all its patience, but for a second word."""
PAUSE_MAX_S = 0.3
"""Until the daemon is told, and until it is told again: at most."""
DRAIN_LIMIT_S = 20.0
HURRIED_S, HURRIED_LIMIT_S = 1.0, 10.0
"""From the second word to the end, where the machine has time; and where it has next to none. One
that went on waiting would take all of `DRAIN_LIMIT_S`: there is an answer that never ends."""
HOMES = 2
"""Of each kind of end, at a time: what they do is mostly waiting."""
KNOWN_LIMIT_S = 30.0
"""The next daemon may have to run what was left to it, or to repeat it."""


@dataclass
class Ends:
    """What came of many ends of one kind.

    Attributes:
        took_s: how long each took, from the last time that the daemon was told.
        accepted: how many turns were accepted around them.
        outcomes: how many of these ended how.
        harms: a sentence for each turn that was lost, doubled or cut, and each end too late.
    """

    took_s: list[float] = field(default_factory=list)
    accepted: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    harms: list[str] = field(default_factory=list)

    @classmethod
    def join(cls, parts: Iterable["Ends"]) -> "Ends":
        """Those of several homes."""
        whole = cls()
        for part in parts:
            whole.took_s += part.took_s
            whole.accepted += part.accepted
            whole.outcomes += part.outcomes
            whole.harms += part.harms
        return whole

    def describe(self) -> str:
        """The figures, in one line."""
        outcomes = ", ".join(f"{count:,} {what}" for what, count in sorted(self.outcomes.items()))
        usual_s, longest_s = statistics.median(self.took_s), max(self.took_s)
        return (
            f"{len(self.took_s)}, {usual_s:.2f} s usually, {longest_s:.2f} s at most; "
            f"{self.accepted:,} turns accepted: {outcomes}"
        )


@dataclass(frozen=True)
class _Accepted:
    """A turn that a client was told of, and whether nothing but its answer may end it."""

    conversation_id: str
    turn_id: str
    must_complete: bool


class _Herd:
    """The clients around one end; each follows its turn into the next daemon."""

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name
        self.accepted: list[_Accepted] = []
        self.troubles: list[str] = []
        self.speaking = threading.Event()
        self.over = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self, *, is_hurried: bool) -> None:
        """Return when all have been accepted, and a model speaks to the last."""
        must_complete = not is_hurried
        follow = partial(self._follow, prompt=SHORT, must_complete=must_complete)
        self._begin(("shared", follow), ("shared", follow), ("left", self._leave))
        self._begin(("storm", self._storm))
        prompt = ENDLESS if is_hurried else SHORT
        self._begin(("alone", partial(follow, prompt=prompt, speaking=self.speaking)))
        self._wait(self.speaking.is_set)

    def _begin(self, *plan: tuple[str, Callable[[ask.Client, str], None]]) -> None:
        """Start these, and wait until each of them has been accepted."""
        wanted = len(self._threads) + len(plan)
        begun = [threading.Thread(target=self._work, args=each) for each in plan]
        self._threads += begun
        for thread in begun:
            thread.start()
        self._wait(lambda: len(self.accepted) >= wanted)

    def _wait(self, condition: Callable[[], bool]) -> None:
        until = time.monotonic() + LIMIT_S
        while not condition() and not self.troubles:
            assert time.monotonic() < until, "the prompts were never accepted"
            time.sleep(0.005)

    def finish(self) -> None:
        """Wait until each has read what it asked for."""
        self.over.set()
        for thread in self._threads:
            thread.join(LIMIT_S)
            if thread.is_alive():
                self.troubles.append(f"{self.name}: a client never saw its end")

    def _work(self, talk: str, what: Callable[[ask.Client, str], None]) -> None:
        try:
            with ask.connect(self.world.env, start=False) as client:
                what(client, f"{self.name}-{talk}")
        except BaseException as error:
            self.troubles.append(f"{self.name}, {talk}: {error!r}")

    def _follow(
        self,
        client: ask.Client,
        talk: str,
        *,
        prompt: str,
        must_complete: bool,
        speaking: threading.Event | None = None,
    ) -> None:
        with client.turn(prompt, conversation=talk) as turn:
            self.accepted.append(_Accepted(turn.conversation_id, turn.id, must_complete))
            for event in turn:
                if speaking is not None and isinstance(event, ask.TextDelta):
                    speaking.set()

    def _leave(self, client: ask.Client, talk: str) -> None:
        job = client.detach(SHORT, conversation=talk)
        assert job.conversation_id is not None
        assert job.turn_id is not None
        self.accepted.append(_Accepted(job.conversation_id, job.turn_id, True))

    def _storm(self, client: ask.Client, talk: str) -> None:
        """Ask without a pause: before the end, during it, and on to the next daemon."""
        while not self.over.is_set():
            self._follow(client, talk, prompt="ECHO:and so on", must_complete=False)


def run_ends(
    count: int, seed: int, directory: Path, program: Sequence[str], *, is_hurried: bool
) -> Ends:
    """So many ends, one after the other, of one home's daemons; hurried ones are told twice."""
    ends = Ends()
    dice = random.Random(seed)
    with open_house(directory, program) as (world, daemon):
        for number in range(count):
            herd = _Herd(world, f"end{number}")
            herd.start(is_hurried=is_hurried)
            time.sleep(dice.uniform(0.0, PAUSE_MAX_S))
            pause_s = dice.uniform(0.0, PAUSE_MAX_S) if is_hurried else None
            ends.took_s.append(_tell(daemon, pause_s=pause_s))
            daemon = world.start(command=program)
            daemon.wait_for("Ready", where="err")
            herd.finish()
            ends.harms += herd.troubles
            _judge(herd, ends)
            assert world.model is not None
            world.model.release()
    limit_s = HURRIED_LIMIT_S if is_hurried else DRAIN_LIMIT_S
    times = "twice" if is_hurried else "once"
    late = [each for each in ends.took_s if each >= limit_s]
    ends.harms += [f"told {times}, the daemon ended after {each:.1f} s" for each in late]
    return ends


def run_both(
    count: int, seed: int, directory: Path, program: Sequence[str]
) -> tuple[list[str], dict[str, str]]:
    """So many ends of each kind, in a few homes at a time: the harms, and the figures."""
    homes = min(HOMES, count)

    def run(kind: str, number: int) -> Ends:
        part = count // homes + (number < count % homes)
        place = directory / f"{kind}{number}"
        return run_ends(part, seed + number, place, program, is_hurried=kind == "twice")

    with ThreadPoolExecutor(2 * homes) as pool:
        once = pool.map(partial(run, "once"), range(homes))
        twice = pool.map(partial(run, "twice"), range(homes))
        drained, hurried = Ends.join(once), Ends.join(twice)
    within = sum(each <= HURRIED_S for each in hurried.took_s)
    figures = {
        "ends in the middle, told once": drained.describe(),
        "ends in the middle, told twice, from the second on": hurried.describe(),
        f"of these within {HURRIED_S:.0f} s": f"{within}",
    }
    return [*drained.harms, *hurried.harms], figures


def _tell(daemon: Running, *, pause_s: float | None) -> float:
    """SIGTERM, and a second one so long after it drains: seconds from the last to its end."""
    told = time.monotonic()
    daemon.signal(signal.SIGTERM)
    if pause_s is not None and _is_draining(daemon):
        time.sleep(pause_s)
        told = time.monotonic()
        daemon.signal(signal.SIGTERM)
    daemon.process.wait(LIMIT_S)
    took_s = time.monotonic() - told
    daemon.finish()
    return took_s


def _is_draining(daemon: Running) -> bool:
    """Wait until it says so; one that is gone never does."""
    daemon.wait_for(
        lambda: "Draining" in daemon.err or daemon.process.poll() is not None, where="err"
    )
    return "Draining" in daemon.err


def _judge(herd: _Herd, ends: Ends) -> None:
    """What the next daemon knows of each turn that was accepted."""
    ends.accepted += len(herd.accepted)
    with ask.connect(herd.world.env, start=False) as client:
        for turn in herd.accepted:
            found = _find_ends(client, turn)
            ends.outcomes.update(found)
            which = f"{herd.name}: the turn {turn.turn_id}"
            if len(found) != 1:
                ends.harms.append(f"{which} has {len(found)} ends")
            elif turn.must_complete and found != ["completed"]:
                ends.harms.append(f"{which} was {found[0]}, and had time to end by itself")


def _find_ends(client: ask.Client, turn: _Accepted) -> list[str]:
    """How it ended, each time that it did."""
    until = time.monotonic() + KNOWN_LIMIT_S
    while True:
        events = client.conversations.read(turn.conversation_id)
        found = [
            event.outcome
            for event in events
            if isinstance(event, ask.Finished) and event.turn_id == turn.turn_id
        ]
        if found or time.monotonic() > until:
            return [str(each) for each in found]
        time.sleep(0.05)
