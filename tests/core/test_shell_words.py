"""Reading a shell's line: its commands and words, and whether anything else could run."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.core.shell_words import LINE_CHARACTERS, MAX_DEPTH, read_line
from tests.fakes.growth import FACTOR, LINEAR, find_growth


def commands(text: str) -> list[list[str]]:
    return [[word.text for word in command] for command in read_line(text).commands]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("git status", [["git", "status"]]),
        ("  git\tstatus  ", [["git", "status"]]),
        ("a; b\nc && d || e | f", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
        ("git 'a b' \"c d\" e'f'\"g\"", [["git", "a b", "c d", "efg"]]),
        ('echo "a \\"b\\" \\c" \'d\\\'', [["echo", 'a "b" \\c', "d\\"]]),
        ("git \\\nstatus sta\\\ntus", [["git", "status", "status"]]),
        ("echo ''", [["echo", ""]]),
        ("ls 2>&1 >/dev/null <&- 2>>/dev/null", [["ls"]]),
        ("2>/dev/null ls </dev/null -l", [["ls", "-l"]]),
        ("ls $HOME ${USER}", [["ls", "", ""]]),
        ("ls *.py ~/x a{b,c}", [["ls", "*.py", "~/x", "a{b,c}"]]),
        ("echo 'a; b | c > d & e'", [["echo", "a; b | c > d & e"]]),
        ("echo a#b '#c'", [["echo", "a#b", "#c"]]),
    ],
)
def test_what_is_read_for_certain(text: str, found: list[list[str]]) -> None:
    assert commands(text) == found
    assert read_line(text).certain


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a & b", [["a"], ["b"]]),
        ("a |& b", [["a"], ["b"]]),
        ("(a)", [["a"]]),
        ("{ a; }", [["a"]]),
        ("a > f", [["a"]]),
        ("a < f", [["a"]]),
        ("a &> f b", [["a"], ["b"]]),
        ("a >& f", [["a"]]),
        ("a <> f", [["a"]]),
        ("a >| f", [["a"]]),
        ("a <<< f", [["a"]]),
        ("a < $X", [["a"]]),
        ("a >", [["a"]]),
        ("a > > b", [["a"]]),
        ("a <<E\nb\nE", [["a"], ["b"], ["E"], ["a"], ["b"], ["E"]]),
        ("a $(b c) d", [["b", "c"], ["a", "d"]]),
        ("a `b c` d", [["b", "c"], ["a", "d"]]),
        ('a "$(b "c)" d)"', [["b", "c)", "d"], ["a"]]),
        ("a $(b $(c) `d`)", [["c"], ["d"], ["b"], ["a"]]),
        ("a `b \\`c\\``", [["c"], ["b"], ["a"]]),
        ("a ${b:-$(c)}", [["c"], ["b:-"], ["a"]]),
        ("a $((1 + $(c)))", [["c"], ["1", "+"], ["a"]]),
        ("a <(b) >(c)", [["a"], ["b"], ["c"]]),
        ("X=1 Y=$(b) a", [["b"], ["a"]]),
        ("X=(a b)", [["a", "b"]]),
        ("if a; then b; else c; fi", [["a"], ["b"], ["c"]]),
        ("while a; do b; done", [["a"], ["b"]]),
        ("! a", [["a"]]),
        ("case x in y) a;; esac", [["x", "in", "y"], ["a"]]),
        ("f() { a; }", [["f"], ["a"]]),
        ("$X a", [["", "a"]]),
        ("${X} a", [["", "a"]]),
        ("a$X b", [["a", "b"]]),
        ("a\\b c", [["ab", "c"]]),
        ("a* b", [["a*", "b"]]),
        ("~/a b", [["~/a", "b"]]),
        ("{a,b} c", [["{a,b}", "c"]]),
        ("$'\\x61\\142\\u0063\\n'", [["abcn"]]),
        ("a 'b", [["a", "b"]] * 2),
        ('a "b', [["a", "b"]] * 2),
        ("a $(b", [["b"], ["a"]]),
        ("a `b", [["b"], ["a"]]),
        ("a \\", [["a"]]),
        ("a # b\nc", [["a", "#", "b"], ["c"]]),
        ("a ;; b", [["a"], ["b"]]),
        ("a\rb c", [["a\rb", "c"]]),
        ("a\xa0b", [["a\xa0b"]]),
        ("a\x00b", [["a\x00b"]]),
        ("a\u202eb", [["a\u202eb"]]),
        ("a\ud800", [["a\ud800"]]),
        ("printf -v 'x[$(b)]'", [["printf", "-v", "x[$(b)]"]]),
        ("'' a", [["", "a"]]),
        ('"2">/dev/null a', [["2", "a"]]),
        ("２>/dev/null a", [["２", "a"]]),
    ],
)
def test_what_is_read_but_not_for_certain(text: str, found: list[list[str]]) -> None:
    """`２` and `"2"` are words in front of a redirection, and are certain: they say so."""
    written = [[word for word in command if word] for command in commands(text)]

    assert written == [[word for word in command if word] for command in found]
    assert read_line(text).certain is (text.endswith("/dev/null a"))


def test_that_quotes_in_a_text_hide_no_command_behind_it() -> None:
    text = "cat <<E\nit's\nE\nrm a; echo 'done'"

    assert ["rm", "a"] in commands(text)
    assert not read_line(text).certain


def test_that_nesting_has_an_end() -> None:
    within = "$(" * MAX_DEPTH + "rm a"
    beyond = "$(" * 10_000 + "rm a"

    assert ["rm", "a"] in commands(within)
    assert ["rm", "a"] in commands(beyond)


@pytest.mark.parametrize(
    "unit",
    ["$(", "`", "${", "'a' ", '"$(a) ', "\\", "<<x\n", "('", "a'\n", ">&", "$((", "a;", "$'\\"],
)
def test_that_reading_takes_its_time_in_proportion(unit: str) -> None:
    def prepare(size: int) -> Callable[[], object]:
        text = (unit * size)[:size]
        return lambda: read_line(text)

    assert find_growth(prepare, LINE_CHARACTERS // FACTOR) < LINEAR


@given(st.text(st.sampled_from("ab '\"\\$`(){}<>|&;\n#=~*-0"), max_size=40))
def test_that_any_text_can_be_read(text: str) -> None:
    for command in read_line(text).commands:
        assert command


@given(st.lists(st.text(st.characters(exclude_characters="'"), min_size=1), min_size=1))
def test_that_what_is_quoted_is_one_word_however_it_is_written(words: list[str]) -> None:
    text = " ".join(f"'{word}'" for word in words)

    assert commands(text) == [words]
