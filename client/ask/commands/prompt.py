"""The prompt as a click command: its options, and those that this version does not have.

It turns words into a `Wish` and leaves asking to `ask.prompt`. An option of a
later version is refused by name, never taken in silence.
"""

import math
import os

import click

from ask.commands.calls import complete_conversation, complete_file, no_mentions_option
from ask.commands.help import Command
from ask.commands.root import valued_options, walk_options
from ask.fast.run import Carried

LATER: dict[str, str] = {
    "-t": "--template",
    "-T": "--tools",
    "-H": "--host",
    "--template": "--template",
    "--tools": "--tools",
    "--approve": "--approve",
    "--steer": "--steer",
    "--notify": "--notify",
    "--host": "--host",
}
"""Options of the design that come later; they are refused by their long names."""

OVERFLOWS = ("compact", "reset", "continue", "ask")
EFFORTS = ("none", "minimal", "low", "medium", "high")

_LATER_VALUED = frozenset(LATER) - {"--steer", "--notify"}


class PromptCommand(Command):
    """The prompt; its help is the root's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse what this version does not have, then read the words."""
        said, _ = walk_options(args, valued_options(self) | _LATER_VALUED, stop_at_word=False)
        for name in said:
            if name in LATER:
                raise click.UsageError(f"This version of ask has no {LATER[name]}.", ctx)
        return super().parse_args(ctx, args)

    def get_help(self, ctx: click.Context) -> str:
        """The root's help: it shows these options with the commands."""
        return ctx.parent.get_help() if ctx.parent is not None else super().get_help(ctx)


class Seconds(click.ParamType[float]):
    """A time above zero, in seconds."""

    name = "seconds"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read what was typed."""
        try:
            seconds = float(str(value))
        except ValueError:
            seconds = math.nan
        if not 0 < seconds < math.inf:
            self.fail(f"{value!r} is not a number of seconds above zero.", param, ctx)
        return seconds


class Temperature(click.ParamType[float]):
    """A number from zero on; how high it may be is for the provider to say."""

    name = "number"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read what was typed."""
        try:
            number = float(str(value))
        except ValueError:
            number = math.nan
        if not 0 <= number < math.inf:
            self.fail(f"{value!r} is not a number from zero on.", param, ctx)
        return number


@click.command("prompt", cls=PromptCommand)
@click.argument("words", nargs=-1, metavar="[PROMPT]...")
@click.option("-c", "--continue", "again", is_flag=True, help="This terminal's last conversation.")
@click.option(
    "-s",
    "--session",
    metavar="NAME|ID",
    shell_complete=complete_conversation,
    help="A conversation; a new name creates one.",
)
@click.option("-m", "--model", metavar="NAME", help="provider/model, or an alias.")
@click.option("-S", "--system", metavar="TEXT", help="A system prompt.")
@click.option(
    "-f",
    "--file",
    "files",
    multiple=True,
    metavar="FILE",
    shell_complete=complete_file,
    help="Attach a text file.",
)
@click.option(
    "-a",
    "--attach",
    "images",
    multiple=True,
    metavar="FILE",
    shell_complete=complete_file,
    help="Attach an image; - takes it from standard input.",
)
@click.option("--no-stdin", is_flag=True, help="Do not read standard input: for loops.")
@no_mentions_option
@click.option("--json", "as_json", is_flag=True, help="Print events as JSON, one a line.")
@click.option("--raw", is_flag=True, help="To a pipe: the answer with its control sequences.")
@click.option("-x", "--extract", is_flag=True, help="Print only the first code block.")
@click.option(
    "--schema",
    metavar="FILE|JSON|FIELDS",
    shell_complete=complete_file,
    help='Print JSON of this shape, or fail: "name, age int".',
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    shell_complete=complete_file,
    help="Write the whole answer to a file too.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but the answer and errors.")
@click.option("--usage", is_flag=True, help="Print the tokens used, and their cost.")
@click.option("--temperature", type=Temperature(), metavar="N", help="How freely to choose words.")
@click.option(
    "--max-output-tokens", type=click.IntRange(min=1), metavar="N", help="The longest answer."
)
@click.option("--stop", multiple=True, metavar="TEXT", help="Where to stop; may be repeated.")
@click.option("--effort", type=click.Choice(EFFORTS), help="How much to think before answering.")
@click.option(
    "--overflow",
    type=click.Choice(OVERFLOWS),
    help="What to do when the history does not fit any more.",
)
@click.option("--queue", is_flag=True, help="Wait while the conversation is busy (the default).")
@click.option("--fail-busy", is_flag=True, help="Exit with 8 if the conversation is busy.")
@click.option("--detach", is_flag=True, help="Print the id of a job, and do not wait for it.")
@click.option("--timeout", "timeout_s", type=Seconds(), metavar="S", help="Stop after S seconds.")
@click.option("--ephemeral", is_flag=True, help="Keep nothing on the disk.")
@click.option("--key", metavar="TEXT", help="The same key is the same turn: for scripts.")
@click.option("-v", "--verbose", is_flag=True, help="Say what happens.")
@click.pass_context
def prompt_command(
    ctx: click.Context,
    *,
    words: tuple[str, ...],
    again: bool,
    session: str | None,
    model: str | None,
    system: str | None,
    files: tuple[str, ...],
    images: tuple[str, ...],
    no_stdin: bool,
    no_mentions: bool,
    as_json: bool,
    raw: bool,
    extract: bool,
    schema: str | None,
    output: str | None,
    quiet: bool,
    usage: bool,
    temperature: float | None,
    max_output_tokens: int | None,
    stop: tuple[str, ...],
    effort: str | None,
    overflow: str | None,
    queue: bool,
    fail_busy: bool,
    detach: bool,
    timeout_s: float | None,
    ephemeral: bool,
    key: str | None,
    verbose: bool,
) -> int:
    """Ask a model."""
    if again and session is not None:
        raise click.UsageError("-c and -s name two conversations; give one of them.", ctx)
    if queue and fail_busy:
        raise click.UsageError("--queue and --fail-busy exclude each other.", ctx)
    if extract and schema is not None:
        raise click.UsageError("-x and --schema exclude each other.", ctx)
    if detach and ephemeral:
        raise click.UsageError("--detach and --ephemeral exclude each other.", ctx)
    answered = {"-x": extract, "-o": output, "--raw": raw, "--usage": usage}
    for name in (name for name, said in answered.items() if said and detach):
        raise click.UsageError(f"{name} is about the answer, and --detach prints none.", ctx)
    if not all(stop):
        raise click.UsageError("--stop needs a text, and it is empty.", ctx)
    from ask.prompt import Wish, ask_prompt

    wish = Wish(
        words=words,
        again=again,
        session=session,
        model=model,
        system=system,
        files=files,
        images=images,
        schema=schema,
        temperature=temperature,
        max_output_tokens=max_output_tokens,
        stop=stop,
        effort=effort,
        overflow=overflow,
        key=key,
        timeout_s=timeout_s,
        fail_busy=fail_busy,
        detach=detach,
        ephemeral=ephemeral,
        no_stdin=no_stdin,
        no_mentions=no_mentions,
        as_json=as_json,
        raw=raw,
        quiet=quiet,
        verbose=verbose,
        usage=usage,
        extract=extract,
        output=output,
    )
    carried = ctx.find_object(Carried)
    return ask_prompt(wish, os.environ, carried)
