"""What each key does in a chat: to the line, to the turn, to a question.

It knows no conversation: what a key means is done by `Acts`, which the chat keeps.
"""

from collections.abc import Callable
from typing import Protocol

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition, is_searching
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

CHOICES = "yam123456789"
"""Keys that answer an approval by themselves. `n` is none of them: it may say why."""


IN_WORDS = "Alt-Enter begins another line, Tab completes, Up and Ctrl-R bring back what was typed."
"""For whoever asks for help; Ctrl-C has a sentence of its own."""


class Acts(Protocol):
    """What keys do to a chat."""

    def submit(self, text: str) -> None:
        """A line, or several, was ended with Enter."""

    def stop(self) -> None:
        """Ctrl-C."""

    def leave(self) -> None:
        """Ctrl-D, with nothing typed."""

    def takes_key(self) -> bool:
        """Whether a single key answers what is asked."""


def suspend(event: KeyPressEvent) -> None:
    """Ctrl-Z, wherever it is pressed."""
    event.app.suspend_to_background()


def bind_leaving(leave: Callable[[], None]) -> KeyBindings:
    """The keys of a terminal at which nothing can be typed: those that leave it, and no other."""
    keys = KeyBindings()

    @keys.add("q")
    @keys.add("c-d")
    @keys.add("c-c")
    @keys.add(Keys.SIGINT)
    def end(event: KeyPressEvent) -> None:
        leave()

    keys.add("c-z")(suspend)
    return keys


def bind_keys(buffer: Buffer, acts: Acts) -> KeyBindings:
    """The keys that are ours; all others do what they do in any line editor."""
    keys = KeyBindings()
    typing = ~is_searching
    empty = Condition(lambda: not buffer.text)
    choosing = Condition(acts.takes_key)

    @keys.add("enter", filter=typing)
    def submit(event: KeyPressEvent) -> None:
        offered = buffer.complete_state
        if offered is not None and offered.current_completion and len(offered.completions) > 1:
            buffer.complete_state = None  # it was chosen with the arrows, and stands there
            return
        text = buffer.text
        if text.strip():
            buffer.append_to_history()
        buffer.reset()
        acts.submit(text)

    @keys.add("escape", "enter", filter=typing)
    @keys.add("c-j", filter=typing)
    def insert_line(event: KeyPressEvent) -> None:
        buffer.newline(copy_margin=False)

    @keys.add("c-c")
    @keys.add(Keys.SIGINT)
    def stop(event: KeyPressEvent) -> None:
        acts.stop()

    @keys.add("c-d", filter=empty)
    def leave(event: KeyPressEvent) -> None:
        acts.leave()

    keys.add("c-z")(suspend)
    for key in CHOICES:

        @keys.add(key, filter=typing & empty & choosing)
        def choose(event: KeyPressEvent) -> None:
            acts.submit(event.data)

    return keys
