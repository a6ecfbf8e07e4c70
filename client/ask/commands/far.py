"""Options about another machine: said before a command, or anywhere among a prompt's words.

Each stands for a variable, for this run alone: what follows reads the variables. Reading a
line sets none of them, running it does. An address that is none is refused before anything
else is done.
"""

import os
from collections.abc import Sequence

import click

from ask.exits import USAGE, Failed
from ask.hosts import DIRECTORY_VARIABLE, KEYS_VARIABLE, VARIABLE, read_host
from ask.whereabouts import is_far

YES, NO = "1", "0"
"""Of `ASK_SEND_KEYS`."""


def _take_host(context: click.Context, parameter: click.Parameter, said: str | None) -> None:
    if said is not None:
        if said:
            read_host(said)
        context.meta[VARIABLE] = said


def _take_directory(context: click.Context, parameter: click.Parameter, said: str | None) -> None:
    if said is not None:
        context.meta[DIRECTORY_VARIABLE] = said


def _take_keys(context: click.Context, parameter: click.Parameter, said: bool | None) -> None:
    if said is not None:
        context.meta[KEYS_VARIABLE] = YES if said else NO


host_option = click.option(
    "-H",
    "--host",
    metavar="ADDRESS",
    callback=_take_host,
    expose_value=False,
    help="Another machine's daemon: ssh://user@host; before a command, too.",
)
directory_option = click.option(
    "--remote-cwd",
    metavar="DIR",
    callback=_take_directory,
    expose_value=False,
    help="Where tools run over there; without it there are none.",
)
keys_option = click.option(
    "--send-keys/--no-send-keys",
    default=None,
    callback=_take_keys,
    expose_value=False,
    help="Whether providers' keys of your environment go there; they do not, if you do not say.",
)


@click.command(context_settings={"allow_interspersed_args": False, "allow_extra_args": True})
@host_option
@directory_option
@keys_option
def _before() -> None:
    """What may stand before a command's name."""


NAMES = frozenset(
    name
    for each in _before.params
    if isinstance(each, click.Option)
    for name in (*each.opts, *each.secondary_opts)
)
"""All spellings of them."""


def take_options(context: click.Context, words: Sequence[str]) -> list[str]:
    """Take these options from the front of a command line: what is left of it."""
    return _before.make_context("ask", list(words), parent=context, help_option_names=[]).args


def apply_options(context: click.Context) -> None:
    """Let what was said be in force, from here on.

    Raises:
        Failed: it is about another machine, and none is meant, code 2: whoever forgot `-H` would
            have tools run here.
    """
    for name in (VARIABLE, DIRECTORY_VARIABLE, KEYS_VARIABLE):
        if name in context.meta:
            os.environ[name] = context.meta[name]
    if is_far(os.environ):
        return
    for name, option in ((DIRECTORY_VARIABLE, "--remote-cwd"), (KEYS_VARIABLE, "--send-keys")):
        if context.meta.get(name, NO) != NO:
            raise Failed(
                USAGE,
                f"{option} is about another machine, and none is named.",
                hint=f"Name it: -H ssh://user@host (or set {VARIABLE})",
                data={"reason": "usage"},
            )


def need_here(command: str) -> None:
    """Refuse a command that is about the machine it runs on.

    Args:
        command: all of its words, such as `ask daemon stop`.

    Raises:
        Failed: another machine is meant, code 2.
    """
    if is_far(os.environ):
        there = read_host(os.environ[VARIABLE])
        raise Failed(
            USAGE,
            f"{command} is about the machine that it runs on, and {there} is meant.",
            hint=f"There: {there.by_hand} {command}   Here: {VARIABLE}= {command}",
            data={"reason": "usage"},
        )
