"""A prompt that nobody stays to watch: accepted, its job named, and left.

Whatever is lost before the daemon has said that it is stored, the same key is sent
again: it is one turn. It follows nothing and shows no answer.
"""

import json
import time
from collections.abc import Callable
from typing import Any

import click

from ask.connection import Client, ConnectionLost, RpcError
from ask.exits import NO_DAEMON, Failed
from ask.fast.caller import queued
from ask.listener import Unreachable
from ask.patience import Patience
from ask.render import Screen
from ask.signals import limit_time
from ask.terminal import strip_controls

RETRY_LIMIT_S = 30.0
"""A daemon that restarts is looked for this long."""
RETRY_PAUSE_S = 0.2
_NOT_ACCEPTED = "The time limit was reached before the daemon took the prompt."


def leave_prompt(
    connect: Callable[[], Client],
    start: Callable[[Client], dict[str, Any]],
    screen: Screen,
    *,
    deadline: float | None,
    as_json: bool,
) -> None:
    """Send a prompt with `detach` and print the id of its job, or all of the answer as JSON.

    Args:
        connect: makes a connection, starting a daemon if there is none.
        start: sends the prompt on it: its `TurnStartResult`.
        deadline: when it must be accepted, in seconds of `time.monotonic`; None: no limit.

    Raises:
        Failed: it was refused, or the daemon cannot be reached.
    """
    with limit_time(deadline, _NOT_ACCEPTED):
        accepted = _send(connect, start)
    if accepted.get("job_id") is None:
        raise Failed(
            NO_DAEMON,
            "The daemon that runs is older and makes no job of a turn; the prompt is accepted.",
            hint=f"Its answer: ask attach {accepted['conversation_id'][:8]}",
        )
    if accepted.get("position"):
        screen.say(queued(accepted["position"]).rstrip())
    if accepted.get("warning") is not None:
        screen.say(strip_controls(accepted["warning"]))
    click.echo(json.dumps(accepted) if as_json else accepted["job_id"])
    screen.say(accepted["conversation_id"][:8])


def _send(
    connect: Callable[[], Client], start: Callable[[Client], dict[str, Any]]
) -> dict[str, Any]:
    patience = Patience(RETRY_LIMIT_S, RETRY_PAUSE_S)
    sent = False
    while True:
        try:
            with connect() as client:
                sent = True
                return start(client)
        except (ConnectionLost, RpcError, Unreachable) as error:
            if isinstance(error, RpcError) and error.reason != "draining":
                raise
            if isinstance(error, Unreachable) and not sent:
                raise  # there has been no connection yet
            pause_s = patience.find_pause(error)
        time.sleep(pause_s)
