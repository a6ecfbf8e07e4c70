"""Where a chat shows things: finished text above its windows, once, and the windows anew.

It knows the application and nothing of what happens in it.
"""

import asyncio
from functools import partial
from typing import Literal

from prompt_toolkit.application import Application

from ask.chat.present import Present
from ask.chat.print import Printer
from ask.chat.view import Piece

LEAST_COLUMNS = 2
SLICE = 100
"""Pieces that are written before keys are looked at again: of code 20 ms of work."""

AWAIT_S = 0.15
"""After the begin, for the windows to be drawn first; nobody has typed a prompt by then."""


class Stage:
    """The terminal of one chat. All but `say_from_thread` is for the loop's thread.

    Attributes:
        app: set by whoever makes it, before anything is shown.
    """

    app: Application[int]

    def __init__(self, present: Present, printer: Printer) -> None:
        self._view = present.view
        self._present = present
        self._printer = printer
        self._left: list[Piece] = []  # taken from the view, and not written yet
        self._prepared: asyncio.Future[None] | None = None

    def find_size(self) -> tuple[int, int]:
        """Columns and rows, as they are now."""
        size = self.app.output.get_size()
        return max(size.columns, LEAST_COLUMNS), max(size.rows, 1)

    def flush(self) -> None:
        """Write above what is finished, all of it, and draw the rest."""
        columns, _ = self.find_size()
        self._view.columns = columns - 1  # as what is printed: a full row would be two
        pieces = [*self._left, *self._view.take_pieces()]
        self._left.clear()
        text = self._printer.lay_all(pieces, columns)
        asked = self._present.take_written()
        if asked:
            text += self._printer.lay_raw(asked)
        self._write(text)

    def begin(self) -> None:
        """The loop runs: soon what paints is loaded, beside what is typed."""
        asyncio.get_running_loop().call_later(AWAIT_S, self._prepare)

    async def flow(self) -> None:
        """The same, and however much it is, keys are taken meanwhile."""
        self._left += self._view.take_pieces()
        blocks = [place for place, each in enumerate(self._left) if each.block is not None]
        if blocks and not (self._prepared is not None and self._prepared.done()):
            self._write_left(blocks[0])
            await self._prepare()
        while len(self._left) > SLICE:
            self._write_left(SLICE)
            await asyncio.sleep(0)
        self.flush()

    def _write_left(self, count: int) -> None:
        """The first of what is left."""
        columns, _ = self.find_size()
        pieces = self._left[:count]
        del self._left[:count]
        self._write(self._printer.lay_all(pieces, columns))

    def _prepare(self) -> "asyncio.Future[None]":
        if self._prepared is None:
            loop = asyncio.get_running_loop()
            self._prepared = loop.run_in_executor(None, self._printer.prepare)
        return self._prepared

    def say(self, text: str, *, kind: Literal["own", "failure"] = "own") -> None:
        """Write a text of our own above."""
        self._view.break_tail()
        self.flush()
        columns, _ = self.find_size()
        self._write(self._printer.lay(Piece(kind, text), columns))

    def say_raw(self, text: str) -> None:
        """Write what is laid out already."""
        self._write(self._printer.lay_raw(text))

    def say_from_thread(self, text: str) -> None:
        """As `say`, from any thread."""
        loop = self.app.loop
        if loop is not None:
            loop.call_soon_threadsafe(partial(self.say, text))

    def _write(self, text: str) -> None:
        if text:
            if self.app.is_running:
                self.app.renderer.erase()
            # Raw: the terminal does not end lines by itself while keys are read one by one.
            self.app.output.write_raw(text.replace("\n", "\r\n"))
            self.app.output.flush()
        if self.app.is_running:
            self.app.invalidate()
