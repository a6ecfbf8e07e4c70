"""What the listings share: how many records a page may be asked for."""

from askd.errors import RequestError

PAGE_LIMIT = 500
"""Records of the longest kind still fit a message then."""


def check_limit(limit: int) -> int:
    """How many to read; more than a page holds means a page, and its cursor says so."""
    if limit < 1:
        raise RequestError("limit is 1 or more.", data={"field": "limit"})
    return min(limit, PAGE_LIMIT)
