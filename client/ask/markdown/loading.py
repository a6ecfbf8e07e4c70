"""The painter, imported beside the work: a thread does it, and nobody waits for it unasked.

rich takes longer to import than a whole `ask` takes to run. It is begun when the prompt has
been sent, never before, and while it goes on tokens are shown as they come.
"""

import sys
import time

TYPE_CHECKING = False  # what mypy believes of the name; importing `typing` would cost 2 ms
if TYPE_CHECKING:
    import _thread
    from collections.abc import Callable

    from ask.markdown.paint import Painter
else:
    import _thread  # `threading` would cost a module more

SWITCH_S = 0.0005
"""Between two threads while one of them imports; Python's 5 ms could be seen in a token."""


def import_painter() -> "type[Painter]":
    """All that painting needs."""
    from ask.markdown.paint import Painter

    return Painter


class Loading:
    """One import, begun at most once."""

    def __init__(self, load: "Callable[[], type[Painter]]" = import_painter) -> None:
        self._load = load
        self._done = _thread.allocate_lock()
        self._found: type[Painter] | None = None
        self.begun = False

    def begin(self) -> None:
        """Import from now on, in a thread."""
        if self.begun:
            return
        self.begun = True
        self._done.acquire()
        before = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_S)
        try:
            _thread.start_new_thread(self._run, (before,))
        except RuntimeError:  # no thread can be had: it stays plain
            self._end(before)

    @property
    def over(self) -> bool:
        """Whether it has come to its end, well or not."""
        return self.begun and not self._done.locked()

    @property
    def found(self) -> "type[Painter] | None":
        """The painter; None: not yet, or never."""
        return self._found if self.over else None

    def wait(self, limit_s: float) -> None:
        """Let it come to its end, for so long."""
        self.begin()
        deadline = time.monotonic() + limit_s
        if self._done.acquire(timeout=max(deadline - time.monotonic(), 0.0)):
            self._done.release()

    def _run(self, before: float) -> None:
        try:
            self._found = self._load()
        except Exception:  # half an installation: the answer is shown all the same
            self._found = None
        finally:
            self._end(before)

    def _end(self, before: float) -> None:
        sys.setswitchinterval(before)
        self._done.release()
