"""Texts by script: each class holds what is of it, and a megabyte costs a blink."""

import pytest
from hypothesis import given

from askd.core.scripts import CLASSES, Class, measure_text
from tests.core.values import TEXTS
from tests.fakes.growth import measure

SAMPLES: dict[Class, str] = {
    "words": "plain",
    "digits": "1234567890",
    "marks": "+-*/=",
    "space": "\n\n\n",
    "latin": "éłœư",
    "greek": "αβγδ",
    "cyrillic": "слово",
    "semitic": "سلامשלום",
    "indic": "नमस्तेสวัสดี",
    "han": "漢字かなカナ",
    "hangul": "한국어",
    "symbols": "—“”→│\uff01",
    "emoji": "🎉🐟👍🏽",
}


def found(text: str) -> dict[str, float]:
    """The classes of a text that hold anything."""
    pairs = zip(CLASSES, measure_text(text), strict=True)
    return {each: tokens for each, tokens in pairs if tokens}


@pytest.mark.parametrize(("name", "text"), SAMPLES.items())
def test_a_script_is_one_class_and_counts_by_its_characters(name: str, text: str) -> None:
    once, twice = found(text), found(f"{text}{text}")
    assert list(once) == [name]
    assert once[name] < twice[name] <= 2 * once[name]


def test_what_stands_together_is_told_apart() -> None:
    everything = " ".join(SAMPLES.values())
    assert set(found(everything)) == set(SAMPLES)


@pytest.mark.parametrize(
    ("more", "less"),
    [
        ("camelCaseName", "camelcasename"),  # a capital begins another token
        ("a b c d", "abcd"),  # so does a word
        ("a.b.c", "ab..c"),  # signs in a row are nearly one
        ("x    y\n    z", "x y z"),  # an indent is a token, a blank is a part of its word
    ],
)
def test_what_makes_tokens(more: str, less: str) -> None:
    assert sum(measure_text(more)) > sum(measure_text(less))


def test_runs_are_counted_once_wherever_they_begin() -> None:
    assert measure_text("word") == measure_text("word ")
    assert measure_text(" word word") == measure_text("word word")
    assert measure_text("a  b") == measure_text("a          b")
    assert measure_text("") == [0.0] * len(CLASSES)


def test_half_a_character_does_not_raise() -> None:
    assert measure_text("\ud800") == measure_text("?")


@given(TEXTS, TEXTS)
def test_more_text_is_never_less(one: str, other: str) -> None:
    joined = sum(measure_text(one + other))
    assert joined >= max(sum(measure_text(one)), sum(measure_text(other))) - 1e-9
    # Where they touch two blanks may become a gap; nothing else is made by joining.
    assert joined <= sum(measure_text(one)) + sum(measure_text(other)) + 1.25 + 1e-9


@given(TEXTS)
def test_nothing_is_negative_and_all_text_counts(text: str) -> None:
    tokens = measure_text(text)
    assert min(tokens) >= 0
    assert bool(sum(tokens)) or not text.strip() or not text.strip().isprintable()


@pytest.mark.parametrize("name", ["words", "cyrillic", "han"])
def test_no_character_is_looked_at_by_itself(name: Class) -> None:
    text = f"{SAMPLES[name]} 12, " * 100_000
    # What looks at each does at least as much as to count them.
    assert measure(lambda: measure_text(text)) < measure(lambda: sum(1 for _ in text))
