"""A chat with an editor at a terminal that is a pipe: what is typed goes in, what is said is kept.

The chat and its loop run in a thread; the test is the person.
"""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from ask.approve import Sight
from ask.chat.app import ChatApp
from ask.chat.desk import Desk
from ask.chat.letter import Sender
from ask.chat.past import Past, find_past
from ask.chat.present import Present
from ask.chat.print import Printer
from ask.chat.reader import Reader
from ask.chat.recall import Recall
from ask.chat.screen import STYLE
from ask.chat.view import View
from ask.chat.watch import Watch
from ask.commands.calls import resolve
from ask.connection import Client
from ask.exits import Failed
from ask.questions import Asker

LIMIT_S = 20.0
"""How long anything may take before a test is wrong."""


class Paper(DummyOutput):
    """A terminal that keeps what was written above the windows, and what the windows hold."""

    def __init__(self) -> None:
        self.above = ""
        self.drawn = ""
        self.size = Size(rows=24, columns=80)

    def write_raw(self, data: str) -> None:
        self.above += data.replace("\r\n", "\n")

    def write(self, data: str) -> None:
        self.drawn += data

    def erase_down(self) -> None:
        self.drawn = ""

    def get_size(self) -> Size:
        return self.size


class Terminal:
    """A person in a chat, or attached to a conversation.

    Attributes:
        watch: what the person sees; `chat`: the same, where something can be typed.
    """

    def __init__(
        self,
        conversation_id: str | None,
        keyboard: PipeInput,
        *,
        clock: list[float],
        detaches: bool,
        read_only: bool,
        until_idle: bool,
    ) -> None:
        self.paper = Paper()
        self.keyboard = keyboard
        self.code: int | None = None
        self.error: Failed | None = None
        view = View()
        self.present = Present(view, detaches=detaches or read_only, read_only=read_only)
        self.reader = Reader(
            lambda start: Client.connect(start=False),
            lambda: self.watch.wake(),
            limit_s=LIMIT_S,
            interactive=not read_only,
        )
        self.desk = Desk(
            caller=self.reader, show=print, tell=print, conversation_id=conversation_id,
            expect_notice=view.expect_notice, expect_change=view.expect_change,
        )  # fmt: skip
        asker = Asker(
            self.present.write,
            can_answer=not read_only,
            terminal="name:here",
            look=lambda: Sight(columns=80),
        )
        shown: dict[str, Any] = {
            "reader": self.reader,
            "asker": asker,
            "present": self.present,
            "printer": Printer(coloured=False),
            "style": STYLE,
            "until_idle": until_idle,
            "input": keyboard,
            "output": self.paper,
        }
        self.watch: Watch
        if read_only:
            self.watch = Watch(desk=self.desk, **shown)
        else:
            self.watch = self.chat = ChatApp(
                sender=Sender(self.desk, view.expect_prompt),
                recall=Recall(None),
                names=lambda what: [("fake/echo", "")],
                clock=lambda: clock[0],
                **shown,
            )
        self.reader.start(Client.connect(start=False))
        if conversation_id is not None:
            self.present.follows = conversation_id
            past = Past()
            if until_idle:  # what goes on is known before it begins
                with Client.connect(start=False) as client:
                    past = find_past(client, resolve(client, conversation_id), 0)
            self.watch.recall(past)
            self.reader.follow(conversation_id, past.seq)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        self.wait(lambda: self.watch.app.is_running or not self._thread.is_alive())

    def _run(self) -> None:
        try:
            self.code = asyncio.run(self.watch.run())
        except Failed as error:
            self.error = error

    def type(self, text: str) -> None:
        """Press keys; `\\r` is Enter."""
        self.keyboard.send_text(text)

    def wait(self, condition: Callable[[], Any]) -> None:
        """Wait until it is so."""
        until = time.monotonic() + LIMIT_S
        while not condition():
            assert time.monotonic() < until, (self.paper.above, self.paper.drawn, self.error)
            time.sleep(0.005)

    def wait_for(self, text: str) -> None:
        """Wait until it stands above."""
        self.wait(lambda: text in self.paper.above)

    def end(self) -> int | None:
        """Wait for the end; the exit code."""
        self._thread.join(LIMIT_S)
        assert not self._thread.is_alive(), self.paper.above
        self.reader.close()
        return self.code

    def close(self) -> None:
        """Leave, whatever goes on."""
        loop = self.watch.app.loop
        if self._thread.is_alive() and loop is not None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self.watch.leave)
        self.end()


@contextmanager
def open_terminal(
    conversation_id: str | None = None,
    *,
    clock: list[float] | None = None,
    detaches: bool = False,
    read_only: bool = False,
    until_idle: bool = False,
) -> Iterator[Terminal]:
    """A chat, or what its arguments say, that has ended when the block has."""
    with create_pipe_input() as keyboard:
        terminal = Terminal(
            conversation_id,
            keyboard,
            clock=clock or [100.0],
            detaches=detaches,
            read_only=read_only,
            until_idle=until_idle,
        )
        try:
            yield terminal
        finally:
            terminal.close()
