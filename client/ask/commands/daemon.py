"""`ask daemon start | stop | restart | status`: the daemon's life, by hand.

Nobody needs these for a prompt: `ask` starts a daemon where there is none. A
daemon is stopped through its socket, never by a signal. What it says is read in
`daemon_logs`, and systemd is told of it in `daemon_install`.
"""

import json
import os
import select
import time
from contextlib import suppress
from typing import Any

import click

from ask.commands.calls import is_running, json_option, open_client
from ask.commands.help import Command, Example, Group
from ask.exits import DONE, TIME_LIMIT, Failed
from ask.fast.status import list_facts
from ask.protocol import errors
from ask.terminal import strip_controls

STOP_WAIT_S = 20.0
"""How long running turns may take to end by themselves."""
STOP_SLACK_S = 15.0
"""What a stop may take beyond that: interrupted turns, the last checkpoint, the children."""
LOOK_PAUSE_S = 0.2
"""How often it is looked whether the daemon still answers, where the kernel cannot tell."""

_started_examples = ("ask daemon start",)


wait_option = click.option(
    "--wait",
    "wait_s",
    type=click.FloatRange(min=0),
    default=STOP_WAIT_S,
    metavar="SECONDS",
    show_default=True,
    help="How long running turns may take to end; then they are interrupted.",
)


@click.group(
    "daemon",
    cls=Group,
    elsewhere={
        "install": "ask.commands.daemon_install",
        "uninstall": "ask.commands.daemon_install",
        "logs": "ask.commands.daemon_logs",
    },
    examples=[Example("ask daemon start"), Example("ask daemon status", before=_started_examples)],
    codes=[errors.NO_DAEMON, errors.STORAGE],
)
def daemon_command() -> None:
    """Start, stop and look at the daemon."""


@daemon_command.command(
    "start",
    cls=Command,
    here=True,
    examples=[Example("ask daemon start"), Example("ask daemon start --json")],
    codes=[errors.NO_DAEMON, errors.STORAGE],
)
@json_option
def start_command(as_json: bool) -> None:
    """Start the daemon, unless it runs."""
    running = is_running()
    with open_client() as client:
        pid = client.hello["pid"]
        if as_json:
            click.echo(encode_status(client.call("daemon/status")))
    click.echo(f"askd {'runs already' if running else 'started'} (pid {pid}).", err=True)


@daemon_command.command(
    "stop",
    cls=Command,
    here=True,
    examples=[
        Example("ask daemon stop", before=_started_examples),
        Example("ask daemon stop --wait 5", before=_started_examples),
    ],
    codes=[errors.NO_DAEMON, errors.TIME_LIMIT],
)
@wait_option
@json_option
def stop_command(wait_s: float, as_json: bool) -> None:
    """Stop the daemon and wait until it is gone."""
    pid = stop_daemon(wait_s)
    if as_json:
        click.echo(json.dumps({"stopped": pid}))
    click.echo("No daemon is running." if pid is None else f"askd stopped (pid {pid}).", err=True)


@daemon_command.command(
    "restart",
    cls=Command,
    here=True,
    examples=[Example("ask daemon restart"), Example("ask daemon restart --wait 5")],
    codes=[errors.NO_DAEMON, errors.STORAGE, errors.TIME_LIMIT],
)
@wait_option
@json_option
def restart_command(wait_s: float, as_json: bool) -> None:
    """Stop the daemon if it runs, wait until it is gone, start it."""
    stop_daemon(wait_s)
    with open_client() as client:
        pid = client.hello["pid"]
        if as_json:
            click.echo(encode_status(client.call("daemon/status")))
    click.echo(f"askd started (pid {pid}).", err=True)


@daemon_command.command(
    "status",
    cls=Command,
    examples=[
        Example("ask daemon status", before=_started_examples),
        Example("ask daemon status --json", before=_started_examples),
    ],
    codes=[errors.NO_DAEMON],
)
@json_option
def status_command(as_json: bool) -> int:
    """Say how the daemon is; start none."""
    with open_client(start=False) as client:
        status = client.call("daemon/status")
    click.echo(encode_status(status) if as_json else lay_out_status(status))
    return DONE


def stop_daemon(wait_s: float) -> int | None:
    """Stop the daemon and wait for its end; its process id, or None if none was running.

    Raises:
        Failed: it did not end in time, code 124.
    """
    from ask.connection import ConnectionLost

    if not is_running():
        return None
    with open_client(start=False) as client:
        pid = int(client.hello["pid"])
        try:
            # Taken before the request: afterwards the number may be another process's.
            process = os.pidfd_open(pid)
        except (OSError, AttributeError):  # gone already, or a kernel without them
            process = -1
        limit_s = wait_s + STOP_SLACK_S
        # It may be gone before its answer is out; what counts is waited for below.
        with suppress(ConnectionLost):
            client.call("daemon/stop", {"wait_s": wait_s}, limit_s=limit_s)
    if not _wait_for_end(process, limit_s):
        raise Failed(
            TIME_LIMIT,
            f"askd (pid {pid}) did not stop within {limit_s:.0f} s.",
            hint=f"See what it does: ask daemon logs; or end it: kill {pid}",
        )
    return pid


def _wait_for_end(process: int, limit_s: float) -> bool:
    """Wait until a process (its pidfd; -1: unknown) is gone, or its socket answers nobody."""
    if process >= 0:
        with open(process, "rb", buffering=0):
            return bool(select.select([process], [], [], limit_s)[0])
    deadline = time.monotonic() + limit_s
    while is_running():
        if time.monotonic() > deadline:
            return False
        time.sleep(LOOK_PAUSE_S)
    return True


def encode_status(status: dict[str, Any]) -> str:
    """The daemon's answer as one JSON object on one line."""
    return json.dumps(status)


def lay_out_status(status: dict[str, Any]) -> str:
    """The daemon's answer for people: one fact a line."""
    return strip_controls("\n".join(list_facts(status)))
