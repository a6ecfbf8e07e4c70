"""What answers took, added up: by day, by model, by conversation, and all of them.

It changes nothing. A page and the total beside it are of one moment; a sum of
costs counts the answers with a known price, and says how many have none.
"""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from askd.store.cursors import decode_cursor, encode_cursor
from askd.store.refusals import bad_cursor

By = Literal["day", "model", "conversation"]

UNKNOWN = "unknown"
"""The group of answers whose model, or whose day, nobody knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRow:
    """One sum. Tokens: cached are a part of the input, reasoning of the output.

    Attributes:
        group: `YYYY-MM-DD`, `provider/model`, or a conversation's id; None: all that were
            deleted, and in a total everything.
        label: a conversation's name or title.
        answers: how many answers of models.
        cost_usd: None: no price is known of any of them.
        unpriced: answers without a known price.
    """

    group: str | None
    label: str | None
    answers: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cost_usd: float | None
    unpriced: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UsagePage:
    """A page of sums, and the sum of all pages; `next_cursor` None: that was the last."""

    rows: list[UsageRow]
    total: UsageRow
    next_cursor: str | None


_SUMS = (
    "count(*) AS answers, coalesce(sum(input_tokens), 0) AS input_tokens,"
    " coalesce(sum(cached_tokens), 0) AS cached_tokens,"
    " coalesce(sum(output_tokens), 0) AS output_tokens,"
    " coalesce(sum(reasoning_tokens), 0) AS reasoning_tokens,"
    " sum(cost_usd) AS cost_usd, count(*) - count(cost_usd) AS unpriced"
)


@dataclass(frozen=True, slots=True)
class _Grouping:
    """How rows become groups: the key of each, their order, and what comes after a place."""

    key: str
    order: str
    after: str


_DELETED = ""
"""The key of the group of deleted conversations: no id is empty, and SQL can compare it."""

_GROUPINGS: Mapping[By, _Grouping] = {
    "day": _Grouping(
        f"coalesce(date(CAST(at + :utc_offset_s AS INTEGER), 'unixepoch'), '{UNKNOWN}')",
        order="key DESC",
        after="key < :key",
    ),
    "model": _Grouping(f"coalesce(model, '{UNKNOWN}')", order="key", after="key > :key"),
    "conversation": _Grouping(
        f"coalesce(conversation_id, '{_DELETED}')",
        order="last_at DESC, key DESC",
        after="(last_at, key) < (:last_at, :key)",
    ),
}


def read_usage(
    connection: sqlite3.Connection,
    *,
    by: By,
    since_at: float | None,
    utc_offset_s: int,
    cursor: str | None,
    limit: int,
) -> UsagePage:
    """A page of sums; raises `RequestError` for a cursor of another listing.

    Days and conversations come the latest first, models by name. `utc_offset_s` says
    where a day begins; `since_at` leaves out what was before.
    """
    values: dict[str, Any] = {
        "utc_offset_s": utc_offset_s,
        "since_at": since_at,
        "by": by,
        "limit": limit + 1,
    }
    if cursor is not None:
        values |= _find_place(by, cursor)
    connection.execute("BEGIN")  # the page and the total see the same rows
    try:
        found = connection.execute(_write_query(by, since_at, cursor), values).fetchall()
        where = "" if since_at is None else "WHERE at >= :since_at"
        total = connection.execute(f"SELECT {_SUMS} FROM usage {where}", values).fetchone()
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    rows = [_row_of(key or None, label, sums) for key, _, label, *sums in found[:limit]]
    next_cursor = None
    if len(found) > limit:
        key, last_at, *_ = found[limit - 1]
        next_cursor = encode_cursor(last_at, f"{by}:{key}")
    return UsagePage(rows=rows, total=_row_of(None, None, total), next_cursor=next_cursor)


def _write_query(by: By, since_at: float | None, cursor: str | None) -> str:
    grouping = _GROUPINGS[by]
    where = "" if since_at is None else "WHERE at >= :since_at"
    after = "" if cursor is None else f"WHERE {grouping.after}"
    return (
        f"WITH sums AS (SELECT {grouping.key} AS key, max(at) AS last_at, {_SUMS}"
        f" FROM usage {where} GROUP BY 1)"
        " SELECT key, last_at, coalesce(name, title), answers, input_tokens, cached_tokens,"
        " output_tokens, reasoning_tokens, cost_usd, unpriced FROM sums"
        " LEFT JOIN conversations ON :by = 'conversation' AND conversations.id = key"
        f" {after} ORDER BY {grouping.order} LIMIT :limit"
    )


def _find_place(by: By, cursor: str) -> dict[str, Any]:
    last_at, place = decode_cursor(cursor)
    kind, _, key = place.partition(":")
    if kind != by:
        raise bad_cursor()
    return {"last_at": last_at, "key": key}


def _row_of(group: str | None, label: str | None, sums: Any) -> UsageRow:
    answers, input_tokens, cached_tokens, output_tokens, reasoning_tokens, cost, unpriced = sums
    return UsageRow(
        group=group,
        label=label,
        answers=answers,
        input_tokens=input_tokens,
        cached_tokens=cached_tokens,
        output_tokens=output_tokens,
        reasoning_tokens=reasoning_tokens,
        cost_usd=cost,
        unpriced=unpriced,
    )
