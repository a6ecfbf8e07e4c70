"""What a command line may say, before anything of it is read."""

from typing import Any

import pytest

from ask.exits import Failed
from ask.wish import Wish, check_words


@pytest.mark.parametrize(
    ("said", "what"),
    [
        ({"session": "\ud800"}, "The conversation's name"),
        ({"model": "\ud800"}, "The model's name"),
        ({"system": "\ud800"}, "The system prompt"),
        ({"schema": "\ud800"}, "The schema"),
        ({"stop": ("a", "\ud800")}, "The text to stop at"),
        ({"tools": ["a", "\ud800"]}, "The name of a tool"),
    ],
)
def test_a_text_that_is_none_is_refused_by_name(said: dict[str, Any], what: str) -> None:
    with pytest.raises(Failed, match=f"{what} is not valid UTF-8") as caught:
        check_words(Wish(**said))
    assert caught.value.code == 2


@pytest.mark.parametrize("key", ["", " ", "a\nb", "k" * 129])
def test_a_key_that_is_none_is_refused(key: str) -> None:
    with pytest.raises(Failed, match="1 to 128 printable"):
        check_words(Wish(key=key))


def test_what_is_in_order_is_let_through() -> None:
    check_words(Wish(words=("\ud800",), session="ü", key="k" * 128))  # words are read later


def test_an_answer_of_which_a_part_is_shown_is_held_back() -> None:
    assert Wish(extract=True).holds
    assert Wish(schema="a").holds
    assert not Wish(as_json=True).holds
