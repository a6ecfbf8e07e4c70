"""One rollout, a page at a time: what is known of its file, and how it comes to hold more.

Events are read from the log, turned into lines, and put where they belong; what
the file holds already is told to the writer of lines and to nobody else. It
knows no table: when a page may be written is the caller's to know.
"""

import sqlite3
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from askd.core.blob_parts import find_blobs
from askd.core.events import Event, PromptAccepted, SettingsChanged, TurnStarted
from askd.core.rollout import RolloutWriter
from askd.core.rollout_items import Contents
from askd.core.rollout_lines import encode_line
from askd.errors import NotFound
from askd.store import refusals
from askd.store.blobs import read_blob
from askd.store.event_pages import read_page
from askd.store.rollouts import files as rollout_files
from askd.store.rollouts.files import RolloutFile
from askd.store.rollouts.rows import RolloutRow

PAGE_EVENTS = 64
"""Events that are written down in a row: some milliseconds, then others have their turn."""
PAGE_BYTES = 256 * 1024
"""The same for large events."""


@dataclass(slots=True, kw_only=True)
class Copy:
    """What is known of one file.

    Attributes:
        row: what the table says, or will say once a claim is committed.
        seq, size: how far the file, or its draft, has come: in events and in bytes.
        fed: up to which event the writer knows the log.
        is_draft: the lines go to the draft, which takes the file's place when it is whole.
        has_model: the events so far name a model.
        begun: turns that had begun when the file was `seq` far, of what is not to be told again.
    """

    conversation_id: str
    path: Path
    row: RolloutRow
    writer: RolloutWriter
    seq: int = 0
    size: int = 0
    fed: int = 0
    is_draft: bool = False
    has_model: bool = False
    begun: Collection[str] = field(default_factory=frozenset)

    def is_anonymous(self) -> bool:
        """Whether the file is a short one whose first line names no provider."""
        return not self.is_draft and not self.has_model and 0 < self.seq <= PAGE_EVENTS

    def feed(self, event: Event, contents: Contents) -> list[bytes]:
        """The lines of the next event."""
        records = self.writer.feed(event, contents)
        self.fed = event.seq
        match event.body:
            case SettingsChanged(model=str()) | TurnStarted(model=str()):
                self.has_model = True
            case _:
                pass
        return [encode_line(record) for record in records]


def recall_page(connection: sqlite3.Connection, copy: Copy) -> None:
    """Learn a page of what the file holds already."""
    if not copy.fed:
        copy.begun = _find_begun(connection, copy.conversation_id, copy.seq)
    page = read_page(
        connection,
        copy.conversation_id,
        after_seq=copy.fed,
        limit=min(PAGE_EVENTS, copy.seq - copy.fed),
        limit_bytes=PAGE_BYTES,
    )
    for event in page.events:
        contents: dict[str, bytes] = dict.fromkeys(find_blobs([event.body]), b"")
        if isinstance(event.body, PromptAccepted) and event.body.turn_id not in copy.begun:
            contents = _read_contents(connection, event)  # it is still to be told
        copy.feed(event, contents)
    if not page.events:
        copy.fed = copy.seq


def write_page(connection: sqlite3.Connection, copy: Copy, *, database: Path) -> bool:
    """Write a page of what the file does not hold yet; whether there is more.

    Raises `OSError`, `Diverged`, `Overtaken`, and `StorageFailed` for a log with holes.
    """
    target = rollout_files.draft_of(copy.path) if copy.is_draft else copy.path
    with RolloutFile(target, copy.size, fresh=copy.is_draft and not copy.size) as file:
        page = read_page(
            connection,
            copy.conversation_id,
            after_seq=copy.fed,
            limit=PAGE_EVENTS,
            limit_bytes=PAGE_BYTES,
        )
        if page.lost:
            # Such a file may be all that is left of them: it stays as it is.
            raise refusals.log_not_whole(page.lost, database)
        for event in page.events:
            for line in copy.feed(event, _read_contents(connection, event)):
                file.put(line)
        copy.size = file.finish()
    copy.seq = copy.fed
    if copy.is_draft and not page.more:
        rollout_files.put_in_place(copy.path)
        copy.is_draft = False
    return page.more


def _read_contents(connection: sqlite3.Connection, event: Event) -> dict[str, bytes]:
    contents = {}
    for sha256 in find_blobs([event.body]):
        try:
            contents[sha256] = read_blob(connection, sha256)
        except NotFound:
            continue  # its name and size are in the event
    return contents


def _find_begun(connection: sqlite3.Connection, conversation_id: str, seq: int) -> frozenset[str]:
    """The turns that had begun, or ended, by an event: their prompts have been told."""
    rows = connection.execute(
        "SELECT json_extract(body, '$.turn_id') FROM events WHERE conversation_id = ? AND seq <= ?"
        " AND type IN ('turn_started', 'turn_finished') AND json_valid(body)",
        (conversation_id, seq),
    )
    return frozenset(turn_id for (turn_id,) in rows if isinstance(turn_id, str))
