"""The jobs of a database of schema 7 are what they were, under the names of schema 8."""

import sqlite3
from contextlib import closing
from pathlib import Path

from askd.store.database import configure_writer, prepare_file
from askd.store.jobs.table import JobTable
from askd.store.migrations import MIGRATIONS, migrate
from tests.store.builders import open_store

BEFORE = [each for each in MIGRATIONS if each.number < 8]
ROWS = {
    # id: state and attempt before; state after
    "new": ("available", 0, "available"),
    "failed": ("available", 1, "retryable"),
    "running": ("executing", 1, "running"),
    "done": ("completed", 1, "completed"),
    "cancelled": ("cancelled", 0, "cancelled"),
    "given-up": ("discarded", 3, "discarded"),
}


async def test_jobs_are_carried_over(path: Path) -> None:
    prepare_file(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as old:
        configure_writer(old, path)
        migrate(old, path, at=1.0, migrations=BEFORE)
        old.execute(
            "INSERT INTO conversations (id, created_at, updated_at, message_count, last_seq)"
            " VALUES ('c', 1.0, 1.0, 0, 0)"
        )
        for id, (state, attempt, _) in ROWS.items():
            old.execute(
                "INSERT INTO jobs (id, kind, unique_key, conversation_id, arguments, state,"
                " run_at, attempt, max_attempts, owner, errors, created_at) VALUES"
                " (?, 'title', ?, 'c', '{}', ?, 5.0, ?, 3, 'before',"
                ' \'[{"at": 1.0, "attempt": 1, "error": "No."}]\', 2.0)',
                (id, id, state, attempt),
            )
    async with open_store(path, boot_id="after") as store:
        rows = {row.id: row for row in (await store.reader.jobs(cursor=None, limit=9)).rows}
        assert {id: row.state for id, row in rows.items()} == {
            id: after for id, (_, _, after) in ROWS.items()
        }
        assert [row.attempt for row in rows.values()] == [ROWS[id][1] for id in rows], (
            "no try is forgotten"
        )
        assert {row.error for row in rows.values()} == {"No."}
        table = JobTable(store.writer, find_hide=lambda: None)
        assert await table.reset_orphans() == 1
        claimed = [await table.claim_job() for _ in range(4)]
        assert {job.fence.job_id for job in claimed if job} == {"new", "failed", "running"}
        # As before: what belongs to a conversation goes with it.
        await store.writer.delete("c")
        assert (await store.reader.jobs(cursor=None, limit=9)).rows == []
