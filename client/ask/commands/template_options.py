"""`-t` and `-p` as options, and how they are completed: from files, never from a daemon.

It reads no template to the end but to name its parameters; what one means is
`ask.templates`, what becomes of a prompt with it is `ask.drafts`.
"""

import os
from collections.abc import Sequence
from typing import Any

import click

from ask.exits import Failed

Map = dict[str, Any]

NO_TEMPLATE = "-p is for a template; say which: -t NAME."


def read_values(said: Sequence[str]) -> dict[str, str]:
    """`key=value` words, a key once.

    Raises:
        UsageError: one has no `=`, no key, or a key that has a value already.
    """
    values: dict[str, str] = {}
    for word in said:
        key, equals, value = word.partition("=")
        if not (key and equals):
            raise click.UsageError(f"{word!r} is no KEY=VALUE.")
        if key in values:
            raise click.UsageError(f"{key!r} has two values.")
        values[key] = value
    return values


def take_values(
    context: click.Context, parameter: click.Parameter, said: Sequence[str]
) -> dict[str, str]:
    """What all `-p` say, as `read_values` reads it."""
    return read_values(said)


def settle_chat(said: Map, template: str | None, values: dict[str, str]) -> Map:
    """What is said of every turn of a chat, by its options and else by its template.

    Raises:
        UsageError: there are values, and no template for them.
        Failed: the template cannot be used.
    """
    options = {name: value for name, value in said.items() if value or value is False}
    if template is None:
        if values:
            raise click.UsageError(NO_TEMPLATE)
        return options
    from ask.drafts import read_chat_options

    found, left = read_chat_options(template, values, os.environ)
    if left:
        click.echo(
            f"A chat takes no {' and no '.join(left)} from a template; ask -t {template} does.",
            err=True,
        )
    return {**found, **options}


def complete_template(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    """Names of saved templates that begin with what was typed; no server is asked for its own."""
    from ask.template_files import list_names

    try:
        return [name for name in list_names(os.environ) if name.startswith(incomplete)]
    except Failed:
        return []


def complete_value(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    """The parameters of the template that was named before, each with its `=`."""
    from ask.template_files import read_template

    try:
        found = read_template(str(context.params.get("template") or ""), os.environ).parameters
    except Failed:
        return []
    return [f"{name}=" for name in found if f"{name}=".startswith(incomplete)]


template_option = click.option(
    "-t",
    "--template",
    metavar="NAME",
    shell_complete=complete_template,
    help="A saved prompt, or SERVER:PROMPT.",
)
values_option = click.option(
    "-p",
    "--param",
    "values",
    multiple=True,
    metavar="KEY=VALUE",
    callback=take_values,
    shell_complete=complete_value,
    help="A parameter of the template; may be repeated.",
)
