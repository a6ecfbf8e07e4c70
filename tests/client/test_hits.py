"""Hits as lines: names that fit, words in bold, nothing that a terminal would obey."""

import pytest

from ask.hits import is_styled, lay_out_hits, name_conversation, say_more
from tests.fakes.hits import make_hit


@pytest.fixture(autouse=True)
def _in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setattr(time, "localtime", time.gmtime)


def test_a_hit_is_two_lines() -> None:
    assert lay_out_hits([make_hit()], None, styled=False) == [
        f"1f2e3d4c  {'Foxes':28}  2026-01-01 00:00  assistant",
        "    the red fox",
    ]


def test_the_words_are_bold_if_that_is_wanted() -> None:
    (_, bold) = lay_out_hits([make_hit()], None, styled=True)
    assert bold == "    the \x1b[1mred\x1b[0m \x1b[1mfox\x1b[0m"


def test_nothing_that_a_terminal_would_obey_comes_out_of_a_snippet() -> None:
    text = "an \x1b[31mred\x1b]0;title\x07 \x9b2Jfox \u202e"
    start, fox = text.index("red"), text.index("fox")
    wild = make_hit(text, title="\x1b[2Jt", marks=[[start, start + 3], [fox, fox + 3]])
    (head, said) = lay_out_hits([wild], None, styled=True)
    assert said == "    an \x1b[1mred\x1b[0m \x1b[1mfox\x1b[0m \\u202e"
    assert "\x1b" not in head
    # A sequence that begins before a hit and ends within it.
    (_, said) = lay_out_hits([make_hit("a \x1b[31mb", marks=[[4, 8]])], None, styled=True)
    assert said == "    a \x1b[1mb\x1b[0m"
    (_, said) = lay_out_hits([make_hit("a\x1b[31m", marks=[[1, 6]])], None, styled=True)
    assert said == "    a"


def test_a_long_name_makes_room() -> None:
    (head, _) = lay_out_hits([make_hit(title="long " * 20)], 60, styled=False)
    assert len(head) <= 60
    assert head.endswith("2026-01-01 00:00  assistant")
    (head, _) = lay_out_hits([make_hit(title="long " * 20)], None, styled=False)
    assert "long " * 19 in head, "in a pipe nothing is cut"


def test_a_name_goes_before_a_title() -> None:
    assert name_conversation({"name": "work", "title": "Foxes"}) == "work"
    assert name_conversation({"name": None, "title": "Foxes"}) == "Foxes"
    assert name_conversation({}) == "(untitled)"


def test_more_is_twice_as_much() -> None:
    assert say_more(20) == "There is more: -n 40 shows twice as much."


def test_who_wants_no_sequences_gets_none() -> None:
    assert is_styled({"TERM": "xterm"})
    assert is_styled({"TERM": "xterm", "NO_COLOR": ""})
    assert not is_styled({"TERM": "xterm", "NO_COLOR": "1"})
    assert not is_styled({"TERM": "dumb"})
    assert not is_styled({})
