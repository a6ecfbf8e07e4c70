"""`ask dial-stdio`: this machine's daemon on standard input and output, for `ask -H` elsewhere.

The short way (`ask.fast.dial`) has tried before; here a daemon is started, or it is said why
there is none. What goes through is not looked at.
"""

import os

import click

from ask.commands.help import Command, Example
from ask.exits import DONE, USAGE, Failed
from ask.fast.dial import COMMAND, relay, wait_input
from ask.hosts import VARIABLE
from ask.listener import NOT_RUNNING, NoDaemon, find_listener
from ask.paths import Paths
from ask.protocol import errors


@click.command(
    COMMAND,
    cls=Command,
    examples=[Example("ask dial-stdio"), Example("ask dial-stdio --no-start")],
    codes=[errors.NO_DAEMON, errors.STORAGE],
)
@click.option("--no-start", is_flag=True, help="Start no daemon if there is none.")
def dial_stdio_command(no_start: bool) -> int:
    """Connect standard input and output to the daemon.

    You do not need it: ask -H runs it on the other machine, through ssh. The bytes are those
    of the protocol; it ends when one of the sides does.
    """
    if os.isatty(0):
        raise Failed(
            USAGE,
            "What is said here are the bytes of a protocol, and nothing that can be typed.",
            hint="You do not need it: ask -H ssh://user@host runs it over there.",
            data={"reason": "usage"},
        )
    wait_input()
    environ = {name: value for name, value in os.environ.items() if name != VARIABLE}
    paths = Paths.of(environ)
    found = find_listener(paths)
    if found is None and no_start:
        raise NoDaemon(NOT_RUNNING)
    if found is None:
        from ask.spawn import start_daemon

        found = start_daemon(paths, environ)
    with found.stream as stream:
        relay(stream)
    return DONE
