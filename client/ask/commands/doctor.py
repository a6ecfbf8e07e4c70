"""`ask doctor`: looks at everything that a prompt needs and says what to do about the rest.

Each check is one line: ok, warn or fail. It starts the daemon, as a prompt
would, if anything is stored, and repairs nothing unless it is told to
(`recovering`).
"""

import json
import os
import platform
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

import ask
from ask.commands.calls import Map, is_running, json_option, open_client
from ask.commands.completing import complete_directory
from ask.commands.config import check_file
from ask.commands.confinement import ask_confinement, check_confinement
from ask.commands.findings import WAYS_BACK, Finding, lay_out_finding
from ask.commands.help import Command, Example
from ask.commands.layout import count
from ask.commands.lingering import check_linger
from ask.commands.models import WAYS, fetch_models
from ask.commands.notifying import check_notifications
from ask.commands.rendering import check_rendering
from ask.commands.scheduling import check_schedules, fetch_schedules
from ask.commands.server_layout import find_servers
from ask.commands.stored import check_stored, find_stranded, list_backups
from ask.exits import DONE, FAILED, STORAGE, Failed
from ask.paths import Paths
from ask.protocol import PROTOCOL, errors

if TYPE_CHECKING:
    from ask.connection import Client

WAL_RESET_FIXED = (3, 51, 3)
"""The SQLite in which two connections that write at once lose nothing any more."""


@click.command(
    "doctor",
    cls=Command,
    here=True,
    examples=[
        Example("ask doctor"),
        Example("ask doctor --json"),
        Example("ask doctor --notify", by_hand=True),
        Example("ask doctor --rebuild --yes", before=('ask "Say yes."',)),
        Example("ask doctor --restore ask.db.backup-1 --yes", code=errors.NOT_FOUND),
    ],
    codes=[
        errors.FAILED,
        errors.NOT_FOUND,
        errors.BUSY,
        errors.NO_DAEMON,
        errors.STORAGE,
        errors.TIME_LIMIT,
    ],
)
@click.option(
    "--restore",
    "backup",
    metavar="BACKUP",
    help="Put a backup in the place of the database: a path, or a name that the checks list.",
)
@click.option("--rebuild", is_flag=True, help="Make the database anew from the rollouts.")
@click.option(
    "--from",
    "source",
    metavar="DIRECTORY",
    shell_complete=complete_directory,
    help="With --rebuild: read the rollouts in this directory.",
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--notify", is_flag=True, help="Send a notification, to see whether one comes.")
@json_option
def doctor_command(
    backup: str | None, rebuild: bool, source: str | None, yes: bool, notify: bool, as_json: bool
) -> int:
    """Check everything that a prompt needs, and say what to do.

    It ends with 1 if a check fails; a warning is none. With --restore or --rebuild it checks
    nothing and repairs: the daemon is stopped, and what is replaced is put aside, not deleted.
    """
    if notify and (backup is not None or rebuild):
        raise click.UsageError("--notify goes with the checks alone.")
    if backup is not None or rebuild:
        return _repair(backup, rebuild, source, yes=yes, as_json=as_json)
    if source is not None or yes:
        raise click.UsageError("--from and --yes belong to --rebuild or --restore.")
    findings = []
    for finding in examine(Paths.of(os.environ), notify=notify):
        findings.append(finding)
        if not as_json:
            click.echo(lay_out_finding(finding))
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings]))
    return FAILED if any(finding.state == "fail" for finding in findings) else DONE


def _repair(
    backup: str | None, rebuild: bool, source: str | None, *, yes: bool, as_json: bool
) -> int:
    from ask.commands import recovering

    if backup is not None and (rebuild or source is not None):
        raise click.UsageError("--restore goes with neither --rebuild nor --from.")
    if as_json:
        raise click.UsageError("--json is for the checks alone.")
    if backup is not None:
        return recovering.restore(backup, yes=yes)
    return recovering.rebuild(source, yes=yes)


def examine(paths: Paths, *, notify: bool = False) -> Iterator[Finding]:
    """Every check, in an order in which an early one explains the later ones."""
    yield Finding("client", "ok", f"ask {ask.__version__}, protocol {PROTOCOL}, {_name_python()}")
    yield check_config(paths)
    yield check_rendering(os.environ)
    for name, directory in (("data", paths.data), ("state", paths.state)):
        yield check_directory(name, directory)
    last: dict[str, Finding] = {}  # what comes at the end, whoever knows it
    for finding in check_daemon(paths, notify=notify):
        if finding.check in ("linger", "confinement"):
            last[finding.check] = finding
        else:
            yield finding
    yield list_backups(paths)
    yield from [last["linger"]] if "linger" in last else check_linger(os.environ, ())
    yield last.get("confinement") or check_confinement()


def check_config(paths: Paths) -> Finding:
    """Whether the configuration file is right."""
    problem = check_file()
    if problem is None and is_open_with_secrets(paths.config_file):
        return Finding(
            "config",
            "warn",
            f"{paths.config_file} can be read by others, and holds variables or headers.",
            f"chmod 600 {paths.config_file}",
        )
    if problem is None:
        there = "in order" if paths.config_file.exists() else "not there, every default holds"
        return Finding("config", "ok", f"{paths.config_file}: {there}")
    return Finding("config", "fail", problem.message, problem.hint or "Correct that line.")


def is_open_with_secrets(path: Path) -> bool:
    """Whether others can read a file of settings that may hold what they should not see."""
    import tomllib

    try:
        is_open = bool(path.stat().st_mode & 0o044 and path.parent.stat().st_mode & 0o011)
        settings = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    servers = [*settings.get("mcpServers", {}).values(), *settings.get("providers", {}).values()]
    return is_open and any(each.get("env") or each.get("headers") for each in servers)


def check_directory(name: str, path: Path) -> Finding:
    """Whether a directory can be written, by its owner alone; one to be created counts."""
    existing = path
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        return Finding(
            name,
            "fail",
            f"{path} cannot be written.",
            f"Make {existing} writable, or set ASK_HOME.",
        )
    if existing != path:
        return Finding(name, "ok", f"{path}: will be created")
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        return Finding(
            name, "warn", f"{path} is open to others (mode {mode:o}).", f"chmod 700 {path}"
        )
    return Finding(name, "ok", f"{path}: writable, yours alone")


def check_daemon(paths: Paths, *, notify: bool = False) -> Iterator[Finding]:
    """Whether the daemon answers, and what it says of itself; nothing else without one.

    It is started, but where nothing is stored yet: a look must not make a database. `notify`: it
    is the daemon that notifies, so it is started for that.
    """
    if not (notify or paths.database.exists() or is_running()):
        stranded = find_stranded(paths)
        if stranded is not None:
            yield stranded
            return
        text = "none is running, and nothing is stored yet; the first prompt starts it"
        yield Finding("daemon", "ok", text, "To see its models too: ask daemon start")
        return
    try:
        with open_client() as client:
            status = client.call("daemon/status")
            yield check_version(status)
            yield check_owner(paths, status)
            yield check_socket(Path(status["socket"]))
            yield Finding(
                "sqlite", "ok", f"SQLite {status['sqlite']}{explain_sqlite(status['sqlite'])}"
            )
            yield from check_stored(client)
            yield from check_models(client)
            yield from check_servers(client)
            yield from check_notifications(client, send=notify)
            schedules = fetch_schedules(client)
            yield from check_linger(os.environ, schedules)
            yield from check_schedules(schedules)
            confinement = ask_confinement(client)
            if confinement is not None:
                yield confinement
    except Failed as error:
        hint = error.hint or "See what it says: ask daemon logs"
        if error.code == STORAGE and WAYS_BACK not in error.message:
            hint += f"\n      If the database is what is wrong: {WAYS_BACK}"
        yield Finding("daemon", "fail", error.message, hint)


def check_version(status: Map) -> Finding:
    """Whether client and daemon are of one version."""
    text = f"askd {status['version']}, protocol {status['protocol']}, pid {status['pid']}"
    if status["version"] == ask.__version__:
        return Finding("daemon", "ok", text)
    hint = f"ask is {ask.__version__}; make them equal: ask daemon restart"
    return Finding("daemon", "warn", text, hint)


def explain_sqlite(version: str) -> str:
    """What is to be known of this SQLite: up to 3.51.2 two writers at once can lose data."""
    numbers = [int(each) if each.isdigit() else 0 for each in version.split(".")]
    if numbers >= list(WAL_RESET_FIXED):
        return ""
    return " (the fault in its log that 3.51.3 mends needs two writers; here is one)"


def check_owner(paths: Paths, status: Map) -> Finding:
    """Whether the file that others find the daemon by names this daemon."""
    owner = paths.read_owner()
    if owner is None:
        return Finding("owner", "fail", f"{paths.owner_file} cannot be read.", "ask daemon restart")
    if owner.get("boot_id") != status["boot_id"]:
        return Finding(
            "owner",
            "fail",
            f"{paths.owner_file} names another daemon (pid {owner.get('pid')}).",
            "Two daemons have different ideas of ASK_HOME or ASK_SOCKET: ask daemon restart",
        )
    return Finding("owner", "ok", f"{paths.owner_file} names it")


def check_socket(path: Path) -> Finding:
    """Whether the socket is for its owner alone."""
    try:
        modes = (stat.S_IMODE(path.parent.stat().st_mode), stat.S_IMODE(path.stat().st_mode))
    except OSError as error:
        return Finding("socket", "fail", f"{path}: {error.strerror}.", "ask daemon restart")
    if any(mode & 0o077 for mode in modes):
        return Finding(
            "socket",
            "warn",
            f"{path} is open to others (modes {modes[0]:o}, {modes[1]:o}).",
            f"chmod 700 {path.parent}; chmod 600 {path}",
        )
    return Finding("socket", "ok", f"{path}: yours alone")


def check_models(client: "Client") -> Iterator[Finding]:
    """Which model would answer, and why; what each provider has, and who did not say."""
    page = fetch_models(client)
    default, why = page.get("default"), page.get("default_why")
    if default is None:
        yield Finding("model", "fail", "There is no model to answer.", why or WAYS)
    else:
        reason = f" because {why}" if why else ""
        yield Finding("model", "ok", f"Default model: {default}{reason}")
    counts = Counter(row["provider"] for row in page["data"])
    for provider, number in counts.items():
        yield Finding("provider", "ok", f"{provider}: {count(number, 'model')}")
    for warning in page["warnings"]:
        yield Finding("provider", "warn", warning)


def check_servers(client: "Client") -> Iterator[Finding]:
    """How each configured server of tools is; none is started for it."""
    try:
        rows = client.call("mcp/list")["data"]
    except Failed as error:
        if error.data.get("reason") != "unknown_method":
            raise
        return  # an older daemon has none
    yield from find_servers(rows)


def _name_python() -> str:
    return f"Python {platform.python_version()}"
