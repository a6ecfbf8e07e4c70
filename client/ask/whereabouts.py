"""Where the caller stands, as a daemon is told: here, or on another machine than it.

From afar neither this directory, nor these variables, nor this terminal's number mean
anything. Tools run in the directory over there that was named, or not at all; keys stay
here unless it was said that they may go. It sends nothing.
"""

import os
from collections.abc import Mapping
from typing import Any

from ask.exits import USAGE, Failed
from ask.fast import caller
from ask.hosts import DIRECTORY_VARIABLE, KEYS_VARIABLE, VARIABLE, find_host
from ask.protocol.names import CALLER_ENVIRONMENT, KEY_NAMES, SECRET_NAMES

Map = dict[str, Any]

WITH_KEYS = ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL")
"""Whoever sends a key says with it for which address it is."""
NO_TOOLS = "none"
YES = ("1", "yes", "true", "on")
NO = ("", "0", "no", "false", "off")


def is_far(environ: Mapping[str, str]) -> bool:
    """Whether another machine's daemon is meant."""
    return bool(environ.get(VARIABLE))


def find_place(environ: Mapping[str, str]) -> str | None:
    """The directory in which tools run, on the machine of the daemon; None: there is none.

    Raises:
        Failed: what was named for another machine is no absolute path, code 2.
    """
    if not is_far(environ):
        return caller.find_directory()
    path = environ.get(DIRECTORY_VARIABLE) or None
    if path is None:
        return None
    if not path.startswith("/") or not _is_text(path):
        raise Failed(
            USAGE,
            f"The directory on {find_host(environ)} must be an absolute path: {path!r}.",
            hint="Such as --remote-cwd /home/you/project",
            data={"reason": "usage"},
        )
    return path


def sends_keys(environ: Mapping[str, str]) -> bool:
    """Whether the keys of this environment go to the daemon.

    Raises:
        Failed: `ASK_SEND_KEYS` says neither yes nor no, code 2.
    """
    if not is_far(environ):
        return True
    said = environ.get(KEYS_VARIABLE, "").lower()
    if said not in (*YES, *NO):
        raise Failed(
            USAGE,
            f"{KEYS_VARIABLE} is 1 or 0, and not {said!r}.",
            data={"reason": "usage"},
        )
    return said in YES


def describe(environ: Mapping[str, str]) -> Map:
    """What goes with a prompt: `cwd`, `env`, `secrets`; from afar only what holds over there."""
    if not is_far(environ):
        return dict(caller.describe(environ))
    place = find_place(environ)
    described: Map = {} if place is None else {"cwd": place}
    return {**described, "far": True, **lend(environ)}


def lend(environ: Mapping[str, str], names: tuple[str, ...] = SECRET_NAMES) -> Map:
    """`{env, secrets}` for requests that are no prompts, as far as they may go.

    Args:
        names: of what is secret; the proxies among them lead out of this machine alone.
    """
    if not is_far(environ):
        return {
            "env": caller.take(environ, CALLER_ENVIRONMENT),
            "secrets": caller.take(environ, names),
        }
    if not sends_keys(environ):
        return {}
    keys = tuple(each for each in names if each in KEY_NAMES or each not in SECRET_NAMES)
    return {"env": caller.take(environ, WITH_KEYS), "secrets": caller.take(environ, keys)}


def take_keys(environ: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    """The keys that an endpoint turned out to need, if they are here and may go."""
    return caller.take(environ, names) if sends_keys(environ) else {}


def limit_tools(options: Mapping[str, Any], environ: Mapping[str, str]) -> Map:
    """The options of a prompt, without tools where there is no directory for them.

    Raises:
        Failed: tools were asked for, code 2.
    """
    if not is_far(environ) or find_place(environ) is not None:
        return dict(options)
    if set(options.get("tools") or ()) - {NO_TOOLS}:
        raise Failed(
            USAGE,
            f"Tools run on {find_host(environ)}, and no directory over there was named.",
            hint="Name one: --remote-cwd DIR",
            data={"reason": "usage"},
        )
    return {**options, "toolless": True}


def explain_keys(environ: Mapping[str, str]) -> str | None:
    """What to do where the daemon has no credentials, and there are some here that stayed."""
    if sends_keys(environ):
        return None
    held = caller.take(environ, KEY_NAMES)
    if not held:
        return f"The keys of {find_host(environ)} count: set one there, in its daemon's settings."
    return f"{next(iter(held))} was not sent to {find_host(environ)}; it goes with --send-keys."


def _is_text(path: str) -> bool:
    """Whether a message could hold it."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in path


def find_terminal(environ: Mapping[str, str]) -> str | None:
    """Who this terminal is; from afar with the name of this machine, for numbers repeat.

    A terminal with a name (`ASK_TERMINAL`) has it everywhere.
    """
    found = caller.find_terminal(environ)
    if found is None or not is_far(environ) or found.startswith("name:"):
        return found
    return f"at:{os.uname().nodename}:{found}"
