"""`ask daemon logs`: what the daemon says about itself, from its file, or where else it stands.

No daemon needs to run, and none is asked. Where systemd runs askd its journal has the log.
"""

import json
import os
import sys
from collections.abc import Iterable

import click

from ask.commands.calls import json_option
from ask.commands.help import Command, Example
from ask.log_lines import follow_log, read_records, read_tail
from ask.paths import Paths
from ask.protocol import errors
from ask.terminal import strip_controls
from ask.units import is_installed

LOG_LINES = 50
JOURNAL = "journalctl --user -u askd"


@click.command(
    "logs",
    cls=Command,
    here=True,
    examples=[
        Example("ask daemon logs", before=("ask daemon start",)),
        Example("ask daemon logs -n 5 --json", before=("ask daemon start",)),
    ],
    codes=[errors.INTERRUPTED],
)
@click.option(
    "-n",
    "--lines",
    type=click.IntRange(min=0),
    default=LOG_LINES,
    metavar="N",
    show_default=True,
    help="How many of the last lines.",
)
@click.option("-f", "--follow", is_flag=True, help="Go on with every new line, until Ctrl-C.")
@json_option
def logs_command(lines: int, follow: bool, as_json: bool) -> None:
    """Print the end of the daemon's log; no daemon needs to run.

    With --json one object a line: at, level, name, message. Where systemd starts askd, its log
    is in the journal: journalctl --user -u askd
    """
    path = Paths.of(os.environ).log_file
    if is_installed(os.environ):
        click.echo(f"systemd runs askd: what it says then is in the journal: {JOURNAL}", err=True)
    if not path.exists() and not follow:
        click.echo(f"There is no log yet: {path}", err=True)
        return
    found: Iterable[str | None] = follow_log(path, lines) if follow else read_tail(path, lines)
    plain = strip_controls if sys.stdout.isatty() else str
    shown = (
        (json.dumps(each) for each in read_records(found))
        if as_json
        else (plain(line) for line in found if line is not None)
    )
    for line in shown:
        click.echo(line)
        sys.stdout.flush()
