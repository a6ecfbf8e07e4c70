"""Where things are shown: text above once and in order, whatever the windows hold."""

import asyncio
import threading
from itertools import pairwise

import pytest
from prompt_toolkit.application import Application

from ask.chat.present import Present
from ask.chat.print import Printer
from ask.chat.stage import SLICE, Stage
from ask.chat.view import View
from ask.feed import News
from tests.client.chat.terminal import Paper


def test_what_is_finished_goes_above_once() -> None:
    view, paper = View(), Paper()
    present = Present(view)
    stage = Stage(present, Printer(coloured=False))
    stage.app = Application(output=paper)
    view.running = "t"
    delta = {"turn_id": "t", "item_id": "i", "kind": "text", "offset": 0}
    view.take(News("delta", {**delta, "text": "One.\n\nTwo"}))
    stage.flush()
    stage.flush()
    assert (paper.above, view.tail) == ("One.\n\n", "Two")
    stage.say("Of our own.")
    present.write("Write a?\nAllow it? ")
    stage.flush()
    assert paper.above == "One.\n\nTwo\n\nOf our own.\n\nWrite a?\n"
    assert present.label == "Allow it? "
    assert view.tail == ""
    stage.say_from_thread("Nobody is there.")
    assert "Nobody" not in paper.above
    assert stage.find_size() == (80, 24)
    assert view.columns == 79, "a line of that many is one row: what is printed breaks a full one"


LINES = 5000


def say(view: View, text: str) -> None:
    view.running = "t"
    delta = {"turn_id": "t", "item_id": "i", "kind": "text", "offset": 0}
    view.take(News("delta", {**delta, "text": text}))


def test_much_code_is_written_in_slices_and_others_have_their_turn() -> None:
    view, paper = View(), Paper()
    stage = Stage(Present(view), Printer(coloured=False))
    stage.app = Application(output=paper)
    say(view, "```python\n" + "".join(f"x = {line}\n" for line in range(LINES)) + "```\n")
    turns: list[int] = []

    async def type_on(done: asyncio.Event) -> None:
        while not done.is_set():
            turns.append(paper.above.count("\n"))
            await asyncio.sleep(0)

    async def chat() -> None:
        done = asyncio.Event()
        typing = asyncio.create_task(type_on(done))
        await stage.flow()
        done.set()
        await typing

    asyncio.run(chat())
    steps = sorted(set(turns))
    assert len(steps) >= LINES / SLICE
    assert max(later - earlier for earlier, later in pairwise(steps)) <= SLICE
    assert paper.above == "```python\n" + "".join(f"x = {n}\n" for n in range(LINES)) + "```\n"


def test_what_paints_is_loaded_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ask.chat.stage.AWAIT_S", 0.001)
    loaded = threading.Event()

    class Loading(Printer):
        def prepare(self) -> None:
            loaded.set()

    stage = Stage(Present(View()), Loading(coloured=False))

    async def chat() -> bool:
        stage.begin()
        return await asyncio.get_running_loop().run_in_executor(None, loaded.wait, 10)

    assert asyncio.run(chat())


class Told(Paper):
    """Tells when something was written."""

    def __init__(self) -> None:
        super().__init__()
        self.wrote = asyncio.Event()

    def write_raw(self, data: str) -> None:
        super().write_raw(data)
        self.wrote.set()


def test_what_is_said_meanwhile_comes_after_what_was_said_before() -> None:
    view, paper = View(), Told()
    stage = Stage(Present(view), Printer(coloured=False))
    stage.app = Application(output=paper)
    say(view, "- x\n" * (3 * SLICE))

    async def chat() -> None:
        flowing = asyncio.create_task(stage.flow())
        await paper.wrote.wait()
        assert paper.above.count("\n") < 2 * SLICE
        stage.say("Of our own.")
        await flowing

    asyncio.run(chat())
    assert paper.above == "\u2022 x\n" * (3 * SLICE) + "\nOf our own.\n"
