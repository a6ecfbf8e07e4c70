"""Schema 2: the table of what answers took, filled from the answers that are in the log.

Released, and so never changed: a later column is a later migration's. It reads
events and writes rows; what it cannot read of an old log it passes over.
"""

import sqlite3

from askd.core.events import CompletionFinished, TurnStarted
from askd.store.bodies import clean_text, decode_event
from askd.store.usage import bound_count, bound_usage

# A row outlives its conversation: the money is spent. Nothing that was said is in it.
STATEMENTS = (
    """
    CREATE TABLE usage (
        conversation_id TEXT REFERENCES conversations (id) ON DELETE SET NULL,
        turn_id TEXT NOT NULL,
        completion INTEGER NOT NULL,
        at REAL NOT NULL,
        model TEXT,
        input_tokens INTEGER NOT NULL,
        cached_tokens INTEGER NOT NULL,
        output_tokens INTEGER NOT NULL,
        reasoning_tokens INTEGER NOT NULL,
        cost_usd REAL
    )
    """,
    "CREATE INDEX usage_by_time ON usage (at)",
    "CREATE INDEX usage_by_model ON usage (model, at)",
    "CREATE INDEX usage_by_conversation ON usage (conversation_id, at)",
)

_TOLD = (
    "SELECT conversation_id, seq, at, type, version, body FROM events"
    " WHERE type IN ('turn_started', 'completion_finished')"
    " ORDER BY conversation_id, seq"
)
_INSERT = (
    "INSERT INTO usage (conversation_id, turn_id, completion, at, model, input_tokens,"
    " cached_tokens, output_tokens, reasoning_tokens, cost_usd)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


def add_usage(connection: sqlite3.Connection) -> None:
    """Make the table and count every answer that the log holds."""
    for statement in STATEMENTS:
        connection.execute(statement)
    of: str | None = None
    models: dict[str, str | None] = {}
    for id, seq, at, kind, version, text in connection.execute(_TOLD):
        if id != of:
            of, models = id, {}
        body = decode_event(id, seq, at, kind, version, text)[0].body
        match body:
            case TurnStarted(turn_id=turn_id, attempt=attempt, model=model):
                before = models.get(turn_id) if attempt > 1 else None
                models[turn_id] = before if model is None else clean_text(model)
            case CompletionFinished(usage=usage) if usage is not None:
                row = (id, clean_text(body.turn_id), bound_count(body.completion), at)
                model = models.get(body.turn_id)
                connection.execute(_INSERT, (*row, model, *bound_usage(usage)))
            case _:
                pass
