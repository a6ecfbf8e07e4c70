"""A line that is being typed: its words, the piece at its end, and text as a word of bash."""

import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ask.completion.line import quote_word, split_line


@pytest.mark.parametrize(
    ("text", "words", "current", "raw", "quote"),
    [
        ("ask ", ["ask"], "", "", ""),
        ("ask wo", ["ask"], "wo", "wo", ""),
        ("ask 'two w", ["ask"], "two w", "'two w", "'"),
        ('ask "two w', ["ask"], "two w", '"two w', '"'),
        ("ask two\\ w", ["ask"], "two w", "two\\ w", ""),
        ("ask 'one two' -s", ["ask", "one two"], "-s", "-s", ""),
        ("ask '' x", ["ask", ""], "x", "x", ""),
        ("ask ''", ["ask"], "", "''", ""),
        ("ask 'it'\\''s", ["ask"], "it's", "'it'\\''s", "'"),
        ('ask "\\$x \\n', ["ask"], "$x \\n", '"\\$x \\n', '"'),
        ("ask $'it\\'s", ["ask"], "it's", "$'it\\'s", "$'"),
        ("ask a\\", ["ask"], "a", "a\\", ""),
        ("ask -s=x:y@z", ["ask"], "-s=x:y@z", "-s=x:y@z", ""),
        ("  ask\tx\ny", ["ask", "x"], "y", "y", ""),
        ("", [], "", "", ""),
    ],
)
def test_a_line_of_bash(text: str, words: list[str], current: str, raw: str, quote: str) -> None:
    line = split_line(text)
    assert (line.words, line.current, line.raw, line.quote) == (words, current, raw, quote)
    assert not line.redirected


@pytest.mark.parametrize(
    "text", ["ask hi >", "ask hi > ou", "ask <ou", "ask hi 2> ", "ask hi 2>>e"]
)
def test_what_a_redirection_names_is_a_file(text: str) -> None:
    line = split_line(text)
    assert line.redirected
    assert line.words == ["ask", "hi"][: len(line.words)]


def test_behind_what_a_redirection_names_the_words_go_on() -> None:
    line = split_line("ask hi 2>err <in -s wo")
    assert (line.words, line.current, line.redirected) == (["ask", "hi", "-s"], "wo", False)


def test_fish_reads_backslashes_in_single_quotes() -> None:
    line = split_line("ask 'it\\'s \\\\ \\x", fish=True)
    assert (line.current, line.quote) == ("it's \\ \\x", "'")
    assert split_line("ask > x", fish=True).words == ["ask", ">"]


SHELL_TEXT = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\u2028\u2029\x85")
)


@given(st.lists(SHELL_TEXT, min_size=1), SHELL_TEXT)
def test_it_reads_what_shlex_quotes(words: list[str], current: str) -> None:
    line = split_line(f"{shlex.join(words)} {shlex.quote(current)}")
    assert (line.words, line.current, line.quote) == (words, current, "")


@given(st.text(), st.booleans())
def test_any_line_is_read(text: str, fish: bool) -> None:
    line = split_line(text, fish=fish)
    assert text.endswith(line.raw)


@given(SHELL_TEXT, st.sampled_from(["", "'", '"', "$'"]))
def test_a_quoted_word_is_read_as_it_was(text: str, quote: str) -> None:
    line = split_line(f"ask {quote}{quote_word(text, quote)}{quote[-1:]}")
    assert (line.words, line.current) == (["ask"], text)


TRICKY = [
    'two words, $(touch owned) `x` "it\'s" * \\ z!',
    "~",
    "#no",
    "a:b=c@d",
    "k\u00fc",
    "-x",
    "!!",
]


@pytest.mark.parametrize("quote", ["", "'", '"', "$'"])
def test_bash_itself_reads_it_as_it_was(quote: str) -> None:
    words = " ".join(f"{quote}{quote_word(each, quote)}{quote[-1:]}" for each in TRICKY)
    done = subprocess.run(
        ["bash", "--norc", "-c", f"printf '%s\\n' {words}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == TRICKY
