"""What an attached terminal shows: text for people, JSON for programs."""

import os

import pytest

from ask.commands.views import ALL, JsonView, TextView
from ask.feed import News


def delta(kind: str, text: str) -> News:
    return News("delta", {"turn_id": "t", "item_id": "t.1", "kind": kind, "text": text})


def test_thoughts_are_dimmed_on_a_terminal(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "isatty", lambda descriptor: True)
    view = TextView(ALL)
    view.show([delta("reasoning", "hm\x1b[2J")])
    view.show([delta("reasoning", ", yes")])
    view.show([delta("text", "Yes")])
    view.show([delta("reasoning", "but")])
    view.end_line()
    out, err = capfd.readouterr()
    assert out == "Yes\n"
    assert err == "\x1b[2mhm\x1b[0m\x1b[2m, yes\x1b[0m\n\x1b[2mbut\x1b[0m\n"


def test_what_was_thought_before_the_answer_began_is_of_the_past(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "isatty", lambda descriptor: True)
    TextView(ALL).show([delta("reasoning", "hm"), delta("text", "Yes")])
    assert capfd.readouterr() == ("Yes", "")


def test_what_is_said_beside_the_news_has_a_line_of_its_own(
    capfd: pytest.CaptureFixture[str],
) -> None:
    view = TextView(ALL)
    view.show([delta("text", "Let me")])
    view.tell("A question?\n")
    assert capfd.readouterr().out == "Let me\nA question?\n"


def test_a_program_finds_questions_among_the_news(capfd: pytest.CaptureFixture[str]) -> None:
    view = JsonView(ALL)
    view.tell("A question?\n")
    view.end_line()
    view.show([News("event", {"type": "question_asked", "seq": 1})])
    assert capfd.readouterr().out == '{"type": "question_asked", "seq": 1}\n'
