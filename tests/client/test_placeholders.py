"""Places in a text are filled once, by name, and everything else is left as it was."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ask.placeholders import find_names, is_name, normalize, substitute

NAMES = st.sampled_from(["a", "input", "file_2", "größe", "имя", "नाम", "名前", "_x"])
TEXTS = st.text(st.sampled_from("$ab{}_ é名\n"), max_size=30)
ANY = st.text(max_size=30)


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("$a-$b", "1-2"),
        ("${a}b$a", "1b1"),
        ("$a.py, $a's", "1.py, 1's"),
        ("$$a is $a", "$a is 1"),
        ("$$$a $$$$a", "$1 $$a"),
        ("$5 $(date) $ $", "$5 $(date) $ $"),
        ("${a ${} ${5} ${a.b}", "${a ${} ${5} ${a.b}"),
        ("100$", "100$"),
        ("", ""),
    ],
)
def test_what_is_a_place_and_what_is_not(text: str, filled: str) -> None:
    assert substitute(text, {"a": "1", "b": "2"}) == filled


def test_names_come_once_and_in_their_order() -> None:
    assert find_names("$b $a ${b} $$c ${d") == ("b", "a")


def test_a_place_without_a_value_is_never_left_out_in_silence() -> None:
    with pytest.raises(KeyError, match="b"):
        substitute("$a $b", {"a": "x"})


@given(st.lists(st.tuples(TEXTS.map(lambda text: text.replace("$", "")), NAMES)), ANY)
def test_a_value_is_put_in_once_whatever_it_says(pieces: list[tuple[str, str]], value: str) -> None:
    """Values that look like places are not read again."""
    text = "".join(f"{before}${{{name}}}" for before, name in pieces)
    values = {name: f"$input ${{a}} $$ {value}" for _, name in pieces}
    assert substitute(text, values) == "".join(f"{b}{values[n]}" for b, n in pieces)


@given(ANY)
def test_any_text_can_be_written_with_doubled_dollars(text: str) -> None:
    assert substitute(text.replace("$", "$$"), {}) == text
    assert find_names(text.replace("$", "$$")) == ()


@given(TEXTS)
def test_what_is_found_is_all_that_is_needed(text: str) -> None:
    names = find_names(text)
    assert all(is_name(name) for name in names)
    filled = substitute(text, dict.fromkeys(names, ""))
    assert len(filled) <= len(text)
    for name in names:
        with pytest.raises(KeyError):
            substitute(text, {each: "" for each in names if each != name})


@given(NAMES, ANY)
def test_a_name_is_the_same_however_its_letters_were_typed(name: str, value: str) -> None:
    for form in ("NFC", "NFD"):
        typed = unicodedata.normalize("NFD" if form == "NFD" else "NFC", name)
        assert substitute(f"${typed}!", {normalize(name): value}) == f"{value}!"


@pytest.mark.parametrize("name", ["", "5", "a b", "a-b", "é", "$a", "a.b"])
def test_what_is_no_name(name: str) -> None:
    assert not is_name(unicodedata.normalize("NFD", name))
