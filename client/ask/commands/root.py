"""`ask` itself: which command is meant, and how every one of them ends.

The first word that is no option names a command, or begins a prompt. Command
files are imported when their name is said. This is the only place that prints
an error or turns one into an exit code.
"""

import errno
import importlib
import json
import os
import sys
from collections.abc import Collection, Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem

import ask
from ask.commands import COMMANDS
from ask.commands.far import NAMES, apply_options, take_options
from ask.commands.help import Example, Group
from ask.commands.wrong_words import PROMPT_NAME, explain_usage
from ask.exits import (
    DONE,
    FAILED,
    INTERRUPTED,
    NO_DAEMON,
    PIPE_CLOSED,
    STORAGE,
    TIME_LIMIT,
    USAGE,
    Failed,
    explain_unwritable,
)
from ask.fast.caller import StdoutClosed, StdoutFailed, write_all
from ask.protocol.errors import EXIT_CODES
from ask.stdout import name_failures
from ask.terminal import strip_controls

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""What a disk answers that takes no more."""

DEFAULT_REASONS = {
    USAGE: "usage",
    NO_DAEMON: "no_daemon",
    STORAGE: "storage_failed",
    TIME_LIMIT: "time_limit",
}
"""The words for programs of errors that were raised without one."""

_PLAIN_OPTIONS = ("-h", "--help", "--version")
"""What may stand before a command's name."""


class Root(Group):
    """The tree's root: lazy commands, and a prompt for all other words."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands of this version, sorted."""
        return sorted(name for name, module in COMMANDS.items() if module is not None)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command's file and take the command from it."""
        if cmd_name == PROMPT_NAME:
            return load_prompt()
        module = COMMANDS.get(cmd_name)
        if module is None:
            return None
        found = getattr(importlib.import_module(module), attribute_of(cmd_name))
        assert isinstance(found, click.Command)
        return found

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Decide whether the words are a command or a prompt."""
        if args and not args[0].startswith("-"):
            before: list[str] = []
            word: str | None = args[0]
        else:
            before, word = split_options(args, load_prompt())
            if (
                before
                and word in COMMANDS
                and not ctx.resilient_parsing
                and NAMES.issuperset(before)
            ):
                args, before = take_options(ctx, args), []
        if any(option in _PLAIN_OPTIONS for option in before):
            return super().parse_args(ctx, [o for o in before if o in _PLAIN_OPTIONS][:1])
        if ctx.resilient_parsing and not args:
            return super().parse_args(ctx, [])  # completing the first word
        if word is None or word not in COMMANDS:
            return super().parse_args(ctx, [PROMPT_NAME, *args])
        if COMMANDS[word] is None:
            raise click.UsageError(f"This version of ask has no command {word!r}.", ctx)
        if before:
            raise click.UsageError(
                f"{word!r} is a command, and {before[0]} belongs to a prompt.", ctx
            )
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was read; an output that cannot be written ends it."""
        apply_options(ctx)
        try:
            answered = super().invoke(ctx)
            sys.stdout.flush()
        except OSError as error:
            # Under another name, for click would make an exit with 1 of a broken pipe.
            raise _explain(error) from None
        return answered

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """The two forms of the line."""
        return ["[OPTIONS] [PROMPT]... | COMMAND ..."]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The prompt's options, then the commands."""
        prompt = load_prompt()
        options = [p for p in prompt.params if isinstance(p, click.Option)]
        records = [p.get_help_record(ctx) for p in (*options, *self.get_params(ctx))]
        with formatter.section("Options"):
            formatter.write_dl([record for record in records if record is not None])
        self.format_commands(ctx, formatter)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands' names, and the prompt's options."""
        found = super().shell_complete(ctx, incomplete)
        if incomplete.startswith("-"):
            found += load_prompt().shell_complete(ctx, incomplete)
        return found


def attribute_of(name: str) -> str:
    """What a command is called in its module: `dial-stdio` is `dial_stdio_command`."""
    return f"{name.replace('-', '_')}_command"


def load_prompt() -> click.Command:
    """The prompt as a click command."""
    from ask.commands.prompt import prompt_command

    return prompt_command


def split_options(args: Sequence[str], prompt: click.Command) -> tuple[list[str], str | None]:
    """The options before the first word, by name, and that word; None after `--` or if none."""
    options, word = walk_options(args, valued_options(prompt), stop_at_word=True)
    return options, word


def valued_options(prompt: click.Command) -> frozenset[str]:
    """The names of those options of a command that take a value."""
    return frozenset(
        name
        for param in prompt.params
        if isinstance(param, click.Option) and not param.is_flag and not param.count
        for name in param.opts
    )


def walk_options(
    args: Sequence[str], valued: Collection[str], *, stop_at_word: bool
) -> tuple[list[str], str | None]:
    """Read options as click does: `-s NAME`, `-sNAME`, `--session=NAME`, `-qs NAME`.

    Answers the names that were said, and the first word that is no option.
    """
    options: list[str] = []
    word: str | None = None
    rest = iter(args)
    for token in rest:
        if token == "--":
            break
        if token == "-" or not token.startswith("-"):
            word = token if word is None else word
            if stop_at_word:
                break
        elif token.startswith("--"):
            name, equals, _ = token.partition("=")
            options.append(name)
            if name in valued and not equals:
                next(rest, None)
        else:
            for place, letter in enumerate(token[1:], start=2):
                options.append(f"-{letter}")
                if f"-{letter}" in valued:
                    if place == len(token):
                        next(rest, None)
                    break
    return options, word


@click.group(
    name="ask",
    cls=Root,
    examples=(
        Example('ask "Why is the sky blue?"'),
        Example('echo "one two three" | ask -s work "How many words are these?"'),
        Example('ask "What does @notes.txt say?"', before=('ask -o notes.txt "Say yes."',)),
        Example("ask list"),
    ),
    codes=list(EXIT_CODES),
)
@click.version_option(ask.__version__, message="ask %(version)s")
def root() -> None:
    """Ask a model, and share the conversation between terminals."""


def main(arguments: Sequence[str] | None = None, *, carried: object = None) -> int:
    """Run a command line and answer its exit code; every error becomes one sentence.

    Args:
        arguments: without the program's name; default: the process's.
        carried: what the fast path had done when it gave up (`ask.fast.run.Carried`).
    """
    args = list(sys.argv[1:] if arguments is None else arguments)
    name_failures()
    stdout = sys.stdout
    try:
        answered = root.main(args, prog_name="ask", standalone_mode=False, obj=carried)
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message(), file=sys.stderr)
        return USAGE
    except click.UsageError as error:
        return _fail(explain_usage(error, args), args)
    except click.ClickException as error:
        return _fail(Failed(USAGE, error.format_message()), args)
    except Failed as error:
        return _fail(error, args)
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except StdoutClosed:
        _give_up_stdout()
        return PIPE_CLOSED
    except StdoutFailed as error:
        _give_up_stdout()
        return _fail(explain_unwritable(str(error)), args)
    except SystemExit:
        if sys.stdout is stdout:
            raise  # a completion's end
        _give_up_stdout()  # `--help | head -1`: click saw it first, and put its own in the place
        return PIPE_CLOSED
    return answered if isinstance(answered, int) else DONE


def _explain(error: OSError) -> Exception:
    """What an error of the system means that nobody expected."""
    if error.errno == errno.EPIPE:
        return StdoutClosed()
    code = STORAGE if error.errno in _FULL else FAILED
    return Failed(code, f"The system refused: {error.strerror or error}.")


def _fail(error: Failed, args: Sequence[str]) -> int:
    """Say an error: a sentence and a hint on stderr; with `--json` an object on stdout too."""
    if "--json" in args[: args.index("--") if "--" in args else None]:
        record: dict[str, Any] = {
            "type": "error",
            "code": error.code,
            "message": error.message,
            "data": {**_default_data(error), **error.data},
        }
        try:
            sys.stdout.flush()
            line = json.dumps(record, ensure_ascii=os.isatty(1))
            write_all(1, f"{line}\n".encode(errors="replace"))
        except (OSError, StdoutClosed, StdoutFailed):
            _give_up_stdout()  # the sentence is what is left
    # Both may quote a provider, or what was typed: nothing that a terminal would obey.
    print(strip_controls(error.message), file=sys.stderr)
    if error.hint and error.hint not in error.message:
        print(strip_controls(error.hint), file=sys.stderr)
    return error.code


def _default_data(error: Failed) -> dict[str, Any]:
    reason = DEFAULT_REASONS.get(error.code)
    return {} if reason is None else {"reason": reason}


def _give_up_stdout() -> None:
    """Point stdout at nothing, so that the interpreter's last flush cannot fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
