"""`ask jobs list | show | logs`: background work; and the door to the group's other files.

What is here reads and changes nothing.
"""

import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ask.commands.calls import Map, json_option, open_client, read_pages
from ask.commands.completing import complete_job, complete_words
from ask.commands.help import Command, Example, Group
from ask.commands.job_layout import (
    END_STATES,
    NO_JOBS,
    NONE_OPEN,
    OPEN_STATES,
    lay_out_errors,
    lay_out_job,
    lay_out_jobs,
    sort_jobs,
    tell_state,
)
from ask.commands.layout import SHORT_ID, find_columns
from ask.exits import USAGE, Failed
from ask.protocol import errors
from ask.terminal import strip_controls

if TYPE_CHECKING:
    from ask.connection import Client

CODES = (errors.NOT_FOUND, errors.NO_DAEMON, errors.STORAGE)


job_argument = click.argument("job", metavar="ID", shell_complete=complete_job)
"""One job: its id, or 4 or more characters of its beginning."""
jobs_argument = click.argument(
    "jobs", metavar="ID...", nargs=-1, required=True, shell_complete=complete_job
)


@click.group(
    "jobs",
    cls=Group,
    elsewhere={
        "cancel": "ask.commands.job_orders",
        "retry": "ask.commands.job_orders",
        "wait": "ask.commands.job_waiting",
    },
    examples=[Example("ask jobs list"), Example("ask jobs list --all --json")],
    codes=[errors.FAILED, *CODES, errors.TIME_LIMIT],
)
def jobs_command() -> None:
    """List, show, wait for, cancel, retry background jobs."""


@jobs_command.command(
    "list",
    cls=Command,
    examples=[
        Example("ask jobs list"),
        Example("ask jobs list --all --kind title", before=("ask hi",)),
        Example("ask jobs list --state discarded --json"),
    ],
    codes=[errors.NO_DAEMON, errors.STORAGE],
)
@click.option("-a", "--all", "every", is_flag=True, help="Also those that are over.")
@click.option(
    "--kind",
    metavar="KIND",
    shell_complete=complete_words("title", "turn", "compact", "prune", "notify"),
    help="Only this kind: title, turn, compact, prune, notify.",
)
@click.option(
    "--state",
    "states",
    type=click.Choice([*OPEN_STATES, *END_STATES]),
    metavar="STATE",
    multiple=True,
    help="Only this state, over or not; may be said again.",
)
@json_option
def list_command(every: bool, kind: str | None, states: Sequence[str], as_json: bool) -> None:
    """List the jobs that are not over, the newest first.

    "needs you" is said of one that runs and waits for a person to decide. Else a
    state is one of running, available, retryable (failed, and is tried again),
    scheduled, completed, cancelled, discarded (failed for good). A completed job
    is kept for a day, a cancelled or discarded one for a week.
    """
    wanted = list(states) if states or every else list(OPEN_STATES)
    with open_client() as client:
        found = sort_jobs(list_jobs(client, kind=kind, states=wanted))
        has_some = bool(found) or _has_any(client)
    if as_json:
        click.echo(json.dumps(found))
    elif found:
        columns = find_columns()
        _print(lay_out_jobs(found, columns))
        waits = next((job for job in found if job.get("needs_you")), None)
        if columns is not None and waits is not None:
            click.echo(f"\nTo answer: ask attach {waits['conversation_id'][:SHORT_ID]}", err=True)
    elif not has_some:
        click.echo(NO_JOBS)
    elif kind is None and not states:
        click.echo(NONE_OPEN)
    else:
        click.echo("No such job is kept.\nAll of them: ask jobs list --all")


@jobs_command.command(
    "show",
    cls=Command,
    examples=[
        Example('ask jobs show "$(ask --detach hi)"'),
        Example("ask jobs show 4aac0864 --answer 1", code=errors.NOT_FOUND),
    ],
    codes=[errors.USAGE, *CODES],
)
@job_argument
@click.option("--answer", metavar="CHOICE", help="Answer what its turn asks: a number or a word.")
@click.option(
    "--content",
    metavar="NAME=VALUE",
    multiple=True,
    help="With --answer accept: fills in a field; may be said again. Or all as one JSON object.",
)
@json_option
def show_command(job: str, answer: str | None, content: Sequence[str], as_json: bool) -> None:
    """Show all about a job: its tries, errors, and what it waits for.

    Of a turn also what was asked and said so far, and the question that it asks.
    """
    if content and answer is None:
        raise Failed(USAGE, "--content goes with --answer accept.")
    from ask.commands import job_turns

    with open_client() as client:
        record = read_job(client, job)
        if answer is not None:
            label = job_turns.answer_question(client, record, answer, os.environ, content)
            click.echo(f"Answered: {strip_controls(label)}", err=True)
            record = read_job(client, job)
        lines = lay_out_job(record)
        if record.get("seq") is not None and not as_json:
            lines += job_turns.lay_out_turn(client, record)
    if as_json:
        click.echo(json.dumps(record))
    else:
        _print(lines)


@jobs_command.command(
    "logs",
    cls=Command,
    examples=[
        Example('ask jobs logs "$(ask --detach hi)"'),
        Example('ask jobs logs -q "$(ask --detach hi)"'),
        Example("ask jobs logs -f 4aac0864", code=errors.NOT_FOUND),
    ],
    codes=[errors.USAGE, *CODES],
)
@job_argument
@click.option("-f", "--follow", is_flag=True, help="Stay until the turn is over.")
@click.option("-q", "--quiet", is_flag=True, help="Of a turn print nothing but the answer.")
def logs_command(job: str, follow: bool, quiet: bool) -> None:
    """Print what was said in a turn, or a job's errors.

    Of a turn all that was asked and answered so far, of another job the last ten
    errors of its tries.
    """
    with open_client() as client:
        record = read_job(client, job)
        if follow or quiet or record.get("seq") is not None:
            from ask.commands import job_turns

            show = job_turns.show_answer if quiet else job_turns.show_log
            show(client, record, follow=follow)
            return
    lines = lay_out_errors(record)
    if lines:
        _print(lines)
    else:
        click.echo(f"Nothing went wrong: the job is {tell_state(record)}.", err=True)


def read_job(client: "Client", text: str) -> Map:
    """All about the job that a person means; raises `Failed` for none, or more than one."""
    return client.call("job/read", {"job_id": text})


def list_jobs(
    client: "Client", *, kind: str | None = None, states: Sequence[str] = ()
) -> list[Map]:
    """Every job of a kind and in one of the states; none named: any."""
    asked = {"kind": kind, "states": list(states) or None}
    found, _ = read_pages(client, "job/list", asked)
    return found


def _print(lines: Sequence[str]) -> None:
    """Each line by itself: a control sequence that begins in one takes nothing of the next."""
    click.echo("\n".join(strip_controls(line) for line in lines))


def _has_any(client: "Client") -> bool:
    return bool(client.call("job/list", {"limit": 1})["data"])
