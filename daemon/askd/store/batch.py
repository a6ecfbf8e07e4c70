"""Many changes, one transaction: each in its own savepoint, all in one commit.

A change is a function of a connection and a time; it raises to refuse. One that
refuses leaves no trace and harms no other. It knows neither trio nor what the
changes are.
"""

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from askd.core.events import Event

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """What a change came to, true once its batch is committed; `events` are to be published.

    `forgets`: it took text away, which may not stay in the log's file.
    """

    value: T
    events: Sequence[Event] = ()
    forgets: bool = False


Change = Callable[[sqlite3.Connection, float], Done[T]]
Outcome = Done[Any] | Exception
"""What became of one change. An exception: it alone was rolled back."""


class _Undone(Exception):
    """SQLite rolled back the whole transaction because of the change at `index`."""

    def __init__(self, index: int, error: Exception) -> None:
        super().__init__(index, error)
        self.index = index
        self.error = error


def commit_batch(
    connection: sqlite3.Connection, changes: Sequence[Change[Any]], *, at: float
) -> list[Outcome]:
    """Apply and commit; raise `sqlite3.Error` if nothing of it could be.

    A full disk inside a change can make SQLite roll back everything; then the
    others are done again without it.
    """
    culprits: dict[int, Exception] = {}
    while True:
        try:
            return _try_batch(connection, changes, culprits, at=at)
        except _Undone as undone:
            culprits[undone.index] = undone.error
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")


def _try_batch(
    connection: sqlite3.Connection,
    changes: Sequence[Change[Any]],
    culprits: dict[int, Exception],
    *,
    at: float,
) -> list[Outcome]:
    connection.execute("BEGIN IMMEDIATE")
    outcomes: list[Outcome] = []
    for index, change in enumerate(changes):
        if index in culprits:
            outcomes.append(culprits[index])
            continue
        connection.execute("SAVEPOINT change")
        try:
            outcomes.append(change(connection, at))
        except Exception as error:
            if not connection.in_transaction:
                raise _Undone(index, error) from error
            outcomes.append(error)
            connection.execute("ROLLBACK TO change")
        connection.execute("RELEASE change")
    connection.execute("COMMIT")
    return outcomes
