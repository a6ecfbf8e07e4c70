"""`ask doctor --restore` and `--rebuild`: ask, stop the daemon, let `askd` do it, pass its code on.

It starts no daemon: the next command does. It touches no file itself.
"""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence

import click

from ask.commands.consent import ask_consent
from ask.commands.daemon import STOP_WAIT_S, stop_daemon
from ask.commands.doubt import tell_doubt
from ask.exits import DONE, INTERRUPTED, NO_DAEMON, SIGNALLED, Failed
from ask.spawn import inherit, name_program

UNCHANGED = "Nothing was changed."


def restore(backup: str, *, yes: bool) -> int:
    """Put a backup in the place of the database; answer the exit code."""
    question = f"Put {backup} in the place of the database, and the one that is there aside?"
    return _recover(["restore", backup], question, yes=yes)


def rebuild(source: str | None, *, yes: bool) -> int:
    """Make the database anew from rollouts; answer the exit code."""
    of = "the rollouts" if source is None else f"the rollouts in {source}"
    question = f"Make the database anew from {of}, and put the one that is there aside?"
    return _recover(["rebuild", *([] if source is None else [source])], question, yes=yes)


def _recover(words: Sequence[str], question: str, *, yes: bool) -> int:
    if importlib.util.find_spec("askd") is None:
        raise Failed(
            NO_DAEMON,
            "askd is not installed here, and it is what does this.",
            hint=f"Install it: {sys.executable} -m pip install 'askd[local]'",
        )
    if not yes and not sys.stdin.isatty():
        raise click.UsageError("There is no terminal to ask on: say --yes.")
    with tell_doubt(lost=UNCHANGED, stopped=UNCHANGED):
        # Whatever speaks against it is to be said while the daemon still runs.
        code = _start([words[0], "--look", *words[1:]]).wait()
        if code:
            return _pass_on(code)
        if not yes and not ask_consent(f"The daemon is stopped for it. {question}"):
            click.echo(UNCHANGED, err=True)
            return DONE
        pid = stop_daemon(STOP_WAIT_S)
    if pid is not None:
        click.echo(f"askd stopped (pid {pid}); the next command starts it.", err=True)
    return run(words)


def run(words: Sequence[str]) -> int:
    """Run `askd WORDS` with its output on ours; its exit code, to its very end."""
    child = _start(words)
    try:
        code = child.wait()
    except KeyboardInterrupt:
        # It had the same Ctrl-C, and says how it ends, unless it was done by then or hardly begun.
        code = child.wait()
        if code == DONE:
            click.echo("It was done before it could be stopped.", err=True)
        elif code != INTERRUPTED:
            click.echo("It was stopped. Look at what there is: ask doctor", err=True)
        raise
    return _pass_on(code)


def _start(words: Sequence[str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        name_program(*words),
        stdin=subprocess.DEVNULL,
        env=inherit(os.environ),
    )


def _pass_on(code: int) -> int:
    return code if code >= 0 else SIGNALLED - code
