"""Commits that never raise, on a connection that is opened anew when it breaks."""

import contextlib
import random
import sqlite3
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from askd.errors import RequestError, StorageFailed
from askd.store import transactions as transactions_module
from askd.store.batch import Change, Done
from askd.store.changes import append, delete, save_partials
from askd.store.checkpoint import wal_size
from askd.store.log import Partial
from askd.store.migrations import MIGRATIONS
from askd.store.search import index as search_index
from askd.store.transactions import Asked, Transactions
from askd.store.writer import connect
from tests.store.builders import add, create, finish, note, prompt

LEAKY_SEEDS = (2, 5, 12, 22)
"""With these, rows that moved from page to page have left copies that `secure_delete` misses
(SQLite 3.40), unless the database is written anew."""


@pytest.fixture
def transactions(path: Path) -> Iterator[Transactions]:
    transactions = Transactions(path, connect=connect, now=lambda: 1.0, migrations=MIGRATIONS)
    transactions.open()
    said(transactions, append(create("c")))
    yield transactions
    transactions.close()


def said(transactions: Transactions, *changes: Change[Any]) -> list[str]:
    """The class of each outcome, or what the refusal said."""
    outcomes = transactions.commit([Asked(change) for change in changes], at=1.0)
    return [
        "done" if isinstance(each, Done) else getattr(each, "message", repr(each))
        for each in outcomes
    ]


def connection_of(transactions: Transactions) -> sqlite3.Connection:
    assert transactions.connection is not None
    return transactions.connection


def test_opened_it_is_at_rest(transactions: Transactions, path: Path) -> None:
    said(transactions, append(add("c", note())))
    assert wal_size(path) > 0
    size = wal_size(path)
    assert transactions.rest()
    assert wal_size(path) == size, "nothing was deleted: the file is kept"
    said(transactions, append(add("c", note())))
    assert wal_size(path) == size
    assert path.with_name("reserve.bin").exists()


def test_what_an_earlier_daemon_left_in_the_log_is_emptied(path: Path) -> None:
    killed = Transactions(path, connect=connect, now=lambda: 1.0, migrations=MIGRATIONS)
    killed.open()
    said(killed, append(create("c")))
    assert killed.rest()
    assert wal_size(path) > 0
    next_one = Transactions(path, connect=connect, now=lambda: 1.0, migrations=MIGRATIONS)
    next_one.open()
    assert wal_size(path) == 0
    next_one.close()
    killed.close()


def test_closed_it_leaves_no_log(transactions: Transactions, path: Path) -> None:
    other = sqlite3.connect(f"file:{path}?mode=ro", uri=True)  # so that SQLite keeps the file
    other.execute("SELECT * FROM keys").fetchall()
    assert transactions.rest()
    assert wal_size(path) > 0
    transactions.close()
    assert wal_size(path) == 0
    other.close()


def test_commits_are_counted_and_refusals_stay_what_they_are(transactions: Transactions) -> None:
    before = transactions.commits
    outcomes = transactions.commit(
        [Asked(append(create("c"))), Asked(append(add("c", note())))], at=1.0
    )
    assert isinstance(outcomes[0], RequestError)
    assert isinstance(outcomes[1], Done)
    assert transactions.commits == before + 1


def test_a_broken_connection_is_opened_anew(transactions: Transactions) -> None:
    connection_of(transactions).close()
    (refused,) = said(transactions, append(add("c", note())))
    assert "closed database" in refused
    assert said(transactions, append(add("c", note()))) == ["done"]
    assert connection_of(transactions).execute("PRAGMA foreign_keys").fetchone() == (1,)


def test_what_cannot_be_opened_anew_is_refused_until_it_can(
    transactions: Transactions, path: Path
) -> None:
    connection_of(transactions).close()
    said(transactions, append(add("c", note())))
    aside = path.with_name("aside.db")
    path.rename(aside)
    (refused,) = said(transactions, append(add("c", note())))
    assert "cannot be opened" in refused
    assert not path.exists(), "an empty database would hide that all is gone"
    aside.rename(path)
    assert said(transactions, append(add("c", note()))) == ["done"]


def test_a_lock_that_another_program_holds(transactions: Transactions, path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    connection_of(transactions).execute("PRAGMA busy_timeout = 0")
    refused = said(transactions, append(add("c", note())), append(add("c", note())))
    assert len(refused) == 2
    assert all("locked by another program" in each for each in refused)
    other.execute("ROLLBACK")
    other.close()
    assert said(transactions, append(add("c", note()))) == ["done"]


@pytest.mark.parametrize("replaced", [False, True])
def test_nothing_is_acknowledged_into_a_file_without_a_name(
    transactions: Transactions, path: Path, replaced: bool
) -> None:
    aside = path.with_name("aside.db")
    path.rename(aside)
    if replaced:
        path.touch()
    (refused,) = said(transactions, append(add("c", note())))
    assert "removed or replaced" in refused
    aside.rename(path)
    assert said(transactions, append(add("c", note()))) == ["done"]


def test_each_caller_gets_an_error_of_its_own(transactions: Transactions, path: Path) -> None:
    path.rename(path.with_name("aside.db"))
    one, other = transactions.commit([Asked(append(add("c", note())))] * 2, at=1.0)
    assert isinstance(one, StorageFailed)
    assert isinstance(other, StorageFailed)
    assert one is not other
    assert one.message == other.message
    path.with_name("aside.db").rename(path)


def test_what_nobody_foresaw_is_an_outcome_too(
    transactions: Transactions, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Transactions, "_find_identity", lambda self: 1 // 0)
        (refused,) = said(transactions, append(add("c", note())))
    assert "see the daemon's log" in refused
    assert "ZeroDivisionError" in caplog.text
    assert said(transactions, append(add("c", note()))) == ["done"]


def test_the_reserve_is_given_up_for_a_deletion_alone(
    transactions: Transactions, path: Path
) -> None:
    reserve = path.with_name("reserve.bin")
    connection = connection_of(transactions)
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages + 1}")
    (refused,) = said(transactions, append(add("c", note("x" * 100_000))))
    assert "No space left" in refused
    assert reserve.exists()

    tries = []

    def starve_once(connection: sqlite3.Connection, at: float) -> Done[None]:
        tries.append(reserve.exists())
        if reserve.exists():
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error
        return delete("c")(connection, at)

    (outcome,) = transactions.commit([Asked(starve_once, deletes=True)], at=1.0)
    assert isinstance(outcome, Done)
    assert tries == [True, False]
    assert wal_size(path) == 0, "nothing that was deleted stays in the log"
    (outcome,) = transactions.commit([Asked(append(create("c")))], at=1.0)
    assert isinstance(outcome, Done)


def delete_one(transactions: Transactions, id: str) -> None:
    said(transactions, append(create(id, prompt("t", f"quagga {id}"))))
    outcomes = transactions.commit([Asked(delete(id), deletes=True)], at=1.0)
    assert isinstance(outcomes[0], Done)


def test_after_a_deletion_the_log_is_emptied_until_all_has_come_to_rest(
    transactions: Transactions, path: Path
) -> None:
    delete_one(transactions, "d")
    assert wal_size(path) == 0
    said(transactions, append(add("c", note())))
    assert transactions.checkpoint()
    assert wal_size(path) == 0, "a page that was written may still have had some of it"
    said(transactions, append(add("c", note())))
    assert transactions.rest()
    assert wal_size(path) == 0
    said(transactions, append(add("c", note())))
    assert transactions.rest()
    assert wal_size(path) > 0


def test_what_a_reader_held_after_a_deletion_is_owed(
    transactions: Transactions, path: Path
) -> None:
    said(transactions, append(add("c", note())))
    assert transactions.rest()
    said(transactions, append(create("d", prompt("t", "quagga"))))
    reader = sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM keys").fetchall()
    outcomes = transactions.commit([Asked(delete("d"), deletes=True)], at=1.0)
    assert isinstance(outcomes[0], Done)
    for _ in range(3):
        said(transactions, append(add("c", note())))
        assert not transactions.checkpoint()
        assert not transactions.rest()
    assert is_in_files(path, b"quagga")
    reader.close()
    assert transactions.checkpoint()
    assert wal_size(path) == 0
    assert not is_in_files(path, b"quagga")


def test_a_change_that_forgets_has_the_log_emptied_at_rest(
    transactions: Transactions, path: Path
) -> None:
    transactions.rest()
    outcomes = transactions.commit([Asked(lambda *_: Done(None, forgets=True))], at=1.0)
    assert isinstance(outcomes[0], Done)
    said(transactions, append(add("c", note())))
    assert wal_size(path) > 0, "nobody waits for it"
    assert transactions.rest()
    assert wal_size(path) == 0


def test_while_the_index_cannot_be_cleaned_the_log_is_emptied(
    transactions: Transactions, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(connection: sqlite3.Connection) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(transactions_module, "tend", fail)
        delete_one(transactions, "d")
        assert transactions.rest()
    said(transactions, append(add("c", note())))
    assert transactions.rest()
    assert wal_size(path) == 0


def forget_how(transactions: Transactions, monkeypatch: pytest.MonkeyPatch) -> None:
    """Be an SQLite that cannot take words out of the index's pages by itself."""
    monkeypatch.setattr(search_index, "HAS_SECURE_DELETE", False)
    with contextlib.suppress(sqlite3.OperationalError):  # it is one
        connection_of(transactions).execute(
            "INSERT INTO search (search, rank) VALUES ('secure-delete', 0)"
        )


def words_left(transactions: Transactions) -> int:
    found = connection_of(transactions).execute(
        "SELECT count(*) FROM search_data WHERE instr(block, 'quagga')"
    )
    return int(found.fetchone()[0])


def test_deleted_words_are_gone_when_the_deletion_is_answered(
    transactions: Transactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget_how(transactions, monkeypatch)
    delete_one(transactions, "d")
    assert words_left(transactions) == 0


def test_after_many_deletions_in_a_row_the_index_is_cleaned_at_rest(
    transactions: Transactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget_how(transactions, monkeypatch)
    monkeypatch.setattr(transactions_module, "TEND_SHARE", 1e9)
    delete_one(transactions, "d")
    delete_one(transactions, "e")
    assert words_left(transactions) > 0, "cleaning it each time would take longer than deleting"
    transactions.rest()
    assert words_left(transactions) == 0


def test_an_index_that_cannot_be_cleaned_now_is_cleaned_later(
    transactions: Transactions, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(connection: sqlite3.Connection) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patched:
        forget_how(transactions, patched)
        patched.setattr(transactions_module, "tend", fail)
        delete_one(transactions, "d")
    assert "cannot be cleaned now" in caplog.text
    transactions.rest()
    assert words_left(transactions) == 0


def test_erased_is_what_no_reader_holds(transactions: Transactions, path: Path) -> None:
    assert transactions.erase()
    reader = sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM keys").fetchall()
    connection_of(transactions).execute("INSERT INTO keys VALUES ('a', 'd', 'c', 't', 1)")
    assert not transactions.erase()
    reader.close()
    assert transactions.erase()


def test_a_disk_without_room_for_it_twice_is_said(
    transactions: Transactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(connection: sqlite3.Connection, path: Path) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr("askd.store.transactions.rewrite", refuse)
    assert not transactions.erase()
    monkeypatch.undo()
    assert transactions.erase()
    transactions.close()
    assert not transactions.erase(), "there is nothing to write"


def delete_among_others(transactions: Transactions, seed: int) -> None:
    """Conversations that grew among each other; every second one is deleted."""
    chance = random.Random(seed)
    ids = [str(uuid.UUID(int=chance.getrandbits(128))) for _ in range(8)]
    for id in ids:
        said(transactions, append(create(id)))
    for turn in range(120):
        id, turn_id = chance.choice(ids), f"t{turn}"
        word = "quagga " if ids.index(id) % 2 else "zebra "
        length = int(10 ** chance.uniform(0, 2.8))
        said(transactions, append(add(id, prompt(turn_id, word * length))))
        for share in (3, 2, 1):  # the text of a running answer grows, and its row moves
            partial = Partial(id, turn_id, f"{turn_id}.1", "text", word * (length // share))
            said(transactions, save_partials([partial]))
        said(transactions, append(add(id, finish(turn_id))))
    for id in ids[1::2]:
        outcomes = transactions.commit([Asked(delete(id), deletes=True)], at=1.0)
        assert isinstance(outcomes[0], Done)


def is_in_files(path: Path, word: bytes) -> bool:
    return any(word in each.read_bytes() for each in path.parent.iterdir() if each.is_file())


@pytest.mark.parametrize("seed", LEAKY_SEEDS)
def test_a_deletion_leaves_no_byte_when_the_log_comes_to_rest(
    transactions: Transactions, path: Path, seed: int
) -> None:
    delete_among_others(transactions, seed)
    assert transactions.rest()
    assert not is_in_files(path, b"quagga")
    assert is_in_files(path, b"zebra")
