"""What is to be done to take a secret out of one conversation: found, and not yet done.

All that the database holds of it is read: events, the contents that they name,
the row of the list, texts of running items, jobs, the client's keys. It writes
nothing, so that a look and the deed count the same.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from askd.core.records import Json
from askd.core.rewriting import Rewrite, rewrite_fields, rewrite_record
from askd.core.rollout_lines import encode_line
from askd.core.scrubbing import Scrub
from askd.store import blobs, refusals
from askd.store.bodies import clean_text
from askd.store.rollouts.rows import read_rollout

NAME_CHARACTERS = 64
"""A conversation's name has no more: `sessions.targets` checks those that people give."""
DECODING = "surrogateescape"
"""A record that is no UTF-8 keeps its bytes, but for those of the secret."""

JobTexts = tuple[str, str, str]
"""Arguments and errors as they are to be, and the job's id."""

# As bytes: a record that is no text must be scrubbed too.
_EVENTS = "SELECT seq, CAST(body AS BLOB) FROM events WHERE conversation_id = ? ORDER BY seq"
_TITLES = "SELECT seq, CAST(body AS BLOB) FROM events WHERE conversation_id = ? AND type = 'titled'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scrubbed:
    """What was found in a conversation, or replaced.

    Attributes:
        name, title: without the secret.
        events: how many of them hold it, those included whose content does.
        blobs: contents kept beside the log that hold it.
        occurrences: how often it stands in all of these, and beside them.
        is_busy: a turn or a job is at work there, or waits to be.
        rollout: the path of the file that mirrors it, as its row has it.
    """

    conversation_id: str
    name: str | None
    title: str | None
    events: int
    blobs: int
    occurrences: int
    is_busy: bool
    rollout: str | None = None


@dataclass(slots=True)
class Plan:
    """What is to be written of one conversation."""

    events: dict[int, str | bytes] = field(default_factory=dict)  # by seq
    blobs: dict[str, bytes] = field(default_factory=dict)  # by the old digest
    renamed: dict[str, tuple[str, int]] = field(default_factory=dict)  # digest and size by it
    row: tuple[str | None, str | None, str | None] = (None, None, None)  # name, title, model
    row_changed: bool = False
    partials: list[tuple[str, str, str]] = field(default_factory=list)  # text, item, kind
    jobs: list[JobTexts] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    occurrences: int = 0

    @property
    def is_empty(self) -> bool:
        return not (
            self.events or self.blobs or self.row_changed or self.partials or self.jobs or self.keys
        )


class _Counting:
    """A scrub that counts what it replaces, and finds names that are free."""

    def __init__(self, connection: sqlite3.Connection, conversation_id: str, scrub: Scrub) -> None:
        self.occurrences = 0
        self._connection = connection
        self._id = conversation_id
        self._scrub = scrub
        self._names: dict[str, str] = {}

    def text(self, text: str) -> str:
        self.occurrences += self._scrub.count(text)
        return self._scrub.replace(text)

    def token(self, token: str) -> str:
        self.occurrences += self._scrub.count(token)
        return self._scrub.replace_token(token)

    def name(self, name: str) -> str:
        """The name without the secret, one that no other conversation has."""
        changed = self.text(name)
        if changed == name:
            return name
        if name not in self._names:
            self._names[name] = self._find_free(changed)
        return self._names[name]

    def content(self, data: bytes) -> bytes:
        changed = self._scrub.replace_bytes(data)
        if changed != data:
            self.occurrences += self._scrub.count(data.decode("utf-8", "replace"))
        return changed

    def _find_free(self, name: str) -> str:
        number = 1
        free = name[:NAME_CHARACTERS]
        while self._connection.execute(
            "SELECT 1 FROM conversations WHERE name = ? AND id <> ?", (free, self._id)
        ).fetchone():
            number += 1
            end = f"-{number}"
            free = f"{name[: NAME_CHARACTERS - len(end)]}{end}"
        return free


def make_plan(connection: sqlite3.Connection, conversation_id: str, scrub: Scrub) -> Plan:
    """Everything that holds the secret, as it is to be; raise `NotFound`."""
    row = connection.execute(
        "SELECT name, title, model FROM conversations WHERE id = ?", (conversation_id,)
    ).fetchone()
    if row is None:
        raise refusals.conversation_not_found(conversation_id)
    plan = Plan()
    counting = _Counting(connection, conversation_id, scrub)
    for sha256 in blobs.used_blobs(connection, conversation_id):
        data = blobs.read_blob(connection, sha256)
        changed = counting.content(data)
        if changed != data:
            plan.blobs[sha256] = changed
            plan.renamed[sha256] = (hashlib.sha256(changed).hexdigest(), len(changed))
    rewrite = Rewrite(
        text=counting.text,
        token=counting.token,
        name=counting.name,
        blobs=plan.renamed,
    )
    for seq, data in connection.execute(_EVENTS, (conversation_id,)):
        body = bytes(data).decode("utf-8", DECODING)
        if scrub.may_stand_in(body) or any(sha256 in body for sha256 in plan.renamed):
            _take(plan, seq, body, rewrite)
    # The row says what events say: what is in it was counted there.
    counted = counting.occurrences
    name, title, model = row
    plan.row = (
        name and counting.name(name),
        title and clean_text(counting.text(title)),
        model and counting.text(model),
    )
    if plan.events or plan.blobs:
        _plan_title(connection, conversation_id, plan, scrub, rewrite)
    plan.row_changed = plan.row != (name, title, model)
    counting.occurrences = counted
    _plan_beside(connection, conversation_id, plan, scrub, rewrite)
    plan.occurrences = counting.occurrences
    return plan


def _take(plan: Plan, seq: int, body: str, rewrite: Rewrite) -> None:
    changed = _rewrite_body(body, rewrite)
    if changed != body:
        plan.events[seq] = _encode(changed)


def _plan_title(
    connection: sqlite3.Connection,
    conversation_id: str,
    plan: Plan,
    scrub: Scrub,
    rewrite: Rewrite,
) -> None:
    """A title may end with half of what was said, where it was cut; and only where it was said."""
    rewrite = replace(rewrite, title=scrub.replace_cut)
    titled = connection.execute(_TITLES, (conversation_id,)).fetchall()
    for seq, data in titled:
        _take(plan, seq, bytes(data).decode("utf-8", DECODING), rewrite)
    name, title, model = plan.row
    plan.row = (name, title and clean_text(scrub.replace_cut(title)), model)


def _plan_beside(
    connection: sqlite3.Connection,
    conversation_id: str,
    plan: Plan,
    scrub: Scrub,
    rewrite: Rewrite,
) -> None:
    """What belongs to the conversation and is no event."""
    for item_id, kind, text in connection.execute(
        "SELECT item_id, kind, text FROM partials WHERE conversation_id = ?", (conversation_id,)
    ):
        changed = rewrite.text(text)
        if changed != text:
            plan.partials.append((changed, item_id, kind))
    jobs = connection.execute(
        "SELECT id, arguments, errors FROM jobs WHERE conversation_id = ?", (conversation_id,)
    )
    plan.jobs += rewrite_jobs(jobs.fetchall(), scrub, rewrite)
    keys = connection.execute("SELECT key FROM keys WHERE conversation_id = ?", (conversation_id,))
    plan.keys += [key for (key,) in keys if scrub.stands_in(key)]


def _rewrite_body(body: str, rewrite: Rewrite) -> str:
    try:
        body.encode()
        record: Json = json.loads(body)
        changed = rewrite_record(record, rewrite)
        return body if changed == record else encode_line(changed)[:-1].decode()
    except (ValueError, RecursionError):
        return rewrite.text(body)


def _encode(body: str) -> str | bytes:
    """As it was: text, or bytes that are none."""
    try:
        body.encode()
    except UnicodeEncodeError:
        return body.encode("utf-8", DECODING)
    return body


def rewrite_jobs(rows: Iterable[JobTexts], scrub: Scrub, rewrite: Rewrite) -> Iterator[JobTexts]:
    """Those that change, of (id, arguments, errors)."""
    for id, arguments, errors in rows:
        if scrub.may_stand_in(arguments) or scrub.may_stand_in(errors):
            told = {"arguments": json.loads(arguments), "errors": json.loads(errors)}
            changed = rewrite_fields(told, rewrite)
            if changed != told:
                yield json.dumps(changed["arguments"]), json.dumps(changed["errors"]), id


def describe(connection: sqlite3.Connection, conversation_id: str, plan: Plan) -> Scrubbed:
    """The plan as people are told of it."""
    (is_busy,) = connection.execute(
        "SELECT EXISTS (SELECT 1 FROM open_turns WHERE conversation_id = :id)"
        " OR EXISTS (SELECT 1 FROM jobs WHERE conversation_id = :id AND state = 'running')",
        {"id": conversation_id},
    ).fetchone()
    mirror = read_rollout(connection, conversation_id)
    name, title, _ = plan.row
    return Scrubbed(
        conversation_id=conversation_id,
        name=name,
        title=title,
        events=len(plan.events),
        blobs=len(plan.blobs),
        occurrences=plan.occurrences,
        is_busy=bool(is_busy),
        rollout=None if mirror is None else mirror.path,
    )
