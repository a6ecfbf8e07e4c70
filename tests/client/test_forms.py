"""What is typed into a field: a value that fits, or a sentence; and what the field takes."""

import re
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ask.forms import Field, read_fields, read_pairs, read_value, read_whole, word_field

TITLED = [{"const": "r", "title": "Red"}, {"const": "b", "title": "Blue"}]
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name", "minLength": 2, "maxLength": 5},
        "mail": {"type": "string", "format": "email", "default": "a@b"},
        "size": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
        "share": {"type": "number", "maximum": 1},
        "colour": {"type": "string", "oneOf": TITLED, "default": "b"},
        "tops": {
            "type": "array",
            "items": {"anyOf": TITLED},
            "minItems": 1,
            "default": ["b", "r"],
        },
        "fast": {"type": "boolean", "default": False},
    },
    "required": ["name"],
}
FIELDS = {each.name: each for each in read_fields(SCHEMA)}


def test_the_fields_are_read_in_their_order() -> None:
    assert [(each.name, each.kind) for each in read_fields(SCHEMA)] == [
        ("name", "string"),
        ("mail", "string"),
        ("size", "integer"),
        ("share", "number"),
        ("colour", "choice"),
        ("tops", "choices"),
        ("fast", "boolean"),
    ]
    assert FIELDS["name"] == Field("name", "string", "Your name", "", True, 2, 5)
    assert read_fields({}) == ()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("name", "A text, 2 to 5 characters"),
        ("mail", "A text (email) [a@b]"),
        ("size", "A whole number, 1 to 9 [3]"),
        ("share", "A number, at most 1"),
        ("colour", "One of them (1-2) [2]"),
        ("tops", "Any of them (1-2, with commas), at least 1 [2,1]"),
        ("fast", "Yes or no (y/n) [n]"),
    ],
)
def test_a_field_says_what_it_takes(name: str, words: str) -> None:
    assert word_field(FIELDS[name]) == words


def test_a_default_of_strangers_acts_on_no_terminal() -> None:
    field = Field("x", "string", form="\x1b[2J", default="\x1b]0;a\x07\n" + "y" * 100)
    assert word_field(field) == "A text [what stands above]"


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("name", "Ada", "Ada"),
        ("size", "9", 9),
        ("size", "+1", 1),
        ("share", "-2.5", -2.5),
        ("share", "1", 1),
        ("share", "1e-3", 0.001),
        ("colour", "1", "r"),
        ("colour", "b", "b"),
        ("colour", "Blue", "b"),
        ("tops", "2, Red", ["b", "r"]),
        ("tops", "1,1,", ["r"]),
        ("fast", "Y", True),
        ("fast", "false", False),
    ],
)
def test_what_fits_is_a_value(name: str, text: str, value: Any) -> None:
    found = read_value(FIELDS[name], text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("name", "A", "This is at least 2 characters."),
        ("name", "Adelaide", "This is at most 5 characters."),
        ("size", "0", "This is at least 1."),
        ("size", "1.5", "This is a whole number."),
        ("size", "ten", "This is a whole number."),
        ("size", "٣", "This is a whole number."),
        ("size", "9" * 19, "This number is too large."),
        ("share", "nan", "This is a number."),
        ("share", "1e999", "This is a number."),
        ("share", "1_0", "This is a number."),
        ("colour", "3", "This is a number from 1 to 2, or what it stands for."),
        ("colour", "0", "This is a number from 1 to 2, or what it stands for."),
        ("tops", "1,4", "This is a number from 1 to 2, or what it stands for."),
        ("tops", ",", "This is at least 1 of them."),
        ("fast", "maybe", "This is yes or no."),
        ("mail", "ada", "This is no e-mail address (as ada@example.org)."),
    ],
)
def test_what_does_not_fit_is_a_sentence(name: str, text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=re.escape(sentence)) as caught:
        read_value(FIELDS[name], text)
    assert str(caught.value) == sentence


@given(st.sampled_from(sorted(FIELDS)), st.text())
def test_whatever_is_typed_is_a_value_or_a_sentence(name: str, text: str) -> None:
    with suppress(ValueError):
        assert isinstance(read_value(FIELDS[name], text), str | int | float | list)


@pytest.mark.parametrize(
    ("form", "good", "bad"),
    [
        ("uri", "https://h/p", "h/p"),
        ("uri", "mailto:ada@h", "1"),
        ("date", "2026-11-22", "22.11.2026"),
        ("date-time", "2026-11-22T14:30:00Z", "2026-11-22"),
        ("email", "a@b", "a b"),
        ("unheard-of", "x", None),
    ],
)
def test_a_slip_in_a_form_is_told_at_once(form: str, good: str, bad: str | None) -> None:
    field = Field("x", "string", form=form)
    assert read_value(field, good) == good
    if bad is not None:
        with pytest.raises(ValueError, match=r"^This is no .* \(as .*\)\.$"):
            read_value(field, bad)


@given(
    st.sampled_from(
        [
            ("email", r"[^@\s]+@[^@\s]+"),
            ("uri", r"[A-Za-z][A-Za-z0-9+.-]*:\S+"),
            ("date", r"[0-9]{4}-[0-9]{2}-[0-9]{2}"),
            (
                "date-time",
                r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}([Zz]|\+01:00)",
            ),
        ]
    ).flatmap(lambda form: st.tuples(st.just(form[0]), st.from_regex(form[1], fullmatch=True)))
)
def test_what_the_daemon_takes_is_not_refused_here(said: tuple[str, str]) -> None:
    form, text = said
    assert read_value(Field("x", "string", form=form), text) == text


def test_a_choice_called_by_a_number_is_taken_by_its_name_first() -> None:
    field = Field("x", "choice", choices=(("2", "two"), ("1", "one")))
    assert read_value(field, "1") == "1"


def test_pairs_fill_in_the_rest_with_what_is_usual() -> None:
    form = read_fields(SCHEMA)
    usual = {"mail": "a@b", "size": 3, "colour": "b", "tops": ["b", "r"], "fast": False}
    assert read_pairs(form, ["name=Ada=x", "size=4"]) == {**usual, "name": "Ada=x", "size": 4}
    assert read_pairs(form, []) == usual
    with pytest.raises(ValueError, match='"size": This is at most 9'):
        read_pairs(form, ["size=44"])
    for word in ("nose=1", "name"):
        with pytest.raises(ValueError, match='there are: "name", "mail"'):
            read_pairs(form, [word])
    with pytest.raises(ValueError, match="there are: none"):
        read_pairs((), ["name=1"])


def test_a_whole_number_fits_the_wire() -> None:
    assert read_whole("-" + "9" * 17) == -int("9" * 17)
    with pytest.raises(ValueError, match="too large"):
        read_whole("9" * 4000)
