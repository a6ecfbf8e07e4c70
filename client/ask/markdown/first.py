"""The first words of an answer on a terminal: shown before anything that paints is loaded.

A model that answers at once does so sooner than even the light half of painting is loaded, and
a painted answer's first token may come no later than a plain one's. So the first words are
written plainly, exactly as `ask.markdown.live` would, which is told of them afterwards; and a
model that lets wait leaves time to load all of it. It paints nothing, and keeps nothing back.
"""

import os
import time
from _socket import MSG_PEEK

from ask.fast.caller import write_all
from ask.markdown.wanted import STDOUT, find_plainness, open_live

TYPE_CHECKING = False  # what mypy believes of the name; importing `typing` would cost 2 ms
if TYPE_CHECKING:
    import _socket
    from collections.abc import Mapping

    from ask.markdown.live import Live

IDLE_S = 0.15
"""A model that says nothing for so long leaves time to load what paints.

That takes about 0.1 s, in a thread. A token that comes in the middle waits for Python's lock, a
third of a millisecond (median of 192 tokens; one in ten 0.8 ms), and on a machine without a
free processor as long as that keeps the thread waiting, up to 8 ms. So it begins where tokens
are rare: models on this machine answer sooner, hosted ones when it is over. Only after the
first token it would be later for none, but a short answer would stay plain 0.1 s longer.
"""
YIELD_S = 0.001
"""What is written is seen when the terminal has had its turn: who goes on computing at once keeps
a processor from it, and a token was seen 1.5 ms later by that."""
MARGIN = 2
"""As `ask.markdown.rows.MARGIN`."""
COLUMNS = 80
"""Of a terminal that does not say."""


def open_first(environ: "Mapping[str, str]") -> "First | None":
    """What shows answers on this terminal; None: they are shown as they come."""
    if find_plainness(environ) is not None or not os.isatty(STDOUT):
        return None
    return First(environ)


class First:
    """Shows the beginning of an answer, and hands all that follows to a `Live`.

    Attributes:
        live: once it is loaded; None: not yet, or never.
    """

    __slots__ = ("_environ", "_is_open", "live")

    def __init__(self, environ: "Mapping[str, str]") -> None:
        self._environ = environ
        self._is_open = False
        self.live: Live | None = None

    def rest(self, stream: "_socket.socket") -> None:
        """Do what is due until something can be read; or until nothing is due any more."""
        if self.live is not None:
            self.live.rest(stream.fileno())
        elif not self._is_open:
            stream.settimeout(IDLE_S)  # `select` would be a module more
            try:
                stream.recv(1, MSG_PEEK)
            except TimeoutError:
                self._open("", find_columns())
            finally:
                stream.settimeout(None)

    def feed(self, text: str) -> None:
        """More of the answer."""
        if not text:
            return
        if not self._is_open:
            columns = find_columns()
            shown = cut_row(text, columns)
            write_all(STDOUT, shown.encode(errors="replace"))
            time.sleep(YIELD_S)
            self._open(shown, columns)
            text = text[len(shown) :]
        if self.live is not None:
            self.live.feed(text)
        else:
            write_all(STDOUT, text.encode(errors="replace"))

    def pause(self) -> None:
        """Something else is shown below: what there is is ended, on a line of its own."""
        if self.live is not None:
            self.live.pause()

    def finish(self) -> None:
        """The answer is over. What comes then is another one."""
        if self.live is not None:
            self.live.finish()

    def _open(self, shown: str, columns: int) -> None:
        """Load what shows the rest; `shown` stands on the screen already."""
        self._is_open = True
        self.live = open_live(self._environ)
        if self.live is not None:
            self.live.adopt(shown, columns)


def find_columns() -> int:
    """Of the terminal, now."""
    try:
        return os.get_terminal_size(STDOUT).columns or COLUMNS
    except OSError:
        return COLUMNS


def cut_row(text: str, columns: int) -> str:
    """The beginning of a text that surely stands in one row, and needs nothing replaced.

    No terminal gives a character more than two columns.
    """
    shown = text[: max(columns - MARGIN, 0)]
    if not shown.isascii():
        shown = shown[: len(shown) // 2]
    for replaced in "\t\r":
        shown = shown.partition(replaced)[0]
    return shown
