"""Every text that is stored, page by page: what an expression is looked for in.

Texts as people and models said them, and not as JSON spells them; of content
that is no text nothing. It changes nothing and compares nothing.
"""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from askd.core.rewriting import Rewrite, rewrite_record
from askd.store import blobs
from askd.store.schedules.scrubbing import TEXTS as SCHEDULES

PAGE_CHARACTERS = 1_000_000
"""What is handed on at once; a text is never parted, however long."""

_TABLES = (
    "SELECT CAST(body AS BLOB) FROM events ORDER BY conversation_id, seq",
    "SELECT text FROM partials",
    "SELECT arguments FROM jobs",
    "SELECT errors FROM jobs",
    "SELECT model FROM usage GROUP BY model",
    "SELECT terminal FROM terminals",
    "SELECT key FROM keys",
    *SCHEDULES,
)


def read_texts(connection: sqlite3.Connection, files: list[Path]) -> Iterator[list[str]]:
    """Pages of texts of the database, then lines of files; what cannot be read has none."""
    page: list[str] = []
    size = 0
    for text in _read_all(connection, files):
        page.append(text)
        size += len(text)
        if size >= PAGE_CHARACTERS:
            yield page
            page, size = [], 0
    yield page


def _read_all(connection: sqlite3.Connection, files: list[Path]) -> Iterator[str]:
    for table in _TABLES:
        for (value,) in connection.execute(table):
            if value is not None:
                yield from find_texts(value if isinstance(value, bytes) else str(value).encode())
    for (sha256,) in connection.execute("SELECT sha256 FROM blobs").fetchall():
        try:
            yield blobs.read_blob(connection, sha256).decode("utf-8")
        except UnicodeDecodeError:
            continue
    for path in files:
        try:
            with path.open("rb") as stream:
                for line in stream:
                    yield from find_texts(line)
        except OSError:
            continue


def find_texts(content: bytes) -> list[str]:
    """The texts of a record that is JSON; any other is one text."""
    text = content.decode("utf-8", "replace")
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return [text]
    found: list[str] = []

    def take(text: str) -> str:
        found.append(text)
        return text

    rewrite_record(record, Rewrite(text=take, token=take, name=take))
    return found
