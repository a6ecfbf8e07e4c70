"""What is said of a command line that cannot be read: a sentence, and what to type instead.

click finds what is wrong; the words are ours where click's are for programmers. It runs
nothing and prints nothing.
"""

import re
import shlex
from collections.abc import Sequence
from difflib import get_close_matches

import click

from ask.commands import COMMANDS
from ask.commands.far import NAMES
from ask.commands.help import Group
from ask.exits import USAGE, Failed

PROMPT_NAME = "<prompt>"
"""The prompt among the commands; no shell word that a person types by accident."""

PLAINER = (
    (re.compile(r"is not a valid integer(?: range)?$"), "is not a whole number"),
    (re.compile(r"is not a valid float(?: range)?$"), "is not a number"),
    (re.compile(r"(\S+) is not in the range x>=(\S+)$"), r"\1 is less than \2"),
)
"""What click says of numbers, and how a person would."""

NEARNESS = 0.7
"""As `difflib` measures it. click is content with less, and offers `--usage` for `--save`."""


def explain_usage(error: click.UsageError, args: Sequence[str]) -> Failed:
    """The error as every other is told.

    Args:
        args: the whole line, without the program's name.
    """
    return Failed(USAGE, form_sentence(error), hint=find_hint(error, args))


def form_sentence(error: click.UsageError) -> str:
    """What click says, plainer, with a capital and a full stop."""
    text = error.message.rstrip(".")
    for pattern, words in PLAINER:
        text = pattern.sub(words, text)
    if not isinstance(error, click.exceptions.NoSuchOption | click.exceptions.NoSuchCommand):
        # What else an error knows (which option, which values there are) is in its long form.
        text = error.format_message().replace(error.message, text)
    end = "" if text.endswith((".", "?", "!")) or "\n" in text else "."
    return f"{text[:1].upper()}{text[1:]}{end}{_tell_near(error)}"


def find_hint(error: click.UsageError, args: Sequence[str]) -> str:
    """What to type instead: a prompt, if the words look like one, else where the help is."""
    context = error.ctx
    path = (context.command_path if context is not None else "ask").replace(f" {PROMPT_NAME}", "")
    _, _, words = path.partition(" ")
    if isinstance(error, click.exceptions.NoSuchOption) and error.option_name in NAMES and words:
        return f"It stands before the command: ask {error.option_name} ... {words}"
    unknown = isinstance(error, click.exceptions.NoSuchCommand)
    extra = "extra argument" in error.message or (unknown and not _list_near(error))
    word = next((each for each in args if each in COMMANDS), None)
    if word is not None and (extra or f"{word!r}" in error.message):
        place = args.index(word)
        prompt = f"ask {shlex.join([*args[:place], '--', *args[place:]])}"
        if unknown and context is not None and isinstance(context.command, Group):
            names = ", ".join(context.command.list_commands(context))
            return f"There are: {names}.\nAs a prompt: {prompt}"
        return f"As a prompt: {prompt}"
    return f"Try: {path} --help"


def _tell_near(error: click.UsageError) -> str:
    """Another name that was probably meant."""
    near = _list_near(error)
    return f" Did you mean {near[0]!r}?" if near else ""


def _list_near(error: click.UsageError) -> list[str]:
    match error:
        case click.exceptions.NoSuchOption(option_name=said, possibilities=found):
            pass
        case click.exceptions.NoSuchCommand(command_name=said, possibilities=found):
            pass
        case _:
            return []
    bare = {each.lstrip("-"): each for each in found or ()}
    return [bare[each] for each in get_close_matches(said.lstrip("-"), bare, 1, NEARNESS)]
