"""`askd rebuild` and `askd restore`: a database again, while no daemon runs.

They own the data directory as a daemon would, and say in plain sentences what
they did. What is done is in `store.recovery`; nothing is deleted, and no daemon
is started.
"""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from ask.paths import Paths
from ask.protocol.errors import INTERRUPTED
from askd.config import read_environment, read_settings
from askd.core import outcome
from askd.errors import AskdError, Busy, NotFound
from askd.owner import AlreadyOwned, Ownership
from askd.store.recovery import room
from askd.store.recovery.entry import refuse_directory
from askd.store.recovery.rebuild import Rebuilt, rebuild
from askd.store.recovery.restore import Restored, find_backup, restore
from askd.store.refusals import SHORT_ID

SHOWN = 5
"""Of files and names so many are listed; the rest is counted."""
PROGRESS_S = 0.2
"""Between two signs of life on a terminal."""


def run_rebuild(source: str | None, *, looks_only: bool = False) -> int:
    """`askd rebuild [DIR]`: answer the exit code; the lines are on stdout, errors on stderr.

    `looks_only`: say what speaks against it, and do nothing; a daemon may run meanwhile.
    """

    def look(paths: Paths, mirror: Path) -> Path:
        directory = mirror if source is None else Path(source).absolute()
        if source is not None and not directory.is_dir():
            raise NotFound(f"No such directory: {source}", reason="backup_not_found")
        refuse_directory(paths.database)
        room.check_room(paths.database, room.need_for_rebuild(paths.database, directory))
        return directory

    def work(paths: Paths, mirror: Path) -> None:
        directory = look(paths, mirror)
        told = rebuild(
            paths.database, directory, mirror=mirror, at=time.time(), progress=make_progress()
        )
        say(*tell_rebuilt(told, paths.database, directory))

    return _run(look if looks_only else work, owns=not looks_only)


def run_restore(backup: str, *, looks_only: bool = False) -> int:
    """`askd restore BACKUP`: answer the exit code; `looks_only` as above."""

    def look(paths: Paths, mirror: Path) -> Path:
        refuse_directory(paths.database)
        found = find_backup(paths.database, backup)
        room.check_room(paths.database, room.need_for_restore(found))
        return found

    def work(paths: Paths, mirror: Path) -> None:
        found = look(paths, mirror)
        told = restore(paths.database, found, rollouts=mirror, at=time.time())
        say(*tell_restored(told, paths.database))

    return _run(look if looks_only else work, owns=not looks_only)


def _run(work: Callable[[Paths, Path], object], *, owns: bool) -> int:
    os.umask(0o077)
    environment = read_environment()
    paths = environment.paths
    try:
        settings = read_settings(paths.config_file)
        mirror = Path(settings.rollouts.directory or paths.rollouts)
        if not owns:
            work(paths, mirror)
            return outcome.DONE
        try:
            ownership = Ownership(paths.lock_file, paths.owner_file)
        except AlreadyOwned:
            raise Busy(f"A daemon is using {paths.data}. Stop it first: ask daemon stop") from None
        with ownership:
            work(paths, mirror)
    except AskdError as error:
        print(f"askd: {error.message}", file=sys.stderr)
        return error.code
    except KeyboardInterrupt:
        print("askd: interrupted. The database that is in place is whole.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # It is done; whoever was to hear of it has gone.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return outcome.DONE


def say(*lines: str) -> None:
    """Print lines, at once."""
    print("\n".join(lines), flush=True)


def make_progress() -> Callable[[int, int], None]:
    """A line on a terminal that says how far it is; without one, nothing."""
    if not sys.stderr.isatty():
        return lambda done, total: None
    shown = -PROGRESS_S

    def progress(done: int, total: int) -> None:
        nonlocal shown
        now = time.monotonic()
        if done == total:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        elif now - shown >= PROGRESS_S:
            shown = now
            print(f"\r{done} of {total} conversations", end="", file=sys.stderr, flush=True)

    return progress


def tell_rebuilt(told: Rebuilt, database: Path, source: Path) -> list[str]:
    """What a rebuild did, a sentence a line."""
    lines = [
        f"Rebuilt {database}: {count(told.conversations, 'conversation')}, "
        f"{count(told.events, 'event')}, from {count(told.files, 'rollout')} in {source}."
    ]
    if told.foreign:
        lines.append(f"Skipped {count(told.foreign, 'file')} that askd did not write.")
    for path, why in told.unreadable[:SHOWN]:
        lines.append(f"Could not read {path}: {why}.")
    if len(told.unreadable) > SHOWN:
        lines.append(f"... and {count(len(told.unreadable) - SHOWN, 'more file')}.")
    if told.bad_lines or told.torn:
        lines.append(
            f"Skipped {count(told.bad_lines, 'line')} that could not be read, "
            f"and {count(told.torn, 'cut end')} of a file."
        )
    if told.from_old:
        lines.append(f"The old database knew more of {count(told.from_old, 'conversation')}.")
    if told.lost:
        lines.append(f"Lost: {count(told.lost, 'record')}; each is marked in its place.")
    if told.lost_blobs:
        lines.append(f"Lost: the content of {count(told.lost_blobs, 'attachment')}.")
    for id, name in told.unnamed[:SHOWN]:
        lines.append(f"The name {name!r} was taken twice: {id[:SHORT_ID]} has none now.")
    if len(told.unnamed) > SHOWN:
        lines.append(f"... and {count(len(told.unnamed) - SHOWN, 'more')} without a name now.")
    return [*lines, *_tell_old(told)]


def _tell_old(told: Rebuilt) -> list[str]:
    forgotten = "terminals, background jobs and schedules are forgotten."
    if told.aside is None:
        return [f"There was no old database: {forgotten}"]
    aside = f"It is put aside: {told.aside}"
    if told.was_empty:
        return [f"The old database was empty: {forgotten}", aside]
    if not told.was_ours:
        return [f"The database that was there is not askd's: {forgotten}", aside]
    terminals, jobs = told.kept.get("terminals", 0), told.kept.get("jobs", 0)
    kept = f"{count(terminals, 'terminal')}, {count(jobs, 'job')} and "
    kept += count(told.kept.get("schedules", 0), "schedule")
    if told.trouble is not None:
        taken = f"The old database could not be read ({told.trouble.rstrip('.')})."
    elif told.faults:
        taken = f"The old database is damaged in {count(told.faults, 'place')}, read in part."
    else:
        taken = "The old database could be read."
    return [f"{taken} Kept from it: {kept}.", aside]


def tell_restored(told: Restored, database: Path) -> list[str]:
    """What a restore did, a sentence a line."""
    lines = [
        f"Restored {database} from {told.backup}: {count(told.conversations, 'conversation')}, "
        f"{count(told.events, 'event')}."
    ]
    if told.aside is not None:
        lines.append(f"The database from before is put aside: {told.aside}")
    if told.rollouts_aside is not None:
        lines += [
            f"The rollouts from before are put aside: {told.rollouts_aside}",
            "What they know more of can be brought back: "
            f"ask doctor --rebuild --from {told.rollouts_aside}",
        ]
    return lines


def count(number: int, noun: str) -> str:
    """`1 event`, `2 events`."""
    return f"{number} {noun}" if number == 1 or noun == "more" else f"{number} {noun}s"
