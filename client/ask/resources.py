"""What servers of tools offer to read, fetched by the daemon before a prompt is sent.

Text and images are taken, as of a file; anything else is refused by name. It decides
nothing about what a reference is (`ask.references`), and believes no media type that a
server says.
"""

import os
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from ask.blobs import read_blob
from ask.connection import Client, RpcError, Silent
from ask.exits import NO_DAEMON
from ask.fast.caller import say
from ask.images import find_image_type
from ask.inputs import Input, check_text, unfit
from ask.references import Reference
from ask.signals import TimeIsUp
from ask.terminal import strip_controls
from ask.whereabouts import find_place

READ_LIMIT_S = 600.0
"""The longest that is waited for one: the daemon has limits of its own, which the settings say."""
QUIET_S = 1.5
"""After this long a person is told what is waited for: the server may have to start."""

Connect = Callable[[], Client]


class Resources:
    """The servers of one daemon, as long as a prompt is read.

    Args:
        environ: where its socket is looked for; None: the process's own.
        deadline: of the whole prompt, in monotonic seconds.
        quiet: do not say what is waited for.
    """

    def __init__(
        self,
        environ: Mapping[str, str] | None = None,
        *,
        deadline: float | None = None,
        quiet: bool = False,
        connect: Connect | None = None,
    ) -> None:
        self._environ = os.environ if environ is None else environ
        self._connect = connect or (lambda: Client.connect(environ))
        self._deadline = deadline
        self._quiet = quiet

    @cached_property
    def _names(self) -> frozenset[str]:
        with self._connect() as client:
            settings = client.call("config/read")["settings"]
        return frozenset(settings.get("mcpServers") or ())

    def serves(self, name: str) -> bool:
        """Whether a server of this name is configured; the daemon is asked once."""
        return name in self._names

    def read(self, reference: Reference) -> list[Input]:
        """All that a resource holds.

        Raises:
            Failed: it cannot be read, or holds what no prompt takes.
        """
        asked = {"server": reference.server, "uri": reference.uri, "cwd": find_place(self._environ)}
        with self._connect() as client:
            try:
                parts = wait_patiently(
                    client,
                    "mcp/resource",
                    asked,
                    reference.name,
                    deadline=self._deadline,
                    quiet=self._quiet,
                )["parts"]
                return [_take_part(client, part, reference) for part in parts]
            except RpcError as error:
                if error.code == NO_DAEMON:
                    raise
                raise unfit(
                    f"{reference.name} cannot be read: {error.message}",
                    hint=f"What it offers: ask mcp resources {reference.server}. Not meant as a "
                    rf"mention? Write \@{reference.name}, or say --no-mentions.",
                ) from None


def wait_patiently(
    client: Client,
    method: str,
    asked: Mapping[str, Any],
    name: str,
    *,
    deadline: float | None,
    quiet: bool,
) -> dict[str, Any]:
    """Ask for what a server offers; it may have to start, and a person is told so.

    Raises:
        TimeIsUp: the deadline has passed, in monotonic seconds; None: there is none.
        Silent: not even the daemon's own limits have ended it.
    """

    def find_left(limit_s: float) -> float:
        return limit_s if deadline is None else max(0.0, min(limit_s, deadline - time.monotonic()))

    def check_time() -> None:
        if deadline is not None and time.monotonic() >= deadline:
            message = f"The time limit was reached while {name} was read; nothing was asked."
            raise TimeIsUp(message)

    request = client.send(method, dict(asked))
    try:
        return client.wait(request, limit_s=find_left(QUIET_S))
    except Silent:
        check_time()
    if not quiet and os.isatty(2):
        say(f"Reading {strip_controls(name)} ...\n")
    try:
        return client.wait(request, limit_s=find_left(READ_LIMIT_S))
    except Silent:
        check_time()
        raise


def _take_part(client: Client, part: Mapping[str, Any], reference: Reference) -> Input:
    """One piece, under the resource's name, or its own if there are several."""
    name = str(part.get("name") or reference.name)
    if part["type"] == "text":
        return Input(str(part["text"]).encode(errors="replace"), name)
    content = read_blob(client, str(part["sha256"]))
    media_type = find_image_type(content)
    if media_type is not None:
        return Input(content, name, media_type)
    if b"\0" in content:
        raise unfit(
            f"{name} is binary ({part['media_type']}, {len(content)} bytes); "
            "a mention takes text or an image."
        )
    return Input(check_text(content, name), name)
