"""Takes a secret out of everything that is stored here: the database and the files beside it.

One conversation at a time, each in a transaction of its own: whoever stops it in
between can begin again. It shows the secret nowhere: not in errors, not in the log.
What it could not reach it names.
"""

import logging
import sqlite3
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

import trio

from askd.core.scrubbing import Scrub
from askd.store.backups import find_copies, remove_backup
from askd.store.batch import Change
from askd.store.database import open_readonly
from askd.store.refusals import storage_failed
from askd.store.scrub.files import (
    count_in_file,
    find_files,
    find_logs,
    mask_file,
    rewrite_file,
)
from askd.store.scrub.matching import check_expression, find_matched
from askd.store.scrub.plans import Scrubbed
from askd.store.scrub.replacing import count_rest, find_secret, scrub_conversation, scrub_rest
from askd.store.scrub.texts import read_texts

logger = logging.getLogger(__name__)
T = TypeVar("T")

ERASE_TRIES = 20
ERASE_PAUSE_S = 0.25
"""A reader holds the log of changes for as long as it reads: some milliseconds."""


class Erasing(Protocol):
    """The writer, as far as it is needed here."""

    async def scrub(self, change: Change[T]) -> T:
        """Commit a change that takes text away."""
        ...

    async def erase(self) -> bool:
        """Leave no byte of it in the database and its log; False: try again."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where things are.

    Attributes:
        caches: files that are made again by themselves.
        rollouts: where mirrors are written, below the data directory or not.
    """

    database: Path
    data: Path
    state: Path
    log_file: Path
    archive: Path
    rollouts: Path
    caches: Sequence[Path]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What holds the secret: conversations, rows that belong to none, files."""

    conversations: list[Scrubbed]
    rows: int
    files: list[Path]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaned:
    """What became of files: those that were scrubbed or removed, those that still hold it.

    `is_erased` False: freed pages may hold it still, for a reader or a full disk forbade more.
    """

    files: list[Path]
    backups: list[Path]
    left: list[Path]
    is_erased: bool


class Scrubber:
    """Scrubs what is at `places`, with the connection of the one writer."""

    def __init__(self, writer: Erasing, *, places: Callable[[], Places]) -> None:
        self._writer = writer
        self._places = places
        self._running = trio.Lock()

    @property
    def running(self) -> trio.Lock:
        """Held by whoever scrubs: two at once would count what the other has replaced."""
        return self._running

    async def find_texts(self, pattern: str, *, allow_short: bool) -> list[str]:
        """What a regular expression matches; raises `RequestError`, `StorageFailed`."""
        check_expression(pattern)
        async with aclosing(self._read_pages()) as pages:
            return await find_matched(pattern, pages, allow_short=allow_short)

    async def find(self, scrub: Scrub) -> Found:
        """Everything that holds it; nothing is changed."""
        places = self._places()

        def work() -> Found:
            with closing(open_readonly(places.database)) as connection:
                conversations = list(find_secret(connection, scrub))
                rows = count_rest(connection, scrub)
            files = [each for each in _all_files(places) if count_in_file(each, scrub)]
            return Found(conversations=conversations, rows=rows, files=files)

        return await self._in_thread(work)

    async def scrub(self, conversation_id: str, scrub: Scrub) -> Scrubbed:
        """Replace it in a conversation; raises `NotFound`, `Busy`, `StorageFailed`."""
        done = await self._writer.scrub(scrub_conversation(conversation_id, scrub))
        if done.rollout is not None and done.occurrences:
            # The mirror writes it anew, from the first line.
            path = self._places().data / done.rollout
            await self._in_thread(lambda: path.unlink(missing_ok=True))
        return done

    async def finish(self, scrub: Scrub, *, backups: bool) -> Cleaned:
        """Replace it everywhere else, and see that nothing deleted is left."""
        places = self._places()
        await self._writer.scrub(scrub_rest(scrub))
        is_erased = await self._erase()

        def work() -> Cleaned:
            files = _clean_files(places, scrub)
            removed = [each for each in find_copies(places.database, places.rollouts) if backups]
            for backup in removed:
                remove_backup(backup)
            left = [each for each in _all_files(places) if count_in_file(each, scrub)]
            left += [
                each for each in find_copies(places.database, places.rollouts) if each not in left
            ]
            return Cleaned(files=files, backups=removed, left=left, is_erased=is_erased)

        return await self._in_thread(work)

    async def _erase(self) -> bool:
        for _ in range(ERASE_TRIES):
            if await self._writer.erase():
                return True
            await trio.sleep(ERASE_PAUSE_S)
        return False

    async def _read_pages(self) -> AsyncGenerator[Sequence[str], None]:
        places = self._places()
        connection = await self._in_thread(lambda: open_readonly(places.database))
        try:
            files = await self._in_thread(lambda: _all_files(places))
            pages: Iterator[list[str]] = read_texts(connection, files)
            while (page := await self._in_thread(lambda: next(pages, None))) is not None:
                yield page
        finally:
            connection.close()

    async def _in_thread(self, work: Callable[[], T]) -> T:
        def run() -> T:
            try:
                return work()
            except (OSError, sqlite3.Error) as error:
                raise storage_failed(error, self._places().database) from error

        return await trio.to_thread.run_sync(run)


def _all_files(places: Places) -> list[Path]:
    directories = [places.data, places.state, places.archive, places.rollouts]
    return find_files([*directories, places.log_file.parent], database=places.database)


def _clean_files(places: Places, scrub: Scrub) -> list[Path]:
    """Scrub what is ours to scrub; answers which files that were."""
    cleaned = []
    logs = find_logs(places.log_file)
    shared = {*logs, *_known_rollouts(places)}
    for path in dict.fromkeys([*logs, *_all_files(places)]):
        if not count_in_file(path, scrub):
            continue
        try:
            if path in shared:
                mask_file(path, scrub)  # others are writing to it
            elif path in places.caches:
                path.unlink(missing_ok=True)
            elif path.suffix == ".jsonl" and _is_below(path, places.archive, places.data):
                rewrite_file(path, scrub)
            else:
                continue
        except OSError as error:
            logger.warning("A file could not be scrubbed: %s: %s", path, error.strerror)
            continue
        cleaned.append(path)
    return cleaned


def _known_rollouts(places: Places) -> set[Path]:
    """The files of conversations: what others have appended there is masked in place."""
    try:
        with closing(open_readonly(places.database)) as connection:
            rows = connection.execute("SELECT path FROM rollouts").fetchall()
    except sqlite3.Error as error:
        raise storage_failed(error, places.database) from error
    return {places.data / path for (path,) in rows}


def _is_below(path: Path, *directories: Path) -> bool:
    return any(path.is_relative_to(each) for each in directories)
