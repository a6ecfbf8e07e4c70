"""Durable appends: 64 sessions through the writer, against the two obvious alternatives.

All use `synchronous=FULL` on the same file system, in turn: the writer's group
commit; one commit per append in a worker thread; bare SQLite without any daemon, 64
rows a commit, which is the most that the disk and the library give.

The alternatives come twice. Once with one small table in the order of arrival, which
no history can be read from in good time; and once with the store's own tables, where an
append is an event beside its conversation's others, and the conversation's line in the
list: only there both sides do the same, and the ratio is the writer's alone.
"""

import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import trio

from askd.core.events import VERSION, ConversationCreated, ItemAdded
from askd.core.items import Notice
from askd.store import changes
from askd.store.batch import commit_batch
from askd.store.bodies import encode_text
from askd.store.log import Write
from askd.store.migrations import MIGRATIONS
from askd.store.transactions import Transactions
from askd.store.writer import Writer, connect
from tests.bench.rows import Row

SESSIONS = 64
APPENDS = 4096
BODY = '{"type":"renamed","name":"' + "x" * 470 + '"}'
"""About 500 bytes, as a message of a few lines."""
IDS = [f"{number:08d}-0000-4000-8000-000000000000" for number in range(SESSIONS)]

WHY = """\
The store keeps a conversation's events together, so that a history is read in one piece whatever
was written between: 64 appends to 64 conversations change 160 to 220 pages, where a small table in
the order of arrival changes 18. That alone makes SQLite, with nothing around it, 2 to 4 times
slower (22 µs of CPU an append against 5, and 780 kB to sync against 75). Of the writer's 130 µs an
append (at a real-time priority), 47 are COMMIT, a sync for 64; 33 its seven statements in C, since
the list, the turns and the index of words follow in the same transaction; 19 the Python around
them; 31 the event loop: the event as JSON, the queue, the answer. Without its savepoints, the one
part that could be left out, it is 3 % faster. The slower a sync is, as on a disk that others use,
the more is gained by sharing it: then the first ratio is about 10."""


def make_write(conversation_id: str, number: int) -> Write:
    """One append of a session: about as many bytes."""
    return Write(
        conversation_id=conversation_id,
        bodies=[ItemAdded(None, Notice(f"{number}", "x" * 400))],
    )


def group_commit(directory: Path) -> float:
    """Appends a second through the real writer."""

    async def main() -> float:
        writer = Writer(
            directory / "ask.db", observe=lambda events: None, now=time.time, boot_id="bench"
        )
        async with trio.open_nursery() as nursery:
            await nursery.start(writer.run)
            for each in IDS:
                await writer.append(
                    Write(conversation_id=each, bodies=[ConversationCreated(each)], create=True)
                )

            async def session(each: str) -> None:
                for number in range(APPENDS // SESSIONS):
                    await writer.append(make_write(each, number))

            started = time.perf_counter()
            async with trio.open_nursery() as sessions:
                for each in IDS:
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


@contextmanager
def open_store(directory: Path) -> Iterator[sqlite3.Connection]:
    """The writer's connection without the writer, on a store that holds the conversations."""
    store = Transactions(
        directory / "ask.db", connect=connect, now=time.time, migrations=MIGRATIONS
    )
    store.open()
    connection = store.connection
    assert connection is not None
    created = [
        changes.append(Write(conversation_id=each, bodies=[ConversationCreated(each)], create=True))
        for each in IDS
    ]
    commit_batch(connection, created, at=time.time())
    connection.execute("PRAGMA wal_autocheckpoint = 1000")  # SQLite's own, for want of a writer
    yield connection
    store.close()


def commit_each(directory: Path) -> float:
    """Appends a second into the store's tables with one thread call and one commit for each."""
    count = APPENDS // 4

    async def main(connection: sqlite3.Connection) -> float:
        limiter = trio.CapacityLimiter(1)

        def append(each: str, number: int) -> None:
            commit_batch(connection, [changes.append(make_write(each, number))], at=time.time())

        async def session(each: str) -> None:
            for number in range(count // SESSIONS):
                await trio.to_thread.run_sync(append, each, number, limiter=limiter)

        started = time.perf_counter()
        async with trio.open_nursery() as sessions:
            for each in IDS:
                sessions.start_soon(session, each)
        return count / (time.perf_counter() - started)

    with open_store(directory) as connection:
        return trio.run(main, connection)


def same_batches(directory: Path) -> float:
    """Appends a second of SQLite alone into the store's tables, 64 a commit, nothing checked."""
    with open_store(directory) as connection:
        started = time.perf_counter()
        for number in range(APPENDS // SESSIONS):
            at = time.time()
            (body,) = make_write("", number).bodies
            text = encode_text(body)
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(
                "INSERT INTO events (conversation_id, seq, at, type, version, body)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                [(each, number + 2, at, body.TYPE, VERSION, text) for each in IDS],
            )
            connection.executemany(
                "UPDATE conversations SET last_seq = ?, updated_at = ? WHERE id = ?",
                [(number + 2, at, each) for each in IDS],
            )
            connection.execute("COMMIT")
        return APPENDS / (time.perf_counter() - started)


ALTERNATIVES: Sequence[tuple[str, Callable[[Path], float], float]] = (
    ("against a commit per append, one small table", commit_per_append, 10),
    ("against bare SQLite, 64 a commit, one small table", bare_batches, 0.5),
    ("against a commit per append, the same tables", commit_each, 10),
    ("against bare SQLite, 64 a commit, the same tables", same_batches, 0.5),
)
"""What the writer is measured beside, each with the ratio that is wanted."""


def measure_rate(way: Callable[[Path], float]) -> float:
    """Appends a second of one way, in a directory of its own."""
    with tempfile.TemporaryDirectory() as directory:
        return way(Path(directory))


def measure_appends(rounds: int) -> Iterator[Row]:
    """Durable appends."""
    own: list[float] = []
    ratios: list[list[float]] = [[] for _ in ALTERNATIVES]
    for _ in range(rounds):
        own.append(measure_rate(group_commit))
        for (_, way, _), found in zip(ALTERNATIVES, ratios, strict=True):
            found.append(own[-1] / measure_rate(way))
    rate = statistics.median(own)
    for (name, _, wanted), found in zip(ALTERNATIVES, ratios, strict=True):
        ratio = statistics.median(found)
        yield Row(
            f"durable appends, 64 sessions, {name}",
            f"{ratio:.2f}× ({rate:,.0f} a second)",
            f"≥ {wanted:g}×",
            ratio >= wanted,
            ratio=ratio,
        )
