"""`ask install-launcher`: a script for the PATH that starts this `ask` without a search.

It writes one file, and none that somebody else wrote.
"""

import os
import shlex
import shutil
import sys
from pathlib import Path

import click

from ask.commands.help import Command, Example
from ask.exits import DONE, FAILED, STORAGE, Failed
from ask.launcher import find_places, is_ours, is_own_script, render_launcher, write_launcher
from ask.protocol import errors

NAME = "ask"
DEFAULT = ".local/bin"
"""Of the home: where a person's own programs are (systemd's file-hierarchy(7))."""


@click.command(
    "install-launcher",
    cls=Command,
    here=True,
    examples=[Example("ask install-launcher"), Example('ask install-launcher "$HOME/bin"')],
    codes=[errors.FAILED],
)
@click.argument("directory", metavar="[DIRECTORY]", required=False)
def install_launcher_command(directory: str | None) -> int:
    """Put `ask` on your PATH, in the form that starts fastest.

    Without DIRECTORY it is ~/.local/bin. The script starts this installation, with the places of
    its packages written down, so that Python need not look for them each time: a fifth of its
    start. It heeds no PYTHON* variables. Run it again when the installation has changed; to take
    it away, remove the file.
    """
    path = _find_directory(directory) / NAME
    _refuse_strangers(path)
    version = write_launcher(path, render_launcher(sys.executable, find_places()))
    click.echo(f"{path} starts {version}.")
    _tell_of_path(path)
    return DONE


def _find_directory(asked: str | None) -> Path:
    if asked is None:
        home = os.environ.get("HOME", os.path.expanduser("~"))  # which makes / of an empty one
        asked = os.path.join(home, DEFAULT) if os.path.isabs(home) else ""
    if not asked:
        raise click.UsageError("Name the directory: there is no home to put it in.")
    return Path(os.path.abspath(asked))


def _refuse_strangers(path: Path) -> None:
    """Whatever else is there is somebody's, and may be needed."""
    try:
        ours = not os.path.lexists(path) or is_ours(path)
    except OSError as error:
        raise Failed(STORAGE, f"{path} cannot be read: {error.strerror}.") from None
    if ours:
        return
    if is_own_script(path):
        raise Failed(
            FAILED,
            f"{path} is the script that pip wrote, by which ask is started: it is left alone.",
            hint="Name another directory, which is before this one on your PATH.",
        )
    removable = path.is_file() or path.is_symlink()
    raise Failed(
        FAILED,
        f"{path} is there, and ask install-launcher did not write it: it is left alone.",
        hint="Name another directory"
        + (f", or, if you do not need it: rm {shlex.quote(str(path))}" if removable else "."),
    )


def _tell_of_path(path: Path) -> None:
    """Say so if the shell will start another program, or none, by this name."""
    found = shutil.which(NAME)
    if found is not None and os.path.samefile(found, path):
        return
    instead = "nothing" if found is None else found
    click.echo(f"By the name {NAME} your shell still finds {instead}.", err=True)
    directory = str(path.parent)
    if directory in os.environ.get("PATH", "").split(os.pathsep):
        click.echo(f"That comes before {directory} on your PATH.", err=True)
    else:
        line = f'export PATH={shlex.quote(directory)}:"$PATH"'
        click.echo(f"Put this into your shell's profile (~/.profile): {line}", err=True)
