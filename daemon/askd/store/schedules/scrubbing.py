"""A secret taken out of what schedules hold: prompts, names, errors.

In the transaction of whoever scrubs the rest. A schedule goes on with what is left of its
prompt.
"""

import json
import sqlite3
from collections.abc import Callable

from askd.core.rewriting import Rewrite, rewrite_record

TEXTS = (
    "SELECT prompt FROM schedules",
    "SELECT name FROM schedules",
    "SELECT session FROM schedules",
    "SELECT paused_why FROM schedules",
    "SELECT error FROM slots",
)
"""Where texts stand in these tables, for whoever looks for one."""


def scrub_schedules(
    connection: sqlite3.Connection, change: Callable[[str], str], *, replace: bool
) -> int:
    """In how many rows a secret stands that `change` takes out; with `replace`, stood."""
    found = 0
    rewrite = Rewrite(text=change, token=change, name=change)
    for id, prompt, name, session, why in connection.execute(
        "SELECT id, prompt, name, session, paused_why FROM schedules"
    ).fetchall():
        changed = _rewrite(prompt, change, rewrite)
        texts = [change(each) if isinstance(each, str) else each for each in (name, session, why)]
        if changed == prompt and texts == [name, session, why]:
            continue
        found += 1
        if replace:
            if texts[0] != name and _is_taken(connection, texts[0], id):
                texts[0] = None  # it has an id, too
            connection.execute(
                "UPDATE schedules SET prompt = ?, name = ?, session = ?, paused_why = ?"
                " WHERE id = ?",
                (changed, *texts, id),
            )
    for number, error in connection.execute(
        "SELECT number, error FROM slots WHERE typeof(error) = 'text'"
    ).fetchall():
        if change(error) != error:
            found += 1
            if replace:
                connection.execute(
                    "UPDATE slots SET error = ? WHERE number = ?", (change(error), number)
                )
    return found


def _rewrite(prompt: object, change: Callable[[str], str], rewrite: Rewrite) -> object:
    """The prompt as it is stored, with the secret taken out; itself if there is none in it."""
    try:
        said = json.loads(prompt) if isinstance(prompt, str) else None
    except (ValueError, RecursionError):
        said = None
    if said is None:  # damaged: nobody reads it, and it may hold the secret all the same
        text = prompt.decode(errors="replace") if isinstance(prompt, bytes) else str(prompt)
        changed = change(text)
        return prompt if changed == text else changed
    rewritten = rewrite_record(said, rewrite)
    return prompt if rewritten == said else json.dumps(rewritten, separators=(",", ":"))


def _is_taken(connection: sqlite3.Connection, name: str | None, id: str) -> bool:
    found = connection.execute(
        "SELECT 1 FROM schedules WHERE name = ? AND id <> ?", (name, id)
    ).fetchone()
    return found is not None
