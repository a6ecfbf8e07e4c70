"""`ask schedule add`: a prompt, and when the daemon is to send it.

Everything is read and settled now, as for a prompt: template, files, mentions, standard input.
Keys of this environment are not sent: whoever asks in a week asks with the daemon's own.
"""

import json
import os
import time
from collections.abc import Mapping
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
from ask.commands.calls import no_mentions_option, open_client
from ask.commands.completing import complete_conversation, complete_file
from ask.commands.help import Command, Example
from ask.commands.schedule_layout import tell_next
from ask.commands.template_options import NO_TEMPLATE, template_option, values_option
from ask.commands.toolbox import approve_option, instructions_option, tools_option
from ask.exits import USAGE, Failed
from ask.protocol import errors
from ask.terminal import strip_controls
from ask.whereabouts import is_far
from ask.wish import Wish, check_words

Map = dict[str, Any]

EXAMPLE = 'ask schedule add --cron "0 8 * * 1-5" -s morning "What is new?"'
WITH_SECONDS = 6
"""So many fields have one for seconds, in front."""
HINTS = {
    "bad_zone": "It is the one that this shell goes by (TZ). Name another: --zone Europe/Berlin",
    "empty_prompt": f"Try: {EXAMPLE}",
}
"""What to type, by what went wrong; of zones only where none was named."""
MISSED = ("skip", "once", "all")
LOCALTIME = "/etc/localtime"
"""localtime(5): a link to the machine's zone, below a directory `zoneinfo`."""
CRON_HELP = "When: minute hour day-of-month month day-of-week; or @hourly, @daily, @weekly, ..."


@click.command(
    "add",
    cls=Command,
    examples=[
        Example(EXAMPLE),
        Example('ask schedule add --cron @daily --zone Europe/Berlin "Good night."'),
    ],
    codes=[errors.FAILED, errors.NOT_FOUND, errors.NO_DAEMON, errors.STORAGE],
)
@click.argument("words", nargs=-1, metavar="[PROMPT]...")
@click.option("--cron", required=True, metavar="EXPRESSION", help=CRON_HELP)
@click.option("--zone", metavar="ZONE", help="By whose clock, as Europe/Berlin; else TZ, or yours.")
@click.option("--name", metavar="NAME", help="What to call the schedule.")
@click.option(
    "--missed",
    type=click.Choice(MISSED),
    default="once",
    show_default=True,
    help="What to send for times at which no daemon was there.",
)
@click.option(
    "-s",
    "--session",
    metavar="NAME|ID",
    shell_complete=complete_conversation,
    help="The conversation; a new name creates one. Without: a new one each time.",
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
    help="Attach a text file, as it is now.",
)
@click.option("--no-stdin", is_flag=True, help="Do not read standard input: for loops.")
@no_mentions_option
@click.option(
    "--schema",
    metavar="FILE|JSON|FIELDS",
    shell_complete=complete_file,
    help="Answers are JSON of this shape.",
)
@temperature_option
@max_output_tokens_option
@stop_option
@effort_option
@overflow_option
@tools_option
@approve_option
@instructions_option
@click.option(
    "--notify/--no-notify",
    default=None,
    help="Run the notifier when a turn ends or asks, or could not be sent.",
)
@timeout_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but the id and errors.")
def add_command(
    *,
    cron: str,
    zone: str | None,
    name: str | None,
    missed: str,
    template: str | None,
    values: dict[str, str],
    quiet: bool,
    as_json: bool,
    stop: tuple[str, ...],
    **said: Any,
) -> None:
    """Add a schedule: a prompt, and when the daemon sends it.

    Its id is printed. Each time is a detached turn: a job, which can be waited for,
    and which may ask a person. The daemon asks with its own keys (ask auth set-key),
    not with those of this shell.
    """
    if values and template is None:
        raise click.UsageError(NO_TEMPLATE)
    if not all(stop):
        raise click.UsageError("--stop needs a text, and it is empty.")
    wish = Wish(
        template=template,
        parameters=tuple(values.items()),
        stop=stop,
        quiet=quiet,
        detach=True,
        **said,
    )
    when = {"cron": cron, "zone": zone or find_zone(os.environ), "name": name, "missed": missed}
    try:
        added = add_schedule(wish, when, os.environ)
    except Failed as error:
        reason = str(error.data.get("reason"))
        hint = HINTS.get(reason)
        if hint is None or (zone and reason == "bad_zone"):
            raise
        raise Failed(error.code, error.message, hint=hint, data=error.data) from None
    click.echo(json.dumps(added) if as_json else added["id"])
    if added.get("warning"):
        click.echo(strip_controls(added["warning"]), err=True)
    if not quiet and len(cron.split()) == WITH_SECONDS:
        click.echo("Six fields: the first one counts seconds.", err=True)
    if not quiet:
        click.echo(f"Next: {tell_next(added, now=time.time())}", err=True)


def add_schedule(wish: Wish, when: Map, environ: Mapping[str, str]) -> Map:
    """Read what is wished, and have it scheduled: the daemon's record.

    Args:
        when: `cron`, `zone`, `name` and `missed`, as `schedule/add` takes them.

    Raises:
        Failed: an input cannot be taken, or the daemon refuses.
    """
    from ask.drafts import draft
    from ask.fast.run import Carried
    from ask.inputs import Input, attach_mentions, read_inputs
    from ask.prompt import build_params
    from ask.schemas import read_schema
    from ask.whereabouts import is_far, limit_tools

    check_words(wish)
    check_texts(when)
    carried = Carried("")
    drafted = draft(wish, environ, carried)
    wish = drafted.wish
    schema = None if wish.schema is None else read_schema(wish.schema)
    text, mentioned = drafted.text, list[Input]()
    if not wish.no_mentions:
        text, mentioned = attach_mentions(
            text, beside=wish.files, quiet=wish.quiet, environ=environ
        )
    inputs = read_inputs(
        drafted.complete(text),
        wish.files,
        carried,
        mentioned=mentioned,
        stdin=not wish.no_stdin,
        quiet=wish.quiet,
    )
    if any(each.media_type != "text/plain" for each in inputs):
        raise Failed(
            USAGE,
            "A schedule sends text, and no image.",
            hint="A tool can read it when the time has come: -T read",
            data={"reason": "bad_input"},
        )
    built = build_params(wish, environ, target={}, terminal=None, key="")
    options = {**built.get("options", {}), "detach": True}
    if schema is not None:
        options["answer_schema"] = schema
    if is_far(environ):
        options = limit_tools(options, environ)
    parts = [{"type": "text", "text": each.content.decode(), "name": each.name} for each in inputs]
    params: Map = {
        **{name: value for name, value in when.items() if value is not None},
        "parts": parts,
        "options": options,
        "session": wish.session,
    }
    params |= {name: built[name] for name in ("cwd", "cwd_id", "far", "env") if name in built}
    with open_client() as client:
        return client.call("schedule/add", params)


def check_texts(when: Map) -> None:
    """Raise `Failed` for a text that is none: the shell may hand over any bytes."""
    for option, text in when.items():
        try:
            (text or "").encode()
        except UnicodeEncodeError:
            message = f"--{option} is not valid UTF-8."
            raise Failed(USAGE, message, data={"reason": "usage"}) from None


def find_zone(environ: Mapping[str, str]) -> str | None:
    """The zone that this shell goes by, if it names one; None: that of the daemon's machine.

    `TZ` as tzset(3) takes a name or a file, with or without its colon. Who asks another
    machine's daemon means the clock of this one.
    """
    said = environ.get("TZ", "").removeprefix(":")
    if not said and is_far(environ):
        said = LOCALTIME
    if not said.startswith("/"):
        return said or None
    _, found, name = os.path.realpath(said).rpartition("zoneinfo/")
    return name if found else None
