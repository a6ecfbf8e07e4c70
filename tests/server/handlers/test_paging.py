"""Pages: as many as asked for, as many as fit, and never none."""

import pytest

from askd.errors import RequestError
from askd.server.handlers.paging import PAGE_LIMIT, SEQ_LIMIT, check_limit, check_seq


def test_a_page_is_no_larger_than_fits() -> None:
    assert [check_limit(n) for n in (1, PAGE_LIMIT, PAGE_LIMIT + 1)] == [1, PAGE_LIMIT, PAGE_LIMIT]


@pytest.mark.parametrize("limit", [0, -1])
def test_a_page_of_nothing_is_refused(limit: int) -> None:
    with pytest.raises(RequestError):
        check_limit(limit)


def test_a_place_is_in_the_log() -> None:
    assert [check_seq(n) for n in (0, SEQ_LIMIT - 1)] == [0, SEQ_LIMIT - 1]
    for seq in (-1, SEQ_LIMIT):
        with pytest.raises(RequestError):
            check_seq(seq)
