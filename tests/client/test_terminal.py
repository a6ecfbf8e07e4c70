"""The filter of control sequences: what passes, what never does, wherever the text is cut."""

import os
import pty
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ask.terminal import ControlFilter, find_terminal, flatten, strip_controls

nasty = st.text(
    st.sampled_from(
        "ab \n\t\r\x1b\x07\x00\x7f\x80\x90\x9b\x9c\x9d\x98\x9e\x9f[]()PX^_\\;0m@~é\u202e\u2066"
    )
    | st.characters(exclude_categories=["Cs"]),
    max_size=60,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\n\ttext é 日本 👩‍💻", "plain\n\ttext é 日本 👩‍💻"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x9b31mred", "red"),
        ("\x1b]52;c;ZXZpbA==\x07after", "after"),
        ("\x1b]0;title\x1b\\after", "after"),
        ("\x1b Pafter", "after"),  # no string begins behind an intermediate
        ("\x1b (\x1b[31mred", "red"),
        ("\x9d8;;http://x\x9clink\x1b]8;;\x1b\\", "link"),
        ("\x1bP1$r0m\x1b\\after", "after"),
        ("\x90q#0\x9cafter", "after"),
        ("\x1b_apc\x1b\\a\x1b^pm\x1b\\b\x1bXsos\x1b\\c", "abc"),
        ("\x98s\x9c\x9es\x9c\x9fs\x9cx", "x"),
        ("\x1b(Bx", "x"),
        ("\x1bcx", "x"),
        ("\x1b\x1b[1mx", "x"),
        ("\x1b]2;never closed\nnext line", "\nnext line"),
        ("\x1b]2;x\x1b[31mred", "red"),
        ("a\x00b\x07c\x08d\x7fe\x85f", "abcdef"),
        ("over\rwritten", "overwritten"),
        ("line\r\nnext\r", "line\r\nnext"),
        ("\r\r\n", "\r\n"),
        ("abc\u202ecba\u2066", "abc\\u202ecba\\u2066"),
        ("\x1b[3é1m", "é1m"),
        ("\x1b[1\nx", "\nx"),
        ("\x1bé", "é"),
        ("\x1b\x9b1mx", "x"),
        ("\x1b]0;t\x18x", "x"),
        ("\u2028\u00a0\ufeff", "\u2028\u00a0\ufeff"),
    ],
)
def test_what_is_shown(text: str, shown: str) -> None:
    assert strip_controls(text) == shown


@given(nasty)
def test_nothing_that_a_terminal_obeys_passes(text: str) -> None:
    shown = strip_controls(text)
    assert not any(char < " " and char not in "\n\t\r" for char in shown)
    assert not any("\x7f" <= char <= "\x9f" for char in shown)
    assert "\r" not in shown.replace("\r\n", "")
    assert not any(
        char in shown for char in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    )


@given(nasty, st.lists(st.integers(0, 60), max_size=8))
def test_where_it_is_cut_does_not_matter(text: str, cuts: list[int]) -> None:
    places = sorted(min(cut, len(text)) for cut in cuts)
    borders = zip([0, *places], [*places, len(text)], strict=True)
    control = ControlFilter()
    assert "".join(control.feed(text[a:b]) for a, b in borders) == strip_controls(text)


@given(st.text(st.characters(exclude_categories=["C", "Zl", "Zp"])))
def test_printable_text_is_left_as_it_is(text: str) -> None:
    assert strip_controls(text) == text


def test_what_others_call_a_thing_is_one_line() -> None:
    assert flatten(" a\x1b[31m name\n of\ttwo\x1b]0;x\x07 lines ") == "a name of two lines"


def test_a_terminal_that_has_a_name() -> None:
    environ = {"ASK_TERMINAL": "left", "TMUX": "/tmp/t,1,0", "TMUX_PANE": "%3"}
    assert find_terminal(environ) == "name:left"


def test_a_tmux_pane_is_one_whatever_session_shows_it() -> None:
    first = find_terminal({"TMUX": "/tmp/tmux-0/default,77,0", "TMUX_PANE": "%3"})
    second = find_terminal({"TMUX": "/tmp/tmux-0/default,77,5", "TMUX_PANE": "%3"})
    assert first == second == "tmux:/tmp/tmux-0/default,77:%3"


def test_no_terminal_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_name(descriptor: int) -> str:
        raise OSError(25, "not a terminal")

    monkeypatch.setattr(os, "ttyname", no_name)
    assert find_terminal({}) is None


@pytest.fixture
def tty(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Path]]:
    """A terminal on standard input: its name, and its session leader's line in /proc."""
    master, slave = pty.openpty()
    before = os.dup(0)
    os.dup2(slave, 0)
    name, leader = os.ttyname(slave), os.getpid()
    monkeypatch.setattr(os, "getsid", lambda pid: leader)
    yield f"tty:{name}:{leader}", Path(f"/proc/{leader}/stat")
    os.dup2(before, 0)
    for descriptor in (before, master, slave):
        os.close(descriptor)


def test_a_tty_is_named_with_its_sessions_leader(tty: tuple[str, Path]) -> None:
    name, status = tty
    started = status.read_text().rpartition(")")[2].split()[19]
    assert find_terminal({}) == f"{name}:{started}"


def test_a_leader_in_another_pid_namespace_leaves_the_age_of_the_tty(
    tty: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a container's `exec` the leader is 0; the terminal has a name of its own all the same."""
    monkeypatch.setattr(os, "getsid", lambda pid: 0)
    named = find_terminal({})
    assert named == f"tty:{os.ttyname(0)}:0:{os.fstat(0).st_ctime_ns}"
    os.write(0, b"used\n")
    assert find_terminal({}) == named  # writing to it, or time, does not rename it
