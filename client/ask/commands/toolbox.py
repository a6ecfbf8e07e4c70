"""What a prompt says of what its model has: tools, who is asked before, a project's words.

Options and nothing else; which tools there are is the daemon's to know.
"""

from collections.abc import Sequence

import click

from ask.commands.completing import complete_tool
from ask.wish import APPROVALS

NONE = "none"
"""Takes all tools away; with others it would mean nothing, and look as if it did."""


def read_words(
    context: click.Context, parameter: click.Parameter, said: Sequence[str]
) -> list[str] | None:
    """The words of all `-T`, commas taken apart; None: nothing was said, and none are meant."""
    if not said:
        return None
    words = [word.strip() for each in said for word in each.split(",")]
    if not all(words):
        raise click.BadParameter("a name is empty.", context, parameter)
    if NONE in words and set(words) != {NONE}:
        raise click.BadParameter("none goes with no other word.", context, parameter)
    return words


tools_option = click.option(
    "-T",
    "--tools",
    multiple=True,
    metavar="WORDS",
    callback=read_words,
    shell_complete=complete_tool,
    help="Tools for the model: names, patterns, all, read, none; may be repeated.",
)
approve_option = click.option(
    "--approve",
    type=click.Choice(APPROVALS),
    help="What becomes of a tool's call that needs your word.",
)
instructions_option = click.option(
    "--instructions/--no-instructions",
    default=None,
    help="Whether your project's AGENTS.md is sent with it; it is, if you do not say.",
)
