"""The first words on a terminal: shown before anything is loaded, and as `Live` would show them."""

import os
import pty
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ask.markdown import first, rows
from ask.markdown.first import COLUMNS, First, cut_row, open_first
from ask.markdown.live import Live
from ask.markdown.rows import Rows
from tests.client.markdown.test_live import AtHand, Clock, paint_whole
from tests.client.markdown.texts import ANSWER, PLACES, cut_up
from tests.fakes.screens import FakeScreen

HEAVY = ("ask.markdown.live", "rich", "pygments", "markdown_it")


class Stage:
    """A first region whose `Live`, once it is wanted, is on a screen that both write to."""

    def __init__(self, columns: int = COLUMNS, lines: int = 2000) -> None:
        self.screen = FakeScreen(columns, lines)
        self.clock = Clock()
        self.loading = AtHand()
        self.opened = 0

    def open_live(self, environ: object) -> Live:
        self.opened += 1
        return Live(
            size=self.screen.size, out=self.screen.write, clock=self.clock, loading=self.loading
        )

    def write_all(self, descriptor: int, data: bytes) -> None:
        self.screen.write(data.decode())


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    stage = Stage(COLUMNS + 1)
    monkeypatch.setattr(first, "open_live", stage.open_live)
    monkeypatch.setattr(first, "write_all", stage.write_all)
    monkeypatch.setattr(first, "find_columns", lambda: stage.screen.columns)
    monkeypatch.setattr(first, "YIELD_S", 0)
    return stage


@pytest.fixture
def connection() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


WORDS = st.text(alphabet="ab \n\t\r日👨\u200d👩🇩🇪❤\ufe0fe\u0301", max_size=60)


@given(WORDS, st.integers(min_value=10, max_value=60))
def test_what_is_shown_first_is_what_rows_would_write(text: str, columns: int) -> None:
    shown = cut_row(text, columns)
    assert text.startswith(shown)
    assert Rows(columns).lay(shown) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("x" * 100, "x" * (40 - rows.MARGIN)),
        ("日" * 100, "日" * 19),
        ("a\nb\n", "a\nb\n"),
        ("a\tb", "a"),
        ("\r\nb", ""),
    ],
)
def test_as_much_as_is_sure_is_shown_first(text: str, shown: str) -> None:
    assert cut_row(text, 40) == shown


@given(PLACES, st.integers(40, 120))
def test_the_whole_stands_there_as_if_painted_at_once(places: list[int], columns: int) -> None:
    stage = Stage(columns)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(first, "open_live", stage.open_live)
        patch.setattr(first, "write_all", stage.write_all)
        patch.setattr(first, "find_columns", lambda: columns)
        patch.setattr(first, "YIELD_S", 0)
        region = First({})
        for piece in cut_up(ANSWER, places):
            region.feed(piece)
            stage.clock.now += 1.0
        region.finish()
    assert stage.screen.text == paint_whole(ANSWER, columns, 2000)
    assert stage.opened == 1


def test_the_first_words_are_written_before_anything_is_loaded(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def open_late(environ: object) -> Live:
        seen.append(stage.screen.text)
        return stage.open_live(environ)

    monkeypatch.setattr(first, "open_live", open_late)
    First({}).feed("Some **wo")
    assert seen == ["Some **wo\n"]
    assert stage.loading.begun


def test_news_without_words_load_nothing(stage: Stage) -> None:
    First({}).feed("")
    assert (stage.opened, stage.screen.writes) == (0, 0)


def test_a_window_that_changed_meanwhile_leaves_what_stands(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first, "find_columns", lambda: 40)
    region = First({})
    region.feed("**one** and more of it")
    region.feed("\n\n**two**\n")
    region.finish()
    assert stage.screen.text == "**one** and more of it\n\ntwo\n"


def test_a_model_that_lets_wait_leaves_time_to_load(
    stage: Stage,
    connection: tuple[socket.socket, socket.socket],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(first, "IDLE_S", 0.001)
    ours, theirs = connection
    region = First({})
    theirs.send(b"x")
    region.rest(ours)
    assert stage.opened == 0
    assert ours.recv(1) == b"x"
    region.rest(ours)
    assert (stage.opened, stage.loading.begun) == (1, True)
    assert ours.gettimeout() is None
    region.rest(ours)  # nothing is due: it does not wait
    assert stage.screen.writes == 0
    region.feed("**one**\n")
    region.finish()
    assert stage.screen.text == "one\n"


def test_who_has_no_painter_sees_all_of_it(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first, "open_live", lambda environ: None)
    region = First({})
    region.pause()
    for piece in ("**one**", " two", " " + "x" * 100):
        region.feed(piece)
    region.pause()
    region.finish()
    assert stage.screen.text == "**one** two " + "x" * 100 + "\n"


def test_it_is_only_for_terminals_that_want_it(monkeypatch: pytest.MonkeyPatch) -> None:
    master, slave = pty.openpty()
    monkeypatch.setattr(first, "STDOUT", slave)
    assert open_first({"TERM": "xterm"}) is not None
    assert open_first({"TERM": "dumb"}) is None
    assert open_first({"TERM": "xterm", "NO_COLOR": "1"}) is None
    assert first.find_columns() == COLUMNS  # a terminal that does not say
    os.close(master)
    os.close(slave)
    assert first.find_columns() == COLUMNS
    assert open_first({"TERM": "xterm"}) is None


PROBE = """
import os, sys
from ask.markdown import first
loaded = lambda: [name for name in sys.argv[1:] if name in sys.modules]
before, write = [], first.write_all
first.write_all = lambda *given: (before.append(loaded()), write(*given))
os.isatty = lambda descriptor: True
region = first.open_first({"TERM": "xterm"})
region.feed("Hello")
print(file=sys.stderr)
print(before, loaded(), file=sys.stderr)
"""


def test_nothing_heavy_is_loaded_before_the_first_word() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *HEAVY[:1]],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path.cwd(),
    )
    assert done.stdout == "Hello"
    assert done.stderr.splitlines()[-1] == "[[]] ['ask.markdown.live']"
