"""Where a terminal begins in a conversation: with its last messages and all that goes on."""

import hashlib

from hypothesis import given, settings
from hypothesis import strategies as st

from ask.chat.past import Past, find_past, recall
from ask.chat.view import OTHER_MARK, Piece, View
from ask.commands.calls import PAGE, Map
from ask.connection import Client
from tests.client.commands.fake_daemon import FakeDaemon
from tests.client.histories import Log, histories, play


class Stored:
    """Answers reads from a log, in small pages."""

    def __init__(self, events: list[Map]) -> None:
        self.events = events
        self.read = 0

    def call(self, method: str, params: Map | None = None, *, limit_s: float = 0.0) -> Map:
        assert method == "conversation/read"
        assert params is not None
        self.read += min(params["limit"], 5)
        found = self.events[params["after_seq"] :][: min(params["limit"], 5)]
        last = found[-1]["seq"] if found else params["after_seq"]
        more = last < params["after_seq"] + params["limit"] and last < len(self.events)
        return {"data": found, "next_after_seq": last if more else None}


def find(log: Log, limit: int) -> Past:
    return find_past(Stored(log.events), {"id": "c", **log.summary()}, limit)


@settings(max_examples=80)
@given(histories, st.integers(0, 4))
def test_the_present_is_known_whatever_is_shown_of_the_past(steps: list[str], limit: int) -> None:
    log = play(steps)
    past = find(log, limit)
    assert past.seq == len(log.events)
    view = View()
    recall(view, past)
    assert [each.turn_id for each in view.queue] == log.queue
    assert view.running == log.running
    shown = [each.text for each in view.take_pieces() if OTHER_MARK in each.text]
    assert len(shown) == (log.running is not None)


@settings(max_examples=80)
@given(histories, histories, st.integers(1, 4))
def test_the_last_messages_are_shown_as_the_whole_log_shows_them(
    before: list[str], steps: list[str], limit: int
) -> None:
    long = [*before * 8, *steps]
    log = play([*long, *("end", "start") * len(long), "end"])
    assert log.running is None
    assert not log.queue
    view, said = View(), list[list[Piece]]()
    for event in log.events:
        if view.recall(event, shown=True):
            said.append(view.take_pieces())
    found = View()
    recall(found, find(log, limit))
    assert found.take_pieces() == [piece for pieces in said[-limit:] for piece in pieces]


def test_no_more_is_read_than_is_needed() -> None:
    log = play(["accept", "start", "say", "end"] * 1000)
    stored = Stored(log.events)
    find_past(stored, {"id": "c", **log.summary()}, 10)
    assert stored.read < 2 * PAGE


def test_of_a_stored_one_the_daemon_is_asked_what_goes_on(daemon: FakeDaemon) -> None:
    conversation_id = daemon.create("old")
    daemon.say(conversation_id, "long ago")
    with Client.connect(start=False) as client:
        found = daemon.summary(conversation_id)
        assert found["state"] == "stored"
        assert find_past(client, found, 0) == Past(seq=found["last_seq"])
        past = find_past(client, found, 10)
    assert not past.going_on
    view = View()
    recall(view, past)
    assert next(each.text for each in view.take_pieces()) == "> long ago"


def test_a_long_answer_of_the_past_is_read(daemon: FakeDaemon) -> None:
    conversation_id = daemon.create("old", live=True)
    daemon.say(conversation_id, "long ago")
    digest = hashlib.sha256(b"whole").hexdigest()
    part = {"type": "blob", "sha256": digest, "bytes": 5, "media_type": "text/plain"}
    item = {"type": "assistant_message", "id": "i", "parts": [part]}
    daemon.blobs[digest] = b"whole"
    daemon.append(conversation_id, "item_added", turn_id=None, item=item, status="complete")
    with Client.connect(start=False) as client:
        past = find_past(client, daemon.summary(conversation_id), 1)
    assert past.events[-1]["item"]["parts"] == [{"type": "text", "text": "whole"}]
