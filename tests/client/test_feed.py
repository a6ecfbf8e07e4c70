"""Whatever overlaps, every event and every character comes out once."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ask.feed import Feed, Missed

Map = dict[str, Any]


def event(seq: int, type: str = "titled", **fields: Any) -> Map:
    return {"conversation_id": "c", "seq": seq, "type": type, **fields}


def delta(offset: int, text: str, kind: str = "text") -> Map:
    return {
        "conversation_id": "c",
        "turn_id": "t",
        "item_id": "t.1",
        "kind": kind,
        "offset": offset,
        "text": text,
    }


def test_an_event_is_passed_on_once() -> None:
    feed = Feed()
    assert len(feed.take_page([event(1), event(2)])) == 2
    assert feed.take("event", event(2)) == []
    assert len(feed.take("event", event(3))) == 1
    assert feed.take_page([event(2), event(3), event(4)])[0].fields["seq"] == 4


def test_a_hole_between_events_is_noticed() -> None:
    feed = Feed(seq=4)
    with pytest.raises(Missed):
        feed.take("event", event(6))
    assert feed.seq == 4


def test_a_gap_is_noticed_and_other_notifications_pass() -> None:
    feed = Feed()
    with pytest.raises(Missed):
        feed.take("gap", {"conversation_id": "c"})
    assert feed.take("progress", {"kind": "retrying"})[0].method == "progress"


def test_the_text_so_far_is_followed_by_what_is_new() -> None:
    feed = Feed()
    first = feed.take_page([], [{"turn_id": "t", "item_id": "t.1", "kind": "text", "text": "abc"}])
    assert first[0].fields["text"] == "abc"
    assert feed.take("delta", delta(1, "bc")) == []
    (news,) = feed.take("delta", delta(2, "cde"))
    assert (news.fields["offset"], news.fields["text"]) == (3, "de")


def test_text_beyond_a_hole_waits_for_the_next_subscription() -> None:
    feed = Feed()
    assert feed.take("delta", delta(5, "later")) == []
    (news,) = feed.take_page(
        [], [{"turn_id": "t", "item_id": "t.1", "kind": "text", "text": "0123later"}]
    )
    assert news.fields["text"] == "0123later"


def test_a_delta_that_comes_after_its_item_is_dropped() -> None:
    """A second subscription overtakes what was sent before it."""
    item = {"type": "assistant_message", "id": "t.1"}
    late = Feed()
    late.take_page([event(1, "item_added", turn_id="t", item=item)])
    assert late.take("delta", delta(0, "abc")) == []
    ended = Feed()
    ended.take_page([event(1, "turn_finished", turn_id="t")])
    assert ended.take("delta", delta(0, "abc")) == []
    again = Feed()
    again.take_page([event(1, "item_added", turn_id="t", item=item, status="superseded")])
    assert len(again.take("delta", delta(0, "abc"))) == 1


def test_kinds_are_counted_apart_and_another_attempt_begins_anew() -> None:
    feed = Feed()
    assert feed.take("delta", delta(0, "abc"))
    assert feed.take("delta", delta(0, "hmm", kind="reasoning"))
    feed.take("event", event(1, "turn_started", turn_id="t", attempt=2))
    (news,) = feed.take("delta", delta(0, "xyz"))
    assert news.fields["text"] == "xyz"


@given(st.text(min_size=1), st.lists(st.tuples(st.integers(0, 50), st.integers(1, 20))))
def test_overlapping_pieces_make_the_text_once(text: str, cuts: list[tuple[int, int]]) -> None:
    feed = Feed()
    shown = ""
    for start, length in [*cuts, (0, len(text))]:
        piece = text[start : start + length]
        for news in feed.take("delta", delta(start, piece)) if piece else []:
            assert news.fields["offset"] == len(shown)
            shown += news.fields["text"]
    assert shown == text
