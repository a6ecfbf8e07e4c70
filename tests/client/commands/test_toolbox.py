"""`-T`, `--approve` and `--instructions`: what of them is taken, and in what shape."""

import click
import pytest
from click.testing import CliRunner

from ask.commands.toolbox import approve_option, instructions_option, tools_option


@click.command()
@tools_option
@approve_option
@instructions_option
def command(tools: list[str] | None, approve: str | None, instructions: bool | None) -> None:
    click.echo(f"{tools} {approve} {instructions}")


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ([], "None None None"),
        (["-T", "all"], "['all'] None None"),
        (
            ["-T", "read_file, time__*", "--tools", "read"],
            "['read_file', 'time__*', 'read'] None None",
        ),
        (["-T", "none"], "['none'] None None"),
        (["--approve", "ask"], "None ask None"),
        (["--instructions"], "None None True"),
        (["--no-instructions"], "None None False"),
    ],
)
def test_words_are_taken_apart(line: list[str], shown: str) -> None:
    assert CliRunner().invoke(command, line).output == f"{shown}\n"


@pytest.mark.parametrize(
    "line",
    [["-T", ""], ["-T", "a,,b"], ["-T", "a,"], ["-T", "none,a"], ["--approve", "yes"]],
)
def test_what_is_no_word_is_refused(line: list[str]) -> None:
    assert CliRunner().invoke(command, line).exit_code == 2
