"""The index of all that was said: kept in the transaction of the event, from the event.

It holds words and where they stand, not the text: a third of the size, and one
place less from which a deleted text has to go. So what leaves it must be said
once more, word for word; `askd.core.search` says what a word is, and whoever
changes that owes a migration that builds the index anew. An index that is
damaged costs no event: it is passed over, and built again when nobody waits.
"""

import logging
import sqlite3
from collections.abc import Callable, Sequence

from askd.core.events import Event, PromptAccepted, PromptWithdrawn
from askd.core.items import Blob, Part, Text
from askd.core.search import find_said, find_words
from askd.store.bodies import decode_event
from askd.store.refusals import primary_code

logger = logging.getLogger(__name__)

BLOB_BYTES = 256 * 1024
"""Of content that is kept beside the log so much is indexed: the beginning of a long file."""
SECOND = 1_000_000
"""A row's id is its event's time in microseconds, or the next that is free: ids are in the order
of time, which is the order in which hits are wanted."""
LATEST_S = 9e11
"""No event counts as later than this (the year 30,000), so that an id has 18 digits."""
HAS_SECURE_DELETE = sqlite3.sqlite_version_info >= (3, 42)
"""Whether this SQLite can take a word out of the index's pages by itself."""

TABLES = (
    """
    CREATE TABLE search_rows (
        id INTEGER NOT NULL PRIMARY KEY,
        conversation_id TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
        seq INTEGER NOT NULL,
        at REAL NOT NULL,
        role TEXT NOT NULL
    )
    """,
    "CREATE UNIQUE INDEX search_rows_by_event ON search_rows (conversation_id, seq)",
    # What is to be done with the index when nobody waits: `purge` or `rebuild`.
    "CREATE TABLE search_chores (chore TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID",
)
INDEX = "CREATE VIRTUAL TABLE search USING fts5(words, tags, content = '', tokenize = 'ascii')"
"""`words` as `find_words` finds them, so that only spaces are left to be seen by the tokenizer;
`tags`: the role and the conversation, so that a search in one of them reads no other."""

_TOLD = ("prompt_accepted", "prompt_withdrawn", "item_added", "view_changed")
_EVENT = "SELECT seq, at, type, version, body FROM events WHERE conversation_id = ?"


def index_events(connection: sqlite3.Connection, events: Sequence[Event]) -> None:
    """Take in what these events say; the log must hold them, and their blobs, already."""
    said = [each for each in events if _is_told(each)]
    if not said:
        return
    connection.execute("SAVEPOINT search")
    try:
        for event in said:
            _index_event(connection, event)
        _flush(connection)
    except sqlite3.DatabaseError as error:
        if not (connection.in_transaction and is_damage(error)):
            raise
        connection.execute("ROLLBACK TO search")
        _note_damage(connection, error)
    connection.execute("RELEASE search")


def forget_conversation(connection: sqlite3.Connection, conversation_id: str) -> None:
    """Take a conversation's words out of the index; the log must still hold it."""
    rows = connection.execute(
        "SELECT seq FROM search_rows WHERE conversation_id = ?", (conversation_id,)
    ).fetchall()
    forget_events(connection, conversation_id, [seq for (seq,) in rows])


def forget_events(
    connection: sqlite3.Connection, conversation_id: str, seqs: Sequence[int]
) -> None:
    """Take the words of single events out of the index; the log must still hold them as it did."""
    if not seqs:
        return
    connection.execute("SAVEPOINT search")
    try:
        if not HAS_SECURE_DELETE:
            # What was deleted stays in the pages until they are written anew: see `tend`.
            connection.execute("INSERT INTO search_chores VALUES ('purge') ON CONFLICT DO NOTHING")
        for seq in seqs:
            _forget_event(connection, conversation_id, seq)
        _flush(connection)
    except sqlite3.DatabaseError as error:
        if not (connection.in_transaction and is_damage(error)):
            raise
        connection.execute("ROLLBACK TO search")
        connection.executemany(
            "DELETE FROM search_rows WHERE conversation_id = ? AND seq = ?",
            [(conversation_id, seq) for seq in seqs],
        )
        _note_damage(connection, error)
    connection.execute("RELEASE search")


def rebuild(connection: sqlite3.Connection) -> None:
    """Build the index from all events, one after the other, within the caller's transaction."""
    connection.execute("DROP TABLE IF EXISTS search")
    connection.execute(INDEX)
    _delete_securely(connection)
    connection.execute("DELETE FROM search_rows")
    connection.execute("DELETE FROM search_chores")
    marks = ", ".join("?" * len(_TOLD))
    told = connection.execute(
        "SELECT conversation_id, seq, at, type, version, body FROM events"
        f" WHERE type IN ({marks}) ORDER BY conversation_id, seq",
        _TOLD,
    )
    # SQLite hands out one row at a time and writes full pages as it goes: no memory is needed
    # for more than one event.
    for columns in told:
        _index_event(connection, decode_event(*columns)[0])


def find_chore(connection: sqlite3.Connection) -> str | None:
    """What is to be done with the index: `rebuild`, `purge` or nothing."""
    (chore,) = connection.execute("SELECT max(chore) FROM search_chores").fetchone()
    return None if chore is None else str(chore)


def ask_rebuild(connection: sqlite3.Connection) -> None:
    """Let `tend` build the index anew."""
    connection.execute("INSERT INTO search_chores VALUES ('rebuild') ON CONFLICT DO NOTHING")


def is_damage(error: sqlite3.Error) -> bool:
    """Whether the index itself is what is wrong: no full disk, no broken one, no other table."""
    code = getattr(error, "sqlite_errorcode", None)
    # A newer SQLite names the part in its sentence: "fts5: corruption found ...".
    is_torn = code == sqlite3.SQLITE_CORRUPT_VTAB or str(error).startswith("fts5:")
    return is_torn or primary_code(error) in {
        sqlite3.SQLITE_ERROR,
        sqlite3.SQLITE_CONSTRAINT,
    }


def tend(connection: sqlite3.Connection) -> None:
    """Do what is to be done with the index, in a transaction of its own.

    `purge` writes all its pages anew, without what was deleted: for an SQLite that cannot take
    it out by itself. It takes a fifth of a second for 100,000 messages.
    """
    chore = find_chore(connection)
    if chore is None:
        return
    try:
        _do_chore(connection, rebuild if chore == "rebuild" else _purge)
    except sqlite3.DatabaseError as error:
        if chore == "rebuild" or not is_damage(error):
            raise
        logger.error("The search index is damaged and is built anew: %s", error)
        _do_chore(connection, rebuild)


def read_text(connection: sqlite3.Connection, parts: Sequence[Part]) -> str:
    """What is indexed of a message, and shown of a hit; of a blob of text its beginning."""
    return "\n".join(_read_part(connection, part) for part in parts)


def make_tags(conversation_id: str, role: str) -> tuple[str, str]:
    """The two words that stand for a row's role and its conversation."""
    return f"r{role}", "c" + "".join(filter(str.isalnum, conversation_id))


def to_place(at: float) -> int:
    """The first id that an event of this time can have."""
    return int(min(max(at, 0.0), LATEST_S) * SECOND)


def _is_told(event: Event) -> bool:
    """Whether an event puts words in, or takes some out."""
    return isinstance(event.body, PromptWithdrawn) or find_said(event.body) is not None


def _index_event(connection: sqlite3.Connection, event: Event) -> None:
    if isinstance(event.body, PromptWithdrawn):
        _forget_prompt(connection, event, event.body.turn_id)
        return
    said = find_said(event.body)
    if said is None:
        return
    role, parts = said
    words = " ".join(find_words(read_text(connection, parts)))
    if not words:
        return
    id = _find_free(connection, to_place(event.at))
    connection.execute(
        "INSERT INTO search_rows (id, conversation_id, seq, at, role) VALUES (?, ?, ?, ?, ?)",
        (id, event.conversation_id, event.seq, event.at, role),
    )
    tags = " ".join(make_tags(event.conversation_id, role))
    connection.execute(
        "INSERT INTO search (rowid, words, tags) VALUES (?, ?, ?)", (id, words, tags)
    )


def _find_free(connection: sqlite3.Connection, place: int) -> int:
    """The place if it is free, else the one after those that are taken within its second."""
    while True:
        (last,) = connection.execute(
            "SELECT max(id) FROM search_rows WHERE id BETWEEN ? AND ?", (place, place + SECOND - 1)
        ).fetchone()
        if last is None:
            return place
        if last < place + SECOND - 1:
            return int(last) + 1
        place += SECOND


def _forget_prompt(connection: sqlite3.Connection, withdrawn: Event, turn_id: str) -> None:
    """A prompt that was taken back was never said to a model: no history shows it."""
    id = withdrawn.conversation_id
    prompts = connection.execute(
        f"{_EVENT} AND seq < ? AND type = 'prompt_accepted' ORDER BY seq DESC", (id, withdrawn.seq)
    )
    for columns in prompts:
        body = decode_event(id, *columns)[0].body
        if isinstance(body, PromptAccepted) and body.turn_id == turn_id:
            # Without a purge: the log keeps the words too.
            _forget_event(connection, id, columns[0])
            return


def _forget_event(connection: sqlite3.Connection, conversation_id: str, seq: int) -> None:
    found = connection.execute(
        "SELECT id, role FROM search_rows WHERE conversation_id = ? AND seq = ?",
        (conversation_id, seq),
    ).fetchone()
    columns = connection.execute(f"{_EVENT} AND seq = ?", (conversation_id, seq)).fetchone()
    if found is None or columns is None:
        return
    id, role = found
    said = find_said(decode_event(conversation_id, *columns)[0].body)
    if said is not None:
        words = " ".join(find_words(read_text(connection, said[1])))
        tags = " ".join(make_tags(conversation_id, role))
        _delete_securely(connection)
        connection.execute(
            "INSERT INTO search (search, rowid, words, tags) VALUES ('delete', ?, ?, ?)",
            (id, words, tags),
        )
    connection.execute("DELETE FROM search_rows WHERE id = ?", (id,))


def _flush(connection: sqlite3.Connection) -> None:
    """Let FTS5 write its pages now, as at any savepoint: if that fails, it fails here."""
    connection.execute("SAVEPOINT flushed")
    connection.execute("RELEASE flushed")


def _do_chore(connection: sqlite3.Connection, chore: Callable[[sqlite3.Connection], None]) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        chore(connection)
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _purge(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO search (search) VALUES ('optimize')")
    connection.execute("DELETE FROM search_chores")


def _delete_securely(connection: sqlite3.Connection) -> None:
    """Let words leave the pages with their row; the index remembers it, an older SQLite cannot."""
    if HAS_SECURE_DELETE:
        connection.execute("INSERT INTO search (search, rank) VALUES ('secure-delete', 1)")


def _read_part(connection: sqlite3.Connection, part: Part) -> str:
    match part:
        case Text(text=text):
            return text
        case Blob(media_type=media_type) if not media_type.startswith("text/"):
            return ""
        case Blob(sha256=sha256):
            found = connection.execute(
                "SELECT substr(data, 1, ?) FROM blobs WHERE sha256 = ?", (BLOB_BYTES, sha256)
            ).fetchone()
            return "" if found is None else bytes(found[0]).decode("utf-8", "ignore")


def _note_damage(connection: sqlite3.Connection, error: Exception) -> None:
    logger.error("The search index is damaged and will be built anew: %s", error)
    ask_rebuild(connection)
