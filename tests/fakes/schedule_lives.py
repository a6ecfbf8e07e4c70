"""Lives of schedules, and the model that judges them: kills, clocks that jump, pauses.

The model knows when the daemon was there, what the wall clock showed, and which slots a person
would expect. It shares nothing with the code but the arithmetic of minutes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

import trio

from askd.core.schedules import MISSED_LIMIT, ON_TIME_S, Missed
from askd.jobs.schedule import CLOCK_LOOK_S
from askd.store.batch import Change
from tests.fakes.schedules import Straight, keep_time, make_schedule

T = TypeVar("T")

START = 1_800_000_030.0
"""Half past a minute."""
MINUTE_S = 60.0
YEARS_S = 3650 * 86_400.0
ID = "s" * 8


@dataclass(frozen=True)
class Run:
    """A daemon runs for so long, and is killed; `fuse`: in its so-manieth transaction, at once.

    `late`: behind that transaction's commit, not before.
    """

    for_s: float
    fuse: int | None
    late: bool


@dataclass(frozen=True)
class Away:
    """Nobody runs for so long."""

    for_s: float


@dataclass(frozen=True)
class Jump:
    """The wall clock is set."""

    by_s: float


@dataclass(frozen=True)
class Hold:
    """A person pauses the schedule, runs it once by hand, and resumes it after so long."""

    for_s: float


Step = Run | Away | Jump | Hold

SENT_TWICE = "a slot was sent twice"


class Killed(BaseException):
    """The daemon is gone in the middle of what it did; nothing in it sees more than this."""


class Fused(Straight):
    """A store that ends a daemon in a transaction, as a kill would: before its commit or behind."""

    def __init__(self, now: "Wall") -> None:
        super().__init__(now)
        self.fuse: int | None = None
        self.late = False

    async def apply(self, change: Change[T]) -> T:
        if self.fuse is not None:
            self.fuse -= 1
            if self.fuse < 0 or (self.fuse == 0 and not self.late):
                raise Killed
        value = await super().apply(change)
        if self.fuse == 0:
            raise Killed
        return value


class Wall:
    """The wall clock."""

    def __init__(self) -> None:
        self.set_by = 0.0

    def __call__(self) -> float:
        return START + trio.current_time() + self.set_by


@dataclass
class Model:
    """What a person would expect.

    Attributes:
        steady: spans of the wall clock in which a daemon was there and the schedule enabled.
        held: those in which it was paused.
        hands: how often it was run by hand.
        marks: from where slots were counted; the store forgets its older rows, and this does not.
        told: slots that the store has named with a turn.
    """

    missed: Missed
    steady: list[tuple[float, float]] = field(default_factory=list)
    hands: int = 0
    marks: set[float] = field(default_factory=set)
    told: set[float] = field(default_factory=set)

    def find_expected(self) -> set[float]:
        """Slots that must have been sent: a daemon was there in time, and for a while after."""
        return {
            slot
            for since, until in self.steady
            for slot in minutes_between(since + CLOCK_LOOK_S, until - 1.0)
        }


def minutes_between(since: float, until: float) -> list[float]:
    """Every full minute after one moment up to another."""
    first = int(since // MINUTE_S) + 1
    last = int(until // MINUTE_S)
    return [number * MINUTE_S for number in range(first, last + 1)]


async def play(
    steps: Sequence[Step],
    missed: Missed,
    make_store: "Callable[[Wall], Fused] | None" = None,
    session: str | None = "work",
) -> None:
    """Live through the steps; raises `AssertionError` where the model expects something else.

    `session`: where the prompts go; None: each begins a conversation.
    """
    wall = Wall()
    store, model = (make_store or Fused)(wall), Model(missed)
    async with keep_time(store) as room:
        await room.table.add(make_schedule(ID, missed=missed, session=session))
    for step in steps:
        match step:
            case Run():
                await run(store, wall, model, step)
            case Away(for_s=for_s):
                await trio.sleep(for_s)
            case Jump(by_s=by_s):
                wall.set_by += by_s
            case Hold(for_s=for_s):
                await hold(store, model, for_s)
        check(store, model)
    # Whatever was left in the middle is seen to by whoever comes last.
    await run(store, wall, model, Run(200.0, None, False))
    check(store, model)
    check_end(store)


async def run(store: Fused, wall: Wall, model: Model, step: Run) -> None:
    store.fuse, store.late = step.fuse, step.late
    began, before = wall(), sent(store)
    is_whole = False
    try:
        async with keep_time(store):
            await trio.sleep(step.for_s)
            is_whole = True
    except* Killed:
        is_whole = False
    store.fuse = None
    if is_whole:
        model.steady.append((began, wall()))
        check_missed(model, began, sent(store) - before)


async def hold(store: Fused, model: Model, for_s: float) -> None:
    async with keep_time(store) as room:
        await room.desk.pause(ID)
        before = sent(store)
        await room.desk.run(ID, key=f"by hand {model.hands}")
        model.hands += 1
        await trio.sleep(for_s)
        assert sent(store) == before, "nothing is sent while it is paused"
        await room.desk.resume(ID)


def sent(store: Fused) -> set[float]:
    """The slots for which prompts are in the log; each prompt is there once."""
    keys = store.count_prompts()
    assert set(keys.values()) <= {1}, SENT_TWICE
    return {float(key.rpartition(":")[2]) for key in keys if key.startswith(f"schedule:{ID}:")}


def check(store: Fused, model: Model) -> None:
    """What holds at any time."""
    found = sent(store)
    assert all(slot % MINUTE_S == 0 for slot in found), "only what the expression names"
    # Whoever adds or resumes one in the very moment of a slot gets the next one.
    marks = store.connection.execute("SELECT slot FROM slots WHERE state = 'begun'").fetchall()
    model.marks |= {slot for (slot,) in marks}
    expected = model.find_expected() - model.marks
    assert expected <= found, "a slot was passed over while a daemon was there"
    rows = store.connection.execute(
        "SELECT slot, at, skipped, turn_id FROM slots WHERE slot IS NOT NULL AND state <> 'begun'"
    ).fetchall()
    assert all(slot <= at for slot, at, _, _ in rows), "nothing is sent before its time"
    model.told |= {slot for slot, _, _, turn_id in rows if turn_id is not None}
    assert model.told == found, "the prompt and its slot are one transaction"


def check_missed(model: Model, began: float, new: set[float]) -> None:
    """How many were made up for when a daemon came."""
    old = {slot for slot in new if slot <= began}
    match model.missed:
        case "skip":
            late = [slot for slot in old if began - slot > ON_TIME_S + CLOCK_LOOK_S]
            assert not late, "what was missed is to be skipped"
        case "once":
            assert len(old) <= 1, "what was missed is made up for once"
        case "all":
            assert len(old) <= MISSED_LIMIT, "more was made up for than may be"


def check_end(store: Fused) -> None:
    """Every turn that was accepted has one end."""
    (accepted,) = store.connection.execute(
        "SELECT count(*) FROM events WHERE type = 'prompt_accepted'"
    ).fetchone()
    (ended,) = store.connection.execute(
        "SELECT count(*) FROM events WHERE type = 'turn_finished'"
    ).fetchone()
    assert accepted == ended, "a turn has no end"
    open_slots: Literal[0] = store.connection.execute(
        "SELECT count(*) FROM slots WHERE state = 'accepted'"
    ).fetchone()[0]
    assert open_slots == 0, "a slot stays open"
