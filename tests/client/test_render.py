"""What reaches stdout and stderr, on a terminal and elsewhere."""

import os

import pytest

from ask.render import Screen, show_usage
from ask.terminal import ControlFilter


@pytest.fixture
def styled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard error is a terminal."""
    monkeypatch.setattr(os, "isatty", lambda descriptor: descriptor == 2)


Captured = pytest.CaptureFixture[str]


def test_the_answer_goes_out_without_what_a_terminal_obeys(capfd: Captured) -> None:
    screen = Screen()
    screen.show("\x1b[3")
    screen.show("1mred")
    screen.show("")
    assert capfd.readouterr() == ("red", "")


def test_raw_to_a_pipe_and_raw_to_a_terminal(
    capfd: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    Screen(raw=True).show("\x1b[31mred")
    assert capfd.readouterr().out == "\x1b[31mred"
    monkeypatch.setattr(os, "isatty", lambda descriptor: True)
    Screen(raw=True).show("\x1b[31mred")
    assert capfd.readouterr().out == "red"


def test_a_sequence_that_was_begun_elsewhere_is_ended_here(capfd: Captured) -> None:
    begun = ControlFilter()
    begun.feed("\x1b]0;ti")
    Screen(answer_filter=begun).show("tle\x07text")
    assert capfd.readouterr().out == "text"


def test_records_are_lines_of_json(capfd: Captured) -> None:
    Screen().show_record({"type": "delta", "text": "é\n"})
    assert capfd.readouterr().out == '{"type": "delta", "text": "é\\n"}\n'


def test_records_on_a_terminal_hold_no_control(
    capfd: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "isatty", lambda descriptor: True)
    Screen().show_record({"text": "\x1b[1m\x9b1m\u202e"})
    assert capfd.readouterr().out == '{"text": "\\u001b[1m\\u009b1m\\u202e"}\n'


def test_quiet_and_verbose(capfd: Captured) -> None:
    Screen(quiet=True).say("x")
    Screen().say_verbosely("x")
    assert capfd.readouterr() == ("", "")
    Screen().say("a\x1b[1mb")
    Screen(verbose=True).say_verbosely("here")
    assert capfd.readouterr() == ("", "ab\nask: here\n")


def test_elsewhere_loading_is_one_line_and_reasoning_is_none(capfd: Captured) -> None:
    screen = Screen()
    screen.wait("Loading ...")
    assert screen.tick() is None
    screen.show_reasoning("hm")
    assert capfd.readouterr().err == "Loading ...\n"


def test_on_a_terminal_a_spinner_turns_until_something_is_shown(
    capfd: Captured, styled: None
) -> None:
    screen = Screen()
    screen.wait("Loading\n...")
    left = screen.tick()
    assert left is not None
    assert 0 < left <= 0.1
    screen.show("text")
    assert screen.tick() is None
    out, err = capfd.readouterr()
    assert out == "text"
    assert err == "\r\x1b[K⠋ Loading ...\r\x1b[K"


def test_the_spinner_turns(capfd: Captured, styled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(100))
    monkeypatch.setattr("ask.render.time.monotonic", lambda: float(next(clock)))
    screen = Screen()
    screen.wait("Loading")
    screen.tick()
    screen.end_side()
    screen.end_side()
    assert capfd.readouterr().err == "\r\x1b[K⠋ Loading\r\x1b[K⠙ Loading\r\x1b[K"


def test_reasoning_is_dimmed_and_its_line_ends_before_the_answer(
    capfd: Captured, styled: None
) -> None:
    screen = Screen()
    screen.wait("Loading")
    screen.show_reasoning("hm\x1b[2J, ")
    screen.show_reasoning("yes")
    screen.show("Yes.")
    Screen(quiet=True).show_reasoning("x")
    Screen(quiet=True).wait("x")
    out, err = capfd.readouterr()
    assert out == "Yes."
    assert err == "\r\x1b[K⠋ Loading\r\x1b[K\x1b[2mhm, \x1b[0m\x1b[2myes\x1b[0m\n"


def test_thoughts_in_the_middle_of_an_answers_line(
    capfd: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Screen()
    assert not screen.show_reasoning("hm", line_open=True)  # none is shown here
    monkeypatch.setattr(os, "isatty", lambda descriptor: True)
    screen = Screen()
    screen.show("Let me see")
    assert screen.show_reasoning("hm", line_open=True)
    assert not screen.show_reasoning(", yes", line_open=True)
    assert not screen.show_reasoning("")
    assert capfd.readouterr().out == "Let me see\n"
    monkeypatch.setattr(os, "isatty", lambda descriptor: descriptor == 2)
    screen = Screen()
    assert not screen.show_reasoning("hm", line_open=True)  # another place than the answer's


@pytest.mark.parametrize(
    ("usage", "line"),
    [
        (None, "Tokens: not known."),
        ({"input_tokens": 12, "output_tokens": 3}, "Tokens: 12 in, 3 out."),
        (
            {"input_tokens": 9, "output_tokens": 3, "cached_tokens": 4, "reasoning_tokens": 2},
            "Tokens: 9 in, 3 out (4 cached, 2 reasoning).",
        ),
        (
            {"input_tokens": 1234567, "output_tokens": 3, "cached_tokens": 0, "cost_usd": 0.01234},
            "Tokens: 1,234,567 in, 3 out. Cost: $0.0123.",
        ),
        (
            {"input_tokens": 1, "output_tokens": 1, "cached_tokens": 1000, "cost_usd": 0.00004},
            "Tokens: 1 in, 1 out (1,000 cached). Cost: <$0.0001.",
        ),
        (
            {"input_tokens": 1, "output_tokens": 1, "cost_usd": 0.0},
            "Tokens: 1 in, 1 out. Cost: $0.0000.",
        ),
    ],
)
def test_usage(usage: dict[str, float] | None, line: str) -> None:
    assert show_usage(usage) == line
