"""A secret replaced in what the database holds of a conversation, in one transaction.

What was there is read again in the transaction; nothing is taken from an earlier
look. A conversation at work is refused: what its turn holds in memory would come
back. Words leave the index with their text.
"""

import sqlite3
from collections.abc import Iterator, Sequence

from askd.core.rewriting import Rewrite
from askd.core.scrubbing import Scrub
from askd.errors import Busy, NotFound
from askd.store import blobs
from askd.store.batch import Change, Done
from askd.store.bodies import decode_event
from askd.store.digests import ANY_DIGEST
from askd.store.key_rows import hide_key
from askd.store.refusals import SHORT_ID
from askd.store.schedules.scrubbing import scrub_schedules
from askd.store.scrub.plans import JobTexts, Plan, Scrubbed, describe, make_plan, rewrite_jobs
from askd.store.search.index import forget_events, index_events

_EVENT = "SELECT seq, at, type, version, body FROM events WHERE conversation_id = ? AND seq = ?"


def scrub_conversation(conversation_id: str, scrub: Scrub) -> Change[Scrubbed]:
    """Replace the secret in all of a conversation; raise `NotFound`, `Busy`.

    Its rollout's row is reset, so that the file is written anew.
    """

    def change(connection: sqlite3.Connection, at: float) -> Done[Scrubbed]:
        plan = make_plan(connection, conversation_id, scrub)
        found = describe(connection, conversation_id, plan)
        if plan.is_empty:
            return Done(found)
        if found.is_busy:
            raise refuse_busy([conversation_id])
        _carry_out(connection, conversation_id, plan)
        return Done(found)

    return change


def find_secret(connection: sqlite3.Connection, scrub: Scrub) -> Iterator[Scrubbed]:
    """Every conversation that holds the secret, the newest first, as `scrub_conversation` would."""
    ids = connection.execute("SELECT id FROM conversations ORDER BY updated_at DESC, id DESC")
    for (conversation_id,) in ids.fetchall():
        try:
            plan = make_plan(connection, conversation_id, scrub)
        except NotFound:
            continue  # it was deleted meanwhile
        if not plan.is_empty:
            yield describe(connection, conversation_id, plan)


def scrub_rest(scrub: Scrub) -> Change[int]:
    """Replace it where no conversation is named: usage, terminals, schedules, ...; how often."""

    def change(connection: sqlite3.Connection, at: float) -> Done[int]:
        return Done(count_rest(connection, scrub, replace=True))

    return change


def count_rest(connection: sqlite3.Connection, scrub: Scrub, *, replace: bool = False) -> int:
    """How many rows that belong to no conversation hold it; with `replace`, held it."""
    models = connection.execute("SELECT DISTINCT model FROM usage WHERE model IS NOT NULL")
    found = [model for (model,) in models.fetchall() if scrub.stands_in(model)]
    terminals = connection.execute("SELECT terminal FROM terminals").fetchall()
    bound = [terminal for (terminal,) in terminals if scrub.stands_in(terminal)]
    jobs = connection.execute(
        "SELECT id, arguments, errors FROM jobs WHERE conversation_id IS NULL"
    ).fetchall()
    rewrite = Rewrite(text=scrub.replace, token=scrub.replace_token)
    rewritten = list(rewrite_jobs(jobs, scrub, rewrite))
    orphans = connection.execute("SELECT key FROM keys WHERE seq = 0").fetchall()
    keys = [key for (key,) in orphans if scrub.stands_in(key)]
    scheduled = scrub_schedules(connection, scrub.replace, replace=replace)
    if replace:
        for model in found:
            connection.execute(
                "UPDATE usage SET model = ? WHERE model = ?", (scrub.replace(model), model)
            )
        connection.executemany("DELETE FROM terminals WHERE terminal = ?", [(t,) for t in bound])
        _write_jobs(connection, rewritten)
        _hide_keys(connection, keys)
    return len(found) + len(bound) + len(rewritten) + len(keys) + scheduled


def refuse_busy(conversation_ids: Sequence[str], *, done: int = 0) -> Busy:
    """Conversations that cannot be scrubbed now; `done`: how many others were."""
    named = ", ".join(each[:SHORT_ID] for each in conversation_ids)
    before = f" {done} conversation(s) were scrubbed before." if done else " Nothing was changed."
    return Busy(
        f"A turn or a job is at work, or waits, in: {named}.{before} Wait for it or interrupt it, "
        "then scrub again.",
        data={"conversation_ids": list(conversation_ids), "done": done},
    )


# ---- doing it ------------------------------------------------------------------


def _carry_out(connection: sqlite3.Connection, conversation_id: str, plan: Plan) -> None:
    # What leaves the index of words has to be said once more as it was: first of all.
    indexed = {
        seq
        for (seq,) in connection.execute(
            "SELECT seq FROM search_rows WHERE conversation_id = ?", (conversation_id,)
        )
    }
    seqs = [seq for seq in plan.events if seq in indexed]
    forget_events(connection, conversation_id, seqs)
    _write_blobs(connection, conversation_id, plan)
    connection.executemany(
        "UPDATE events SET body = ? WHERE conversation_id = ? AND seq = ?",
        [(body, conversation_id, seq) for seq, body in plan.events.items()],
    )
    if plan.row_changed:
        connection.execute(
            "UPDATE conversations SET name = ?, title = ?, model = ? WHERE id = ?",
            (*plan.row, conversation_id),
        )
    connection.executemany(
        "UPDATE partials SET text = ? WHERE conversation_id = ? AND item_id = ? AND kind = ?",
        [(text, conversation_id, item_id, kind) for text, item_id, kind in plan.partials],
    )
    _write_jobs(connection, plan.jobs)
    _hide_keys(connection, plan.keys)
    if plan.events:
        # A digest over what was said would let a short secret be found by trying.
        connection.execute(
            "UPDATE keys SET digest = ? WHERE conversation_id = ?", (ANY_DIGEST, conversation_id)
        )
    connection.execute(
        "UPDATE rollouts SET seq = 0, bytes = 0 WHERE conversation_id = ?", (conversation_id,)
    )
    events = [
        decode_event(conversation_id, *columns)[0]
        for seq in seqs
        for columns in connection.execute(_EVENT, (conversation_id, seq))
    ]
    index_events(connection, events)


def _write_blobs(connection: sqlite3.Connection, conversation_id: str, plan: Plan) -> None:
    for old, data in plan.blobs.items():
        new, _ = plan.renamed[old]
        blobs.keep_blobs(connection, conversation_id, named=[new], contents={new: data})
        connection.execute(
            "DELETE FROM blob_uses WHERE conversation_id = ? AND sha256 = ?",
            (conversation_id, old),
        )
    blobs.drop_unused(connection, list(plan.blobs))


def _write_jobs(connection: sqlite3.Connection, jobs: Sequence[JobTexts]) -> None:
    connection.executemany("UPDATE jobs SET arguments = ?, errors = ? WHERE id = ?", jobs)


def _hide_keys(connection: sqlite3.Connection, keys: Sequence[str]) -> None:
    """They are known again, and cannot be read."""
    connection.executemany(
        "UPDATE OR REPLACE keys SET key = ? WHERE key = ?", [(hide_key(key), key) for key in keys]
    )
