"""`ask history export | import`: conversations as files, out and in.

A file that is imported is only read. Each becomes a conversation of its own, or
none; one that cannot be read does not keep the others out.
"""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ask.archives import name_archive, read_archive
from ask.commands import layout
from ask.commands.calls import (
    Map,
    json_option,
    open_client,
    resolve,
)
from ask.commands.completing import complete_conversation, complete_file
from ask.commands.doubt import open_certain, tell_doubt
from ask.commands.help import Command, Example
from ask.exits import DONE, Failed
from ask.fast.caller import write_all
from ask.outputs import check_output, replace_output
from ask.protocol import errors
from ask.protocol.limits import BLOB_CHUNK_BYTES
from ask.terminal import strip_controls

if TYPE_CHECKING:
    from ask.connection import Caller, Client

CHUNK_LIMIT_S = 60.0
"""For one chunk; the last one of a file is answered when its conversation is stored."""
IMPORT_LIMIT_S = 600.0
PROGRESS_BYTES = 4 * 1024 * 1024
"""A smaller file is imported before anyone wonders."""

AGAIN = "Run it again: what was imported is not imported twice."


@click.command(
    "export",
    cls=Command,
    examples=[
        Example("ask history export work -o work.json", before=("ask new work",)),
        Example("ask history export work --format markdown", before=("ask new work",)),
    ],
    codes=[errors.NOT_FOUND, errors.NO_DAEMON, errors.STORAGE],
)
@click.argument("conversation", metavar="ID", shell_complete=complete_conversation)
@click.option(
    "--format",
    "kind",
    type=click.Choice(["json", "markdown", "codex"]),
    default="json",
    help="What to write: everything (json), a page (markdown), a Codex rollout (codex).",
)
@click.option(
    "-o", "--output", metavar="FILE", shell_complete=complete_file, help="Write to this file."
)
def export_command(conversation: str, kind: str, output: str | None) -> None:
    """Write a conversation to a file, or to standard output.

    json and codex hold all of it and can be imported again.
    """
    check_output(output)
    with open_client() as client:
        found = resolve(client, conversation)
        chunks = read_export(client, found["id"], kind)
        if output is not None:
            text = b"".join(chunks).decode(errors="replace")
            replace_output(Path(output), text)
        elif os.isatty(1):
            # A person reads it: nothing in it that a terminal would obey.
            click.echo(strip_controls(b"".join(chunks).decode(errors="replace")), nl=False)
        else:
            for chunk in chunks:
                write_all(1, chunk)


def read_export(client: "Caller", conversation_id: str, kind: str) -> Iterator[bytes]:
    """The file, chunk by chunk."""
    offset: int | None = 0
    while offset is not None:
        params = {"conversation_id": conversation_id, "format": kind, "offset": offset}
        chunk = client.call("conversation/export", params, limit_s=CHUNK_LIMIT_S)
        yield chunk["bytes"]
        offset = chunk["next_offset"]


@click.command(
    "import",
    cls=Command,
    examples=[
        Example(
            "ask history import work.json",
            before=("ask new work", "ask history export work -o work.json"),
        ),
        Example("ask history import nothing.jsonl", code=errors.USAGE),
    ],
    codes=[errors.FAILED, errors.NO_DAEMON, errors.STORAGE],
)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, shell_complete=complete_file)
@json_option
def import_command(files: Sequence[str], as_json: bool) -> int:
    """Make conversations of files, and print their ids.

    It reads what `ask history export` wrote, and rollouts of Codex of any
    version; - is standard input. A file that was imported before is not imported
    again. With --json and several files, what could not be imported is told on
    standard error only, and by the exit code.
    """
    found: list[Map] = []
    failures: list[Failed] = []
    with open_certain("Nothing was imported.") as client:
        for path in files:
            try:
                imported = {"file": name_archive(path), **import_file(client, path)}
            except Failed as error:
                if len(files) == 1 or error.code not in (errors.USAGE, errors.FAILED):
                    raise
                failures.append(error)
                continue
            found.append(imported)
            click.echo(strip_controls(describe_import(imported)), err=True)
            if not as_json:
                click.echo(imported["conversation_id"])
    if as_json:
        click.echo(json.dumps(found))
    if not failures:
        return DONE
    failed = join_failures(failures, len(files))
    if not as_json:
        raise failed
    # The list has been printed, and one value is what a script reads.
    for line in filter(None, (failed.message, failed.hint)):
        click.echo(strip_controls(line), err=True)
    return failed.code


def import_file(client: "Client", path: str) -> Map:
    """Send one file; what became of it.

    Raises:
        Failed: it cannot be read (code 2), or nothing can be made of it (code 1).
    """
    name = name_archive(path)
    with tell_doubt(lost="", stopped=f"{name} was not imported. {AGAIN}"):
        content = read_archive(path)
    shows = len(content) >= PROGRESS_BYTES and os.isatty(2)
    result: Map = {}
    try:
        for offset in range(0, len(content) or 1, BLOB_CHUNK_BYTES):
            chunk = content[offset : offset + BLOB_CHUNK_BYTES]
            is_last = offset + len(chunk) == len(content)
            if shows:
                show_progress(name, offset + len(chunk), len(content))
            params = {"size": len(content), "offset": offset, "bytes": chunk, "label": name}
            limit_s = IMPORT_LIMIT_S if is_last else CHUNK_LIMIT_S
            maybe = f"{name} {'may have been' if is_last else 'was not'} imported. {AGAIN}"
            clear = "\r\x1b[K" if shows else ""
            with tell_doubt(lost=maybe, stopped=f"{clear}{maybe}"):
                result = client.call("conversation/import", params, limit_s=limit_s)
    finally:
        if shows:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
    return result


def show_progress(name: str, done: int, size: int) -> None:
    """How far a large file has come, on one line."""
    share = 100 * done // size
    words = "storing" if done == size else f"{share} %"
    sys.stderr.write(f"\r\x1b[K{strip_controls(name)}: {words} of {size >> 20} MiB")
    sys.stderr.flush()


def describe_import(imported: Map) -> str:
    """What became of one file, in a line, and one more if something of it was skipped."""
    name = layout.name_conversation({**imported, "id": imported["conversation_id"]})
    messages = layout.count(imported["message_count"], "message")
    done = "Already imported" if imported["existed"] else "Imported"
    text = f"{done}: {imported['file']} is {name} ({messages})."
    if imported["skipped_count"]:
        first = imported["skipped"][0]
        lines = layout.count(imported["skipped_count"], "line")
        text += f"\nSkipped {lines}, the first is line {first['line']}: {first['why']}."
    return text


def join_failures(failures: Sequence[Failed], count: int) -> Failed:
    """One error for several files; each keeps its sentence."""
    sentences = "\n".join(error.message for error in failures)
    words = f"{len(failures)} of {count} files could not be imported."
    return Failed(
        failures[0].code, f"{sentences}\n{words}", hint=failures[0].hint, data=failures[0].data
    )
