"""A database that is up to date, on a connection that can write."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from askd.store.database import configure_writer, prepare_file
from askd.store.migrations import migrate


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the database is, or will be."""
    return tmp_path / "data" / "ask.db"


@pytest.fixture
def connection(path: Path) -> Iterator[sqlite3.Connection]:
    """As the writer opens it."""
    prepare_file(path)
    connection = sqlite3.connect(path, isolation_level=None)
    configure_writer(connection, path)
    migrate(connection, path, at=1.0)
    connection.execute("PRAGMA foreign_keys = ON")
    yield connection
    connection.close()
