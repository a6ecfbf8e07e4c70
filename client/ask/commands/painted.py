"""Stored answers as the live ones look: painted at a terminal that shows it, else plain.

rich is imported only where there is something to paint, and after the daemon has answered.
"""

import os
from collections.abc import Callable, Mapping

from ask.markdown.blocks import Splitter
from ask.markdown.loading import import_painter
from ask.markdown.wanted import STDOUT, find_plainness, is_installed

LEAST_COLUMNS = 20
"""Narrower nothing is laid out; the terminal breaks the lines."""
Paint = Callable[[str], list[str]]
"""The lines of an answer; nothing of it is left that a terminal would obey."""


def find_paint(environ: Mapping[str, str], columns: int | None) -> Paint | None:
    """What paints answers for standard output, in so many columns; None: they are plain there."""
    if find_plainness(environ) or not (os.isatty(STDOUT) and is_installed()):
        return None
    width = max(columns or 0, LEAST_COLUMNS)
    return lambda text: paint_answer(text, width)


def paint_answer(text: str, width: int) -> list[str]:
    """A whole answer, painted; without the empty lines at its end."""
    splitter = Splitter()
    blocks = [*splitter.feed(text), *splitter.finish()]
    return import_painter()(width).paint_all(blocks).rstrip("\n").split("\n")
