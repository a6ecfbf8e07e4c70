"""`ask install-launcher`: a script for the PATH that starts this `ask` without a search.

It writes one file, and none that somebody else wrote.
"""

import os
import shutil
import sys
from pathlib import Path

import click

from ask.commands.help import Command, Example
from ask.exits import DONE, FAILED, STORAGE, Failed
from ask.launcher import find_places, is_ours, render_launcher, write_launcher
from ask.protocol import errors

NAME = "ask"
DEFAULT = Path(".local/bin")
"""Of the home: where a person's own programs are (systemd's file-hierarchy(7))."""


@click.command(
    "install-launcher",
    cls=Command,
    here=True,
    examples=[
        Example("ask install-launcher"),
        Example('ask install-launcher "$HOME/bin"', before=('mkdir "$HOME/bin"',)),
    ],
    codes=[errors.FAILED],
)
@click.argument("path", metavar="[PATH]", type=click.Path(path_type=Path), required=False)
def install_launcher_command(path: Path | None) -> int:
    """Put `ask` on your PATH, in the form that starts fastest.

    Without PATH it is ~/.local/bin/ask. The script starts this installation, with the places of
    its packages written down, so that Python need not look for them each time: a fifth of its
    start. It heeds no PYTHON* variables. Run it again after a move of the installation; to take
    it away, remove the file.
    """
    path = _find_target(path)
    _refuse_strangers(path)
    version = write_launcher(path, render_launcher(sys.executable, find_places()))
    click.echo(f"{path} starts {version}.")
    _tell_of_path(path)
    return DONE


def _find_target(path: Path | None) -> Path:
    if path is None:
        return Path.home() / DEFAULT / NAME
    path = Path(os.path.abspath(path.expanduser()))
    return path / NAME if path.is_dir() else path


def _refuse_strangers(path: Path) -> None:
    """Whatever else is there is somebody's, and may be needed."""
    try:
        ours = not os.path.lexists(path) or is_ours(path)
    except OSError as error:
        raise Failed(STORAGE, f"{path} cannot be read: {error.strerror}.") from None
    if not ours:
        raise Failed(
            FAILED,
            f"{path} is there, and ask install-launcher did not write it: it is left alone.",
            hint=f"Name another place, or, if you do not need it: rm {path}",
        )


def _tell_of_path(path: Path) -> None:
    """Say so if the shell will start another program, or none, by this name."""
    found = shutil.which(path.name)
    if found is None or not os.path.samefile(found, path):
        instead = "nothing" if found is None else found
        click.echo(f"By the name {path.name} your shell still finds {instead}.", err=True)
        click.echo(f'Put this into ~/.profile: export PATH="{path.parent}:$PATH"', err=True)
