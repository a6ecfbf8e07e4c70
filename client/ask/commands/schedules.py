"""`ask schedule list | show | run | pause | resume | remove`: prompts that the daemon sends itself.

How one is added is in `schedule_add`. Of those that are named together all are looked up
before the first is changed.
"""

import json
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ask.commands.calls import Map, json_option, open_client
from ask.commands.completing import complete_schedule
from ask.commands.help import Command, Example, Group
from ask.commands.layout import find_columns
from ask.commands.schedule_layout import (
    NO_SCHEDULES,
    lay_out_schedule,
    lay_out_schedules,
    tell_next,
)
from ask.exits import Failed
from ask.protocol import errors
from ask.terminal import strip_controls

if TYPE_CHECKING:
    from ask.connection import Client

CODES = (errors.NOT_FOUND, errors.NO_DAEMON, errors.STORAGE)
ADD = 'ask schedule add --cron "0 8 * * 1-5" --name morning "What is new?"'

schedule_argument = click.argument("schedule", metavar="ID", shell_complete=complete_schedule)
"""One schedule: its name, its id, or 4 or more characters of its id."""
schedules_argument = click.argument(
    "schedules", metavar="ID...", nargs=-1, required=True, shell_complete=complete_schedule
)


@click.group(
    "schedule",
    cls=Group,
    elsewhere={"add": "ask.commands.schedule_add"},
    examples=[Example(ADD), Example("ask schedule list")],
    codes=[errors.FAILED, *CODES, errors.CREDENTIALS],
)
def schedule_command() -> None:
    """Have prompts sent at certain times, by the daemon."""


@schedule_command.command(
    "list",
    cls=Command,
    examples=[Example("ask schedule list"), Example("ask schedule list --json")],
    codes=[errors.NO_DAEMON, errors.STORAGE],
)
@json_option
def list_command(as_json: bool) -> None:
    """List schedules: when each comes next, and how it went last."""
    with open_client() as client:
        found = list_schedules(client)
    if as_json:
        click.echo(json.dumps(found))
    elif found:
        _print(lay_out_schedules(found, find_columns(), now=time.time()))
    else:
        click.echo(NO_SCHEDULES)


@schedule_command.command(
    "show",
    cls=Command,
    examples=[
        Example("ask schedule show morning", before=(ADD,)),
        Example("ask schedule show evening", code=errors.NOT_FOUND),
    ],
    codes=CODES,
)
@schedule_argument
@json_option
def show_command(schedule: str, as_json: bool) -> None:
    """Show all about a schedule, and what it did lately."""
    with open_client() as client:
        found = _order(client, "schedule/read", schedule)
    if as_json:
        click.echo(json.dumps(found))
    else:
        _print(lay_out_schedule(found, now=time.time()))


@schedule_command.command(
    "run",
    cls=Command,
    examples=[
        Example("ask schedule run report", code=errors.NOT_FOUND),
        Example('ask jobs wait "$(ask schedule run report)"', code=errors.NOT_FOUND),
    ],
    codes=[errors.FAILED, errors.CREDENTIALS, errors.OVERFLOW, errors.BUSY, *CODES],
)
@schedule_argument
@json_option
def run_command(schedule: str, as_json: bool) -> None:
    """Send a schedule's prompt now, and print the id of its job.

    It is asked as it will be when its time comes, with the daemon's own keys; that time is
    not used up by it. A schedule that is paused can be run, too.
    """
    from ask.fast.caller import make_key

    with open_client() as client:
        done = client.call("schedule/run", {"schedule": _check(schedule), "key": make_key()})
    click.echo(json.dumps(done) if as_json else done["job_id"])
    click.echo(done["conversation_id"][:8], err=True)


@schedule_command.command(
    "pause",
    cls=Command,
    examples=[
        Example("ask schedule pause morning", before=(ADD,)),
        Example("ask schedule pause evening", code=errors.NOT_FOUND),
    ],
    codes=CODES,
)
@schedules_argument
@json_option
def pause_command(schedules: Sequence[str], as_json: bool) -> None:
    """Pause schedules: nothing is sent until they are resumed.

    Times in between are not missed ones; nothing is made up for.
    """
    done = _order_all("schedule/pause", schedules)
    for each in done:
        click.echo(f"Paused: {_name(each)}", err=True)
    _print_json(done, as_json)


@schedule_command.command(
    "resume",
    cls=Command,
    examples=[
        Example("ask schedule resume morning", before=(ADD, "ask schedule pause morning")),
        Example("ask schedule resume evening", code=errors.NOT_FOUND),
    ],
    codes=CODES,
)
@schedules_argument
@json_option
def resume_command(schedules: Sequence[str], as_json: bool) -> None:
    """Go on with paused schedules, from their next time on."""
    done = _order_all("schedule/resume", schedules)
    for each in done:
        click.echo(f"Resumed: {_name(each)}, next {tell_next(each, now=time.time())}", err=True)
    _print_json(done, as_json)


@schedule_command.command(
    "remove",
    cls=Command,
    examples=[
        Example("ask schedule remove morning", before=(ADD,)),
        Example("ask schedule remove evening", code=errors.NOT_FOUND),
    ],
    codes=CODES,
)
@schedules_argument
@json_option
def remove_command(schedules: Sequence[str], as_json: bool) -> None:
    """Remove schedules. What they have sent, and what was answered, stays."""
    done = _order_all("schedule/remove", schedules)
    for each in done:
        click.echo(f"Removed: {_name(each)}", err=True)
    _print_json(done, as_json)


def list_schedules(client: "Client") -> list[Map]:
    """Every schedule, the oldest first."""
    found: list[Map] = client.call("schedule/list")["data"]
    return found


def _order_all(method: str, texts: Sequence[str]) -> list[Map]:
    with open_client() as client:
        ids = dict.fromkeys(_order(client, "schedule/read", text)["id"] for text in texts)
        return [_order(client, method, id) for id in ids]


def _order(client: "Client", method: str, text: str) -> Map:
    return client.call(method, {"schedule": _check(text)})


def _check(text: str) -> str:
    """The text itself, if a message can hold it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        message = "The schedule's name is not valid UTF-8."
        raise Failed(errors.USAGE, message, data={"reason": "usage"}) from None
    return text


def _name(schedule: Map) -> str:
    return strip_controls(schedule["name"] or schedule["id"])


def _print(lines: Sequence[str]) -> None:
    click.echo("\n".join(strip_controls(line) for line in lines))


def _print_json(done: list[Map], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(done))
