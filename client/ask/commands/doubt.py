"""What may have been done although nobody heard of it: a daemon that was lost, a Ctrl-C.

A request that has no answer was carried out, or was not; a person is told so, how
to look, and what to type next. It asks the daemon nothing itself.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import click

from ask.commands.calls import open_client

if TYPE_CHECKING:
    from ask.connection import Client


@contextmanager
def tell_doubt(*, lost: str, stopped: str) -> Iterator[None]:
    """Add to an end in the middle of the block what it leaves open.

    Args:
        lost: what may be, where the connection to the daemon was lost, and what to do about it.
        stopped: the same where a person pressed Ctrl-C.
    """
    from ask.connection import ConnectionLost  # what only prints its help needs no connection

    try:
        yield
    except ConnectionLost as error:
        error.message = f"{error.message} {lost}"
        raise
    except KeyboardInterrupt:
        click.echo(stopped, err=True)
        raise


@contextmanager
def open_certain(nothing: str) -> "Iterator[Client]":
    """Connect as `open_client` does; whoever ends it before it is connected reads `nothing`."""
    with ExitStack() as stack:
        with tell_doubt(lost=nothing, stopped=nothing):
            client = stack.enter_context(open_client())
        yield client
