"""The client's own screen as a program on a terminal: it shows what it is told, and marks it.

`python -m tests.faults.terminal_screen TOKEN WAY`: on standard input stand lines of JSON, each a
list of showings `[how, pieces]`; both outputs are the terminal. Behind each showing it writes the
token, which no text holds.
"""

import json
import os
import sys

from ask.markdown.live import Live
from ask.markdown.loading import Loading
from ask.render import Screen
from ask.terminal import ControlFilter, strip_controls
from tests.faults.terminal_strings import PAINTED, PLAIN

FORGETFUL = "forgetful"
"""The way that is built wrong: a filter that knows nothing of the piece before."""
STEP_S = 0.03
"""By which time passes with each look at the clock: blocks are painted as they grow, too."""
LOAD_S = 60.0


class Forgetful(ControlFilter):
    """Takes each piece for a text of its own."""

    def feed(self, text: str) -> str:
        """What of one piece a filter without a memory lets through."""
        return strip_controls(text)


class Clock:
    """Passes by being looked at."""

    def __init__(self) -> None:
        self._now = 0.0

    def __call__(self) -> float:
        self._now += STEP_S
        return self._now


def show(how: str, pieces: list[str], way: str, loading: Loading) -> None:
    """One answer, or one thought, in these pieces."""
    live = Live(clock=Clock(), loading=loading) if how == PAINTED else None
    answer_filter = Forgetful() if way == FORGETFUL else None
    screen = Screen(answer_filter=answer_filter, live=live)
    for piece in pieces:
        if how in (PLAIN, PAINTED):
            screen.show(piece)
        else:
            screen.show_reasoning(piece)
    screen.close()
    screen.end_side()


def main() -> None:
    """Until standard input ends."""
    token, way = sys.argv[1:]
    loading = Loading()
    loading.wait(LOAD_S)
    assert loading.found is not None, "the painter cannot be imported"
    for line in sys.stdin:
        for how, pieces in json.loads(line):
            show(how, pieces, way, loading)
            os.write(1, token.encode())


if __name__ == "__main__":
    main()
