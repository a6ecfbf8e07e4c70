"""Schema 8: jobs that are scheduled, running, or tried again are told apart.

Released, and so never changed. A job that waits after a try of it had failed waits
for its next one; whatever else waits is available now.
"""

import sqlite3

NEW_TABLE = """
CREATE TABLE jobs_new (
    id TEXT NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    unique_key TEXT NOT NULL,
    conversation_id TEXT REFERENCES conversations (id) ON DELETE CASCADE,
    arguments TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('available', 'scheduled', 'running', 'retryable',
        'completed', 'cancelled', 'discarded')),
    run_at REAL NOT NULL,
    attempt INTEGER NOT NULL DEFAULT 0,
    uncounted INTEGER NOT NULL DEFAULT 0,
    max_attempts INTEGER NOT NULL,
    owner TEXT,
    errors TEXT NOT NULL DEFAULT '[]',
    code INTEGER,
    created_at REAL NOT NULL,
    started_at REAL,
    finished_at REAL
) WITHOUT ROWID
"""
"""`owner` is the boot that runs it, with `attempt` the fence; `attempt` only grows.

`uncounted` of the tries do not count: those before somebody had it tried again, and those that
the daemon's own end cut short. `code` is for kinds that end with an exit code.
"""

OLD_STATES = {"executing": "running"}
"""States whose name is another now; whoever reads an old table by itself needs to know."""

CARRY_OVER = """
INSERT INTO jobs_new (id, kind, unique_key, conversation_id, arguments, state, run_at, attempt,
    max_attempts, owner, errors, created_at, started_at, finished_at)
SELECT id, kind, unique_key, conversation_id, arguments,
    CASE WHEN state = 'executing' THEN 'running'
        WHEN state = 'available' AND attempt > 0 THEN 'retryable' ELSE state END,
    run_at, attempt, max_attempts, owner, errors, created_at, started_at, finished_at
FROM jobs
"""

INDEXES = (
    "CREATE UNIQUE INDEX jobs_once ON jobs (kind, unique_key)"
    " WHERE state IN ('available', 'scheduled', 'running', 'retryable')",
    "CREATE INDEX jobs_waiting ON jobs (run_at, id)"
    " WHERE state IN ('available', 'scheduled', 'retryable')",
    "CREATE INDEX jobs_by_state ON jobs (state, finished_at)",
    "CREATE INDEX jobs_by_time ON jobs (created_at, id)",
    "CREATE INDEX jobs_by_conversation ON jobs (conversation_id)",
)


def rebuild_jobs(connection: sqlite3.Connection) -> None:
    """Build the table anew, with its rows; its old indexes go with the old one."""
    connection.execute(NEW_TABLE)
    connection.execute(CARRY_OVER)
    connection.execute("DROP TABLE jobs")
    connection.execute("ALTER TABLE jobs_new RENAME TO jobs")
    for index in INDEXES:
        connection.execute(index)
