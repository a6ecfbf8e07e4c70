"""Brings the file of a conversation up to its log, a page at a time, in a thread of its own.

For each file that was written lately it knows how far it is and what has been
told, in bounded memory; of the others that is found again by reading their
events. What it knows it checks against the table each time: a row that somebody
reset has its file written anew. It reads the database and changes nothing in it:
what is to be committed is answered, for the caller to ask for.
"""

import sqlite3
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from askd.core.rollout import RolloutWriter, split_model
from askd.store.batch import Change
from askd.store.changes import read_row
from askd.store.database import open_readonly
from askd.store.projection import ConversationRow
from askd.store.rollouts import files as rollout_files
from askd.store.rollouts import rows as rollouts
from askd.store.rollouts.files import Diverged, Overtaken
from askd.store.rollouts.pages import Copy, recall_page, write_page
from askd.store.rollouts.rows import Listed, Offset, Place, Removal, RolloutRow

COPIES_KEPT = 64
"""Files whose state is remembered: more conversations are seldom at work at once."""
EVENTS_KEPT = 20_000
"""Of all that are remembered; the one written last is, however long it is."""
LISTED = 256
"""Conversations that are looked at in a row, to find those that are behind."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Commit this, then come again. `leaves`: an old file is to be removed then."""

    change: Change[bool]
    leaves: bool = False


@dataclass(frozen=True, slots=True)
class Advanced:
    """A page is done. `more`: the file is not up to the log yet."""

    more: bool


Step = Ask | Advanced
DONE = Advanced(more=False)
MORE = Advanced(more=True)


@dataclass(frozen=True, slots=True)
class Synced:
    """What the table may be told; whose file is gone; what went wrong with others."""

    offsets: list[Offset]
    lost: list[str]
    error: OSError | None


class Copies:
    """The files below `directory`. One thread at a time; raises `OSError` and `sqlite3.Error`."""

    def __init__(self, database: Path, *, data: Path, directory: Path, version: str) -> None:
        self.directory = directory
        self._database = database
        self._data = data
        self._version = version
        self._connection: sqlite3.Connection | None = None
        self._copies: OrderedDict[str, Copy] = OrderedDict()
        self._marks = count(1)

    # ---- one conversation --------------------------------------------------------

    def advance(self, conversation_id: str) -> Step:
        """Write the next page of a conversation's events, if there is one."""
        try:
            step = self._advance(self._connect(), conversation_id)
        except BaseException as error:
            self._copies.pop(conversation_id, None)
            if isinstance(error, sqlite3.Error):
                self.close()
            raise
        self._forget_oldest()
        return step

    def _advance(self, connection: sqlite3.Connection, conversation_id: str) -> Step:
        conversation = read_row(connection, conversation_id)
        if conversation is None:
            self._copies.pop(conversation_id, None)
            return DONE
        row = rollouts.read_rollout(connection, conversation_id)
        path = rollouts.place_file(self.directory, conversation_id, conversation.created_at)
        if row is None:
            return self._claim(conversation, path, None)
        if self.find_path(row.path) != path:
            return self._move(conversation, path, row)
        copy = self._find_copy(conversation, path, row)
        if copy is None:
            return self._claim(conversation, path, row)
        self._copies.move_to_end(conversation_id)
        if not copy.is_draft:
            size = rollout_files.measure(path)
            if size is None or size < copy.size:
                return self._claim(conversation, path, row)
            if copy.seq >= conversation.last_seq:
                return DONE
        if copy.fed < copy.seq:
            recall_page(connection, copy)
            return MORE
        if copy.is_anonymous() and conversation.model is not None:
            # Nobody had spoken yet: the first line is to name who has by now.
            return self._claim(conversation, path, row)
        try:
            return Advanced(more=write_page(connection, copy, database=self._database))
        except Diverged:
            return self._claim(conversation, path, row)
        except Overtaken:
            # What the file held before is still so; what it holds now is looked up.
            self._copies[conversation_id] = replace(
                copy, writer=self._make_writer(conversation), fed=0, has_model=False
            )
            return MORE

    def _find_copy(self, conversation: ConversationRow, path: Path, row: RolloutRow) -> Copy | None:
        """What is known of a file, or can be found out; None: it is to be written anew."""
        copy = self._copies.get(conversation.id)
        if copy is not None and copy.row == row and copy.path == path:
            return copy
        if row.bytes <= 0:
            return None
        copy = Copy(
            conversation_id=conversation.id,
            path=path,
            row=row,
            writer=self._make_writer(conversation),
            seq=row.seq,
            size=row.bytes,
        )
        self._copies[conversation.id] = copy
        return copy

    def _make_writer(self, conversation: ConversationRow) -> RolloutWriter:
        provider = split_model(conversation.model)[0]
        return RolloutWriter(conversation.id, provider=provider, version=self._version)

    def _claim(self, conversation: ConversationRow, path: Path, old: RolloutRow | None) -> Ask:
        """Have it noted that the file is written from its beginning."""
        rollout_files.make_folder(path)
        mark = next(self._marks)
        stored = rollouts.store_path(path, self._data)
        if old is not None and self.find_path(old.path) == path:
            stored = old.path  # the same place, in other words: nothing is to be removed
        self._copies[conversation.id] = Copy(
            conversation_id=conversation.id,
            path=path,
            row=RolloutRow(stored, 0, -mark),
            writer=self._make_writer(conversation),
            is_draft=True,
        )
        return Ask(rollouts.claim(conversation.id, stored, mark))

    def _move(self, conversation: ConversationRow, path: Path, row: RolloutRow) -> Ask:
        """The directory has changed: copy the file, or have it written anew if it is not whole."""
        self._copies.pop(conversation.id, None)
        old = self.find_path(row.path)
        try:
            size = rollout_files.measure(old)
            is_whole = size is not None and 0 < row.bytes <= size
        except OSError:
            is_whole = False
        if not is_whole:
            return replace(self._claim(conversation, path, row), leaves=True)
        rollout_files.copy_file(old, path)
        stored = rollouts.store_path(path, self._data)
        return Ask(rollouts.move(conversation.id, row, stored), leaves=True)

    # ---- all of them -------------------------------------------------------------

    def find_path(self, stored: str) -> Path:
        """Where the file lies that a row names."""
        return self._data / stored

    def find_behind(self, after: Place) -> tuple[list[str], Place | None]:
        """Conversations whose file is to be seen to, and where to go on; None: that is all.

        The last updated come first: theirs are the files that somebody may want today. Those
        whose file is up to date are among them if it is not there, or shorter than it was.
        """
        connection = self._connect()
        found, place = rollouts.list_rollouts(connection, after=after, limit=LISTED)
        return [each.conversation_id for each in found if not self._is_mirrored(each)], place

    def _is_mirrored(self, each: Listed) -> bool:
        row = each.row
        path = rollouts.place_file(self.directory, each.conversation_id, each.created_at)
        if row is None or row.bytes <= 0 or row.seq < each.last_seq:
            return False
        if self.find_path(row.path) != path:
            return False
        try:
            size = rollout_files.measure(path)
        except OSError:
            return False
        return size is not None and size >= row.bytes

    def find_resets(self) -> list[str]:
        """Conversations whose file somebody wants written anew."""
        return rollouts.find_resets(self._connect())

    def ahead(self) -> dict[str, int]:
        """How far files are of which the table does not know yet. Open to any thread."""
        return {
            id: copy.seq
            for id, copy in list(self._copies.items())
            if not copy.is_draft and (copy.seq, copy.size) != (copy.row.seq, copy.row.bytes)
        }

    def sync(self) -> Synced:
        """See that what is ahead of the table is on the disk."""
        offsets, lost, error = [], [], None
        ahead = {id: self._copies[id] for id in self.ahead()}
        failed = rollout_files.sync([copy.path for copy in ahead.values()])
        for id, copy in ahead.items():
            if copy.path not in failed:
                offset = Offset(conversation_id=id, before=copy.row, seq=copy.seq, bytes=copy.size)
                offsets.append(offset)
                continue
            del self._copies[id]
            if isinstance(failed[copy.path], FileNotFoundError):
                lost.append(id)
            else:
                error = failed[copy.path]
        return Synced(offsets, lost, error)

    def confirm(self, offsets: Sequence[Offset], saved: Collection[str]) -> list[str]:
        """The table knows of these now; answers those whose row is another one by now."""
        for each in offsets:
            id = each.conversation_id
            if id not in saved:
                self._copies.pop(id, None)
            elif id in self._copies:
                self._copies[id].row = RolloutRow(each.before.path, each.seq, each.bytes)
        return [each.conversation_id for each in offsets if each.conversation_id not in saved]

    # ---- what is to go -----------------------------------------------------------

    def list_removals(self) -> list[Removal]:
        """Every file that is to go."""
        return rollouts.read_removals(self._connect())

    def remove(self, removal: Removal, archive: Path) -> None:
        """Remove or archive a file."""
        path = self.find_path(removal.path)
        if removal.archive:
            rollout_files.archive_file(path, archive)
        else:
            rollout_files.remove_file(path)

    def close(self) -> None:
        """Let go of the database; it is opened again when it is needed."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _connect(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = open_readonly(self._database)
        return self._connection

    def _forget_oldest(self) -> None:
        events = sum(copy.fed for copy in self._copies.values())
        while len(self._copies) > 1 and (len(self._copies) > COPIES_KEPT or events > EVENTS_KEPT):
            # What the table has yet to be told goes last, for nobody would come back to tell it.
            ahead, ids = self.ahead(), list(self._copies)[:-1]
            oldest = next((id for id in ids if id not in ahead), ids[0])
            events -= self._copies.pop(oldest).fed
