"""Each refusal is a sentence, with the code and the word that programs match."""

import sqlite3
from pathlib import Path

import pytest

from askd.errors import NotFound
from askd.store import refusals
from askd.store.log import Fence, PromptKey

PATH = Path("/data/ask.db")


def sqlite_error(code: int, name: str = "SQLITE_X") -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("text of sqlite")
    error.sqlite_errorcode = code
    error.sqlite_errorname = name
    return error


def test_an_unknown_conversation_is_named_and_the_list_is_offered() -> None:
    refusal = refusals.conversation_not_found("nope")
    assert refusal.message == "Conversation not found: id=nope\nList them: ask list"
    assert (refusal.code, refusal.reason) == (3, "conversation_not_found")


def test_candidates_are_told_apart() -> None:
    found = [("12345678-aaaa", "work"), ("12345678-aabb", None)]
    refusal = refusals.conversation_ambiguous("1234", found)
    assert "12345678-aaa (work), 12345678-aab." in refusal.message
    assert "more characters" in refusal.message
    assert refusal.data == {"candidates": ["12345678-aaaa", "12345678-aabb"]}
    assert (refusal.code, refusal.reason) == (3, "conversation_ambiguous")


def test_many_candidates_do_not_make_a_long_sentence() -> None:
    found = [(f"{n:08x}-aaaa", None) for n in range(40)]
    refusal = refusals.conversation_ambiguous("0000", found)
    assert "30 more" in refusal.message
    assert len(refusal.data["candidates"]) == 40


def test_words_for_programs() -> None:
    assert refusals.name_taken("work", "12345678-aaaa").reason == "name_taken"
    assert "12345678." in refusals.name_taken("work", "12345678-aaaa").message
    assert refusals.key_reused(PromptKey(key="k", digest="d", turn_id="t")).reason == "key_reused"
    assert refusals.blob_not_found("ab").reason == "blob_not_found"
    assert refusals.job_not_found("j").reason == "job_not_found"
    assert isinstance(refusals.job_not_found("j"), NotFound)
    for nobody in (refusals.job_not_found(""), refusals.schedule_not_found("")):
        assert nobody.message.endswith("is named: its id is empty.")
        assert nobody.code == 3
    assert refusals.bad_cursor().reason == "bad_params"
    assert refusals.conversation_exists("c").code == 2
    assert refusals.stale_fence(Fence("j", "b", 2)).code == 74


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (sqlite3.SQLITE_FULL, "No space left on the disk that holds /data/ask.db."),
        (sqlite3.SQLITE_READONLY, "/data/ask.db cannot be written"),
        (sqlite3.SQLITE_CANTOPEN, "/data/ask.db cannot be opened"),
        (sqlite3.SQLITE_BUSY, "locked by another program"),
        (sqlite3.SQLITE_LOCKED, "locked by another program"),
        (sqlite3.SQLITE_CORRUPT, "is damaged"),
        (sqlite3.SQLITE_NOTADB, "is damaged"),
        (sqlite3.SQLITE_IOERR | (3 << 8), "reported an error (SQLITE_X)"),
        (sqlite3.SQLITE_ERROR, "text of sqlite"),
    ],
)
def test_what_sqlite_says_becomes_a_sentence(code: int, words: str) -> None:
    failed = refusals.storage_failed(sqlite_error(code), PATH)
    assert words in failed.message
    assert failed.message.endswith(".")
    assert failed.code == 74
    assert failed.data == {"path": "/data/ask.db"}


def test_what_the_system_says_becomes_a_sentence() -> None:
    failed = refusals.storage_failed(PermissionError(13, "Permission denied"), PATH)
    assert failed.message == "/data/ask.db cannot be written: Permission denied."


def test_a_disk_that_refuses_is_no_reason_to_reopen_and_a_broken_connection_is() -> None:
    full, failing = sqlite_error(sqlite3.SQLITE_FULL), sqlite_error(sqlite3.SQLITE_IOERR | 256)
    assert refusals.is_full(full)
    assert not refusals.is_full(failing)
    assert not refusals.is_worth_reopening(full)
    assert not refusals.is_worth_reopening(failing)
    assert refusals.is_worth_reopening(sqlite_error(sqlite3.SQLITE_NOTADB))
    assert refusals.is_worth_reopening(sqlite3.ProgrammingError("closed"))
