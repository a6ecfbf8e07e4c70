"""Steps are taken once, whole or not at all, and a newer database is left alone."""

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from askd.errors import NewerSchema, StorageFailed
from askd.store.backups import BACKUP_AGE_S, backup_path
from askd.store.database import configure_writer, prepare_file
from askd.store.migrations import MIGRATIONS, Migration, migrate, split_statements

FIRST = Migration(1, "first", "CREATE TABLE a (x TEXT NOT NULL);\nINSERT INTO a VALUES ('kept');\n")
SECOND = Migration(2, "second", "ALTER TABLE a ADD COLUMN y TEXT;\nUPDATE a SET y = 'new';")


@pytest.fixture
def fresh(path: Path) -> Iterator[sqlite3.Connection]:
    prepare_file(path)
    connection = sqlite3.connect(path, isolation_level=None)
    configure_writer(connection, path)
    yield connection
    connection.close()


def numbers(connection: sqlite3.Connection) -> list[int]:
    return [n for (n,) in connection.execute("SELECT number FROM migrations ORDER BY number")]


def test_a_fresh_database_has_every_table(fresh: sqlite3.Connection, path: Path) -> None:
    migrate(fresh, path, at=7.0)
    tables = {n for (n,) in fresh.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert tables == {
        "migrations",
        "conversations",
        "events",
        "open_turns",
        "keys",
        "terminals",
        "partials",
        "blobs",
        "blob_uses",
        "jobs",
        "rollouts",
        "snapshots",
        "snapshot_refs",
        "token_rates",
        "rollout_removals",
        "usage",
        "search_rows",
        "search_chores",
        "search",
        # FTS5 keeps the index in tables of its own.
        "search_data",
        "search_idx",
        "search_docsize",
        "search_config",
        "schedules",
        "slots",
    }
    taken = fresh.execute("SELECT * FROM migrations").fetchall()
    assert taken == [(each.number, each.name, 7.0) for each in MIGRATIONS]
    assert [number for number, _, _ in taken] == list(range(1, len(MIGRATIONS) + 1))
    assert fresh.execute("PRAGMA foreign_key_check").fetchall() == []
    assert not list(path.parent.glob("*backup*")), "there was nothing to lose"


def test_a_copy_goes_after_a_while(fresh: sqlite3.Connection, path: Path) -> None:
    """It holds what people have deleted since, so it may not stay for ever."""
    migrate(fresh, path, at=0.0, migrations=[FIRST])
    migrate(fresh, path, at=0.0, migrations=[FIRST, SECOND])
    copy = backup_path(path, 1)
    made_at = copy.stat().st_mtime
    migrate(fresh, path, at=made_at + BACKUP_AGE_S - 1, migrations=[FIRST, SECOND])
    assert copy.exists()
    migrate(fresh, path, at=made_at + BACKUP_AGE_S + 1, migrations=[FIRST, SECOND])
    assert not copy.exists()
    assert path.exists()


def test_numbers_go_up() -> None:
    taken = [each.number for each in MIGRATIONS]
    assert taken == sorted(set(taken))
    assert taken[0] == 1


def test_pending_steps_are_taken_once_after_a_copy(fresh: sqlite3.Connection, path: Path) -> None:
    migrate(fresh, path, at=1.0, migrations=[FIRST])
    for _ in range(2):
        migrate(fresh, path, at=2.0, migrations=[FIRST, SECOND])
        assert fresh.execute("SELECT x, y FROM a").fetchall() == [("kept", "new")]
        assert numbers(fresh) == [1, 2]
    backup = backup_path(path, 1)
    assert backup.stat().st_mode & 0o777 == 0o600
    copy = sqlite3.connect(backup)
    assert copy.execute("SELECT * FROM a").fetchall() == [("kept",)]
    assert numbers(copy) == [1]
    copy.close()
    assert {each.name for each in path.parent.glob("*backup*")} == {backup.name}


def test_a_step_may_be_a_function(fresh: sqlite3.Connection, path: Path) -> None:
    def shout(connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE a SET x = upper(x)")

    migrate(fresh, path, at=1.0, migrations=[FIRST, Migration(2, "shout", shout)])
    assert fresh.execute("SELECT x FROM a").fetchall() == [("KEPT",)]


def test_a_step_that_fails_leaves_the_old_state(fresh: sqlite3.Connection, path: Path) -> None:
    migrate(fresh, path, at=1.0, migrations=[FIRST])
    bad = Migration(2, "bad", "ALTER TABLE a ADD COLUMN y;\nINSERT INTO nowhere VALUES (1);")
    with pytest.raises(StorageFailed, match=r"schema 2 \(bad\).*as it was.*backup-1") as caught:
        migrate(fresh, path, at=2.0, migrations=[FIRST, bad])
    assert "nowhere" in caught.value.message
    assert not fresh.in_transaction
    assert fresh.execute("SELECT * FROM a").fetchall() == [("kept",)]
    assert numbers(fresh) == [1]
    migrate(fresh, path, at=3.0, migrations=[FIRST, SECOND])
    assert numbers(fresh) == [1, 2]


def test_a_crash_in_a_step_leaves_the_old_state(fresh: sqlite3.Connection, path: Path) -> None:
    migrate(fresh, path, at=1.0, migrations=[FIRST])
    fresh.close()
    code = f"""
import os, signal, sqlite3
from pathlib import Path
from askd.store.database import configure_writer
from askd.store.migrations import Migration, migrate

def die(connection):
    connection.execute("ALTER TABLE a ADD COLUMN y TEXT")
    connection.execute("DELETE FROM a")
    os.kill(os.getpid(), signal.SIGKILL)

path = Path({str(path)!r})
connection = sqlite3.connect(path, isolation_level=None)
configure_writer(connection, path)
migrate(connection, path, at=2.0, migrations=[Migration(1, "first", ""), Migration(2, "x", die)])
"""
    killed = subprocess.run([sys.executable, "-c", code], check=False)
    assert killed.returncode == -9
    again = sqlite3.connect(path, isolation_level=None)
    assert again.execute("SELECT * FROM a").fetchall() == [("kept",)]
    migrate(again, path, at=3.0, migrations=[FIRST, SECOND])
    assert again.execute("SELECT x, y FROM a").fetchall() == [("kept", "new")]
    again.close()


def test_a_newer_database_is_left_alone(fresh: sqlite3.Connection, path: Path) -> None:
    migrate(fresh, path, at=1.0, migrations=[FIRST, SECOND])
    with pytest.raises(NewerSchema, match=r"schema 2, this one knows 1.*ASK_HOME") as caught:
        migrate(fresh, path, at=2.0, migrations=[FIRST])
    assert caught.value.code == 74
    assert numbers(fresh) == [1, 2]


def test_another_programs_database_is_left_alone(fresh: sqlite3.Connection, path: Path) -> None:
    fresh.execute("CREATE TABLE theirs (x)")
    with pytest.raises(StorageFailed, match="not one of askd's"):
        migrate(fresh, path, at=1.0)


def test_without_a_copy_no_step_is_taken(fresh: sqlite3.Connection, path: Path) -> None:
    migrate(fresh, path, at=1.0, migrations=[FIRST])
    backup_path(path, 1).mkdir()
    (backup_path(path, 1) / "in the way").write_text("")
    with pytest.raises(StorageFailed, match="backup-1"):
        migrate(fresh, path, at=2.0, migrations=[FIRST, SECOND])
    assert numbers(fresh) == [1]
    assert not list(path.parent.glob("*.partial"))


def test_a_script_is_split_where_its_statements_end() -> None:
    script = "-- note; no end\nCREATE TABLE a (\n  x\n);\nINSERT INTO a VALUES (';');\nEND"
    assert [each.strip() for each in split_statements(script)] == [
        "-- note; no end\nCREATE TABLE a (\n  x\n);",
        "INSERT INTO a VALUES (';');",
        "END",
    ]
