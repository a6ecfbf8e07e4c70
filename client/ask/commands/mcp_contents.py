"""`ask mcp resources` and `ask mcp prompt`: what servers offer besides tools.

Whatever a server says is shown without what a terminal would obey. A prompt is printed, or
with `--send` asked as it stands; no mention in it is followed, for nobody typed it.
"""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from ask.commands.calls import Map, json_option, open_client, write_text
from ask.commands.completing import complete_server
from ask.commands.help import Command, Example
from ask.commands.layout import count, find_columns, flatten
from ask.commands.servers import find_settings
from ask.commands.template_options import read_values
from ask.exits import DONE
from ask.graphemes import find_width, fit
from ask.protocol import errors
from ask.resources import wait_patiently
from ask.server_prompts import NO_PROMPTS, fetch_prompt, join_messages
from ask.terminal import strip_controls
from ask.whereabouts import find_place

if TYPE_CHECKING:
    from ask.connection import Client

NARROW_COLUMNS = 20
"""A description that would have less room is left out."""
NO_RESOURCES = "It offers nothing to read."

server_argument = click.argument("server", metavar="SERVER", shell_complete=complete_server)


@click.command(
    "resources",
    cls=Command,
    examples=[
        Example("ask mcp resources docs", code=errors.NOT_FOUND),
        Example("ask mcp resources docs --json", code=errors.NOT_FOUND),
    ],
    codes=[errors.FAILED, errors.NOT_FOUND, errors.NO_DAEMON],
)
@server_argument
@json_option
def resources_command(server: str, as_json: bool) -> None:
    """List what a server offers to read: mention it as @SERVER:URI.

    What stands in braces is for you to fill in. The server is started if need be.
    """
    page = _call(server, "mcp/resources", {"cwd": find_place(os.environ)})
    if as_json:
        click.echo(json.dumps(page["data"]))
    else:
        _show(lay_out_resources(page["data"], find_columns()), NO_RESOURCES)
    _tell_left_out(page, "resource")


@click.command(
    "prompt",
    cls=Command,
    examples=[
        Example("ask mcp prompt docs", code=errors.NOT_FOUND),
        Example("ask mcp prompt docs review file=app.py | ask", code=errors.USAGE),
        Example("ask mcp prompt docs review file=app.py --send", code=errors.NOT_FOUND),
    ],
    codes=[errors.FAILED, errors.NOT_FOUND, errors.NO_DAEMON],
)
@server_argument
@click.argument("name", required=False, metavar="[NAME]")
@click.argument("said", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--send", is_flag=True, help="Ask it, as a new conversation's first prompt.")
@json_option
def prompt_command(
    server: str, name: str | None, said: tuple[str, ...], send: bool, as_json: bool
) -> int:
    """List a server's prompts, or print one of them, filled in.

    The server is started if need be.
    """
    if send and as_json:
        raise click.UsageError("--send and --json exclude each other.")
    if name is None and send:
        raise click.UsageError("Say which prompt to send: a NAME.")
    values = read_values(said)
    if name is None:
        page = _call(server, "mcp/prompts")
        if as_json:
            click.echo(json.dumps(page["data"]))
        else:
            _show(lay_out_prompts(page["data"], find_columns()), NO_PROMPTS)
        _tell_left_out(page, "prompt")
        return DONE
    with _open(server) as client:
        messages = fetch_prompt(client, server, name, values, quiet=False)
    if as_json:
        click.echo(json.dumps(messages))
        return DONE
    text = join_messages(messages)
    if send:
        from ask.prompt import ask_prompt
        from ask.wish import Wish

        return ask_prompt(Wish(words=(text,), no_stdin=True, no_mentions=True), os.environ)
    write_text(f"{strip_controls(text).rstrip()}\n")
    return DONE


def lay_out_resources(rows: Sequence[Map], columns: int | None) -> list[str]:
    """A resource a line: where it is, what it is. An address is never cut."""
    lines = []
    for row in rows:
        said = flatten(row["description"]) or flatten(row["name"])
        kind = f" ({flatten(row['media_type'])})" if row.get("media_type") else ""
        lines.append(_join(flatten(row["uri"]), f"{said}{kind}", columns))
    return lines


def lay_out_prompts(rows: Sequence[Map], columns: int | None) -> list[str]:
    """A prompt a line, its arguments beneath it; in brackets those that may be left out."""
    lines = []
    for row in rows:
        lines.append(_join(flatten(row["name"]), flatten(row["description"]), columns))
        for each in row["arguments"]:
            name = flatten(each["name"])
            said = f"{name}=..." if each["required"] else f"[{name}=...]"
            lines.append(f"  {_join(said, flatten(each['description']), columns)}")
    return lines


def _join(name: str, said: str, columns: int | None) -> str:
    if columns is None:
        return f"{name}  {said}".rstrip()
    room = columns - find_width(name) - 4
    return f"{name}  {fit(said, room)}".rstrip() if room >= NARROW_COLUMNS else name


def _show(lines: Sequence[str], nothing: str) -> None:
    for line in lines:
        click.echo(line)
    if not lines:
        click.echo(nothing, err=True)


def _tell_left_out(page: Map, noun: str) -> None:
    if page.get("left_out"):
        click.echo(f"{count(page['left_out'], noun)} more, not listed.", err=True)


def _call(server: str, method: str, asked: Map | None = None) -> Map:
    with _open(server) as client:
        wanted = {"server": server, **(asked or {})}
        return wait_patiently(client, method, wanted, server, deadline=None, quiet=False)


@contextmanager
def _open(server: str) -> "Iterator[Client]":
    """A connection to a daemon in whose settings this server is."""
    with open_client() as client:
        find_settings(client, server)
        yield client
