"""The person at the terminal of a prompt: asked what the turn cannot decide, and heard.

A question is shown on stderr, whatever else is quiet, and answered on standard input; where
that is a pipe or a file, on the terminal that the process belongs to. What was typed before
it came is no answer to it; the end of the input is none either.
"""

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ask.approve import find_sight
from ask.fast.beside import open_terminal
from ask.fast.caller import say
from ask.questions import Asker
from ask.typed import TypedLines
from ask.whereabouts import find_terminal

if TYPE_CHECKING:
    from ask.connection import Client
    from ask.render import Screen

STDIN, STDOUT, STDERR = 0, 1, 2


class Person:
    """Who can answer questions of one conversation while a turn of it is followed."""

    def __init__(self, screen: "Screen") -> None:
        self._screen = screen
        self._asker = make_asker(self._write, STDERR)
        self._typed: TypedLines | None = None  # from the first question on

    def _write(self, text: str) -> None:
        self._screen.make_room()
        say(text)

    def take(self, event: Mapping[str, Any]) -> None:
        """Take in an event of the conversation that is new."""
        self._asker.take(event)

    def show(self) -> int | None:
        """Show what is asked; the descriptor that the answer comes on, None: there is none."""
        if self._asker.is_due:
            self._typed = self._typed or find_input()
            if self._typed is None:
                self._asker.can_answer = False  # the terminal is gone; others can answer
            else:
                self._typed.forget()
            self._asker.show()
        typed = self._typed if self._asker.waits else None
        return None if typed is None else typed.descriptor

    def read(self, client: "Client") -> None:
        """Hear what was typed; raise `ConnectionLost` if it could not be passed on."""
        if self._typed is None or not self._asker.waits:
            return
        for line in self._typed.read():
            self._asker.answer(line, lambda params: client.call("question/answer", params))
        if self._typed.ended:
            self._asker.give_up()

    def leave(self) -> None:
        """Nothing is asked any more."""
        if self._typed is not None and self._typed.descriptor != STDIN:
            os.close(self._typed.descriptor)
        self._typed = None


def make_asker(write: Callable[[str], None], descriptor: int, *, can_answer: bool = True) -> Asker:
    """Whoever asks at the terminal that `write` reaches by this descriptor."""
    return Asker(
        write,
        can_answer=can_answer,
        terminal=find_terminal(os.environ),
        look=lambda: find_sight(descriptor, os.environ),
    )


def find_input() -> TypedLines | None:
    """Where a person types; None: nowhere any more."""
    descriptor = STDIN if os.isatty(STDIN) else open_terminal()
    return None if descriptor is None else TypedLines(descriptor)
