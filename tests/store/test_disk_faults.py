"""A full, limited, read-only or vanished disk: refused with the reason, nothing lost, no crash."""

import json
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import trio

from askd.errors import StorageFailed
from askd.store.log import Partial
from askd.store.writer import Writer
from tests.store.builders import add, create, note, open_store, prompt, seqs

ROOT = Path(__file__).resolve().parents[2]


def play(scene: str, directory: Path, *, within: Sequence[str] = ()) -> dict[str, Any]:
    """Run a scene of `disk_faults` and answer what it told."""
    command = [*within, sys.executable, "-m", "tests.store.disk_faults", scene, str(directory)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def own_mounts() -> list[str]:
    """A command that gives a process mounts of its own; skips where nothing may."""
    for command in (["unshare", "--mount"], ["unshare", "--map-root-user", "--mount"]):
        try:
            probe = [*command, "mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", "/mnt"]
            if subprocess.run(probe, capture_output=True, check=False).returncode == 0:
                return command
        except FileNotFoundError:
            break
    pytest.skip("no process here may mount a small disk (unshare and mount are both refused)")


def test_a_full_disk(tmp_path: Path) -> None:
    told = play("fill_disk", tmp_path, within=own_mounts())
    full = f"No space left on the disk that holds {tmp_path}/data/ask.db."
    assert told == {
        "reserve kept": True,
        "disk": "No space left on device",
        "large": full,
        "next": full,
        "readable": [1],
        "deleted": True,
        "reserve given": True,
        "afterwards": "stored",
        "reserve again": True,
        "events": [1, 2],
        "seen": [1, 2],
    }


def test_files_that_may_not_grow(tmp_path: Path) -> None:
    told = play("limit_files", tmp_path)
    refused = f"The disk that holds {tmp_path}/data/ask.db reported an error (SQLITE_IOERR_WRITE)."
    assert told["limited"] == told["next"] == refused
    assert told["readable"] == [1]
    assert (told["afterwards"], told["events"]) == ("stored", [1, 2])


def test_directories_that_may_not_be_written() -> None:
    # Not `tmp_path`: another user cannot enter the directories above it.
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        told = play("read_only", directory)
        assert told["empty"] == [f"{directory}/empty/ask.db cannot be written: Permission denied."]
        (old,) = told["old"]
        assert f"{directory}/old/ask.db cannot be written" in old


async def test_a_full_database_is_refused_and_works_again(path: Path) -> None:
    async with open_store(path) as store:
        await store.writer.append(create("c"))
        connection = connection_of(store.writer)
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        with pytest.raises(StorageFailed, match="No space left") as caught:
            await store.writer.append(add("c", note("x" * 100_000)))
        assert caught.value.code == 74
        assert caught.value.data == {"path": str(path)}
        assert seqs((await store.writer.append(add("c", note()))).events) == [2]
        connection.execute("PRAGMA max_page_count = 1000000")
        await store.writer.append(add("c", note("x" * 100_000)))
        assert seqs(await store.reader.load("c")) == seqs(store.seen) == [1, 2, 3]


async def test_a_partial_that_cannot_be_stored_fails_nobody(path: Path) -> None:
    async with open_store(path) as store:
        await store.writer.append(create("c", prompt("t")))
        connection = connection_of(store.writer)
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        store.writer.save_partial(Partial("c", "t", "t.1", "text", "x" * 100_000))
        assert seqs((await store.writer.append(add("c", note()))).events) == [3]
        assert await store.reader.partials("c") == []


async def test_a_ping_needs_an_answer_and_not_a_good_one(path: Path) -> None:
    async with open_store(path) as store:
        aside = trio.Path(path.with_name("aside.db"))
        await trio.Path(path).rename(aside)
        await store.writer.ping()
        with pytest.raises(StorageFailed, match="removed or replaced"):
            await store.writer.flush()
        await aside.rename(path)
        await store.writer.flush()


def connection_of(writer: Writer) -> sqlite3.Connection:
    """The writer's own, to break it."""
    connection = writer._transactions.connection
    assert connection is not None
    return connection
