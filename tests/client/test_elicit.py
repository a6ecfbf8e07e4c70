"""A server's wish at a terminal: who asks, in our words, and what they say, behind the gutter."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ask.approve import GUTTER, Sight
from ask.elicit import (
    Elicitation,
    Filling,
    lay_out_elicitation,
    read_decision,
    read_elicitation,
)
from tests.client.test_forms import SCHEMA

DETAIL: dict[str, Any] = {
    "text": "The server 'here' asks: Who are you?",
    "server": "here",
    "tool": "here__ask",
    "message": "Who are you?",
    "schema": SCHEMA,
}
CHOICES = ("Send it", "Decline", "Cancel")


def asked(**more: Any) -> Elicitation:
    detail = {**DETAIL, **more}
    return read_elicitation(detail, str(detail["text"]))


def small(*required: str) -> Elicitation:
    properties = {"name": {"type": "string"}, "size": {"type": "integer", "default": 3}}
    return asked(schema={"properties": properties, "required": list(required)})


def test_it_is_shown_with_every_field_or_how_they_are_filled_in() -> None:
    lines = lay_out_elicitation(asked(), Sight())
    assert lines[:2] == ['Asked by the server "here", in a call of here__ask:', "  | Who are you?"]
    assert 'Field 1 of 7, required, named "name":' in lines, "else nobody could say NAME=VALUE"
    assert "Field 2 of 7, may be left out:" in lines, "its name is what it is shown by"
    assert "  | Your name" in lines
    assert "1. Red" in lines
    assert "A whole number, 1 to 9 [3]" in lines
    lines = lay_out_elicitation(asked(), Sight(), whole=False)
    assert lines[:2] == ['Asked by the server "here", in a call of here__ask:', "  | Who are you?"]
    (how,) = lines[2:]
    assert "Type no password and no key" in how
    assert "/decline" in how


def test_a_page_is_shown_whole_on_a_line_of_its_own() -> None:
    url = "https://example.com/" + "x" * 500
    lines = lay_out_elicitation(
        asked(schema=None, url=url, host="example.com"), Sight(columns=40, rows=6)
    )
    assert f"  {url}" in lines
    assert 'It leads to "example.com":' in lines
    assert any("Nothing is opened for you" in line for line in lines)


def test_a_long_message_is_cut_and_said_to_be() -> None:
    wish = asked(message="\n".join(f"line {n}" for n in range(100)))
    lines = lay_out_elicitation(
        wish, Sight(columns=40, rows=6), more=": /more shows it", whole=False
    )
    assert "  | line 5" in lines
    assert "  | line 6" not in lines
    assert "  ... 94 more rows: /more shows it" in lines
    assert "  | line 99" in lay_out_elicitation(wish, Sight(columns=40), whole=False)


def test_a_detail_that_says_little_is_its_text() -> None:
    wish = read_elicitation({"schema": 3}, "Well?")
    assert wish == Elicitation("?", "?", "Well?")
    assert lay_out_elicitation(wish, Sight())[1] == "  | Well?"


@given(st.text(), st.text(), st.sampled_from([None, 24, 80]))
def test_nothing_of_a_server_begins_a_line_or_acts(text: str, name: str, columns: Any) -> None:
    field = {"type": "string", "title": text, "description": text, "default": text, "format": text}
    choice = {"type": "string", "oneOf": [{"const": text, "title": text}]}
    schema = {"properties": {name: field, "c": choice}}
    wish = asked(server=text, message=text, schema=schema, url=text, host=text)
    sight = Sight(columns=columns)
    lines = "\n".join(lay_out_elicitation(wish, sight)).split("\n")
    filling = Filling(wish)
    lines += filling.show(CHOICES, sight).split("\n")
    filling.hear("")
    filling.hear("1")
    lines += filling.show(CHOICES, sight).split("\n")
    assert all(line.isprintable() for line in lines)
    ours = (
        *("Asked by", "in a call", "It leads to", "Nothing is", "Field ", "A text", "One of them"),
        *("1. ", "2. ", "3. ", "The server", "Send it?", "In this form:", "An empty line"),
    )
    theirs = [line for line in lines if line and not line.startswith((GUTTER, *ours))]
    if columns is None:
        assert all(line.startswith("  ") for line in theirs), theirs


def test_a_form_is_filled_in_field_by_field() -> None:
    filling = Filling(small("name"))
    assert filling.show(CHOICES, Sight()).endswith("Field 1 of 2, required:\n  | name\nA text: ")
    assert filling.hear("") == (None, "This is required.")
    assert filling.hear("Ada") == (None, None)
    assert filling.show(CHOICES, Sight()).endswith("A whole number [3]: ")
    assert filling.hear("three") == (None, "This is a whole number.")
    assert filling.hear("") == (None, None)
    assert filling.show(CHOICES, Sight()) == (
        'The server "here" would get:\n'
        "  | name: Ada\n"
        "  | size: 3\n\n"
        "1. Send it\n2. Decline\n3. Cancel\n\n"
        "Send it? (1-3 or y/d/c) "
    )
    assert filling.hear("Ada") == (None, None)
    assert filling.hear("y") == ("accept", None)
    assert filling.values == {"name": "Ada", "size": 3}


def test_what_strangers_wrote_stands_in_rows_of_its_own_if_it_is_long() -> None:
    field = {"type": "string", "default": "Answered elsewhere: Yes\n", "pattern": "^a+$"}
    filling = Filling(asked(schema={"properties": {"x": field}}))
    assert filling.show(CHOICES, Sight()) == (
        "Field 1 of 1, may be left out:\n  | x\n"
        "In this form:\n  | ^a+$\n"
        "An empty line takes:\n  | Answered elsewhere: Yes\n  | \n"
        "A text [what stands above]: "
    )
    filling.hear("")
    assert filling.values == {"x": "Answered elsewhere: Yes\n"}
    said = filling.reopen({"x": "This is one of: a,\nAnswered elsewhere.", "y\nAllow it?": "No."})
    assert said == ['"x": This is one of: a, Answered elsewhere.', '"y Allow it?": No.']


def test_nothing_at_all_may_be_sent() -> None:
    filling = Filling(asked(schema={"properties": {"name": {"type": "string"}}}))
    filling.hear("")
    assert "would get:\n  nothing\n\n1. Send it" in filling.show(CHOICES, Sight())
    assert (filling.hear("1"), filling.values) == (("accept", None), {})


def test_one_goes_back_and_takes_something_back() -> None:
    filling = Filling(small())
    assert filling.hear("/back") == (None, None)
    assert filling.left == [1, 2]
    filling.hear("Ada")
    filling.hear("4")
    filling.hear("/back")
    filling.hear("/back")
    assert filling.left == [1, 2]
    filling.hear("")
    assert filling.values == {"size": 4}
    filling.hear("5")
    assert (filling.left, filling.values) == ([], {"size": 5})


@pytest.mark.parametrize("word", ["decline", "cancel"])
def test_it_ends_with_a_word_at_any_field(word: str) -> None:
    filling = Filling(small())
    assert filling.hear(f"/{word}") == (word, None)
    filling.hear("x")
    filling.hear("")
    assert filling.hear(f"/{word}") == (word, None)
    assert filling.hear(word) == (word, None)


def test_what_the_daemon_does_not_take_is_asked_for_again() -> None:
    filling = Filling(small())
    filling.hear("Ada")
    filling.hear("4")
    said = filling.reopen({"size": "This is too much.", "": "All is amiss.", "other": "No."})
    assert said == ['"size": This is too much.', "All is amiss.", '"other": No.']
    assert filling.left == [2]
    filling.hear("1")
    assert (filling.left, filling.values) == ([], {"name": "Ada", "size": 1})
    filling.hear("/back")
    filling.hear("/back")
    assert filling.left == [1, 2]


def test_a_decision_is_a_number_a_letter_or_its_word() -> None:
    words = {"1": "accept", " Yes ": "accept", "d": "decline", "n": "decline", "3": "cancel"}
    for typed, decision in words.items():
        assert read_decision(typed) == decision
    for typed in ("", "4", "maybe", "yes please", "s"):
        assert read_decision(typed) is None
