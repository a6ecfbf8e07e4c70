"""A store as years leave it, beside what is being killed: thousands of short conversations.

They are put there through the store's own machinery, their rollouts too, before any daemon
starts. Each has one turn whose prompt is marked as all prompts are, so that the judge counts them
with the rest.
"""

import itertools
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar
from unittest.mock import patch

from askd.core.events import (
    Body,
    CompletionFinished,
    ConversationCreated,
    ItemAdded,
    PromptAccepted,
    SettingsChanged,
    Titled,
    TurnFinished,
    TurnStarted,
)
from askd.core.items import AssistantMessage, Text, UserMessage
from askd.core.outcome import DONE, Usage
from askd.store.batch import Change
from askd.store.changes import append
from askd.store.log import Write
from askd.store.migrations import MIGRATIONS
from askd.store.rollouts import files as rollout_files
from askd.store.rollouts import rows
from askd.store.rollouts.copies import Advanced, Ask, Copies
from askd.store.transactions import Asked, Transactions
from askd.store.writer import connect

T = TypeVar("T")

SHELVED = "shelved"
"""Who wrote the prompts of these conversations."""
BEGIN_AT, GAP_S = 1_700_000_000.0, 600.0
"""When the first was held, in unix seconds, and after how long the next."""
BATCH = 50
"""Committed at once; fewer than the rollouts whose state is remembered."""


def shelve(data: Path, count: int) -> None:
    """Put so many conversations into an empty data directory."""
    database, rollouts = data / "ask.db", data / "rollouts"
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    transactions = Transactions(database, connect=connect, now=time.time, migrations=MIGRATIONS)
    transactions.open()
    copies = Copies(database, data=data, directory=rollouts, version="0")
    try:
        with patch.object(rollout_files, "sync", lambda paths: {}):  # no power is cut here
            for writes in _batch(map(make_write, range(1, count + 1))):
                _commit(transactions, [append(write) for write in writes])
                _mirror(transactions, copies, [write.conversation_id for write in writes])
                transactions.checkpoint()
    finally:
        copies.close()
        transactions.rest()
        transactions.close()


def make_write(number: int) -> Write:
    """The whole conversation of this number."""
    mark = f"{SHELVED}.{number}"
    id = str(uuid.uuid5(uuid.NAMESPACE_OID, mark))
    asked = UserMessage("t0.0", (Text(f"<<{mark}>> so it goes"),))
    answered = AssistantMessage("t0.1", (Text("So it is."),))
    bodies: list[Body] = [
        ConversationCreated(id),
        SettingsChanged(model="at-openai-chat/fake"),
        PromptAccepted("t0", mark, (asked,)),
        TurnStarted("t0", 1),
        ItemAdded("t0", answered, 1),
        CompletionFinished("t0", 1, "end", Usage()),
        TurnFinished("t0", "completed", DONE, Usage()),
        Titled("So it goes"),
    ]
    at = BEGIN_AT + number * GAP_S
    return Write(conversation_id=id, bodies=bodies, create=True, times=[at] * len(bodies))


def _batch(writes: Iterator[Write]) -> Iterator[list[Write]]:
    while batch := list(itertools.islice(writes, BATCH)):
        yield batch


def _commit(transactions: Transactions, changes: Iterable[Change[T]]) -> None:
    for outcome in transactions.commit([Asked(change) for change in changes], at=BEGIN_AT):
        if isinstance(outcome, Exception):
            raise outcome


def _mirror(transactions: Transactions, copies: Copies, ids: Sequence[str]) -> None:
    """Write their rollouts, and have the table know of them."""
    steps = [copies.advance(id) for id in ids]
    _commit(transactions, [step.change for step in steps if isinstance(step, Ask)])
    assert all(copies.advance(id) == Advanced(more=False) for id in ids)
    synced = copies.sync()
    assert len(synced.offsets) == len(ids), synced
    _commit(transactions, [rows.save_offsets(synced.offsets)])
    copies.confirm(synced.offsets, ids)
