"""The end of a log tells the end of its history, or says that it does not."""

from hypothesis import given
from hypothesis import strategies as st

from ask.tails import find_last_messages, holds_open_turns, is_first_start
from ask.transcript import read_messages
from tests.client.histories import Log, Map, histories, play


@given(steps=histories, limit=st.integers(1, 5))
def test_an_end_that_tells_says_what_the_whole_says(steps: list[str], limit: int) -> None:
    events = play(steps).events
    whole = read_messages(events)
    for cut in range(len(events)):
        found = find_last_messages(events[cut:], limit)
        assert found is None or found == whole[-limit:]
    assert (find_last_messages(events, limit) is None) == (len(whole) < limit)


@given(steps=histories)
def test_an_end_that_tells_is_not_far_from_the_end(steps: list[str]) -> None:
    log = play([*steps, *("end", "start", "end") * 60, *("accept", "start", "say", "end") * 5])
    assert find_last_messages(log.events[-18:], 6) == read_messages(log.events)[-6:]


@given(steps=histories)
def test_whatever_goes_on_is_held_by_an_end_that_says_so(steps: list[str]) -> None:
    log = play(steps)
    began = {each["turn_id"]: each["seq"] for each in log.events if "key" in each}
    going_on = [began[each] for each in [*log.queue, log.running] if each is not None]
    oldest = min(going_on, default=len(log.events) + 1)
    for cut in range(len(log.events)):
        if holds_open_turns(log.events[cut:], log.summary()):
            assert cut < oldest
        elif log.running is not None or not log.queue:
            assert cut >= oldest


def make(*steps: str) -> list[Map]:
    log = Log()
    for step in steps:
        log.do(step)
    return log.events


def test_a_prompt_that_waited_since_before_the_end_is_missed_and_looked_for() -> None:
    events = make("accept", "accept", "start", "say", "end", "start", "say", "say")
    assert [each["type"] for each in events[5:]][:2] == ["turn_finished", "turn_started"]
    last_two = find_last_messages(events[5:], 2)
    assert last_two == read_messages(events)[-2:]
    assert find_last_messages(events[5:], 3) is None
    assert find_last_messages(events[2:], 3) == read_messages(events)[-3:]


def test_what_a_long_turn_says_last_may_stand_before_a_notice_in_its_midst() -> None:
    events = make("accept", "start", "note", "say", "say", "end")
    assert read_messages(events)[-1].role == "system"
    assert find_last_messages(events[4:], 1) is None
    assert find_last_messages(events[1:], 1) == read_messages(events)[-1:]


def test_with_a_record_that_cannot_be_read_the_whole_is_needed() -> None:
    events = make("accept", "start", "say", "end", "note", "note")
    assert find_last_messages(events[5:], 2) is not None
    events[5] = {"seq": 6, "type": "unreadable", "of_type": "item_added", "why": "bad"}
    assert find_last_messages(events[5:], 1) is None
    assert find_last_messages(events[6:], 1) is not None


def test_another_attempt_is_no_first_start() -> None:
    starts = [each for each in make("accept", "start", "again") if each["type"] == "turn_started"]
    assert [is_first_start(each) for each in starts] == [True, False]
