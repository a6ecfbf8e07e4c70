"""What was said somewhere: hits of a search, the newest first or the best.

It reads the index and, of the hits of one page, the events themselves. What a
person types is never syntax to SQLite, and nothing that is typed is an error:
it finds something or nothing.
"""

import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from askd.core.search import Role, Term, cut_snippet, find_item_id, find_said, read_terms
from askd.store.bodies import decode_event
from askd.store.cursors import decode_cursor, encode_cursor
from askd.store.refusals import bad_cursor, search_damaged
from askd.store.search.index import is_damage, make_tags, read_text, to_place

MOST_TERMS = 32
"""Nobody types so many; each costs a look into the index."""
CLUSTER_S = 60.0
"""Ids of one moment run on this far at the most, for the next that is free is taken."""
NUMBER = re.compile(r"[0-9]{1,18}")
BEST, NEXT = "best", "next"
"""The kinds of cursor: one counts hits, for ranks change with all that is said; the other is the
last hit's id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """One event in which everything was found.

    Attributes:
        name, title: of the conversation.
        at: when it was said, in unix seconds.
        item_id: the item that the event brought.
        snippet: a piece of it on one line, around the first hit.
        marks: where in the snippet hits stand, as [start, end) in code points.
    """

    conversation_id: str
    name: str | None
    title: str | None
    seq: int
    at: float
    role: Role
    item_id: str | None
    snippet: str
    marks: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPage:
    """A page of hits; `next_cursor` None: that was the last."""

    rows: list[SearchHit]
    next_cursor: str | None


_COLUMNS = (
    "SELECT hit.id, hit.conversation_id, hit.seq, hit.at, hit.role,"
    " conversation.name, conversation.title, event.type, event.version, event.body"
)
_ROW = " CROSS JOIN search_rows AS hit ON hit.id = search.rowid"
_MESSAGE = (
    " CROSS JOIN conversations AS conversation ON conversation.id = hit.conversation_id"
    " CROSS JOIN events AS event"
    " ON event.conversation_id = hit.conversation_id AND event.seq = hit.seq"
)
_MATCH = " WHERE search MATCH :match AND search.rowid >= :first AND search.rowid <= :last"
_WITHIN = (
    " AND (:since_at IS NULL OR hit.at >= :since_at)"
    " AND (:until_at IS NULL OR hit.at < :until_at)"
    " AND (:conversation_id IS NULL OR hit.conversation_id = :conversation_id)"
)
# The tags are asked for and have no part in the rank.
_RANK = "SELECT search.rowid AS id, bm25(search, 1.0, 0.0) AS score FROM search"
_BEST = " ORDER BY score, search.rowid DESC LIMIT :limit OFFSET :offset"


def _read_best(ranked: str) -> str:
    """The messages of what is best: every hit is ranked, and those that are shown are read."""
    return (
        f"{_COLUMNS} FROM ({ranked}) AS best CROSS JOIN search_rows AS hit ON hit.id = best.id"
        f"{_MESSAGE} ORDER BY best.score, best.id DESC"
    )


NEWEST = (
    f"{_COLUMNS} FROM search{_ROW}{_MESSAGE}{_MATCH}{_WITHIN}"
    " ORDER BY search.rowid DESC LIMIT :limit"
)
RANKED = _read_best(f"{_RANK}{_MATCH}{_BEST}")
RANKED_WITHIN = _read_best(f"{_RANK}{_ROW}{_MATCH}{_WITHIN}{_BEST}")
"""The same within a time or a conversation, for which the row of every hit is looked at."""


def search(
    connection: sqlite3.Connection,
    text: str,
    *,
    conversation_id: str | None,
    role: Role | None,
    since_at: float | None,
    until_at: float | None,
    rank: bool,
    cursor: str | None,
    limit: int,
) -> SearchPage:
    """A page of hits; raises `RequestError` for a cursor of another listing, `StorageFailed`.

    Everything asked for has to be in one message. `since_at` is still wanted, `until_at` not.
    """
    place = _find_place(cursor, rank=rank)
    terms = read_terms(text)[:MOST_TERMS]
    if not terms:
        return SearchPage(rows=[], next_cursor=None)
    last = _find_last(until_at)
    values: dict[str, Any] = {
        "match": encode_match(terms, conversation_id=conversation_id, role=role),
        "first": 0 if since_at is None else to_place(since_at),
        "last": last if rank or place is None else min(last, place - 1),
        "since_at": since_at,
        "until_at": until_at,
        "conversation_id": conversation_id,
        "limit": limit + 1,
        "offset": place or 0,
    }
    is_whole = since_at is None and until_at is None and conversation_id is None
    best = RANKED if is_whole else RANKED_WITHIN
    connection.execute("BEGIN")  # the rows and the blobs that they name are of one moment
    try:
        found = connection.execute(best if rank else NEWEST, values).fetchall()
        rows = [_read_hit(connection, columns, terms) for columns in found[:limit]]
    except sqlite3.DatabaseError as error:
        if is_damage(error):
            raise search_damaged() from error
        raise
    finally:
        connection.execute("COMMIT")
    if len(found) <= limit or not rows:
        return SearchPage(rows=rows, next_cursor=None)
    after = f"{BEST} {(place or 0) + len(rows)}" if rank else f"{NEXT} {found[limit - 1][0]}"
    return SearchPage(rows=rows, next_cursor=encode_cursor(0.0, after))


def encode_match(terms: Sequence[Term], *, conversation_id: str | None, role: Role | None) -> str:
    """The terms in the language of FTS5, every word in quotes: none of them is an operator."""
    words = " AND ".join(
        f'"{" ".join(term.words)}"{" *" if term.is_start else ""}' for term in terms
    )
    role_tag, conversation_tag = make_tags(conversation_id or "", role or "")
    tags = [role_tag] if role is not None else []
    tags += [conversation_tag] if conversation_id is not None else []
    return "".join([f"words : ({words})", *(f' AND tags : "{tag}"' for tag in tags)])


def _find_place(cursor: str | None, *, rank: bool) -> int | None:
    """The id of the last hit that was shown; of a listing by rank how many were."""
    if cursor is None:
        return None
    kind, _, number = decode_cursor(cursor)[1].partition(" ")
    if kind != (BEST if rank else NEXT) or not NUMBER.fullmatch(number):
        raise bad_cursor()
    return int(number)


def _find_last(until_at: float | None) -> int:
    return 2**63 - 1 if until_at is None else to_place(until_at + CLUSTER_S)


def _read_hit(
    connection: sqlite3.Connection, columns: tuple[Any, ...], terms: tuple[Term, ...]
) -> SearchHit:
    _, conversation_id, seq, at, role, name, title, kind, version, body = columns
    event, _ = decode_event(conversation_id, seq, at, kind, version, body)
    said = find_said(event.body)
    snippet = cut_snippet("" if said is None else read_text(connection, said[1]), terms)
    return SearchHit(
        conversation_id=conversation_id,
        name=name,
        title=title,
        seq=seq,
        at=at,
        role=role,
        item_id=find_item_id(event.body),
        snippet=snippet.text,
        marks=snippet.marks,
    )
