"""`ask jobs cancel | retry`: what a person may order of background jobs.

All of them are looked up before the first is changed.
"""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ask.commands.calls import Map, json_option, open_client, take_caller
from ask.commands.help import Command, Example
from ask.commands.jobs import CODES, jobs_argument
from ask.exits import DONE, FAILED
from ask.protocol import errors

if TYPE_CHECKING:
    from ask.connection import Client


@click.command(
    "cancel",
    cls=Command,
    examples=[
        Example("ask jobs cancel 4aac0864", code=errors.NOT_FOUND),
        Example("ask jobs cancel 4aac0864 e638f973", code=errors.NOT_FOUND),
    ],
    codes=[errors.FAILED, *CODES],
)
@jobs_argument
@json_option
def cancel_command(jobs: Sequence[str], as_json: bool) -> int:
    """Cancel jobs; what they were about to do is not done.

    One that was over already stays as it is, and the exit code is 1.
    """
    with open_client() as client:
        done = [_order(client, "job/cancel", id) for id in find_ids(client, jobs)]
    for job in done:
        if job["state"] == "cancelled":
            click.echo(f"Cancelled: {job['id']}", err=True)
        else:
            click.echo(f"The job {job['id']} was over already: {job['state']}.", err=True)
    if as_json:
        click.echo(json.dumps(done))
    return DONE if all(job["state"] == "cancelled" for job in done) else FAILED


@click.command(
    "retry",
    cls=Command,
    examples=[
        Example("ask jobs retry 4aac0864", code=errors.NOT_FOUND),
        Example("ask jobs retry 4aac0864 e638f973", code=errors.NOT_FOUND),
    ],
    codes=CODES,
)
@jobs_argument
@json_option
def retry_command(jobs: Sequence[str], as_json: bool) -> None:
    """Run jobs now, with all their tries anew; print their ids.

    For those that were cancelled or discarded, or that wait for their next try.
    A turn that is tried again is another turn, with a job of its own.
    """
    with open_client() as client:
        ids = find_ids(client, jobs)
        lent = take_caller(client)
        done = [client.call("job/retry", {"job_id": id, **lent}) for id in ids]
    click.echo(json.dumps(done) if as_json else "\n".join(job["id"] for job in done))


def find_ids(client: "Client", texts: Sequence[str]) -> list[str]:
    """The ids of the jobs that a person named, each once.

    Raises:
        Failed: one of them is not there, or is more than one.
    """
    return list(dict.fromkeys(_order(client, "job/read", text)["id"] for text in texts))


def _order(client: "Client", method: str, job_id: str) -> Map:
    return client.call(method, {"job_id": job_id})
