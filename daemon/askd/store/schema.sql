-- The first schema: migration 1. Never edited once released; what follows is a new migration.
-- Times are unix seconds, ids are text, JSON is text.

-- One row a conversation: a projection of its events, kept in the same transaction.
CREATE TABLE conversations (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT UNIQUE,
    title TEXT,
    model TEXT,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    message_count INTEGER NOT NULL,
    last_seq INTEGER NOT NULL
) WITHOUT ROWID;

CREATE INDEX conversations_by_time ON conversations (updated_at, id);

-- The log. Without a rowid, so that a conversation's events lie together on the disk
-- whatever else was written between them.
CREATE TABLE events (
    conversation_id TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    seq INTEGER NOT NULL CHECK (seq > 0),
    at REAL NOT NULL,
    type TEXT NOT NULL,
    version INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (conversation_id, seq)
) WITHOUT ROWID;

-- Turns that were accepted and have not ended: what a start after a crash looks at.
-- A set and not a count, so that an event told twice changes nothing.
CREATE TABLE open_turns (
    conversation_id TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    turn_id TEXT NOT NULL,
    PRIMARY KEY (conversation_id, turn_id)
) WITHOUT ROWID;

-- The clients' keys of prompts. They outlive their conversation (seq 0), so no foreign key.
CREATE TABLE keys (
    key TEXT NOT NULL PRIMARY KEY,
    digest TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    seq INTEGER NOT NULL
) WITHOUT ROWID;

CREATE INDEX keys_by_conversation ON keys (conversation_id);

-- Which conversation a terminal used last.
CREATE TABLE terminals (
    terminal TEXT NOT NULL PRIMARY KEY,
    conversation_id TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    at REAL NOT NULL
) WITHOUT ROWID;

CREATE INDEX terminals_by_conversation ON terminals (conversation_id);

-- The text so far of items that are still streaming; the finished item replaces it.
CREATE TABLE partials (
    conversation_id TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    item_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (conversation_id, item_id, kind)
) WITHOUT ROWID;

-- Content too large for an event, by its digest; kept while a conversation uses it.
CREATE TABLE blobs (
    sha256 TEXT NOT NULL UNIQUE,
    bytes INTEGER NOT NULL,
    data BLOB NOT NULL
);

CREATE TABLE blob_uses (
    conversation_id TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    sha256 TEXT NOT NULL REFERENCES blobs (sha256),
    PRIMARY KEY (conversation_id, sha256)
) WITHOUT ROWID;

CREATE INDEX blob_uses_by_digest ON blob_uses (sha256);

-- Background work. `owner` is the boot id of the daemon that runs it; with `attempt` it is
-- the fence. `errors` is a list of {at, attempt, error}, the last ten.
CREATE TABLE jobs (
    id TEXT NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    unique_key TEXT NOT NULL,
    conversation_id TEXT REFERENCES conversations (id) ON DELETE CASCADE,
    arguments TEXT NOT NULL,
    state TEXT NOT NULL
        CHECK (state IN ('available', 'executing', 'completed', 'cancelled', 'discarded')),
    run_at REAL NOT NULL,
    attempt INTEGER NOT NULL DEFAULT 0,
    max_attempts INTEGER NOT NULL,
    owner TEXT,
    errors TEXT NOT NULL DEFAULT '[]',
    created_at REAL NOT NULL,
    started_at REAL,
    finished_at REAL
) WITHOUT ROWID;

CREATE UNIQUE INDEX jobs_once ON jobs (kind, unique_key)
    WHERE state IN ('available', 'executing');
CREATE INDEX jobs_due ON jobs (state, run_at);
CREATE INDEX jobs_by_time ON jobs (created_at, id);
CREATE INDEX jobs_by_conversation ON jobs (conversation_id);
