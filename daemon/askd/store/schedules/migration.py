"""Schema 10: schedules, and what was done about their slots.

Released, and so never changed.
"""

TABLES = """
-- Prompts that the daemon sends by itself, when `cron` says so by the wall clock of `zone`.
-- `prompt`: as the event `prompt_accepted` holds one. `session`: what was said; NULL: each firing
-- begins a conversation. `conversation_id` is no foreign key: a conversation that is deleted
-- pauses what was sent to it.
CREATE TABLE schedules (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT UNIQUE,
    cron TEXT NOT NULL,
    zone TEXT NOT NULL,
    missed TEXT NOT NULL CHECK (missed IN ('skip', 'once', 'all')),
    session TEXT,
    conversation_id TEXT,
    prompt TEXT NOT NULL,
    paused_at REAL,
    paused_why TEXT,
    created_at REAL NOT NULL
) WITHOUT ROWID;

-- What was done about a slot, in the order in which it was. All slots up to the newest one that
-- is not in the future are handled. `slot` NULL: somebody had it sent by hand. `begun`: no slot,
-- but the moment from which on slots count. `skipped`: how many before it got nothing.
CREATE TABLE slots (
    number INTEGER NOT NULL PRIMARY KEY,
    schedule_id TEXT NOT NULL REFERENCES schedules (id) ON DELETE CASCADE,
    slot REAL,
    state TEXT NOT NULL CHECK (state IN ('begun', 'skipped', 'refused', 'accepted', 'completed',
        'failed', 'interrupted', 'withdrawn')),
    skipped INTEGER NOT NULL DEFAULT 0,
    conversation_id TEXT,
    turn_id TEXT,
    code INTEGER,
    error TEXT,
    at REAL NOT NULL,
    finished_at REAL
);

CREATE UNIQUE INDEX slots_once ON slots (schedule_id, slot) WHERE slot IS NOT NULL;
CREATE INDEX slots_by_schedule ON slots (schedule_id, number);
CREATE INDEX slots_by_turn ON slots (turn_id) WHERE turn_id IS NOT NULL;
"""
