"""`ask mcp add | add-json`: a server of tools is written into the settings.

The words are those of other programs' commands for it. The daemon checks and writes; nothing is
started, and what a variable or a header holds is never shown.
"""

import json
import os
import re
import shutil
import sys
from collections.abc import Sequence
from typing import Any

import click

from ask.commands.calls import Map, json_option, open_client
from ask.commands.completing import complete_directory, complete_file
from ask.commands.help import Command, Example
from ask.commands.servers import check_server_name, read_names, say_written, write_server
from ask.exits import USAGE, Failed
from ask.mcp_entries import Origin, Untakable, is_text, read_entry, settle_program
from ask.mcp_files import parse_json
from ask.protocol import errors
from ask.terminal import strip_controls

AFTER_DASHES = "What belongs to the server's own command comes after --"
ADDRESS = re.compile(r"https?://", re.IGNORECASE)
JSON_LIMIT_BYTES = 256 * 1024
"""No server's description is as long; the wrong file was piped in."""


class AddCommand(Command):
    """A command that says where another command's options belong."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words; an option that is unknown is probably the server's own."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if "--" in args:
                raise
            sentence = f"{error.format_message()} {AFTER_DASHES}: ask mcp add NAME -- COMMAND"
            raise click.UsageError(sentence, ctx) from None


force_option = click.option("--force", is_flag=True, help="Replace a server of the same name.")


@click.command(
    "add",
    cls=AddCommand,
    examples=[
        Example("ask mcp add time -- mcp-server-time --local-timezone UTC"),
        Example("ask mcp add docs http://127.0.0.1:8000/mcp --bearer-token-env DOCS_TOKEN"),
        Example("ask mcp add notes --env HOME --cwd . -- ./notes-server --stdio"),
    ],
    codes=[errors.NO_DAEMON],
)
@click.argument("name")
@click.argument("words", nargs=-1, required=True, metavar="URL | -- COMMAND [ARG]...")
@click.option(
    "-e",
    "--env",
    "variables",
    multiple=True,
    metavar="NAME[=VALUE]",
    help="A variable for it; without a value, with the one that it has here.",
)
@click.option(
    "--cwd",
    metavar="DIRECTORY",
    shell_complete=complete_directory,
    help="Where it is started; else the home directory.",
)
@click.option(
    "-H", "--header", "headers", multiple=True, metavar="'NAME: VALUE'", help="A header for a URL."
)
@click.option(
    "--bearer-token-env",
    "--bearer-token-env-var",
    "token_variable",
    metavar="VARIABLE",
    help="The daemon's variable that holds a token for a URL.",
)
@click.option(
    "--bearer-token-file",
    "token_file",
    metavar="FILE",
    shell_complete=complete_file,
    help="A file that holds a token for a URL.",
)
@click.option(
    "-t",
    "--transport",
    type=click.Choice(["stdio", "http"]),
    help="What it is, where that cannot be seen from the words.",
)
@click.option("--disabled", is_flag=True, help="Keep it from being started for now.")
@force_option
@json_option
def add_command(
    name: str,
    words: tuple[str, ...],
    variables: tuple[str, ...],
    cwd: str | None,
    headers: tuple[str, ...],
    token_variable: str | None,
    token_file: str | None,
    transport: str | None,
    disabled: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Add a server of tools: a program that is started, or an address.

    It is started when its tools are needed, with your rights, by the daemon; its calls need
    your word. A token in --env or --header is written into the settings.
    """
    settings: Map
    is_address = transport == "http" or (transport is None and bool(ADDRESS.match(words[0])))
    if is_address:
        if len(words) > 1:
            raise click.UsageError(f"After a URL nothing can come, and {words[1]!r} does.")
        if variables or cwd is not None:
            raise click.UsageError("--env and --cwd are for a command, not for a URL.")
        settings = {"url": words[0]}
        if headers:
            settings["headers"] = read_headers(headers)
        if token_variable is not None:
            settings["bearer_token_env"] = token_variable
        if token_file is not None:
            settings["bearer_token_file"] = os.path.abspath(token_file)
    else:
        if "://" in words[0]:
            raise click.UsageError(f"{words[0]!r} is no address of http:// or https://.")
        if headers or token_variable is not None or token_file is not None:
            raise click.UsageError("--header and --bearer-token-... are for a URL.")
        settings = {"command": settle_program(words[0], os.getcwd())}
        if len(words) > 1:
            settings["args"] = list(words[1:])
        if variables:
            settings["env"] = read_variables(variables)
        if cwd is not None:
            settings["cwd"] = _check_directory(cwd)
    if disabled:
        settings["enabled"] = False
    _add(name, settings, force=force, as_json=as_json)


@click.command(
    "add-json",
    cls=Command,
    examples=[
        Example("""ask mcp add-json time '{"command": "mcp-server-time"}'"""),
        Example("""echo '{"url": "http://127.0.0.1:8000/mcp"}' | ask mcp add-json docs -"""),
    ],
    codes=[errors.NO_DAEMON],
)
@click.argument("name")
@click.argument("text", metavar="JSON|-")
@force_option
@json_option
def add_json_command(name: str, text: str, force: bool, as_json: bool) -> None:
    """Add a server of tools as other programs describe it.

    JSON is what stands after its name in such a file; - reads it from standard input.
    """
    entry = read_json(_read_stdin() if text == "-" else text)
    try:
        taken = read_entry(entry, Origin(environ=os.environ))
    except Untakable as error:
        message = f"{name} cannot be added, for it {error}."
        raise Failed(USAGE, message, data={"reason": "bad_input"}) from None
    _add(name, taken.settings, force=force, as_json=as_json, notes=taken.notes)


def _add(
    name: str, settings: Map, *, force: bool, as_json: bool, notes: Sequence[str] = ()
) -> None:
    check_server_name(name)
    if not is_text(json.dumps(settings, ensure_ascii=False)):
        message = "What was said of it is not valid UTF-8."
        raise Failed(USAGE, message, data={"reason": "usage"})
    with open_client() as client:
        is_there = name in read_names(client)
        if is_there and not force:
            raise Failed(
                USAGE,
                f"There is a server {name!r} already.",
                hint="Replace it: --force",
                data={"reason": "name_taken"},
            )
        path = write_server(client, name, settings)
    kind = "stdio" if "command" in settings else "http"
    if as_json:
        record = {"name": name, "kind": kind, "replaced": is_there, "path": path}
        click.echo(json.dumps({**record, "notes": list(notes)}))
        return
    click.echo(f"{'Replaced' if is_there else 'Added'}: {name}")
    for line in (*notes, *_find_doubts(settings), say_written(path, [settings])):
        click.echo(strip_controls(line), err=True)
    click.echo(f"See that it works: ask mcp test {name}", err=True)


def _find_doubts(settings: Map) -> list[str]:
    """What may keep it from starting, as far as that can be seen from here."""
    command = settings.get("command")
    if command is None or shutil.which(command) is not None:
        return []
    if os.sep not in command:
        return [f"{command} is no program on your PATH."]
    if os.path.exists(command):
        return [f"{command} is no program that can be run."]
    return [f"There is no program {command}. An address begins with https:// or http://."]


def read_variables(said: Sequence[str]) -> dict[str, str]:
    """`NAME=VALUE`, or `NAME` for what it is here; raise `UsageError`, which repeats no value."""
    found = {}
    for each in said:
        name, equals, value = each.partition("=")
        if not name:
            raise click.UsageError("--env takes NAME=VALUE, or NAME.")
        if not equals:
            if name not in os.environ:
                raise click.UsageError(f"--env {name}: there is no such variable here.")
            value = os.environ[name]
        found[name] = value
    return found


def read_headers(said: Sequence[str]) -> dict[str, str]:
    """`NAME: VALUE`; raise `UsageError`, which repeats no value."""
    found = {}
    for each in said:
        name, colon, value = each.partition(":")
        if not colon or not name.strip() or not value.strip():
            raise click.UsageError("--header takes 'NAME: VALUE'.")
        found[name.strip()] = value.strip()
    return found


def read_json(text: str) -> Any:
    """A server's object; out of a whole `mcpServers` the only one.

    Raises:
        Failed: it is no JSON, or has more than one server in it; nothing of it is repeated.
    """
    try:
        found = parse_json(text)
    except (ValueError, RecursionError):
        raise Failed(USAGE, "That is no JSON.", data={"reason": "bad_input"}) from None
    servers = found.get("mcpServers") if isinstance(found, dict) else None
    if not isinstance(servers, dict):
        return found
    if len(servers) != 1:
        message = f"That describes {len(servers)} servers, and one is to be added."
        hint = "Take them all: ask mcp import --from FILE"
        raise Failed(USAGE, message, hint=hint, data={"reason": "bad_input"})
    return next(iter(servers.values()))


def _read_stdin() -> str:
    data = sys.stdin.buffer.read(JSON_LIMIT_BYTES + 1) if sys.stdin is not None else b""
    if len(data) > JSON_LIMIT_BYTES:
        raise Failed(USAGE, "That is too long for one server.", data={"reason": "bad_input"})
    return data.decode(errors="replace")


def _check_directory(path: str) -> str:
    if not os.path.isdir(path):
        raise click.UsageError(f"--cwd: {path} is no directory.")
    return os.path.abspath(path)
