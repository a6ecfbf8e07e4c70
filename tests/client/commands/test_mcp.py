"""The group: each of its commands is found in its own file."""

import click

from ask.commands.help import Command
from ask.commands.mcp import ELSEWHERE, mcp_command
from tests.client.commands.conftest import Ask


def test_each_command_is_in_the_file_that_the_table_names() -> None:
    context = click.Context(mcp_command)
    for name in ELSEWHERE:
        command = mcp_command.get_command(context, name)
        assert isinstance(command, Command)
        assert command.name == name
        assert command.examples


def test_what_the_group_has_no_command_for(ask: Ask) -> None:
    result = ask("mcp", "tset", "time")
    assert (result.code, "No such command 'tset'" in result.err) == (2, True)
    assert "add, add-json," in ask("mcp").err
