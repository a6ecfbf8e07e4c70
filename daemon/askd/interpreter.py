"""Python's own settings, for a process that lives for days and answers within milliseconds.

Its garbage collector and its threads are set up for programmes that end, and that compute
more than they wait.
"""

import gc
import sys

YOUNG_LIMIT = 5_000
"""New objects between two looks at the young ones. A prompt makes some thousands, of which
nearly all are gone by themselves; Python's 700 would look several times during each."""

SWITCH_S = 0.000_5
"""How long a thread that could go on waits for the one that runs. The writer's wants its turn
back after each of a commit's two dozen statements: at Python's 5 ms a commit beside an answer
that comes fast took a tenth of a second, and everybody's prompts with it."""


def settle_in() -> None:
    """Make Python ready for a long life of short answers; call it once, when every room is open.

    What the rooms are made of by then (modules, classes, models: over a hundred thousand
    objects) is never garbage; looked through with the rest, it takes a pause of some fifty
    milliseconds, in the middle of somebody's answer.
    """
    gc.freeze()
    gc.set_threshold(YOUNG_LIMIT, *gc.get_threshold()[1:])
    sys.setswitchinterval(SWITCH_S)
