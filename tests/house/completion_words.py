"""Renders the table of words that Tab offers, `client/ask/completion/words.txt`.

Run `python -m tests.house.completion_words` to write it. All of it comes from the commands
themselves: click takes 60 ms to be there, and a table 1.
"""

from typing import Any

import click

from ask.commands.completing import Completes
from ask.commands.help import walk
from ask.commands.root import load_prompt, root
from ask.completion.place import MENTION
from ask.completion.sources import CHOICE, FUNCTION, trim
from ask.completion.tree import FLAG, NAME, TEXT
from tests.house.floors import CLIENT
from tests.house.pages import write_page

PATH = CLIENT / "ask" / "completion" / NAME


def render() -> str:
    """The whole table."""
    lines = []
    for path, command in walk(root, ("ask",)):
        context = click.Context(command, **command.context_settings)
        lines.append(f"[{' '.join(path)}]\t{say_summary(command)}")
        params = list(command.get_params(context))
        if command is root:
            params = [*load_prompt().params, *params]
        lines += [render_option(each) for each in params if isinstance(each, click.Option)]
        if command is root:
            lines.append(f"=*\t{MENTION}")
        else:
            lines += [render_argument(each) for each in params if isinstance(each, click.Argument)]
    return "\n".join(lines) + "\n"


def say_summary(command: click.Command) -> str:
    """A command's first sentence, without its full stop."""
    return trim(" ".join((command.help or "").split("\n\n")[0].split()).removesuffix("."))


def render_option(option: click.Option) -> str:
    """One option: its names, what its value is, what it is for."""
    names = [*option.opts, *option.secondary_opts]
    kind = FLAG if option.is_flag or option.count else find_kinds(option)
    about = trim((option.help or "").removesuffix("."))
    return f"{' '.join(names)}\t{kind}{'*' * bool(option.multiple)}\t{about}"


def render_argument(argument: click.Argument) -> str:
    """One argument; the last may take all that follow."""
    return f"={'*' * (argument.nargs == -1)}\t{find_kinds(argument)}"


def find_kinds(parameter: Any) -> str:
    """What a parameter's value is."""
    if isinstance(parameter.type, click.Choice):
        return f"{CHOICE}:{','.join(parameter.type.choices)}"
    said = parameter._custom_shell_complete
    if isinstance(said, Completes):
        return said.kinds
    return TEXT if said is None else FUNCTION


if __name__ == "__main__":
    write_page(PATH, render())
