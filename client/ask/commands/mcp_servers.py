"""`ask mcp list | test | logs | remove`: how servers of tools are, and their end.

What a server says of itself is words of others: it is shown on one line, with nothing that a
terminal would obey. The daemon starts servers, keeps what they wrote, and writes the settings.
"""

import errno
import json
import os
import shutil
import sys
import time
from typing import TYPE_CHECKING

import click

from ask.commands.calls import Map, json_option, open_client
from ask.commands.help import Command, Example
from ask.commands.layout import find_columns
from ask.commands.server_layout import lay_out_servers, lay_out_test, name_error
from ask.commands.servers import find_record, find_settings, server_argument, write_server
from ask.connection import Silent
from ask.exits import FAILED, Failed
from ask.protocol import errors
from ask.terminal import strip_controls

if TYPE_CHECKING:
    from ask.connection import Client

NO_SERVERS = "No server of tools is configured.\nAdd one: ask mcp add time -- mcp-server-time"
ADD = "ask mcp add time --env PATH -- mcp-server-time"
START_S = 30.0
"""How long a server may take to start where its settings do not say."""
SPARE_S = 30.0
"""Beyond that: the one that runs is ended first, and a first start loads what speaks to it."""
TICK_S = 1.0
NOT_FOUND_WORDS = os.strerror(errno.ENOENT)


@click.command(
    "list",
    cls=Command,
    examples=[Example("ask mcp list"), Example("ask mcp list --json")],
    codes=[errors.NO_DAEMON],
)
@json_option
def list_command(as_json: bool) -> None:
    """List the configured servers, and how each is. None is started.

    Tools: as it listed them last. Offered: those that the settings do not keep back.
    """
    with open_client() as client:
        rows = client.call("mcp/list")["data"]
    if as_json:
        click.echo(json.dumps(rows))
    elif rows:
        click.echo("\n".join(lay_out_servers(rows, find_columns())))
    else:
        click.echo(NO_SERVERS)


@click.command(
    "test",
    cls=Command,
    examples=[
        Example("ask mcp test time", before=(ADD,)),
        Example("ask mcp test time --json", before=(ADD,)),
    ],
    codes=[errors.FAILED, errors.NOT_FOUND, errors.NO_DAEMON],
)
@server_argument
@json_option
def test_command(server: str, as_json: bool) -> None:
    """Start a server, or ask a running one, and say what it offers.

    One that runs is asked anew, and started anew if it does not answer. It ends with 1 if the
    server cannot be started, and shows why, and what it wrote last.
    """
    with open_client() as client:
        settings = find_settings(client, server)
        if settings.get("enabled") is False:
            path = client.call("config/read")["path"]
            raise Failed(
                FAILED,
                f"{server} is not enabled.",
                hint=f"Remove `enabled = false` from [mcpServers.{server}] in {path}",
                data={"reason": "server_failed"},
            )
        limit_s = float(settings.get("startup_timeout_s") or START_S) + SPARE_S
        tested = wait_visibly(client, client.send("mcp/test", {"server": server}), server, limit_s)
    record = tested["server"]
    if record["state"] == "failed" or record["error"]:
        said = tested["log"].rstrip()
        # What is said below anyway need not stand here, too.
        lines = [each for each in said.splitlines() if (record["error"] or "\n") not in each]
        if lines and not as_json:
            click.echo(f"The last that {server} wrote:", err=True)
            for line in lines:
                click.echo(f"  {strip_controls(line)}", err=True)
        raise Failed(
            FAILED,
            f"{server} is not ready: {name_error(record)}",
            hint=find_way(server, settings, record, has_written=bool(lines)),
            data={"reason": "server_failed", "server": record, "log": said},
        )
    if as_json:
        click.echo(json.dumps(tested))
        return
    click.echo("\n".join(lay_out_test(tested, find_columns())))


@click.command(
    "logs",
    cls=Command,
    examples=[
        Example("ask mcp logs time", before=(ADD,)),
        Example("ask mcp logs time --json", before=(ADD,)),
    ],
    codes=[errors.NOT_FOUND, errors.NO_DAEMON],
)
@server_argument
@json_option
def logs_command(server: str, as_json: bool) -> None:
    """Print what a server wrote to its standard error: the end of it."""
    with open_client() as client:
        record = find_record(client.call("mcp/list")["data"], server)
        text = client.call("mcp/logs", {"server": server})["text"]
    if as_json:
        click.echo(json.dumps({"name": server, "text": text}))
    elif text.strip():
        click.echo(strip_controls(text).rstrip("\n"))
    elif record["kind"] == "http":
        click.echo(f"{server} is at an address: what it writes stays there.", err=True)
    else:
        click.echo(f"{server} has written nothing since the daemon started.", err=True)


@click.command(
    "remove",
    cls=Command,
    examples=[
        Example("ask mcp remove time", before=(ADD,)),
        Example("ask mcp remove time --json", before=(ADD,)),
    ],
    codes=[errors.NOT_FOUND, errors.NO_DAEMON],
)
@server_argument
@json_option
def remove_command(server: str, as_json: bool) -> None:
    """Remove a server from the settings, and end it if it runs."""
    with open_client() as client:
        find_settings(client, server)
        path = write_server(client, server, None)
    if as_json:
        click.echo(json.dumps({"name": server, "removed": True, "path": path}))
        return
    click.echo(f"Removed: {server}")
    click.echo(strip_controls(f"Written: {path}"), err=True)


def find_way(server: str, settings: Map, record: Map, *, has_written: bool) -> str | None:
    """What to do about a server that does not start, if there is something to say.

    A daemon that was started elsewhere looks for programs elsewhere, too.
    """
    command = str(settings.get("command") or "")
    said = strip_controls(command)
    if command and os.sep not in command and NOT_FOUND_WORDS in (record["error"] or ""):
        if shutil.which(command) is None:
            return f"Nor is {said} on your PATH: install it, or say its whole path."
        return (
            f"{said} is on your PATH, and not on the daemon's. Hand yours on: "
            f"ask mcp add {server} --force --env PATH -- {said} ..."
        )
    return f"All that it wrote: ask mcp logs {server}" if has_written else None


def wait_visibly(client: "Client", request: int, server: str, limit_s: float) -> Map:
    """Wait for a request's answer; say on stderr that a server is starting, and how long.

    Raises:
        Silent: there is no answer after `limit_s`.
    """
    is_shown = sys.stderr.isatty()
    click.echo(f"Starting {server} ...", nl=not is_shown, err=True)
    started = time.monotonic()
    try:
        while True:
            passed_s = time.monotonic() - started
            if is_shown and passed_s >= TICK_S:
                click.echo(f"\rStarting {server} ... {passed_s:.0f} s", nl=False, err=True)
            try:
                return client.wait(request, limit_s=TICK_S)
            except Silent:
                if passed_s >= limit_s:
                    raise
    finally:
        if is_shown:
            click.echo(err=True)
