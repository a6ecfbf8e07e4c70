"""A directory that a caller names from afar: it must be there before a prompt is accepted.

Who stands in a directory sends it, and it was there; who is on another machine types a name.
What it is when a tool runs is for the tools to look at.
"""

import os

import trio

from askd.errors import RequestError


async def check_place(path: str) -> None:
    """Raise `RequestError` for what is no directory of this machine, or no absolute path."""
    if not path.startswith("/") or "\0" in path:
        raise RequestError(f"Tools run in an absolute directory of this machine, not in {path!r}.")
    try:
        await trio.to_thread.run_sync(os.stat, os.path.join(path, "."))
    except OSError as error:
        raise RequestError(f"The directory {path} cannot be entered: {error.strerror}.") from None
