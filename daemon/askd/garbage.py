"""The garbage collector of a process that lives for days and answers within milliseconds.

What the rooms are made of when they begin (modules, classes, models: over a hundred
thousand objects) is never garbage; looked through with the rest, it takes a pause of some
fifty milliseconds, in the middle of somebody's answer.
"""

import gc

YOUNG_LIMIT = 5_000
"""New objects between two looks at the young ones. A prompt makes some thousands, of which
nearly all are gone by themselves; Python's 700 would look several times during each."""


def spare_what_stays() -> None:
    """Never look through what exists by now again; call it once, when every room is open."""
    gc.freeze()
    gc.set_threshold(YOUNG_LIMIT, *gc.get_threshold()[1:])
