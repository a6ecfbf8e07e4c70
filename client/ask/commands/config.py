"""`ask config path | show | check`: the settings, where they are, whether they are right.

Only the daemon's side reads the file; here it is named, shown and checked, and
never changed.
"""

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import click

from ask.commands.calls import json_option, open_client
from ask.commands.help import Command, Example, Group
from ask.exits import FAILED, NO_DAEMON, USAGE, Failed
from ask.paths import Paths
from ask.protocol import errors
from ask.spawn import inherit, name_program
from ask.terminal import strip_controls

CHECK_LIMIT_S = 30.0
"""Reading one small file takes a fraction of a second; a loaded machine may take longer."""


@click.group(
    "config",
    cls=Group,
    later=("edit",),
    examples=[Example("ask config path"), Example("ask config check")],
    codes=[errors.FAILED, errors.NO_DAEMON],
)
def config_command() -> None:
    """Show and check the settings."""


@config_command.command(
    "path",
    cls=Command,
    here=True,
    examples=[Example("ask config path"), Example("ask config path --json")],
)
@json_option
def path_command(as_json: bool) -> None:
    """Print where the configuration file is, there or not."""
    path = str(Paths.of(os.environ).config_file)
    click.echo(json.dumps({"path": path}) if as_json else path)


@config_command.command(
    "show",
    cls=Command,
    examples=[Example("ask config show"), Example("ask config show --json")],
    codes=[errors.NO_DAEMON],
)
@json_option
def show_command(as_json: bool) -> None:
    """Show the settings that are in force, defaults included."""
    with open_client() as client:
        found = client.call("config/read")
    if as_json:
        click.echo(json.dumps(found))
        return
    click.echo(f"# {found['path']}")
    for name, value in flatten(found["settings"]):
        click.echo(strip_controls(f"{name} = {encode_value(value)}"))
    for warning in found["warnings"]:
        click.echo(f"warning: {strip_controls(warning)}", err=True)


@config_command.command(
    "check",
    cls=Command,
    here=True,
    examples=[Example("ask config check"), Example("ask config check --json")],
    codes=[errors.FAILED, errors.NO_DAEMON],
)
@json_option
def check_command(as_json: bool) -> None:
    """Check the configuration file.

    An error is named by its key and its line. It needs no daemon.
    """
    path = str(Paths.of(os.environ).config_file)
    problem = check_file()
    if problem is not None:
        raise problem
    click.echo(json.dumps({"path": path, "ok": True}) if as_json else f"{path}: in order")


def check_file() -> Failed | None:
    """What is wrong with the file, if anything, as `askd check-config` sees it."""
    if importlib.util.find_spec("askd") is None:
        return Failed(
            NO_DAEMON,
            "The file cannot be checked: askd is not installed here.",
            hint=f"Install it: {sys.executable} -m pip install askd",
        )
    try:
        done = subprocess.run(
            name_program("check-config"),
            env=inherit(os.environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=CHECK_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Failed(FAILED, f"The file could not be checked: {error}.")
    if done.returncode == 0:
        return None
    said = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    code = done.returncode if done.returncode == USAGE else FAILED
    message = strip_controls("\n".join(said)) or f"The check ended with code {done.returncode}."
    return Failed(code, message, data={"reason": "bad_config"} if code == USAGE else None)


def flatten(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Nested settings as dotted names and values, in their order; what is not set left out."""
    for name, value in settings.items():
        # A model's name has a slash, and a dot as often as not.
        bare = name.replace("-", "").replace("_", "")
        key = name if bare.isascii() and bare.isalnum() else json.dumps(name)
        if isinstance(value, Mapping):
            yield from flatten(value, f"{prefix}{key}.")
        elif value is not None:
            yield f"{prefix}{key}", value


def encode_value(value: Any) -> str:
    """A setting as the configuration file would have it: TOML's plain values are JSON's."""
    return json.dumps(value, ensure_ascii=False)
