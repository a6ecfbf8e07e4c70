"""The client's own cost: whole processes against a Python that does nothing."""

import sys
from collections.abc import Iterator

from tests.bench.measure import Command, pair, wall
from tests.bench.provider import ANSWER_TEXT
from tests.bench.rows import Row, ratio_row
from tests.system.world import ASK, World

PASS = [sys.executable, "-c", "pass"]


def measure_client(world: World, rounds: int) -> Iterator[Row]:
    """The fast path against a Python that does nothing."""
    nothing = Command(PASS, world.env)
    world.ok("warm")
    status = Command([ASK, "daemon", "status"], world.env)
    prompt = Command([ASK, "hi"], world.env, expected=ANSWER_TEXT)
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

    cold = Command([ASK, "hi"], world.env, expected=ANSWER_TEXT, before=stop)
    pairing = pair(cold, Command(PASS, world.env), rounds=rounds)
    low, high = pairing.spread(wall)
    yield Row(
        '`ask "hi"` that starts the daemon',
        f"{pairing.ratio(wall):.1f}× wall ({low:.1f}–{high:.1f})",
        "of `python -c pass`; reported",
        None,
    )
