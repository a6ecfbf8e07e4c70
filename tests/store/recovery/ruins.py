"""A store with a bit of everything and the files that mirror it, to be damaged by tests."""

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from askd.core.blob_parts import find_blobs
from askd.core.conversation import fold
from askd.core.events import (
    CompletionFinished,
    ConversationCreated,
    Event,
    ItemAdded,
    ItemPinned,
    PromptAccepted,
    SettingsChanged,
    Titled,
    TurnStarted,
)
from askd.core.items import AssistantMessage, Blob, Text, UserMessage
from askd.core.outcome import Usage
from askd.core.rollout import RolloutWriter
from askd.core.rollout_lines import encode_line
from askd.store.log import Partial, Write
from askd.store.queries import Reader
from askd.store.rollouts.rows import place_file
from tests.store.builders import add, answer, create, finish, job, key, note, open_store, prompt

MEASURED = {"words": 900, "cyrillic": 300, "frames": 8, "base": 8}
LONG = b"a long text with the word quagga\n" * 10
LONG_ID = hashlib.sha256(LONG).hexdigest()
WORK = "11111111-0000-4000-8000-000000000001"
PLAY = "22222222-0000-4000-8000-000000000002"
FORK = "33333333-0000-4000-8000-000000000003"
CODEX = "44444444-0000-4000-8000-000000000004"
ALL = (WORK, PLAY, FORK, CODEX)

TABLES = (
    "conversations",
    "events",
    "open_turns",
    "keys",
    "terminals",
    "partials",
    "blobs",
    "blob_uses",
    "jobs",
    "usage",
    "search_rows",
    "token_rates",
)
FROM_EVENTS = (
    "conversations",
    "events",
    "open_turns",
    "blobs",
    "blob_uses",
    "usage",
    "token_rates",
)
"""What a rebuild makes again of the rollouts alone."""


async def build(path: Path) -> None:
    """Two conversations of our own, a fork of one, and one that was imported."""
    async with open_store(path) as store:
        clock, writer = store.clock, store.writer
        await writer.append(create(WORK, SettingsChanged(model="m/one"), name="work"))
        for number in (1, 2):
            clock.at += 10.0
            turn = f"w{number}"
            await writer.append(
                Write(
                    conversation_id=WORK,
                    bodies=[prompt(turn, f"question {number} zebra")],
                    key=key(f"key-{turn}", turn, f"digest-{turn}"),
                    terminal="tty1",
                )
            )
            clock.at += 0.25
            await writer.append(
                add(
                    WORK,
                    TurnStarted(turn, 1, "m/one"),
                    answer(turn, f"answer {number}"),
                    CompletionFinished(turn, 1, "end", Usage(1000 * number, 5), MEASURED),
                    finish(turn),
                )
            )
        await writer.append(add(WORK, Titled("Zebras"), ItemPinned(), note()))
        await writer.append(
            Write(
                conversation_id=PLAY,
                bodies=[
                    ConversationCreated(PLAY),
                    PromptAccepted(
                        "p1",
                        "key-p1",
                        (UserMessage("p1.0", (Blob(LONG_ID, len(LONG), "text/plain"),)),),
                    ),
                    TurnStarted("p1", 1, "m/two"),
                ],
                create=True,
                key=key("key-p1", "p1", "digest-p1"),
                blobs=[(LONG_ID, LONG)],
                jobs=[job("j1", PLAY, run_at=9e9)],
            )
        )
        writer.save_partial(Partial(PLAY, "p1", "p1.1", "text", "so far"))
        await writer.flush()
        clock.at += 5
        copied = (PromptAccepted("w1", "", (UserMessage("w1.0", (Text("question"),)),)),)
        paid = CompletionFinished("w1", 1, "end", Usage(10, 5))
        own = CompletionFinished("f1", 1, "end", Usage(3, 4))
        times = [clock.at, 1010.0, 1010.0, 1010.25, 1010.25]
        await writer.append(
            Write(
                conversation_id=FORK,
                bodies=[
                    ConversationCreated(FORK, forked_from=WORK),
                    *copied,
                    TurnStarted("w1", 1, "m/one"),
                    paid,
                    finish("w1"),
                ],
                create=True,
                times=times,
            )
        )
        said = AssistantMessage("f1.1", (Text("mine"),))
        await writer.append(
            Write(
                conversation_id=FORK,
                bodies=[
                    prompt("f1", "on"),
                    TurnStarted("f1", 1, "m/two"),
                    ItemAdded("f1", said, 1),
                    own,
                    finish("f1"),
                ],
                key=key("key-f1", "f1", "digest-f1"),
            )
        )
        await writer.append(
            Write(
                conversation_id=CODEX,
                bodies=[
                    ConversationCreated(CODEX, "old talk"),
                    PromptAccepted("c1", "c1", (UserMessage("c1.0", (Text("from codex"),)),)),
                    TurnStarted("c1", 1, "m/x"),
                    CompletionFinished("c1", 1, "end", Usage(1000, 1000)),
                    finish("c1"),
                ],
                create=True,
                times=[500.0, 500.0, 500.0, 501.0, 501.0],
            )
        )
        await writer.append(create("gone"))
        await writer.append(
            Write(conversation_id="gone", bodies=[prompt("g")], key=key("key-gone", "g"))
        )
        await writer.delete("gone")


async def mirror(path: Path, directory: Path) -> dict[str, Path]:
    """Write every conversation's file, and no row; which file is whose."""
    reader = Reader(path)
    found: dict[str, Path] = {}
    try:
        page = await reader.list_conversations(cursor=None, limit=10_000)
        for row in page.rows:
            events = await reader.load(row.id)
            file = found[row.id] = place_file(directory, row.id, row.created_at)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(encode(row.id, events, read_blobs(path)))
    finally:
        reader.close()
    return found


def note_files(path: Path, files: dict[str, Path]) -> None:
    """Give files their rows, as of files that tell something."""
    for id, file in files.items():
        known = (id, str(file.relative_to(path.parent)))
        change(path, "INSERT OR REPLACE INTO rollouts VALUES (?, ?, 1, 10)", *known)


def encode(conversation_id: str, events: list[Event], blobs: dict[str, bytes]) -> bytes:
    """The lines of a rollout."""
    writer = RolloutWriter(conversation_id, provider="m", version="9")
    lines = []
    for event in events:
        contents = {sha256: blobs[sha256] for sha256 in find_blobs([event.body])}
        lines += [encode_line(record) for record in writer.feed(event, contents)]
    return b"".join(lines)


def read_blobs(path: Path) -> dict[str, bytes]:
    """Every blob by its digest."""
    return dict(query(path, "SELECT sha256, data FROM blobs"))


def query(path: Path, text: str, *values: Any) -> list[Any]:
    """Rows of a database that nobody has open."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(text, values).fetchall()


def change(path: Path, text: str, *values: Any) -> None:
    """Change a database behind everybody's back."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(text, values)


def read(path: Path) -> bytes:
    """A file's content."""
    return path.read_bytes()


def write(path: Path, content: bytes | bytearray) -> None:
    """Overwrite a file."""
    path.write_bytes(content)


def dump(path: Path, tables: tuple[str, ...] = TABLES) -> dict[str, list[Any]]:
    """Every row of these tables, in an order; what says when it came in is left out."""
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        found: dict[str, list[Any]] = {}
        for table in tables:
            rows = [dict(row) for row in connection.execute(f"SELECT * FROM {table}")]
            for row in rows:
                row.pop("imported_at", None)
            found[table] = sorted((tuple(row.items()) for row in rows), key=repr)
        return found


def check(path: Path) -> None:
    """The database is whole, and what follows from its events does follow."""
    assert query(path, "PRAGMA integrity_check") == [("ok",)]
    assert query(path, "PRAGMA foreign_key_check") == []
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("INSERT INTO search (search) VALUES ('integrity-check')")
    for id, last in query(path, "SELECT id, last_seq FROM conversations"):
        rows = query(path, "SELECT seq FROM events WHERE conversation_id = ? ORDER BY seq", id)
        assert [seq for (seq,) in rows] == list(range(1, last + 1))


async def fold_one(path: Path, conversation_id: str) -> Any:
    """A conversation as a session would load it."""
    reader = Reader(path)
    try:
        return fold(conversation_id, await reader.load(conversation_id))
    finally:
        reader.close()


def size(path: Path) -> int:
    """Bytes of a file."""
    return path.stat().st_size


def find_links(path: Path) -> int:
    """How many names a file has."""
    return path.stat().st_nlink
