"""`ask history scrub`: a secret that leaked is taken out of everything that is stored.

It shows where the secret stands and asks before it is replaced; without a person
it wants to be told so. It never prints the secret, nor what stands around it.
"""

import getpass
import json
import re
import sys
from typing import TYPE_CHECKING

import click

from ask.commands import layout
from ask.commands.calls import Map, json_option
from ask.commands.consent import ask_consent
from ask.commands.doubt import open_certain, tell_doubt
from ask.commands.help import Command, Example
from ask.protocol import errors
from ask.terminal import strip_controls

if TYPE_CHECKING:
    from ask.connection import Client

SCRUB_LIMIT_S = 3600.0
"""Everything that is stored is read twice, and some of it written anew."""
SHOWN = 20
"""Conversations and files that a person reads before the question."""
NOTHING = "Nothing found."
HELD = (
    "The database could not be written anew: it is being read, or the disk has no room for it "
    "twice. Freed pages may hold it still; run it again."
)
STOPPED = "What was replaced stays replaced; run it again for the rest."
LOST = f"Some of it may have been replaced. {STOPPED}"
UNCHANGED = "Nothing was changed."
QUESTION = "Replace it for good?"
ELSEWHERE = (
    "Not reached: what providers were sent, terminals' scrollback, the shell's history, the "
    "system's journal, copies elsewhere. A key that leaked is best replaced by a new one."
)


@click.command(
    "scrub",
    cls=Command,
    examples=[
        Example("ask history scrub hunter2 --dry-run"),
        Example("printf %s hunter2 | ask history scrub - --yes"),
        Example("ask history scrub --regex 'sk-[A-Za-z0-9]{20,}' --yes --backups"),
    ],
    codes=[errors.FAILED, errors.BUSY, errors.NO_DAEMON, errors.STORAGE],
)
@click.argument("pattern", metavar="PATTERN")
@click.option("--regex", is_flag=True, help="PATTERN is a regular expression of Python's.")
@click.option("--dry-run", is_flag=True, help="Only show where it stands.")
@click.option("--backups", is_flag=True, help="Remove the database's copies too.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask; a short PATTERN is meant.")
@json_option
def scrub_command(
    pattern: str, regex: bool, dry_run: bool, backups: bool, yes: bool, as_json: bool
) -> None:
    """Replace a leaked secret in everything that is stored.

    PATTERN becomes [scrubbed] in all conversations, in what was attached to
    them, their rollouts, the archive and the daemon's log. With - it is read
    from standard input, so that it does not stand in the shell's history.
    Where a turn is at work nothing is changed.
    """
    has_terminal = sys.stdin.isatty()
    pattern = _read_pattern(pattern)
    _check_pattern(pattern, regex=regex)
    if not (yes or dry_run or has_terminal):
        raise click.UsageError("There is no terminal to ask on: say --yes, or --dry-run to look.")
    asked: Map = {"pattern": pattern, "regex": regex, "short": yes}
    with open_certain(UNCHANGED) as client:
        if dry_run:
            with tell_doubt(lost=UNCHANGED, stopped=UNCHANGED):
                found = _call(client, {**asked, "dry_run": True})
            if as_json:
                click.echo(json.dumps(found))
            else:
                _show(found)
            return
        if not yes:
            with tell_doubt(lost=UNCHANGED, stopped=UNCHANGED):
                found = _call(client, {**asked, "dry_run": True})
                _show(found)
                is_meant = bool(_count(found) or backups) and ask_consent(QUESTION)
            if not is_meant:
                click.echo(UNCHANGED, err=True)
                return
        with tell_doubt(lost=LOST, stopped=STOPPED):
            done = _call(client, {**asked, "backups": backups})
    if as_json:
        click.echo(json.dumps(done))
    _tell(done)


def _read_pattern(pattern: str) -> str:
    """The argument, or what standard input says; hidden where a person types it."""
    if pattern != "-":
        return pattern
    if sys.stdin.isatty():
        return getpass.getpass("Pattern: ")
    try:
        said = sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError:
        raise click.UsageError("Standard input is not UTF-8 text.") from None
    # An `echo` put the last line's end there.
    return said.removesuffix("\n").removesuffix("\r")


def _check_pattern(pattern: str, *, regex: bool) -> None:
    """Refuse what no --yes makes right; how long it may be, and must be, the daemon knows."""
    if not pattern:
        raise click.UsageError("The pattern is empty: it would be everywhere.")
    try:
        pattern.encode()
        if regex:
            re.compile(pattern)
    except UnicodeEncodeError:
        raise click.UsageError("The pattern is not valid UTF-8.") from None
    except (re.error, RecursionError, OverflowError) as error:
        # Where, and not in Python's words: these quote the pattern.
        place = getattr(error, "pos", None)
        where = "" if place is None else f": see character {place + 1}"
        raise click.UsageError(f"The pattern is no regular expression{where}.") from None


def _call(client: "Client", params: Map) -> Map:
    return client.call("conversation/scrub", params, limit_s=SCRUB_LIMIT_S)


def _count(found: Map) -> int:
    return int(found["total"]) + int(found["rows"]) + int(found["files_total"])


def _show(found: Map) -> None:
    """Where it stands: a line a conversation, a line a file."""
    if not _count(found):
        click.echo(NOTHING, err=True)
        return
    for row in found["data"][:SHOWN]:
        name = row.get("name") or row.get("title") or ""
        where = (
            f"{layout.count(row['occurrences'], 'time')} in {layout.count(row['events'], 'event')}"
        )
        busy = "  (at work)" if row["is_busy"] else ""
        line = f"{row['conversation_id'][: layout.SHORT_ID]}  {where}{busy}  {name}"
        click.echo(strip_controls(line).rstrip())
    _show_rest(found["total"], "conversation")
    for path in found["files"][:SHOWN]:
        click.echo(strip_controls(path))
    _show_rest(found["files_total"], "file")
    click.echo(_sum_up(found))


def _show_rest(total: int, word: str) -> None:
    if total > SHOWN:
        click.echo(f"and {layout.count(total - SHOWN, word)} more")


def _sum_up(found: Map) -> str:
    counts = [
        layout.count(found["total"], "conversation"),
        layout.count(found["files_total"], "file"),
    ]
    if found["rows"]:
        counts.append(layout.count(found["rows"], "other row"))
    return f"Found {layout.count(found['occurrences'], 'time')} in {', '.join(counts)}."


def _tell(done: Map) -> None:
    """What became of it, and what could not be reached."""
    if not _count(done):
        click.echo(NOTHING, err=True)
    else:
        times = layout.count(done["occurrences"], "time")
        conversations = layout.count(done["total"], "conversation")
        files = f", and {layout.count(done['files_total'], 'file')}" if done["files_total"] else ""
        click.echo(f"Scrubbed {times} in {conversations}{files}.", err=True)
    for path in done["backups"]:
        click.echo(strip_controls(f"Removed: {path}"), err=True)
    for path in done["left"]:
        click.echo(strip_controls(f"Holds it still, or may: {path}"), err=True)
    if done["left_total"] > len(done["left"]):
        more = done["left_total"] - len(done["left"])
        click.echo(f"and {layout.count(more, 'file')} more", err=True)
    if not done["erased"]:
        click.echo(HELD, err=True)
    if _count(done) or done["left"]:
        click.echo(ELSEWHERE, err=True)
