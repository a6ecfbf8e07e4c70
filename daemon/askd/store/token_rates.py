"""What is known of each model's counting: one row a model, brought up to date with each answer.

The row is a function of the events, in the order of their commits, and written in the
transaction of the answer that taught it. What happened elsewhere (imports) and what
has taught already (forks) teaches nothing. It decides nothing: `core.calibration` does.
"""

import json
import sqlite3
from collections.abc import Sequence

from askd.core.calibration import UNKNOWN, Rates, decode_rates, encode_rates, learn
from askd.core.events import CompletionFinished, Event
from askd.core.outcome import Usage
from askd.core.tokens import decode_size
from askd.store.usage import find_model, is_copy

TABLE = """
-- How many tokens a model makes of which text, as its answers have taught (core/calibration.py).
CREATE TABLE token_rates (
    model TEXT NOT NULL PRIMARY KEY,
    rates TEXT NOT NULL
) WITHOUT ROWID;
"""

MODELS_LIMIT = 1000
"""The most that are read at a start: nobody talks to more."""


def learn_rates(connection: sqlite3.Connection, events: Sequence[Event]) -> None:
    """Take what the answers among these events teach; the log must hold the events already."""
    if is_copy(events):
        return
    for event in events:
        match event.body:
            case CompletionFinished(turn_id=turn_id, usage=Usage() as usage, measured=measured):
                model = find_model(connection, event, turn_id) if measured else None
                if model is None or measured is None:
                    continue
                found = connection.execute(
                    "SELECT rates FROM token_rates WHERE model = ?", (model,)
                ).fetchone()
                known = UNKNOWN if found is None else _read(found[0])
                rates = learn(known, decode_size(measured), usage.counted_input)
                if rates is not known:
                    connection.execute(
                        "INSERT INTO token_rates (model, rates) VALUES (?, ?)"
                        " ON CONFLICT (model) DO UPDATE SET rates = excluded.rates",
                        (model, json.dumps(encode_rates(rates), separators=(",", ":"))),
                    )
            case _:
                pass


def read_rates(connection: sqlite3.Connection) -> dict[str, Rates]:
    """What is known of every model, by its name."""
    rows = connection.execute("SELECT model, rates FROM token_rates LIMIT ?", (MODELS_LIMIT,))
    return {model: _read(text) for model, text in rows}


def _read(text: str) -> Rates:
    """A row; one that cannot be read is of a model that nothing is known of."""
    try:
        return decode_rates(json.loads(text))
    except (ValueError, RecursionError):
        return UNKNOWN
