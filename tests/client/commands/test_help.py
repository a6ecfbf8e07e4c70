"""Every help of the whole tree: summary, examples, exit codes, 80 columns."""

import shlex
from typing import Any

import click
import pytest

from ask.commands import COMMANDS
from ask.commands.help import (
    HELP_COLUMNS,
    Command,
    Example,
    Group,
    collect_examples,
    walk,
    with_common_codes,
)
from ask.commands.root import root
from ask.protocol.errors import EXIT_CODES
from tests.client.commands.conftest import Ask

TREE = list(walk(root, ("ask",)))
NAMES = [" ".join(path) for path, _ in TREE]


def test_the_tree_is_the_table_of_commands() -> None:
    assert {path[1] for path, _ in TREE if len(path) > 1} == {
        name for name, module in COMMANDS.items() if module is not None
    }


@pytest.mark.parametrize(("path", "command"), TREE, ids=NAMES)
def test_every_help_has_its_parts(path: tuple[str, ...], command: Any, ask: Ask) -> None:
    result = ask(*path[1:], "--help")
    assert result.code == 0
    lines = result.out.splitlines()
    assert max(len(line) for line in lines) <= HELP_COLUMNS, max(lines, key=len)
    assert lines[0].startswith(f"Usage: {' '.join(path)} ")
    summary = lines[2].strip()
    assert summary.endswith("."), summary
    assert lines[3] == "", "the summary is one line"
    examples = lines[lines.index("Examples:") + 1 : lines.index("Exit codes:") - 1]
    assert len(examples) >= 2
    assert [each.strip() for each in examples] == [each.line for each in command.examples]
    codes = [int(line[:6]) for line in lines[lines.index("Exit codes:") + 1 :] if line[:6].strip()]
    assert codes == list(command.codes)
    assert {0, 2, 74, 130, 141} <= set(codes)


@pytest.mark.parametrize(("path", "command"), TREE, ids=NAMES)
def test_no_summary_is_cut_in_its_group(path: tuple[str, ...], command: click.Command) -> None:
    assert not command.get_short_help_str(HELP_COLUMNS - 16).endswith("..."), path


def test_examples_are_of_their_command_and_end_with_a_code_that_it_names() -> None:
    commands = dict(TREE)
    found = collect_examples(root)
    assert len(found) >= 2 * len(TREE)
    for path, example in found:
        assert " ".join(path) in example.line or path == ("ask",), example
        shlex.split(example.line)
        assert example.code in commands[path].codes, example


def test_every_code_of_every_command_has_a_meaning() -> None:
    for path, command in TREE:
        assert set(command.codes) <= set(EXIT_CODES), path


def test_codes_are_sorted_and_common_ones_added() -> None:
    assert with_common_codes([69, 3]) == (0, 2, 3, 69, 74, 130, 141)


def test_a_chat_ends_with_the_code_of_a_line_that_failed() -> None:
    assert {1, 4, 5, 7, 9} <= set(dict(TREE)["ask", "chat"].codes)


@pytest.mark.parametrize("words", ["config edit"])
def test_a_command_of_a_later_version_is_refused_by_its_name(ask: Ask, words: str) -> None:
    result = ask(*words.split())
    name = " ".join(words.split()[:2])
    assert result.code == 2
    assert result.err.splitlines()[0] == f"This version of ask has no command '{name}'."
    assert "As a prompt" not in result.err


def test_a_group_alone_says_what_it_has(ask: Ask) -> None:
    result = ask("history")
    assert (result.code, result.out) == (2, "")
    assert result.err.splitlines() == [
        "'ask history' needs a command: "
        "delete, export, import, list, restore, scrub, search, show.",
        "Try: ask history --help",
    ]


def test_hidden_commands_are_left_out() -> None:
    group = Group("g", commands={"seen": Command("seen"), "not": Command("not", hidden=True)})
    assert [path for path, _ in walk(group, ("g",))] == [("g",), ("g", "seen")]


def test_examples_run_by_themselves() -> None:
    """Those that need something name what makes it, and that is a command line too."""
    for _, example in collect_examples(root):
        assert all(shlex.split(line)[0] == "ask" for line in example.before), example
    assert Example("ask list").before == ()
