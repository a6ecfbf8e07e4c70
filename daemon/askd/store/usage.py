"""What each answer of a model took: one row an answer, written in its event's transaction.

A summary is an answer too, however many requests it took; it stands under its change.

The rows are a function of the events, and outlive their conversation without
anything that was said in it: what was spent stays counted. It adds up nothing
(`usage_queries` does), and knows no prices: a cost stands in the event or nowhere.
"""

import math
import sqlite3
from collections.abc import Sequence

from askd.core.events import (
    CompletionFinished,
    ConversationCreated,
    Event,
    TurnStarted,
    ViewChanged,
)
from askd.core.outcome import Usage
from askd.store.bodies import clean_text, decode_event

TOKENS_LIMIT = 10**12
"""Of one answer. No model comes near; a provider that says more must not break every sum."""
COST_LIMIT_USD = 1e6
"""Of one answer. What claims to cost more has no known price."""

OF_A_SUMMARY = 0
"""In place of a completion's number, which counts from 1."""

COLUMNS = (
    "conversation_id, turn_id, completion, at, model, input_tokens, cached_tokens,"
    " output_tokens, reasoning_tokens, cost_usd"
)
INSERT = f"INSERT INTO usage ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_STARTS = (
    "SELECT seq, at, type, version, body FROM events"
    " WHERE conversation_id = ? AND seq < ? AND type = 'turn_started' ORDER BY seq DESC"
)


def count_answers(connection: sqlite3.Connection, events: Sequence[Event]) -> None:
    """Keep what the answers among these events took; the log must hold the events already."""
    if is_copy(events):
        return
    for event in events:
        match event.body:
            case CompletionFinished(turn_id=turn_id, completion=completion, usage=Usage() as usage):
                model = find_model(connection, event, turn_id)
                row = (event.conversation_id, clean_text(turn_id), bound_count(completion))
                connection.execute(INSERT, (*row, event.at, model, *bound_usage(usage)))
            case ViewChanged(id=change_id, usage=Usage() as usage):
                model = None if event.body.model is None else clean_text(event.body.model)
                row = (event.conversation_id, clean_text(change_id), OF_A_SUMMARY)
                connection.execute(INSERT, (*row, event.at, model, *bound_usage(usage)))
            case _:
                pass


def is_copy(events: Sequence[Event]) -> bool:
    """Whether a write is the beginning of a fork: its answers were paid for, and counted, once."""
    first = events[0].body if events else None
    return isinstance(first, ConversationCreated) and first.forked_from is not None


def find_model(connection: sqlite3.Connection, answer: Event, turn_id: str) -> str | None:
    """Which model gave the answer: the one that its turn's last start before it resolved to."""
    conversation_id = answer.conversation_id
    for columns in connection.execute(_STARTS, (conversation_id, answer.seq)):
        body = decode_event(conversation_id, *columns)[0].body
        if isinstance(body, TurnStarted) and body.turn_id == turn_id:
            if body.model is not None:
                return clean_text(body.model)
            if body.attempt <= 1:
                break
    return None


def bound_usage(usage: Usage) -> tuple[int, int, int, int, float | None]:
    """Input, cached, output, reasoning and cost as a row can hold them, whatever was claimed."""
    cost = usage.cost_usd
    if cost is not None and not (math.isfinite(cost) and 0 <= cost <= COST_LIMIT_USD):
        cost = None
    return (
        bound_count(usage.input_tokens),
        bound_count(usage.cached_tokens),
        bound_count(usage.output_tokens),
        bound_count(usage.reasoning_tokens),
        cost,
    )


def bound_count(count: int) -> int:
    """A count from 0 to `TOKENS_LIMIT`."""
    return min(max(count, 0), TOKENS_LIMIT)
