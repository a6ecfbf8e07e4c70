"""`ask auth status | set-key | logout | login`: the credentials that the daemon uses.

A key is read from standard input, or typed without being shown, and is never an
argument. Nothing here keeps a credential or prints one.
"""

import getpass
import json
import os
import sys
from collections.abc import Sequence
from datetime import datetime

import click

from ask.commands.calls import Map, json_option, open_client, take_caller
from ask.commands.completing import complete_provider
from ask.commands.help import Command, Example, Group
from ask.commands.layout import INDENT
from ask.exits import USAGE, Failed
from ask.protocol import errors
from ask.signin import sign_in
from ask.terminal import strip_controls

KEY_LIMIT_BYTES = 64 * 1024
"""No key is as long; the wrong file was piped in."""
NO_PROVIDERS = "No credentials, and no provider is configured.\nKeep a key: ask auth set-key openai"
NEVER_AN_ARGUMENT = (
    "A key is never an argument: every process of this machine could read it, and the shell "
    "keeps it in its history."
)
PIPE_IT = "Pipe it in, or give the provider alone and be asked: ask auth set-key PROVIDER < FILE"


@click.group(
    "auth",
    cls=Group,
    examples=[Example("ask auth status"), Example("ask auth status --json")],
    codes=[errors.FAILED, errors.NOT_FOUND, errors.CREDENTIALS, errors.NO_DAEMON],
)
def auth_command() -> None:
    """Keep keys, sign in, and say what is there."""


@auth_command.command(
    "status",
    cls=Command,
    examples=[Example("ask auth status"), Example("ask auth status --json")],
    codes=[errors.CREDENTIALS, errors.NO_DAEMON],
)
@json_option
def status_command(as_json: bool) -> None:
    """Say where each provider's credential comes from.

    Never what it is. Your own environment counts, as it does for a prompt.
    """
    with open_client() as client:
        rows = client.call("auth/status", take_caller(client))["data"]
    if as_json:
        click.echo(json.dumps(rows))
    else:
        click.echo(strip_controls("\n".join(lay_out_status(rows)) or NO_PROVIDERS))


@auth_command.command(
    "set-key",
    cls=Command,
    examples=[
        Example('echo "$OPENAI_API_KEY" | ask auth set-key openai'),
        Example("printenv OPENAI_API_KEY | ask auth set-key openai --json"),
    ],
    codes=[errors.CREDENTIALS, errors.NO_DAEMON],
)
@click.argument(
    "words", nargs=-1, required=True, metavar="PROVIDER", shell_complete=complete_provider
)
@json_option
def set_key_command(words: Sequence[str], as_json: bool) -> None:
    """Keep a provider's key for every terminal and for cron.

    The key is read from standard input; on a terminal you are asked for it and
    it is not shown. It is kept in a file that only you can read.
    """
    if len(words) > 1:
        raise Failed(USAGE, NEVER_AN_ARGUMENT, hint=PIPE_IT, data={"reason": "usage"})
    (provider,) = words
    key = read_key(provider)
    with open_client() as client:
        changed = client.call("auth/set", {"provider": provider, "key": key})
    say_changed(changed, f"The key of {changed['provider']} is kept in {changed['path']}.", as_json)


@auth_command.command(
    "logout",
    cls=Command,
    examples=[
        Example("ask auth logout openai"),
        Example("ask auth logout openai --json"),
    ],
    codes=[errors.NOT_FOUND, errors.CREDENTIALS, errors.NO_DAEMON],
)
@click.argument("provider", shell_complete=complete_provider)
@json_option
def logout_command(provider: str, as_json: bool) -> None:
    """Forget a provider's kept key or sign-in.

    A key in your environment, or one that the settings name, is not touched.
    """
    with open_client() as client:
        changed = client.call("auth/logout", {"provider": provider})
    gone = f"Forgotten: what {changed['path']} held for {changed['provider']}."
    none = f"Nothing is kept for {changed['provider']}."
    say_changed(changed, gone if changed["changed"] else none, as_json)


@auth_command.command(
    "login",
    cls=Command,
    examples=[
        Example("ask auth login chatgpt", by_hand=True),
        Example("ask auth login copilot", by_hand=True),
    ],
    codes=[errors.FAILED, errors.NOT_FOUND, errors.CREDENTIALS, errors.NO_DAEMON],
)
@click.argument("provider", shell_complete=complete_provider)
@json_option
def login_command(provider: str, as_json: bool) -> None:
    """Sign in with a browser: chatgpt, copilot.

    Over SSH, open the address in the browser where you are; what it ends at can
    be pasted back here.
    """
    with open_client() as client:
        done = sign_in(client, provider)
    if as_json:
        record = {"provider": provider, "account": done.get("account"), "path": done.get("path")}
        click.echo(json.dumps(record))
        return
    who = f" as {done['account']}" if done.get("account") else ""
    where = f"; it is kept in {done['path']}" if done.get("path") else ""
    click.echo(strip_controls(f"Signed in to {provider}{who}{where}."))


def say_changed(changed: Map, sentence: str, as_json: bool) -> None:
    """What became of a file, and what to know about it."""
    if as_json:
        click.echo(json.dumps(changed))
        return
    click.echo(strip_controls(sentence))
    if changed.get("note"):
        click.echo(strip_controls(changed["note"]), err=True)


def read_key(provider: str) -> str:
    """The key: typed unseen on a terminal, else all of standard input.

    Raises:
        Failed: there is none, or what is there can be none; it is not repeated.
    """
    if sys.stdin is not None and os.isatty(0):
        try:
            text = getpass.getpass(f"Key for {strip_controls(provider)} (not shown): ")
        except EOFError:
            click.echo(err=True)  # Ctrl-D ends no line
            text = ""
        nothing = "No key was given."
    else:
        text = _read_stdin()
        nothing = "No key was given: standard input is empty."
    key = text.strip()
    if not key:
        raise _unfit(nothing)
    if not key.isascii() or not key.isprintable() or " " in key:
        raise _unfit("That is no key: a key is one line of ASCII without blanks.")
    return key


def _read_stdin() -> str:
    """At most one byte more than a key can have; a fault of the descriptor is an empty input."""
    data = b""
    try:
        while len(data) <= KEY_LIMIT_BYTES:
            piece = os.read(0, KEY_LIMIT_BYTES)
            if not piece:
                break
            data += piece
    except OSError:
        return ""
    if len(data) > KEY_LIMIT_BYTES:
        raise _unfit("That is no key: it is too long.")
    return data.decode("ascii", "replace")


def _unfit(message: str) -> Failed:
    return Failed(USAGE, message, hint=PIPE_IT, data={"reason": "bad_input"})


def lay_out_status(rows: Sequence[Map]) -> list[str]:
    """One provider a line: its name, state, source, how long; what to know is below it."""
    name = max((len(row["provider"]) for row in rows), default=0)
    state = max((len(row["state"]) for row in rows), default=0)
    lines = []
    for row in rows:
        until = row.get("valid_until_at")
        facts = [
            row.get("source"),
            row.get("account"),
            None if until is None else f"until {show_time(until)}",
        ]
        told = "  ".join(fact for fact in facts if fact)
        lines.append(f"{row['provider']:<{name}}  {row['state']:<{state}}  {told}".rstrip())
        lines += [f"{INDENT}{line}" for line in (row.get("note") or "").splitlines()]
    return lines


def show_time(at: float) -> str:
    """A moment in the caller's time zone, to the minute."""
    try:
        return datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M")
    except (OverflowError, ValueError, OSError):
        return "a time that no calendar has"
