"""Fills a log of `llm` with the messages of a corpus; run by the interpreter that has `llm`.

`python llm_log.py LINES DATABASE`: its own code makes the schema, the index of
words and the chains of messages; only the rows that say which call was when are put
in here, for calls that never were. What a tool said is written as a prompt, so that
the same words can be found on both sides. It imports nothing of this project.
"""

import importlib
import itertools
import json
import sys
from datetime import UTC, datetime
from typing import Any

NEW_TABLES = "llm.logs"
"""The module of the versions (0.32 and later) that keep chains of messages."""


def fill(lines: str, database: str) -> int:
    """Write all of the file's messages; how many."""
    logs: Any = importlib.import_module(NEW_TABLES)
    sqlite_utils: Any = importlib.import_module("sqlite_utils")
    # A log file of another kind: nothing here is worth a sync.
    db = sqlite_utils.Database(database)
    db.execute("PRAGMA synchronous = OFF")
    store = logs.LogStore(db)
    written = 0
    with open(lines, encoding="utf-8") as stream, db.atomic():
        messages = (json.loads(line) for line in stream)
        for id, said in itertools.groupby(messages, key=lambda each: each["conversation_id"]):
            written += add_conversation(store, id, list(said), written)
    db.close()
    return written


def add_conversation(store: Any, id: str, said: list[dict[str, Any]], number: int) -> int:
    """One thread: a turn for each answer."""
    parts: Any = importlib.import_module("llm.parts")

    def message(role: str, text: str) -> Any:
        return parts.Message(role=role, parts=[parts.TextPart(text=text)])

    store.ensure_thread(id, name=said[0]["text"][:40])
    tip = None
    for asked, answered in zip(said[::2], said[1::2], strict=True):
        number += 2
        before = store.ensure_chain([message("user", asked["text"])], parent=tip)
        tip = store.ensure_chain([message("assistant", answered["text"])], parent=before)
        # Its ids are in the order of time, as ULIDs are, which is all that a listing looks at.
        turn_id = f"{int(asked['at'] * 1000):013d}{number:013d}"
        store.db["turns"].insert(
            {
                "id": turn_id,
                "thread_id": id,
                "parent_message_hash": before,
                "tip_message_hash": tip,
                "model": "bench",
                "options_json": "{}",
                "input_tokens": 60,
                "output_tokens": 60,
                "duration_ms": 1000,
                "datetime_utc": datetime.fromtimestamp(asked["at"], UTC).isoformat(),
            }
        )
        store.db["turn_search"].insert(
            {"turn_id": turn_id, "prompt": asked["text"], "response": answered["text"]}
        )
    store.db["threads"].update(id, {"tip_message_hash": tip})
    return len(said)


if __name__ == "__main__":
    print(fill(*sys.argv[1:]))
