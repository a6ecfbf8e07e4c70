"""Stored answers are painted where live ones are, and nowhere else."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ask.commands import painted
from ask.commands.painted import find_paint, paint_answer
from ask.terminal import strip_controls


def test_an_answer_is_painted_and_obeyed_by_no_terminal() -> None:
    lines = paint_answer("# Head\n\n**bold** \x1b]0;title\x07and `code`\n\n\n", 40)
    assert [strip_controls(line) for line in lines] == ["Head", "", "bold and code"]
    assert "\x1b[1m" in lines[2]
    assert "title" not in "".join(lines)


@given(st.text(max_size=200), st.integers(20, 60))
def test_any_answer_has_lines(text: str, width: int) -> None:
    lines = paint_answer(text, width)
    assert all("\n" not in line for line in lines)
    assert "\x1b]" not in "".join(lines)


@pytest.mark.parametrize(
    ("environ", "at_terminal", "installed", "paints"),
    [
        ({"TERM": "xterm"}, True, True, True),
        ({"TERM": "xterm"}, False, True, False),
        ({"TERM": "xterm"}, True, False, False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, True, True, False),
        ({"TERM": "xterm", "ASK_RENDER": "plain"}, True, True, False),
        ({"TERM": "dumb"}, True, True, False),
    ],
)
def test_where_it_is_painted(
    monkeypatch: pytest.MonkeyPatch,
    environ: dict[str, str],
    at_terminal: bool,
    installed: bool,
    paints: bool,
) -> None:
    monkeypatch.setattr(os, "isatty", lambda descriptor: at_terminal)
    monkeypatch.setattr(painted, "is_installed", lambda: installed)
    paint = find_paint(environ, 5)
    assert (paint is not None) is paints
    if paint is not None:
        assert [strip_controls(line) for line in paint("*a* b")] == ["a b"]
