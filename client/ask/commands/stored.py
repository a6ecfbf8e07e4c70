"""Checks of what is stored: the database, its records, the rollouts, the backups.

The daemon looks at its own files (`daemon/check`); only the names of backups are
read here, so that they are listed when no daemon can start.
"""

import glob
import os
import time
import tomllib
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ask.commands.findings import WAYS_BACK, Finding, lay_out_age, lay_out_size
from ask.commands.layout import count
from ask.exits import Failed
from ask.paths import Paths

if TYPE_CHECKING:
    from ask.connection import Client

CHECK_LIMIT_S = 60.0
"""The daemon looks for about half of it, in the worst case."""
BRING_BACK = "Bring them back: ask doctor --rebuild"
HEAD_BYTES = 64 * 1024
"""Of the first line; ours has a few hundred bytes."""
FILES = 5000
"""So many are counted without a daemon; more say nothing more."""
SHOWN = 5
"""Of backups so many are named; all of them are in the data directory."""
NO_BACKUPS = ("-wal", "-shm", "-journal", ".partial")
"""How names end that only look like a backup's."""

Map = Mapping[str, Any]


def check_stored(client: "Client") -> Iterator[Finding]:
    """Let the daemon look, and say what it found."""
    try:
        found = client.call("daemon/check", limit_s=CHECK_LIMIT_S)
    except Failed as error:
        if error.data.get("reason") != "unknown_method":
            raise
        yield Finding("store", "warn", "This daemon is too old to check it.", "ask daemon restart")
        return
    yield judge_store(found)
    yield judge_records(found)
    yield judge_rollouts(found.get("rollouts"))


def judge_store(found: Map) -> Finding:
    """Whether the database is sound, and how large it is."""
    problems = found["problems"]
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        return Finding(
            "store", "fail", f"damaged: {problems[0]}{more}", f"Bring it back: {WAYS_BACK}"
        )
    size = lay_out_size(found["database_bytes"])
    told = f"{count(found['conversations'], 'conversation')}, {size}"
    if found["wal_bytes"]:
        told += f", a log of {lay_out_size(found['wal_bytes'])}"
    if found["strays"]:
        strays = count(found["strays"], "row")
        return Finding(
            "store",
            "warn",
            f"{told}; {strays} refer to what is not there.",
            f"Bring it back: {WAYS_BACK}",
        )
    if not found["complete"]:
        return Finding(
            "store", "warn", f"{told}; there was no time to look at all of it.", "Try again later."
        )
    return Finding("store", "ok", f"{told}, sound")


def judge_records(found: Map) -> Finding:
    """Whether every record can be read."""
    looked = count(found["records"], "record")
    if not (found["unreadable"] or found["lost"]):
        return Finding("records", "ok", f"{looked} can be read")
    words = []
    if found["unreadable"]:
        words.append(f"{count(found['unreadable'], 'record')} cannot be read")
    if found["lost"]:
        words.append(f"{count(found['lost'], 'record')} lost")
    first = next(iter(found["damaged"]), None)
    where = f"; the first in {first['conversation_id']}: {first['first']}" if first else ""
    hint = "What the rollouts still hold of them comes back with: ask doctor --rebuild"
    if found.get("recoverable") is False and not found["lost"]:
        hint = "The rollouts do not hold them either. The rest of the conversation is as it was."
    return Finding(
        "records",
        "fail" if found["lost"] else "warn",
        f"{', '.join(words)}, of {looked}{where}",
        hint,
    )


def judge_rollouts(found: Map | None) -> Finding:
    """Whether every conversation has its file."""
    if found is None:
        return Finding("rollouts", "warn", "The daemon could not say how they are.", "Try again.")
    if found["directory"] is None:
        return Finding("rollouts", "ok", "not written (rollouts.enabled is false)")
    told = f"{found['directory']}: {count(found['mirrored'], 'conversation')}"
    if found["behind"]:
        told += f", {found['behind']} to come"
    strays, missing = found.get("strays", 0), found.get("missing", 0)
    if strays:
        verb = "belongs" if strays == 1 else "belong"
        told += f"; {count(strays, 'rollout')} {verb} to no conversation here"
    if missing:
        told += f"; {count(missing, 'file')} not there, written again now"
    if found.get("trouble"):
        return Finding(
            "rollouts",
            "warn",
            f"{told}. {found['trouble']}",
            "Conversations go on without them. Make that place writable; it is tried again.",
        )
    if strays:
        return Finding("rollouts", "warn", f"{told}.", BRING_BACK)
    if missing:
        return Finding("rollouts", "warn", f"{told}.", "Look again in a moment: ask doctor")
    return Finding("rollouts", "ok", told)


def is_ours(path: Path) -> bool:
    """Whether askd wrote a rollout: its first line says so, with a mark that Codex passes over."""
    try:
        with path.open("rb") as stream:
            return b'"ask":' in stream.readline(HEAD_BYTES)
    except OSError:
        return False


def find_stranded(paths: Paths) -> Finding | None:
    """What to say where rollouts lie and no database does; None: nothing was stored."""
    mirror = find_mirror(paths)
    files = islice(mirror.rglob("rollout-*.jsonl"), FILES)
    found = sum(1 for each in files if is_ours(each))
    if not found:
        return None
    more = " or more" if found == FILES else ""
    return Finding(
        "store",
        "warn",
        f"There is no database, but {count(found, 'rollout')}{more} in {mirror}.",
        BRING_BACK,
    )


def find_mirror(paths: Paths) -> Path:
    """Where the rollouts are; asked of the settings' file, for no daemon may be there."""
    try:
        with paths.config_file.open("rb") as stream:
            directory = tomllib.load(stream).get("rollouts", {}).get("directory")
    except (OSError, ValueError, AttributeError):
        directory = None  # what is wrong with it another check says
    return Path(directory) if isinstance(directory, str) and directory else paths.rollouts


def measure(path: Path) -> int:
    """Bytes of a file, or of all files below a directory; raises `OSError`."""
    if not path.is_dir():
        return path.stat().st_size
    return sum(
        os.lstat(os.path.join(folder, name)).st_size
        for folder, _, names in os.walk(path)
        for name in names
    )


def list_backups(paths: Paths, now: float | None = None) -> Finding:
    """The copies of the database, and rollouts put aside, that one could go back to."""
    moment = time.time() if now is None else now
    found = []
    mirror = find_mirror(paths)
    try:
        for path in (
            *paths.data.glob(f"{glob.escape(paths.database.name)}.backup-*"),
            *mirror.parent.glob(f"{glob.escape(mirror.name)}.backup-before-*"),
        ):
            if not path.name.endswith(NO_BACKUPS):
                found.append((path.stat().st_mtime, measure(path), path.name))
    except OSError as error:
        return Finding("backups", "warn", f"{paths.data}: {error.strerror}.", "Look there.")
    if not found:
        return Finding("backups", "ok", "none")
    found.sort(reverse=True)
    named = [
        f"{name} ({lay_out_size(size)}, {lay_out_age(moment - at)})"
        for at, size, name in found[:SHOWN]
    ]
    if len(found) > SHOWN:
        named.append(f"{len(found) - SHOWN} more in {paths.data}")
    return Finding("backups", "ok", ", ".join(named))
