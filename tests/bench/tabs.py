"""How long a Tab takes: the whole process behind it, against a Python that does nothing.

A shell waits for it with the line half typed. Nothing is measured of the shells' own work.
"""

import sys
from collections.abc import Iterator

from ask.completion.answer import VARIABLE
from ask.connection import Client
from tests.bench.measure import Command, pair
from tests.bench.program import find_ask
from tests.bench.rows import Row, ratio_row
from tests.system.world import World

CONVERSATIONS = 1000
"""In the store; as many as somebody has who has asked for a year."""
LIMIT = 2.0
"""Of a Python that does nothing: two of them are still one blink."""


def measure_tabs(world: World, rounds: int) -> Iterator[Row]:
    """A word of the table, and names that a daemon is asked for."""
    nothing = Command([sys.executable, "-c", "pass"], world.env)
    env = {**world.env, VARIABLE: "zsh_complete"}
    word = Command([find_ask(), "ask", "history", "sea"], env)
    with Client.connect(world.env) as client:
        for number in range(CONVERSATIONS):
            client.call("conversation/create", {"name": f"tab {number:04}"})
    name = Command([find_ask(), "ask", "-s", "tab 0500"], env, expected="word\ttab 0500")
    names = Command([find_ask(), "ask", "-s", "tab 0"], env)
    yield ratio_row(
        "a Tab behind `history sea`", pair(word, nothing, rounds=rounds), LIMIT, must=False
    )
    of_many = f"one name of {CONVERSATIONS:,}"
    yield ratio_row(
        f"a Tab behind `-s`, {of_many}", pair(name, nothing, rounds=rounds), LIMIT, must=False
    )
    title = "the same, 200 names"
    yield ratio_row(title, pair(names, nothing, rounds=rounds), 2 * LIMIT, must=False)
