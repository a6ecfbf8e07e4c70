"""`ask daemon install | uninstall`: askd as a user unit of systemd, started by its socket.

What is written are the two units, and what is removed is nothing else: no conversation, no
setting, no log. A unit that somebody else wrote is left alone.
"""

import os
from pathlib import Path

import click

from ask.commands.calls import is_running
from ask.commands.daemon import stop_daemon, wait_option
from ask.commands.help import Command, Example
from ask.exits import DONE, FAILED, STORAGE, Failed
from ask.paths import Paths
from ask.protocol import errors
from ask.systemctl import act, find_main_pid, find_trouble
from ask.units import SERVICE, SOCKET, UNITS, find_directory, is_ours, render_units

WANTS = "sockets.target.wants"
"""Where a socket that is enabled is linked from: `WantedBy=` of its unit."""


@click.command(
    "install",
    cls=Command,
    here=True,
    examples=[Example("ask daemon install", by_hand=True), Example("ask daemon install --dry-run")],
    codes=[errors.FAILED, errors.NO_DAEMON, errors.TIME_LIMIT],
)
@click.option("--dry-run", is_flag=True, help="Print what would be written and run; do nothing.")
@wait_option
def install_command(dry_run: bool, wait_s: float) -> int:
    """Have systemd start the daemon with the first client.

    systemd listens where ask looks. Two user units are written, with this installation's path and
    the places (ASK_HOME, XDG, PATH) that are set now, and the socket is enabled. A daemon that was
    started by hand makes way. Run it again after a move or an upgrade: it changes what has changed.
    """
    directory = find_directory(os.environ)
    texts = render_units(os.environ)
    if dry_run:
        for name, text in texts.items():
            click.echo(f"# {directory / name}\n{text}")
        click.echo(f"# systemctl --user daemon-reload\n# systemctl --user enable --now {SOCKET}")
        return DONE
    _need_systemd()
    for name in UNITS:
        _refuse_strangers(directory / name)
    changed = [name for name, text in texts.items() if _read(directory / name) != text]
    was_there = (directory / SOCKET).exists()
    for name in changed:
        _write(directory / name, texts[name])
    act("daemon-reload")
    _make_way(wait_s, changed=bool(changed))
    act("enable", "--now", SOCKET)
    if SOCKET in changed and was_there:
        act("restart", SOCKET)  # it listens somewhere else now
    what = "is installed" if changed else "was installed already"
    click.echo(f"askd {what}: systemd listens, and starts it with the first client.", err=True)
    click.echo("Its log: journalctl --user -u askd", err=True)
    return DONE


def _need_systemd() -> None:
    trouble = find_trouble()
    if trouble is not None:
        raise Failed(
            FAILED,
            f"No systemd of yours answers, so nothing was installed ({trouble}).",
            hint="Nothing needs to be: the first ask starts askd. "
            "To start it with the machine, have cron run: ask daemon start",
        )


def _refuse_strangers(path: Path) -> None:
    """Whoever wrote a unit by hand meant something by it."""
    try:
        ours = not path.exists() or is_ours(path)
    except OSError as error:
        raise Failed(STORAGE, f"{path} cannot be read: {error.strerror}.") from None
    if not ours:
        raise Failed(
            FAILED,
            f"{path} is there, and ask daemon install did not write it: it is left alone.",
            hint=f"If you do not need it: rm {path}",
        )


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Failed(STORAGE, f"{path} cannot be read: {error.strerror}.") from None


def _write(path: Path, text: str) -> None:
    """Put the unit in its place, whole or not at all."""
    beside = path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise Failed(STORAGE, f"{path} cannot be written: {error.strerror}.") from None


def _make_way(wait_s: float, *, changed: bool) -> None:
    """Stop a daemon that systemd does not run, or that runs by a unit that is no longer so."""
    if not is_running():
        return
    pid = (Paths.of(os.environ).read_owner() or {}).get("pid")
    if changed or pid is None or pid != find_main_pid(SERVICE):
        stopped = stop_daemon(wait_s)
        if stopped is not None:
            click.echo(f"askd stopped (pid {stopped}): systemd starts the next one.", err=True)


@click.command(
    "uninstall",
    cls=Command,
    here=True,
    examples=[
        Example("ask daemon uninstall"),
        Example("ask daemon uninstall && ask daemon start"),
    ],
    codes=[errors.FAILED, errors.TIME_LIMIT],
)
def uninstall_command() -> int:
    """Take the units away again; conversations and settings stay.

    A daemon that systemd runs is stopped: running turns have 20 s to end. The next ask starts one
    as if there had never been a unit.
    """
    directory = find_directory(os.environ)
    there = [directory / name for name in UNITS if (directory / name).exists()]
    if not there:
        click.echo(f"Nothing is installed in {directory}.", err=True)
        return DONE
    for path in there:
        _refuse_strangers(path)
    trouble = find_trouble()
    if trouble is None:
        act("disable", "--now", SOCKET)
        act("stop", SERVICE)
    try:
        for path in (directory / WANTS / SOCKET, *there):
            path.unlink(missing_ok=True)
    except OSError as error:
        raise Failed(STORAGE, f"{path} cannot be removed: {error.strerror}.") from None
    if trouble is None:
        act("daemon-reload")
    else:
        click.echo(f"systemd was not told ({trouble}).", err=True)
    click.echo("askd is uninstalled; conversations and settings stay.", err=True)
    return DONE
