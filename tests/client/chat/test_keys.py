"""Keys that are ours: each does what it should and leaves the others to the line editor."""

import asyncio

import pytest
from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer, CompletionState
from prompt_toolkit.completion import Completion
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.layout import BufferControl, Layout, Window
from prompt_toolkit.output import DummyOutput

from ask.chat.keys import bind_keys


class Acts:
    """Keeps what was done; leaving ends the application."""

    def __init__(self, *, takes_key: bool) -> None:
        self.done: list[str] = []
        self.app: Application[None] | None = None
        self._takes_key = takes_key

    def submit(self, text: str) -> None:
        self.done.append(text)

    def stop(self) -> None:
        self.done.append("^C")

    def leave(self) -> None:
        assert self.app is not None
        self.app.exit()

    def takes_key(self) -> bool:
        return self._takes_key


@pytest.mark.parametrize(
    ("typed", "done", "takes_key"),
    [
        ("one\rtwo\r", ["one", "two"], False),
        ("one\ntwo\x1b\rthree\r", ["one\ntwo\nthree"], False),
        ("\r", [""], False),
        ("ab\x03\r", ["^C", "ab"], False),
        ("\x1b[200~a\r\nb\tc\x1b[201~\r", ["a\nb\tc"], False),
        ("ya3", ["y", "a", "3"], True),
        ("no\r", ["no"], True),
        ("xy\r", ["xy"], True),  # within a line a letter is a letter
        ("y\r", ["y"], False),
    ],
)
def test_what_is_typed(typed: str, done: list[str], takes_key: bool) -> None:
    assert press(typed, Buffer(multiline=True), takes_key=takes_key) == done


@pytest.mark.parametrize(("offers", "done"), [(["ab"], ["ab", ""]), (["ab", "ac"], ["ab"])])
def test_enter_takes_what_was_chosen_and_sends_what_alone_could_be_meant(
    offers: list[str], done: list[str]
) -> None:
    buffer = Buffer(document=Document("ab"), multiline=True)
    completions = [Completion(each, start_position=-1) for each in offers]
    buffer.complete_state = CompletionState(Document("a"), completions, complete_index=0)
    assert press("\r\r", buffer) == done


def press(typed: str, buffer: Buffer, *, takes_key: bool = False) -> list[str]:
    """Type this, then Ctrl-U and Ctrl-D; what was done."""
    acts = Acts(takes_key=takes_key)
    with create_pipe_input() as keyboard:
        acts.app = Application(
            layout=Layout(Window(BufferControl(buffer))),
            key_bindings=bind_keys(buffer, acts),
            input=keyboard,
            output=DummyOutput(),
        )
        keyboard.send_text(f"{typed}\x15\x04")
        asyncio.run(acts.app.run_async())
    return acts.done
