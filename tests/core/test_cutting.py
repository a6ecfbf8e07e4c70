"""A text is cut in its middle, between what a reader sees as characters."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.core.cutting import cut_middle


def test_both_ends_stay_and_what_is_missing_is_counted() -> None:
    text = "a" * 60 + "b" * 40
    assert cut_middle(text, 50) == "a" * 20 + "[... 60 characters truncated ...]" + "b" * 20
    assert cut_middle(text, 100) == text
    assert cut_middle(text, 0) == "[... 100 characters truncated ...]"


@pytest.mark.parametrize(
    "cluster",
    ["e\u0301", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f44d\U0001f3fd", "\r\n"],
)
def test_no_cluster_is_torn(cluster: str) -> None:
    text = cluster * 50
    for limit in range(len(cluster) * 10, len(text)):
        head, _, rest = cut_middle(text, limit).partition("[...")
        tail = rest.partition("...]")[2]
        assert head == cluster * (len(head) // len(cluster))
        assert tail == cluster * (len(tail) // len(cluster))


@given(st.text(max_size=300), st.integers(0, 200))
def test_it_ends_and_keeps_the_ends(text: str, limit: int) -> None:
    cut = cut_middle(text, limit)
    if len(text) <= limit:
        assert cut == text
        return
    head, _, tail = cut.partition("[... ")
    assert text.startswith(head)
    tail = tail.partition(" ...]")[2]
    if "[... " not in text and " ...]" not in text:
        assert text.endswith(tail)
        assert len(head) <= limit
    assert not (tail and unicodedata.combining(tail[0]) and len(text) < 60)
