"""The look of every help text: a summary, examples that run, exit codes.

Examples are data, so that tests can run each one against a real daemon. It
knows no command by name and talks to nobody.
"""

import importlib
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import click

from ask.commands.far import need_here
from ask.protocol import errors

HELP_COLUMNS = 80
"""Every help text fits a terminal of this width, whatever the width of the real one."""
COMMON_CODES = (errors.DONE, errors.USAGE, errors.STORAGE, errors.INTERRUPTED, errors.PIPE_CLOSED)
"""Done, wrong usage, an output that is full, Ctrl-C, an output that nobody reads."""


@dataclass(frozen=True, slots=True)
class Example:
    """One command line for `sh`, the code it ends with, and what must have run before it.

    `before` is not shown: it creates what the line uses, so that every example
    runs by itself on an empty machine. `by_hand`: a person at a browser is part
    of it, so that nothing can run it.
    """

    line: str
    code: int = errors.DONE
    before: tuple[str, ...] = field(default=())
    by_hand: bool = False


class Command(click.Command):
    """A command whose help ends with its examples and its exit codes.

    `here`: it is about the machine that it runs on, and refused where another is meant.
    """

    def __init__(
        self,
        *args: Any,
        examples: Sequence[Example] = (),
        codes: Sequence[int] = (),
        here: bool = False,
        **attributes: Any,
    ) -> None:
        super().__init__(*args, **attributes)
        self.here = here
        self.examples = tuple(examples)
        self.codes = with_common_codes(codes)
        fit_help(self)

    def invoke(self, ctx: click.Context) -> Any:
        """Run it, on the machine that it is about."""
        if self.here:
            need_here(ctx.command_path)
        return super().invoke(ctx)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples and the exit codes below the options."""
        write_examples(formatter, self.examples)
        write_codes(formatter, self.codes)


class Group(click.Group):
    """A group of commands with the same kind of help as a command.

    `later`: names of its commands that this version does not have. `elsewhere`: by
    name the module of those that stand in another file, which is imported when its
    name is said; `NAME_command` is the command there, with _ for each -.
    """

    def __init__(
        self,
        *args: Any,
        examples: Sequence[Example] = (),
        codes: Sequence[int] = (),
        later: Sequence[str] = (),
        elsewhere: Mapping[str, str] | None = None,
        **attributes: Any,
    ) -> None:
        super().__init__(*args, **{"no_args_is_help": False, **attributes})
        self.later = frozenset(later)
        self.elsewhere = dict(elsewhere or {})
        self.examples = tuple(examples)
        self.codes = with_common_codes(codes)
        fit_help(self)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse what names no command, and what only a later version has."""
        rest = super().parse_args(ctx, args)
        if not ctx.resilient_parsing:
            if not args:
                names = ", ".join(self.list_commands(ctx))
                raise click.UsageError(f"{ctx.command_path!r} needs a command: {names}.", ctx)
            if args[0] in self.later:
                path = f"{ctx.command_path} {args[0]}".partition(" ")[2]
                raise click.UsageError(f"This version of ask has no command {path!r}.", ctx)
        return rest

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the group's commands, sorted."""
        return sorted({*super().list_commands(ctx), *self.elsewhere})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name, from its own file if it has one."""
        module = self.elsewhere.get(cmd_name)
        if module is None:
            return super().get_command(ctx, cmd_name)
        found = getattr(importlib.import_module(module), f"{cmd_name.replace('-', '_')}_command")
        assert isinstance(found, click.Command)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is said; a slip is told from all that there are."""
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand as error:
            # click itself knows only those that have been imported.
            names = self.list_commands(ctx)
            raise click.exceptions.NoSuchCommand(
                error.command_name, possibilities=names, ctx=ctx
            ) from None

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples and the exit codes below the commands."""
        write_examples(formatter, self.examples)
        write_codes(formatter, self.codes)


def with_common_codes(codes: Sequence[int]) -> tuple[int, ...]:
    """Add the codes that every command can end with, whatever it does."""
    return tuple(sorted({*COMMON_CODES, *codes}))


def fit_help(command: click.Command) -> None:
    """Hold a command's help to `HELP_COLUMNS`, on a wider terminal too."""
    command.context_settings.setdefault("max_content_width", HELP_COLUMNS)
    command.context_settings.setdefault("terminal_width", HELP_COLUMNS)
    command.context_settings.setdefault("help_option_names", ["-h", "--help"])


def write_examples(formatter: click.HelpFormatter, examples: Sequence[Example]) -> None:
    """Write the examples as they are typed, never wrapped."""
    if not examples:
        return
    formatter.write_paragraph()
    formatter.write("Examples:\n")
    for example in examples:
        formatter.write(f"  {example.line}\n")


def write_codes(formatter: click.HelpFormatter, codes: Sequence[int]) -> None:
    """Write one exit code a line, its meaning wrapped beside it."""
    formatter.write_paragraph()
    formatter.write("Exit codes:\n")
    for code in codes:
        lines = textwrap.wrap(errors.EXIT_CODES[code], HELP_COLUMNS - 7)
        formatter.write(f"  {code:>3}  {lines[0]}\n")
        for line in lines[1:]:
            formatter.write(f"       {line}\n")


def walk(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every command of a tree with its path, itself first, hidden ones left out."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            if child is not None and not child.hidden:
                yield from walk(child, (*path, name))


def collect_examples(root: click.Command) -> list[tuple[tuple[str, ...], Example]]:
    """Every example of a tree, with the path of its command (`("ask", "daemon", "stop")`)."""
    return [
        (path, example)
        for path, command in walk(root, ("ask",))
        for example in getattr(command, "examples", ())
    ]
