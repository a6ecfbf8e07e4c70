"""The prompt as a click command: its options, and those that this version does not have.

It turns words into a `Wish` and leaves asking to `ask.prompt`. An option of a
later version is refused by name, never taken in silence.
"""

import os
from typing import Any

import click

from ask.commands.answer_options import (
    effort_option,
    max_output_tokens_option,
    model_option,
    overflow_option,
    stop_option,
    system_option,
    temperature_option,
    timeout_option,
)
from ask.commands.calls import no_mentions_option
from ask.commands.completing import complete_conversation, complete_file
from ask.commands.far import apply_options, directory_option, host_option, keys_option
from ask.commands.help import Command
from ask.commands.template_options import NO_TEMPLATE, template_option, values_option
from ask.commands.toolbox import approve_option, instructions_option, tools_option
from ask.fast.run import Carried


class PromptCommand(Command):
    """The prompt; its help is the root's."""

    def invoke(self, ctx: click.Context) -> Any:
        """Ask, on the machine that was said."""
        apply_options(ctx)
        return super().invoke(ctx)

    def get_help(self, ctx: click.Context) -> str:
        """The root's help: it shows these options with the commands."""
        return ctx.parent.get_help() if ctx.parent is not None else super().get_help(ctx)


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
@model_option
@system_option
@template_option
@values_option
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
@click.option(
    "--raw",
    is_flag=True,
    help="The answer as it came: not rendered, and to a pipe with its control sequences.",
)
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
@temperature_option
@max_output_tokens_option
@stop_option
@effort_option
@overflow_option
@tools_option
@approve_option
@instructions_option
@click.option("--queue", is_flag=True, help="Wait while the conversation is busy (the default).")
@click.option("--steer", is_flag=True, help="Join the turn that runs, and answer this at once.")
@click.option("--fail-busy", is_flag=True, help="Exit with 8 if the conversation is busy.")
@click.option("--detach", is_flag=True, help="Print the id of a job, and do not wait for it.")
@click.option(
    "--notify/--no-notify",
    default=None,
    help="Run the notifier when the turn ends or asks; [notify] detached: for all detached ones.",
)
@timeout_option
@click.option("--ephemeral", is_flag=True, help="Keep nothing on the disk.")
@click.option("--key", metavar="TEXT", help="The same key is the same turn: for scripts.")
@host_option
@directory_option
@keys_option
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
    template: str | None,
    values: dict[str, str],
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
    tools: list[str] | None,
    approve: str | None,
    instructions: bool | None,
    queue: bool,
    steer: bool,
    fail_busy: bool,
    detach: bool,
    notify: bool | None,
    timeout_s: float | None,
    ephemeral: bool,
    key: str | None,
    verbose: bool,
) -> int:
    """Ask a model."""
    if again and session is not None:
        raise click.UsageError("-c and -s name two conversations; give one of them.", ctx)
    chosen = {"--queue": queue, "--steer": steer, "--fail-busy": fail_busy}
    busy = [name for name, said in chosen.items() if said]
    if len(busy) > 1:
        raise click.UsageError(f"{busy[0]} and {busy[1]} exclude each other.", ctx)
    if steer and detach:
        raise click.UsageError("--steer and --detach exclude each other.", ctx)
    if extract and schema is not None:
        raise click.UsageError("-x and --schema exclude each other.", ctx)
    if detach and ephemeral:
        raise click.UsageError("--detach and --ephemeral exclude each other.", ctx)
    if notify and ephemeral:
        raise click.UsageError("--notify and --ephemeral exclude each other.", ctx)
    answered = {"-x": extract, "-o": output, "--raw": raw, "--usage": usage}
    for name in (name for name, said in answered.items() if said and detach):
        raise click.UsageError(f"{name} is about the answer, and --detach prints none.", ctx)
    if values and template is None:
        raise click.UsageError(NO_TEMPLATE, ctx)
    if not all(stop):
        raise click.UsageError("--stop needs a text, and it is empty.", ctx)
    from ask.prompt import ask_prompt
    from ask.wish import Wish

    wish = Wish(
        words=words,
        again=again,
        session=session,
        model=model,
        system=system,
        template=template,
        parameters=tuple(values.items()),
        files=files,
        images=images,
        schema=schema,
        temperature=temperature,
        max_output_tokens=max_output_tokens,
        stop=stop,
        effort=effort,
        overflow=overflow,
        tools=tools,
        approve=approve,
        instructions=instructions,
        key=key,
        timeout_s=timeout_s,
        busy="steer" if steer else "fail" if fail_busy else None,
        detach=detach,
        notify=notify,
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
