"""`ask mcp import`: servers of tools that other programs are told of, taken over.

Files are read and never written; the daemon writes the settings. A file that comes with a
project is taken only if it is named, for whoever wrote it says what is started here.
"""

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ask.commands.calls import json_option, open_client
from ask.commands.completing import Completes
from ask.commands.help import Command, Example
from ask.commands.servers import read_names, say_written, write_server
from ask.exits import DONE, FAILED, USAGE, Failed
from ask.mcp_files import PROJECT_FILE, Listing, Unreadable, find_files, read_listings
from ask.mcp_outcomes import Outcome, describe_outcome, lay_out_outcome, plan_import
from ask.protocol import errors
from ask.terminal import strip_controls

if TYPE_CHECKING:
    from ask.connection import Client

OF_OTHERS = (
    "came with a project: whoever wrote it says what is started on your machine, with your rights"
)


@dataclass(slots=True)
class Found:
    """What was read.

    Attributes:
        places: where was looked, as far as nobody named a file.
        troubles: files that could not be read.
        notes: what else to know.
    """

    listings: list[Listing] = field(default_factory=list)
    places: list[Path] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@click.command(
    "import",
    cls=Command,
    examples=[
        Example("ask mcp import --dry-run"),
        Example("ask mcp import --from claude"),
        Example("ask mcp import --from .cursor/mcp.json", code=errors.USAGE),
    ],
    codes=[errors.FAILED, errors.NO_DAEMON],
)
@click.option(
    "--from",
    "source",
    metavar="claude|claude-desktop|codex|FILE",
    shell_complete=Completes("choice:claude,claude-desktop,codex+file"),
    help="Read only what this program has, or this file; else what all three programs have.",
)
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@click.option("--force", is_flag=True, help="Replace servers that have the same names.")
@json_option
def import_command(source: str | None, dry_run: bool, force: bool, as_json: bool) -> int:
    """Take over servers that other programs use.

    A FILE may be Cursor's, VS Code's, or any with mcpServers in it; one that comes with a
    project is read only if it is named. It ends with 1 if something cannot be taken.
    """
    found = find_listings(source)
    with open_client() as client:
        names = read_names(client)
        outcomes = list(plan_import(found.listings, names, environ=os.environ, force=force))
        written = None
        if not dry_run:
            outcomes, written = _write_all(client, outcomes)
    if as_json:
        click.echo(json.dumps([describe_outcome(each) for each in outcomes]))
    else:
        lines = [line for each in outcomes for line in lay_out_outcome(each, dry_run=dry_run)]
        _say("\n".join(lines) or "Nothing to import.")
    if not outcomes and found.places:
        found.notes.append(f"Looked for: {', '.join(map(str, found.places))}")
    taken = [each for each in outcomes if each.state in ("added", "replaced")]
    if written is not None and taken:
        found.notes.append(say_written(written, [each.settings or {} for each in taken]))
        found.notes.append(f"See how it is: ask mcp test {taken[0].name}")
    for line in (*found.troubles, *found.notes):
        _say(line, err=True)
    is_whole = not found.troubles and all(each.state != "refused" for each in outcomes)
    return DONE if is_whole else FAILED


def _say(text: str, *, err: bool = False) -> None:
    """Print what names files and what stands in them: neither has to be text."""
    click.echo(strip_controls(text).encode(errors="replace").decode(), err=err)


def find_listings(source: str | None) -> Found:
    """What a program's file holds, or the file of this name, or those of all known programs.

    Raises:
        Failed: a file that was named cannot be read, code 2.
    """
    home = Path.home()
    files = find_files(os.environ, home)
    if source is not None and source not in files:
        return _read_named(Path(source).absolute(), home)
    found = Found(places=list(files.values()) if source is None else [files[source]])
    for path in found.places:
        if not path.exists():
            continue
        try:
            found.listings += read_listings(path, home=home, is_own=True)
        except Unreadable as error:
            found.troubles.append(str(error))
    here = str(Path.cwd())
    # What is for all comes before what is for one project, and that of this one before others'.
    found.listings.sort(key=lambda each: (each.root is not None, each.root != here))
    project = Path(here) / PROJECT_FILE
    if project.is_file() and project.parent != home:
        found.notes.append(
            f"Not read: {project}. It {OF_OTHERS}. "
            f"Look at it, then: ask mcp import --from {PROJECT_FILE}"
        )
    return found


def _read_named(path: Path, home: Path) -> Found:
    try:
        listings = read_listings(path, home=home)
    except Unreadable as error:
        raise Failed(USAGE, str(error), data={"reason": "bad_input"}) from None
    notes = [f"Mind that {path} {OF_OTHERS}."] if any(e.is_shared for e in listings) else []
    return Found(listings=listings, notes=notes)


def _write_all(client: "Client", outcomes: Iterable[Outcome]) -> tuple[list[Outcome], str | None]:
    """Write one after the other; one that the settings do not take does not keep others out."""
    done = []
    path: str | None = None
    for each in outcomes:
        if each.settings is None:
            done.append(each)
            continue
        try:
            path = write_server(client, each.name, each.settings)
        except Failed as error:
            if error.data.get("reason") != "bad_config":
                raise
            why = f"does not fit the settings: {error.message}"
            done.append(replace(each, state="refused", why=why, settings=None))
        else:
            done.append(each)
    return done, path
