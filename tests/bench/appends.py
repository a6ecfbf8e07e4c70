"""Durable appends: 64 sessions through the writer, against the two obvious alternatives.

All three use `synchronous=FULL` on the same file system, in turn: the writer's
group commit; one commit per append in a worker thread; bare SQLite without any
daemon, 64 rows a commit, which is the most that the disk and the library give.
"""

import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import trio

from askd.core.events import ConversationCreated, ItemAdded
from askd.core.items import Notice
from askd.store.log import Write
from askd.store.writer import Writer
from tests.bench.rows import Row

SESSIONS = 64
APPENDS = 4096
BODY = '{"type":"renamed","name":"' + "x" * 470 + '"}'
"""About 500 bytes, as a message of a few lines."""


def group_commit(directory: Path) -> float:
    """Appends a second through the real writer."""

    async def main() -> float:
        writer = Writer(
            directory / "ask.db", observe=lambda events: None, now=time.time, boot_id="bench"
        )
        async with trio.open_nursery() as nursery:
            await nursery.start(writer.run)
            ids = [f"{number:08d}-0000-4000-8000-000000000000" for number in range(SESSIONS)]
            for each in ids:
                await writer.append(
                    Write(conversation_id=each, bodies=[ConversationCreated(each)], create=True)
                )

            async def session(each: str) -> None:
                for number in range(APPENDS // SESSIONS):
                    item = Notice(f"{number}", "x" * 400)
                    await writer.append(Write(conversation_id=each, bodies=[ItemAdded(None, item)]))

            started = time.perf_counter()
            async with trio.open_nursery() as sessions:
                for each in ids:
                    sessions.start_soon(session, each)
            elapsed = time.perf_counter() - started
            await writer.close()
            nursery.cancel_scope.cancel()
        return APPENDS / elapsed

    return trio.run(main)


def _open(directory: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        directory / "plain.db", isolation_level=None, check_same_thread=False
    )
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE events (c TEXT, seq INTEGER, body TEXT, PRIMARY KEY (c, seq))")
    return connection


def commit_per_append(directory: Path) -> float:
    """Appends a second with one thread call and one commit for each."""
    count = APPENDS // 4  # slower by far: a quarter is enough to see how much

    async def main() -> float:
        connection = _open(directory)
        limiter = trio.CapacityLimiter(1)

        def append(session: str, seq: int) -> None:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO events VALUES (?, ?, ?)", (session, seq, BODY))
            connection.execute("COMMIT")

        async def session(name: str) -> None:
            for seq in range(count // SESSIONS):
                await trio.to_thread.run_sync(append, name, seq, limiter=limiter)

        started = time.perf_counter()
        async with trio.open_nursery() as sessions:
            for number in range(SESSIONS):
                sessions.start_soon(session, str(number))
        elapsed = time.perf_counter() - started
        connection.close()
        return count / elapsed

    return trio.run(main)


def bare_batches(directory: Path) -> float:
    """Appends a second of SQLite alone, 64 a commit."""
    connection = _open(directory)
    started = time.perf_counter()
    for seq in range(APPENDS // SESSIONS):
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(
            "INSERT INTO events VALUES (?, ?, ?)",
            [(str(number), seq, BODY) for number in range(SESSIONS)],
        )
        connection.execute("COMMIT")
    elapsed = time.perf_counter() - started
    connection.close()
    return APPENDS / elapsed


def compare(rounds: int = 5) -> tuple[float, float, float]:
    """Median ratios writer/commit-per-append and writer/bare, and the writer's appends a second."""

    def measure(what: Callable[[Path], float]) -> float:
        with tempfile.TemporaryDirectory() as directory:
            return what(Path(directory))

    rows = [
        (measure(group_commit), measure(commit_per_append), measure(bare_batches))
        for _ in range(rounds)
    ]
    return (
        statistics.median(ours / single for ours, single, _ in rows),
        statistics.median(ours / bare for ours, _, bare in rows),
        statistics.median(ours for ours, _, _ in rows),
    )


def measure_appends(rounds: int) -> Iterator[Row]:
    """Durable appends."""
    single, bare, rate = compare(rounds)
    yield Row(
        "durable appends, 64 sessions, against a commit per append",
        f"{single:.1f}× ({rate:,.0f} a second)",
        "≥ 10×",
        single >= 10,
    )
    yield Row("the same against bare SQLite, 64 a commit", f"{bare:.2f}×", "≥ 0.5×", bare >= 0.5)
