"""What a model thinks aloud: dimmed, on standard error, if that is a terminal.

It knows no turns and no items: whoever shows a thought knows that it is new.
"""

import os

from ask.fast.caller import say
from ask.terminal import ControlFilter

_DIM, _PLAIN = "\x1b[2m", "\x1b[0m"


class Thoughts:
    """Shown as they come, and ended by a line of their own."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.shown = not quiet and os.isatty(2)
        self._filter: ControlFilter | None = None  # one for each run of thoughts
        self._line_open = False

    @property
    def running(self) -> bool:
        """Whether the last thing that was shown is a thought."""
        return self._filter is not None

    def show(self, text: str) -> None:
        """More of a thought."""
        if not self.shown or not text:
            return
        if self._filter is None:
            self._filter = ControlFilter()
        text = self._filter.feed(text)
        if text:
            self._line_open = not text.endswith("\n")
            say(f"{_DIM}{text}{_PLAIN}")

    def end(self) -> None:
        """Something else follows, on a line of its own."""
        self._filter = None
        if self._line_open:
            self._line_open = False
            say("\n")
