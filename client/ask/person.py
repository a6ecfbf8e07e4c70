"""The person at the terminal of a prompt: asked what the turn cannot decide, and heard.

A question is shown on stderr, whatever else is quiet, and answered on standard input.
What was typed before it came is no answer to it; the end of the input is none either.
"""

import os
from collections.abc import Mapping
from typing import Any

from ask.connection import Client
from ask.fast.caller import say
from ask.questions import Asker
from ask.render import Screen
from ask.terminal import find_terminal
from ask.typed import TypedLines

STDIN = 0


class Person:
    """Who can answer questions of one conversation while a turn of it is followed."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._asker = Asker(self._write, terminal=find_terminal(os.environ))
        self._typed = TypedLines(STDIN)

    def _write(self, text: str) -> None:
        self._screen.end_side()
        say(text)

    def take(self, event: Mapping[str, Any]) -> None:
        """Take in an event of the conversation that is new."""
        self._asker.take(event)

    def show(self) -> int | None:
        """Show what is asked; the descriptor that the answer comes on, None: there is none."""
        if self._asker.is_due:
            self._typed.forget()
            self._asker.show()
        return self._typed.descriptor if self._asker.waits else None

    def read(self, client: Client) -> None:
        """Hear what was typed; raise `ConnectionLost` if it could not be passed on."""
        if not self._asker.waits:
            return
        for line in self._typed.read():
            self._asker.answer(line, lambda params: client.call("question/answer", params))
        if self._typed.ended:
            self._asker.give_up()
