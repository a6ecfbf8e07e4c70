"""What the listings share: how many records a page may be asked for, and from where."""

from askd.errors import RequestError

PAGE_LIMIT = 500
"""Records of the longest kind still fit a message then."""

SEQ_LIMIT = 2**53
"""Beyond what any client can count; far below what SQLite can."""


def check_seq(seq: int) -> int:
    """A place in a log: 0 is before its first event."""
    if not 0 <= seq < SEQ_LIMIT:
        raise RequestError("after_seq is 0 or the seq of an event.", data={"field": "after_seq"})
    return seq


def check_limit(limit: int) -> int:
    """How many to read; more than a page holds means a page, and its cursor says so."""
    if limit < 1:
        raise RequestError("limit is 1 or more.", data={"field": "limit"})
    return min(limit, PAGE_LIMIT)
