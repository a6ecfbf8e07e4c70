"""`ask history restore`: what a turn's tools did to files is undone.

It shows what would change and asks before anything does; without a person it wants to
be told so. What a snapshot is, and whether it can be put back, is the daemon's to know.
"""

import json
import sys
from datetime import datetime
from typing import TYPE_CHECKING

import click

from ask.commands import layout
from ask.commands.calls import (
    Map,
    check_name,
    json_option,
    open_client,
    read_pages,
    resolve_here,
)
from ask.commands.completing import complete_conversation
from ask.commands.consent import ask_consent
from ask.commands.doubt import open_certain, tell_doubt
from ask.commands.help import Command, Example
from ask.exits import DONE, FAILED
from ask.protocol import errors
from ask.reveal import reveal_text
from ask.terminal import strip_controls

if TYPE_CHECKING:
    from ask.connection import Client

PAGE = 50
LOOK_S = 90.0
"""Large work trees are looked through while we wait."""
RESTORE_S = 360.0
SHOWN_LINES = 200
"""Of a diff before the question; the whole is in --dry-run."""
SHOWN_LEFT = 20
SHORT_ID = 12
NOTHING = "Nothing differs from the snapshot."
UNCHANGED = "Nothing was changed."
NO_SNAPSHOTS = "This conversation has no snapshots: no tool of its turns has written anything."
LOST = "Some of it may have been put back; what was there before is a snapshot of its own."


@click.command(
    "restore",
    cls=Command,
    examples=[
        Example("ask history restore -s work", before=("ask new work",)),
        Example("ask history restore 3f9a0c11d2e4 --dry-run", code=errors.NOT_FOUND),
        Example("ask history restore 3f9a0c11d2e4 --yes", code=errors.NOT_FOUND),
    ],
    codes=[errors.FAILED, errors.NOT_FOUND, errors.BUSY, errors.NO_DAEMON, errors.STORAGE],
)
@click.argument("snapshot", metavar="[SNAPSHOT]", required=False)
@click.option(
    "-s",
    "--session",
    metavar="NAME|ID",
    shell_complete=complete_conversation,
    help="A conversation other than this terminal's.",
)
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@json_option
def restore_command(
    snapshot: str | None, session: str | None, dry_run: bool, yes: bool, as_json: bool
) -> int:
    """Put files back as they were before a turn.

    Without SNAPSHOT it lists what there is. Files that changed or are gone come
    back, files made since go; what git ignores stays. What is there now becomes
    a snapshot first, so that this can be undone.
    """
    if snapshot is None:
        with open_client() as client:
            _list(client, session, as_json=as_json)
        return DONE
    if not (yes or dry_run or sys.stdin.isatty()):
        raise click.UsageError("There is no terminal to ask on: say --yes, or --dry-run to look.")
    with open_certain(UNCHANGED) as client:
        asked: Map = {"snapshot": check_name(snapshot)}
        if session is not None:
            asked["conversation_id"] = resolve_here(client, session)["id"]
        if dry_run or not yes:
            with tell_doubt(lost=UNCHANGED, stopped=UNCHANGED):
                found = client.call("snapshot/diff", asked, limit_s=LOOK_S)
                if dry_run:
                    _print_diff(found, as_json=as_json)
                    return DONE
                if not _is_meant(found):
                    return DONE
            # The very one that was shown, whoever takes snapshots meanwhile.
            asked = {"snapshot": found["id"], "conversation_id": found["conversation_id"]}
        with tell_doubt(lost=LOST, stopped=LOST):
            done = client.call("snapshot/restore", asked, limit_s=RESTORE_S)
    if as_json:
        click.echo(json.dumps(done))
    _tell(done)
    return FAILED if done["left_total"] else DONE


def _list(client: "Client", session: str | None, *, as_json: bool) -> None:
    """One line a snapshot: its id, when, how much differs, where."""
    asked = {"conversation_id": resolve_here(client, session)["id"]}
    rows, _ = read_pages(client, "snapshot/list", asked, size=PAGE)
    if as_json:
        click.echo(json.dumps(rows))
        return
    if not rows:
        click.echo(NO_SNAPSHOTS, err=True)
    for row in rows:
        moment = "" if row["at"] is None else f"{datetime.fromtimestamp(row['at']):%Y-%m-%d %H:%M}"
        cells = [row["id"][:SHORT_ID], f"{moment:16}", f"{_describe(row):18}", row["worktree"]]
        click.echo(strip_controls("  ".join(cells)).rstrip())


def _describe(row: Map) -> str:
    """How a snapshot differs from what is there now, in few words."""
    if row["trouble"] is not None:
        return "cannot be restored"
    match row["differ"]:
        case None:
            return "?"
        case 0:
            return "as it is"
        case 1:
            return "1 file differs"
        case count:
            return f"{count} files differ"


def _print_diff(found: Map, *, as_json: bool) -> None:
    """All of the diff that there is; a terminal gets nothing that it would obey."""
    if as_json:
        click.echo(json.dumps(found))
    elif not found["files"]:
        click.echo(NOTHING, err=True)
    else:
        text = found["diff"]
        if sys.stdout.isatty():
            text = "\n".join(reveal_text(line) for line in text.split("\n"))
        click.echo(text, nl=not text.endswith("\n"))
        if found["cut"]:
            click.echo("The diff is longer; this is its beginning.", err=True)


def _is_meant(found: Map) -> bool:
    """Show a person what would change, and ask."""
    if not found["files"]:
        click.echo(NOTHING, err=True)
        return False
    lines = found["diff"].removesuffix("\n").split("\n")
    for line in lines[:SHOWN_LINES]:
        click.echo(reveal_text(line))
    if len(lines) > SHOWN_LINES or found["cut"]:
        click.echo(
            f"There is more of it: ask history restore {found['id'][:SHORT_ID]} --dry-run", err=True
        )
    files = layout.count(found["files"], "file")
    question = f"Put back {files} in {reveal_text(found['worktree'])}?"
    is_meant = ask_consent(question)
    if not is_meant:
        click.echo(UNCHANGED, err=True)
    return is_meant


def _tell(done: Map) -> None:
    """What became of it, and how it can be undone."""
    if done["before"] is None and not done["left_total"]:
        click.echo(NOTHING, err=True)
        return
    click.echo(
        f"Put back {layout.count(done['put'], 'file')}, removed {done['removed']}, "
        f"in {reveal_text(done['worktree'])}.",
        err=True,
    )
    for each in done["left"][:SHOWN_LEFT]:
        click.echo(f"Left as it is: {reveal_text(each['path'])}: {each['why']}", err=True)
    if done["left_total"] > SHOWN_LEFT:
        more = done["left_total"] - SHOWN_LEFT
        click.echo(f"and {layout.count(more, 'file')} more", err=True)
    if done["before"] is not None:
        click.echo(f"To undo this: ask history restore {done['before']}", err=True)
