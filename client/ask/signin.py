"""One sign-in with a browser: says what to open, waits for its end, takes a pasted address.

The daemon signs in and keeps what comes of it; this is the person's side. What
is pasted is sent on and neither printed nor kept.
"""

import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from ask.connection import Client, RpcError
from ask.exits import CREDENTIALS, USAGE, Failed
from ask.terminal import strip_controls

Map = dict[str, Any]

BEGIN_LIMIT_S = 70.0
"""To begin, the daemon asks the provider, and gives up before this."""
WAIT_S = 2.0
"""One request waits this long: so late may an address be noticed that is pasted meanwhile."""
LATE_S = 30.0
"""After the sign-in's own end, until we stop asking a daemon that does not say so."""
PASTED_LIMIT_BYTES = 16 * 1024
"""An address is shorter; a terminal gives no line longer than 4 KiB anyway."""
BROWSER = "xdg-open"


def sign_in(client: Client, name: str, *, method: str = "auth/login", of: str = "provider") -> Map:
    """Begin and see it through: the `auth/wait` result that says `done`.

    Args:
        method: begins it, for what `name` names: a provider, or whatever `of` says.

    Raises:
        RpcError: the daemon refuses, or the sign-in failed.
        Failed: its time is over.
    """
    begun = client.call(method, {of: name}, limit_s=BEGIN_LIMIT_S)
    can_paste = bool(begun.get("can_paste")) and _is_person_there()
    for line in lay_out_steps(begun, can_paste=can_paste):
        _tell(line)
    open_browser(begun["url"], os.environ)
    try:
        return _wait(client, begun, can_paste=can_paste)
    except KeyboardInterrupt:
        if os.isatty(2):
            _tell("")  # the terminal has shown ^C
        raise


def lay_out_steps(begun: Map, *, can_paste: bool) -> list[str]:
    """What a person does now."""
    lines = ["Open this address in a browser:", "", f"    {begun['url']}", ""]
    if begun.get("user_code"):
        lines += ["and type in this code:", "", f"    {begun['user_code']}", ""]
    if can_paste:
        lines += [
            "If the browser runs on another machine, it ends at an address that it cannot reach:",
            "paste that address here, then Enter.",
        ]
    lines.append(
        "Waiting for the browser ... (Ctrl-C stops waiting here; the browser can still finish it)"
    )
    return lines


def open_browser(url: str, environ: Mapping[str, str]) -> bool:
    """Show the address on a desktop, if this is a terminal on one; whether that was tried."""
    desktop = environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY")
    program = shutil.which(BROWSER)
    if not (desktop and program and _is_person_there()) or not url.startswith("https://"):
        return False
    with suppress(OSError):
        # A session of its own: the browser stays when this terminal is closed.
        subprocess.Popen(
            [program, url],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    return True


def _wait(client: Client, begun: Map, *, can_paste: bool) -> Map:
    while True:
        pasted = read_pasted(0) if can_paste else None
        if pasted == "":
            can_paste, pasted = False, None  # the terminal is at its end; the browser may go on
        elif pasted is not None and not (pasted := pasted.strip()):
            pasted = None
        try:
            answer = client.call(
                "auth/wait", {"login_id": begun["login_id"], "pasted": pasted, "timeout_s": WAIT_S}
            )
        except RpcError as error:
            if pasted is None or error.code != USAGE:
                raise
            _tell(error.message)  # a wrong address; the sign-in goes on
            continue
        if answer["state"] == "done":
            return answer
        if time.time() > begun["expires_at"] + LATE_S:
            raise Failed(
                CREDENTIALS,
                "The sign-in was not finished in time.",
                hint="Begin again with the same command.",
                data={"reason": "login_failed"},
            )


def read_pasted(descriptor: int) -> str | None:
    """A line that is there already; None: none is; empty: there will be no more."""
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    if not waiting.poll(0):
        return None
    try:
        return os.read(descriptor, PASTED_LIMIT_BYTES).decode(errors="replace")
    except OSError:
        return ""


def _is_person_there() -> bool:
    return os.isatty(0) and os.isatty(2)


def _tell(line: str) -> None:
    print(strip_controls(line), file=sys.stderr, flush=True)
