"""What is meant to stand where Tab was pressed, over the real tree of commands."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ask.completion.place import find_place
from ask.completion.tree import load_tree

TREE = load_tree()


def look(text: str) -> tuple[str, str, str]:
    """The kinds, what is kept and what is typed, of a line whose last word is being typed."""
    *words, current = shlex.split(f"{text}''" if text.endswith(" ") else text)
    place = find_place(TREE, words[1:], current)
    return "+".join(place.kinds), place.kept, place.typed


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("ask ", "commands"),
        ("ask hi", "commands"),
        ("ask -", "options"),
        ("ask hello wo", ""),
        ("ask -q ", ""),  # a command cannot follow it
        ("ask -q -", "options"),
        ("ask hello -", "options"),
        ("ask -s ", "conversation"),
        ("ask -qs ", "conversation"),
        ("ask --session ", "conversation"),
        ("ask -s x ", ""),
        ("ask -m ", "model"),
        ("ask -S ", ""),
        ("ask --approve ", "choice:deny,ask,auto"),
        ("ask -f ", "file"),
        ("ask -o ", "file"),
        ("ask -- ", ""),
        ("ask -- @x", ""),
        ("ask -- -", ""),
        ("ask -s -- ", ""),  # click takes it for the value
        ("ask history ", "commands"),
        ("ask history nope ", ""),
        ("ask history show ", "conversation"),
        ("ask history show x ", ""),
        ("ask history show -", "options"),
        ("ask history show -n 3 ", "conversation"),
        ("ask history delete a b ", "conversation"),
        ("ask history import a ", "file"),
        ("ask history -", "options"),
        ("ask list ", ""),
        ("ask jobs list --state ", "choice:running,available,retryable,scheduled,completed,"
         "cancelled,discarded"),
        ("ask jobs wait x ", "job"),
        ("ask pin x ", "unpinned"),
        ("ask unpin x ", "pinned"),
        ("ask completion ", "choice:bash,zsh,fish"),
        ("ask mcp import --from ", "choice:claude,claude-desktop,codex+file"),
        ("ask tools policy ", "rule+choice:auto,ask,deny"),
        ("ask doctor --from ", "directory"),
        ("ask nope ", ""),
    ],
)  # fmt: skip
def test_what_may_stand_there(text: str, kinds: str) -> None:
    assert look(text) == (kinds, "", shlex.split(f"{text}''")[-1])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ask --session=wo", ("conversation", "--session=", "wo")),
        ("ask -swo", ("conversation", "-s", "wo")),
        ("ask -qswo", ("conversation", "-qs", "wo")),
        ("ask -qs", ("options", "", "-qs")),
        ("ask --json=x", ("options", "", "--json=x")),
        ("ask --nope=x", ("options", "", "--nope=x")),
        ("ask -zx", ("options", "", "-zx")),
        ("ask -T read_file,wr", ("tool", "read_file,", "wr")),
        ("ask --tools=a,b,", ("tool", "--tools=a,b,", "")),
        ("ask -Ta,w", ("tool", "-Ta,", "w")),
        ("ask @sr", ("mention", "@", "sr")),
        ("ask hello @sr", ("mention", "@", "sr")),
        ("ask -q @sr", ("mention", "@", "sr")),
        ("ask 'look at @s r'", ("", "", "look at @s r")),
        ("ask 'look at @sr'", ("mention", "look at @", "sr")),
        ("ask me@sr", ("commands", "", "me@sr")),
        ("ask hello me@sr", ("", "", "me@sr")),
        ("ask list @sr", ("", "", "@sr")),
        ("ask history show @sr", ("conversation", "", "@sr")),
    ],
)
def test_what_of_the_word_stays(text: str, found: tuple[str, str, str]) -> None:
    assert look(text) == found


def test_what_was_said_before_is_known() -> None:
    place = find_place(TREE, ["history", "export", "work", "--format", "json", "-ox"], "-")
    assert place.command.path == "ask history export"
    assert place.arguments == ["work"]
    assert place.said == {"--format": "json", "--output": "x"}


WORDS = st.sampled_from(
    [
        "history",
        "show",
        "list",
        "-s",
        "-q",
        "--",
        "-",
        "--session=x",
        "-m",
        "hello",
        "@x",
        "",
        "-qs",
    ]
)


@given(st.lists(st.one_of(WORDS, st.text(max_size=5)), max_size=6), st.text(max_size=6))
def test_any_words_have_a_place(words: list[str], current: str) -> None:
    place = find_place(TREE, words, current)
    if place.kinds != ("commands",) and place.kinds:
        assert f"{place.kept}{place.typed}" == current
    if "--" in words and words[0] == "--":
        assert place.kinds == ()
