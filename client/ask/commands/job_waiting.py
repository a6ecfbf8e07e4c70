"""`ask jobs wait`: until background jobs are over, and with their exit code.

A daemon that is replaced meanwhile is waited for again: jobs outlive daemons.
"""

import json
import math
import time
from collections.abc import Sequence

import click

from ask.commands.calls import Map, json_option, open_client
from ask.commands.help import Command, Example
from ask.commands.job_layout import END_STATES
from ask.commands.job_orders import find_ids
from ask.commands.jobs import CODES, jobs_argument
from ask.exits import DONE, FAILED, TIME_LIMIT, Failed
from ask.hits import SHORT_ID
from ask.patience import Patience
from ask.protocol import errors

POLL_S = 60.0
"""How long the daemon is asked to wait at once."""
GRACE_S = 30.0
"""Its answer may take so much longer."""
LOST_LIMIT = 5
"""Daemons that may go away one after the other without a single answer between."""
PAUSE_S = 0.2
"""Before the next one is looked for: the one that left may be on its way out still."""


@click.command(
    "wait",
    cls=Command,
    examples=[
        Example('ask jobs wait "$(ask --detach hi)"'),
        Example("ask jobs wait 4aac0864 --timeout 60", code=errors.NOT_FOUND),
        Example("ask jobs wait 4aac0864 e638f973 --any", code=errors.NOT_FOUND),
    ],
    codes=[errors.FAILED, *CODES, errors.TIME_LIMIT],
)
@jobs_argument
@click.option("--any", "only_one", is_flag=True, help="Until one of them is over, not all.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    metavar="S",
    help="Wait S seconds at the most, then exit 124; the jobs go on.",
)
@json_option
def wait_command(jobs: Sequence[str], only_one: bool, timeout: float | None, as_json: bool) -> int:
    """Wait until jobs are over; print the id and the state of each.

    A turn's job ends with the turn's exit code; another with 0, or with 1 if it
    was cancelled or discarded. Of several, the first code in order that is not 0;
    with --any, the code of the one that is over.
    """
    records, is_over = wait_for(jobs, only_one=only_one, timeout_s=timeout)
    over = [job for job in records if job["state"] in END_STATES]
    if not is_over:
        left = ", ".join(job["id"][:SHORT_ID] for job in records if job not in over)
        raise Failed(
            TIME_LIMIT,
            f"Not over after {timeout:g} s: {left}.",
            hint="They go on. See them: ask jobs list",
        )
    if as_json:
        click.echo(json.dumps(records))
    else:
        for job in over:
            click.echo(f"{job['id']}  {job['state']}")
    codes = [find_code(job) for job in over]
    return codes[0] if only_one else next((code for code in codes if code != DONE), DONE)


def wait_for(
    texts: Sequence[str], *, only_one: bool, timeout_s: float | None
) -> tuple[list[Map], bool]:
    """The jobs when they are over; False: the time is. A limit of None is none.

    Raises:
        Failed: one is not there, or is more than one.
        NoDaemon: daemons went away again and again, or none could be started.
    """
    from ask.connection import ConnectionLost
    from ask.listener import Unreachable

    deadline = math.inf if timeout_s is None else time.monotonic() + timeout_s
    ids: list[str] = []
    lost, patience = 0, Patience(math.inf, PAUSE_S)
    while True:
        try:
            with open_client() as client:
                ids = ids or find_ids(client, texts)
                while True:
                    slice_s = max(0.0, min(POLL_S, deadline - time.monotonic()))
                    answer = client.call(
                        "job/wait",
                        {"job_ids": ids, "any": only_one, "timeout_s": slice_s},
                        limit_s=slice_s + GRACE_S,
                    )
                    lost, patience = 0, Patience(math.inf, PAUSE_S)
                    if answer["over"] or time.monotonic() >= deadline:
                        return answer["data"], answer["over"]
        except (ConnectionLost, Unreachable) as error:
            if isinstance(error, Unreachable) and not ids:
                raise  # there has been no connection yet
            lost += isinstance(error, ConnectionLost)
            if lost >= LOST_LIMIT or time.monotonic() >= deadline:
                raise
            pause_s = patience.find_pause(error)
            time.sleep(max(0.0, min(pause_s, deadline - time.monotonic())))


def find_code(job: Map) -> int:
    """The exit code of a job that is over."""
    code = job.get("code")
    if code is not None:
        return int(code)
    return DONE if job["state"] == "completed" else FAILED
