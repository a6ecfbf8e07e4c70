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
`ask` is what `ask install-launcher` writes: Python without its search for packages, so that `ask
daemon status` takes what a Python that does nothing takes. The rest of a question is its turn.
With a clock at each step in the daemon (200 turns in a row, `python -c pass` 23 ms): 5.7 ms until
the prompt is durable, 11 until the turn's start is and the first words go out, 14 until the last
have come, 18 until the end is durable. For 1.3× a turn would have to take 7. Its event loop alone
is at work for 17 ms a question, the mirror's part behind the end included, and the threads that
commit for 9: some 16,500 calls of functions, in 53 passes of the loop, a flat profile in which,
but for waiting, nothing takes more than 4 %. Of the three commits one alone takes 0.9 ms where a
Python takes 14, two thirds of it the sync and the pages. Left out by way of trial, of 42 ms: the
time limit of each read 0.6 to 1.0, the start's sync 0.4, the prompt's words in the index 0.3; the
writes to the client before the first words, the mirror, a shorter turn of threads: nothing that
could be seen."""


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
