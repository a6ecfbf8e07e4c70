"""Five hundred turns in a window that holds a few: none fails, none loops, nothing is forgotten.

The real rooms from the admission to the bytes on the wire, the real database, six
dialects in turn, prompts from a word to half of the window, tools whose outputs are
larger than all of it. The summariser may repeat only what its own request held, so
a fact of turn 3 in the bytes of turn 500 has been carried there by every summary between.
"""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from askd.core.events import TurnFinished, ViewChanged
from askd.core.items import Item
from askd.core.outcome import DONE
from askd.sessions.compactions import COOL_DOWN_S, Compactions
from askd.sessions.summaries import Summarizer, Written
from tests.integrity.reading import read_sound
from tests.integrity.talks import Look, Talk, Teller, open_talk
from tests.integrity.wires import Wires, lay_wires

WINDOW = 8000
TURNS = 500
FACTS = {
    3: "FACT: the red door opens with 7203.",
    50: "FACT: Ines waits in Lisbon until May.",
    200: "FACT: the build needs --wide since r881.",
}
PACE_S = 25.0
"""Between two turns: a cool-down is over after three of them."""
PIECES = ("and so it goes ", "そして話は続く。", '{"key": [1, 2, 3]}, ', "def f(x): return x\n")
MOST_A_TURN = 4
"""Requests beside those that a turn's own calls cause: its answer, and a summary in pieces."""


class Story:
    """What is said in each turn; the same each time."""

    def __init__(self, turns: int, seed: int = 5) -> None:
        chance = random.Random(seed)
        self.prompts: dict[int, str] = {}
        self.calls: dict[int, list[int]] = {}
        self.answers: dict[int, str] = {}
        for number in range(1, turns + 1):
            size = chance.choice([1, 10, 10, 40, 40, 120, 400]) if number % 37 else 3000
            self.prompts[number] = FACTS.get(number) or self._write(chance, size)
            self.answers[number] = self._write(chance, chance.choice([5, 40, 200]))
            if number % 4 == 0:
                sizes = [20, 300, 300, 2000] if number % 48 else [30_000]
                self.calls[number] = chance.choices(sizes, k=chance.randrange(1, 4))
        self.calls[100] = [500] * 30  # one turn that alone is more than a window

    def _write(self, chance: random.Random, tokens: int) -> str:
        piece = chance.choice(PIECES)
        return piece * (1 + tokens * 4 // len(piece.encode()))


async def tell(talk: Talk, wires: Wires, story: Story, teller: Teller, turns: int) -> None:
    """Say it all; no turn fails, and none asks for more than its share."""
    models = [line.model for line in wires.lines.values()]
    for line in wires.lines.values():
        line.script = teller
    for number in range(1, turns + 1):
        before = wires.count()
        end = await talk.say(number, story.prompts[number], models[number % len(models)])
        assert (end.outcome, end.code) == ("completed", DONE), (number, end)
        asked = wires.count() - before
        assert asked <= MOST_A_TURN + 2 * len(story.calls.get(number, ())), (number, asked)
        talk.clock.at += PACE_S


def check_wires(wires: Wires) -> None:
    assert wires.find_violations() == []
    for dialect, line in wires.lines.items():
        for body in line.bodies:
            read_sound(dialect, body)


@dataclass(frozen=True)
class Told:
    """What came of it."""

    teller: Teller
    changes: Counter[str]

    def holds(self, fact: str, turn: int) -> bool:
        """Whether the last request of a turn says it."""
        return fact in self.teller.bodies[turn][-1].decode()


async def soak(
    path: Path, turns: int, *, story: Story | None = None, share: float | None = None
) -> Told:
    """So many turns. `share` of the window is what every prompt is said to have taken."""
    story = story or Story(turns)
    teller = Teller(WINDOW, story.calls, story.answers, usage_share=share)
    with lay_wires(window=WINDOW, reserved=1000) as wires:
        async with open_talk(path, wires, tools=[Look()]) as talk:
            await tell(talk, wires, story, teller, turns)
            events = await talk.events()
        check_wires(wires)
    ends = [each.body for each in events if isinstance(each.body, TurnFinished)]
    assert len(ends) == turns
    assert max(teller.sizes) <= WINDOW, "a server would have refused it, or cut it unseen"
    changes = [each.body.kind for each in events if isinstance(each.body, ViewChanged)]
    return Told(teller, Counter(changes))


async def test_five_hundred_turns(tmp_path: Path) -> None:
    told = await soak(tmp_path / "ask.db", TURNS)
    for turn, fact in FACTS.items():
        assert told.holds(fact, turn), "it was said"
        assert told.holds(fact, TURNS), f"it was said in turn {turn} and is not known any more"
    changes = told.changes
    assert min(changes[kind] for kind in ("compact", "prune", "shorten")) > 5, changes
    assert len(told.teller.summaries) < TURNS / 4, "a summary is not made for every turn"


async def test_what_summaries_are_not_made_from_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control of the test above: facts come from nowhere but the summarised requests."""
    turns = 110
    summarize = Summarizer.summarize

    async def see_nothing(self: Summarizer, source: Sequence[Item]) -> Written:
        return await summarize(self, ())

    monkeypatch.setattr(Summarizer, "summarize", see_nothing)
    empty = await soak(tmp_path / "ask.db", turns)
    assert empty.changes["compact"] > 0
    assert empty.holds(FACTS[3], 3)
    assert not any(empty.holds(fact, turns) for fact in FACTS.values())


LOOPED = 30
SHORT_S = 1.0
LONG = "and so it goes " * 300
MOST_BESIDE = 2
"""Requests beside the one that is answered, whatever the server says that it took."""


async def talk_to_a_liar(path: Path) -> int:
    """Short turns with a server that always reports a full window; how many summaries."""
    teller = Teller(WINDOW, usage_share=1.0)
    with lay_wires(window=WINDOW, reserved=1000) as wires:
        line = wires.lines["openai-chat"]
        line.script = teller
        async with open_talk(path, wires) as talk:
            for number in range(1, LOOPED + 1):
                before = wires.count()
                end = await talk.say(number, LONG, line.model)
                assert (end.outcome, end.code) == ("completed", DONE), end
                assert wires.count() - before <= 1 + MOST_BESIDE
                talk.clock.at += SHORT_S
    return len(teller.summaries)


async def test_a_server_that_always_reports_a_full_window_causes_no_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = 1 + LOOPED * SHORT_S / COOL_DOWN_S
    assert 0 < await talk_to_a_liar(tmp_path / "guarded.db") <= most
    # The control: with no cool-down it is more, each of them of no use to anybody.
    monkeypatch.setattr(Compactions, "may_begin", lambda self, turn_id, now: True)
    assert await talk_to_a_liar(tmp_path / "unguarded.db") > most
