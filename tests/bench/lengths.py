"""What it costs to see the end of a conversation that is ten times as long as another.

Both lie in one store with one daemon; the commands are whole processes that run in
turn. Who reads only the end has the ratio 1.
"""

import statistics
import time
from collections.abc import Iterator
from pathlib import Path

from askd.core.events import ConversationCreated
from askd.store.changes import append
from askd.store.log import Write
from askd.store.migrations import MIGRATIONS
from askd.store.transactions import Asked, Transactions
from askd.store.writer import connect
from tests.bench.contexts import talk
from tests.bench.history import SETTINGS, checked
from tests.bench.measure import Command, pair, wall
from tests.bench.program import find_ask
from tests.bench.rows import Row
from tests.system.world import World

LONG, SHORT = 50_000, 5_000
"""Events of the two: the long one is twenty thousand messages."""
BEGIN_AT = 1_700_000_000.0
LIMIT = 1.5
"""Of reading a few messages: what the machine does meanwhile, and a deeper tree of pages."""


def measure_lengths(directory: Path, rounds: int) -> Iterator[Row]:
    """Every row, with a store below `directory`."""
    home = directory / "lengths"
    world = World(home, None)
    config = world.ask_home / "config" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(SETTINGS)
    for name in ("COVERAGE_PROCESS_START", "COVERAGE_FILE"):
        world.env.pop(name, None)
    fill(world.ask_home / "data" / "ask.db")
    try:
        world.ok("daemon", "start")
        for name, words, limit in (
            ("`ask history show -n 20`", ("history", "show", "-n", "20"), LIMIT),
            ("`ask attach -n 10 --until-idle`", ("attach", "-n", "10", "--until-idle"), LIMIT),
            ("`history show --context -n 20`", ("history", "show", "--context", "-n", "20"), None),
        ):
            yield compare(world, name, words, limit=limit, rounds=rounds)
    finally:
        world.close()


def compare(
    world: World, name: str, words: tuple[str, ...], *, limit: float | None, rounds: int
) -> Row:
    """One command, of the long conversation and of the short one."""
    commands = [
        checked(Command([find_ask(), *words, make_id(n)], world.env)) for n in (LONG, SHORT)
    ]
    pairing = pair(*commands, rounds=rounds)
    low, high = pairing.spread(wall)
    ratio = pairing.ratio(wall)
    took_ms = statistics.median(run.wall_s for run in pairing.a) * 1000
    return Row(
        f"{name} of {LONG:,} events against {SHORT:,}",
        f"{ratio:.2f}× wall ({low:.2f}–{high:.2f}; {took_ms:.0f} ms)",
        "reported" if limit is None else f"≤ {limit}× wall",
        None if limit is None else ratio <= limit,
        ratio=ratio,
    )


def make_id(events: int) -> str:
    """The id of the conversation with so many events."""
    return f"{events:08}-0000-4000-8000-000000000000"


def fill(database: Path) -> None:
    """Write the two conversations, as the daemon would."""
    database.parent.mkdir(parents=True)
    transactions = Transactions(database, connect=connect, now=time.time, migrations=MIGRATIONS)
    transactions.open()
    for events in (SHORT, LONG):
        id = make_id(events)
        bodies = [ConversationCreated(id), *talk(events)]
        times = [BEGIN_AT + place for place in range(len(bodies))]
        write = Write(conversation_id=id, bodies=bodies, create=True, times=times)
        for outcome in transactions.commit([Asked(append(write))], at=BEGIN_AT):
            if isinstance(outcome, Exception):
                raise outcome
    transactions.rest()
    transactions.close()
