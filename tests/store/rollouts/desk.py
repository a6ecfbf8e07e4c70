"""A database and the files that mirror it, driven by hand: no task, no clock, no threads.

What the mirror would do is done step by step, so that a test can end it at any
moment (`Crash`) and begin again on what the disk holds.
"""

import itertools
import json
import os
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from askd.core.blob_parts import find_blobs
from askd.core.events import Body, ConversationCreated, Event
from askd.core.imports import Import, plan_import
from askd.core.rollout import encode_event
from askd.core.rollout_lines import encode_line
from askd.store import changes
from askd.store.batch import Change, Done, commit_batch
from askd.store.database import configure_writer, prepare_file
from askd.store.event_pages import read_page
from askd.store.log import Write
from askd.store.migrations import migrate
from askd.store.rollouts import rows as rollouts
from askd.store.rollouts.copies import Ask, Copies
from askd.store.rollouts.rows import RolloutRow

FOREIGN = encode_line({"timestamp": "2026-01-01T00:00:00.000Z", "type": "theirs", "payload": {}})


class Crash(BaseException):
    """The process is killed here."""


class MortalOs:
    """The module `os`, whose process dies at one of the calls that change something."""

    FATAL = ("write", "ftruncate", "replace", "fdatasync", "unlink", "open")

    def __init__(self, calls_left: int) -> None:
        self._left = calls_left

    def __getattr__(self, name: str) -> Any:
        found = getattr(os, name)
        return self._wrap(name, found) if name in self.FATAL else found

    def _wrap(self, name: str, found: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            self._left -= 1
            if self._left >= 0:
                return found(*arguments, **named)
            if name == "write":
                descriptor, data = arguments
                found(descriptor, data[: len(data) // 2])  # so far it came
            raise Crash

        return call


class Desk:
    """A database with its rollouts, below `home`."""

    def __init__(self, home: Path) -> None:
        self.data = home / "data"
        self.directory = self.data / "rollouts"
        self.archive = self.data / "archive"
        self.database = self.data / "ask.db"
        prepare_file(self.database)
        self.connection = sqlite3.connect(self.database, isolation_level=None)
        configure_writer(self.connection, self.database)
        self.connection.execute("PRAGMA synchronous = OFF")  # nobody pulls the plug here
        migrate(self.connection, self.database, at=1.0)
        self.connection.execute("PRAGMA foreign_keys = ON")
        self._clock = itertools.count(1_700_000_000)
        self.copies = self._make_copies()

    def restart(self) -> None:
        """Forget all that is in memory."""
        self.copies.close()
        self.copies = self._make_copies()

    def _make_copies(self) -> Copies:
        return Copies(self.database, data=self.data, directory=self.directory, version="9.9")

    def close(self) -> None:
        """Let go of the database."""
        self.copies.close()
        self.connection.close()

    # ---- the log -------------------------------------------------------------------

    def commit(self, change: Change[Any]) -> Any:
        """Commit a change; raise what it raises."""
        (outcome,) = commit_batch(self.connection, [change], at=float(next(self._clock)))
        if isinstance(outcome, Done):
            return outcome.value
        raise outcome

    def append(self, *bodies: Body, id: str = "c", blobs: Sequence[tuple[str, bytes]] = ()) -> None:
        """Append to a conversation, which is created if it is not there."""
        created = changes.read_row(self.connection, id) is None
        all_bodies = [ConversationCreated(id), *bodies] if created else bodies
        write = Write(conversation_id=id, bodies=all_bodies, create=created, blobs=blobs)
        self.commit(changes.append(write))

    def log(self, id: str = "c") -> list[Event]:
        """Every event."""
        page = read_page(self.connection, id, after_seq=0, limit=-1, limit_bytes=-1)
        return page.events

    def row(self, id: str = "c") -> RolloutRow | None:
        """What the table says of a file."""
        return rollouts.read_rollout(self.connection, id)

    def reset(self, id: str = "c") -> None:
        """As whoever rewrites events does it."""
        self.connection.execute(
            "UPDATE rollouts SET seq = 0, bytes = 0 WHERE conversation_id = ?", (id,)
        )

    # ---- the mirror ----------------------------------------------------------------

    def mirror(self, id: str = "c") -> int:
        """Bring a file up to its log; how many steps it took."""
        for steps in itertools.count(1):
            step = self.copies.advance(id)
            if isinstance(step, Ask):
                self.commit(step.change)
            elif not step.more:
                return steps
        raise AssertionError

    def flush(self) -> list[str]:
        """Tell the table; whose file has to be seen to again."""
        synced = self.copies.sync()
        assert synced.error is None
        saved = self.commit(rollouts.save_offsets(synced.offsets))
        return [*self.copies.confirm(synced.offsets, saved), *synced.lost]

    def clear(self) -> None:
        """Remove what is to go."""
        removals = self.copies.list_removals()
        for removal in removals:
            self.copies.remove(removal, self.archive)
        self.commit(rollouts.forget_removals([each.path for each in removals]))

    def behind(self) -> list[str]:
        """Whose file is to be seen to."""
        found, after = self.copies.find_behind(rollouts.START)
        while after is not None:
            more, after = self.copies.find_behind(after)
            found += more
        return found

    # ---- the files -----------------------------------------------------------------

    def path(self, id: str = "c") -> Path:
        """Where the file of a conversation belongs."""
        row = changes.read_row(self.connection, id)
        assert row is not None
        return rollouts.place_file(self.copies.directory, id, row.created_at)

    def files(self) -> list[Path]:
        """Every file that is there, drafts too."""
        folders = [self.directory, self.archive]
        return sorted(p for folder in folders for p in folder.rglob("*") if p.is_file())

    def records(self, id: str = "c") -> list[dict[str, Any]]:
        """The file, line by line; every line is valid."""
        content = self.path(id).read_bytes()
        assert content.endswith(b"\n")
        return [json.loads(line) for line in content.splitlines()]

    def check(self, id: str = "c") -> None:
        """The file holds exactly the log, in order, each event once, and reads as it."""
        log = self.log(id)
        found = [each["payload"] for each in self.records(id) if each["type"] == "ask_event"]
        assert found == [json.loads(encode_line(encode_event(event))) for event in log]
        plan = self.plan(id)
        assert plan.timed[: len(log)] == [(event.at, event.body) for event in log]
        assert set(plan.blobs) == {*find_blobs([event.body for event in log])}
        assert plan.skipped == []

    def plan(self, id: str = "c") -> Import:
        """The file as an import reads it."""
        numbers = itertools.count()
        return plan_import(
            self.path(id).read_bytes(),
            conversation_id=id,
            new_id=lambda: f"i{next(numbers)}",
            at=0.0,
        )
