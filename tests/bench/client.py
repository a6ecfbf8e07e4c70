"""The client's own cost: whole processes against a Python that does nothing.

`ask` is what `ask install-launcher` writes, as everywhere in the bench; here what pip writes, too.
"""

import sys
from collections.abc import Iterator

from tests.bench.measure import Command, pair, wall
from tests.bench.program import find_ask
from tests.bench.provider import ANSWER_TEXT
from tests.bench.rows import Row, ratio_row
from tests.system.world import ASK, World

PASS = [sys.executable, "-c", "pass"]

WHY = """\
The client itself is what `ask daemon status` shows; the rest of a question is its turn. With a
clock at each step (100 turns in a row, `python -c pass` 14 ms): 5.6 ms until the prompt is
durable, 8.2 until the first words, 3.3 until the end is durable. With the data directory in memory
they are 4.3, 6.1 and 2.1: 4.6 of 17 ms are the disk's, three syncs of some 30 pages or fewer, the
second of them beside the request. A profile of the daemon is flat: some 20,000 calls of functions
a turn, in 61 passes of trio's loop, and but for waiting none takes more than 4 %. Runs of 30 to 80
pairs on this machine gave 1.45 to 1.97, the lower ones where other work kept the processor awake:
each of a turn's hand-overs between processes and threads has to wake it."""


def measure_client(world: World, rounds: int) -> Iterator[Row]:
    """The fast path against a Python that does nothing."""
    nothing = Command(PASS, world.env)
    world.ok("warm")
    for program, how in ((find_ask(), ""), (ASK, ", by the script that pip writes")):
        status = Command([program, "daemon", "status"], world.env)
        prompt = Command([program, "hi"], world.env, expected=ANSWER_TEXT)
        must = program != ASK
        pairing = pair(status, nothing, rounds=rounds)
        yield ratio_row(f"`ask daemon status`{how}", pairing, 1.2, must=must)
        pairing = pair(prompt, nothing, rounds=rounds)
        yield ratio_row(f'`ask "hi"`, answered and durable{how}', pairing, 1.8, must=must)
        if must:
            ratio = pairing.ratio(wall)
            figure = f"{ratio:.2f}× wall"
            yield Row("the same, stretch target", figure, "≤ 1.3× wall", ratio <= 1.3, ratio=ratio)


def measure_cold(world: World, rounds: int) -> Iterator[Row]:
    """The first prompt of the day: no daemon runs before it."""

    def stop() -> None:
        if world.owner() is not None:
            world.ok("daemon", "stop")

    cold = Command([find_ask(), "hi"], world.env, expected=ANSWER_TEXT, before=stop)
    pairing = pair(cold, Command(PASS, world.env), rounds=rounds)
    low, high = pairing.spread(wall)
    yield Row(
        '`ask "hi"` that starts the daemon',
        f"{pairing.ratio(wall):.1f}× wall ({low:.1f}–{high:.1f})",
        "of `python -c pass`; reported",
        None,
        ratio=pairing.ratio(wall),
    )
