"""What an attached terminal shows: text for people, JSON for programs."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ask.commands import views
from ask.commands.views import ALL, JsonView, TextView, View
from ask.feed import News
from ask.tails import holds_open_turns
from ask.transcript import Map
from tests.client.histories import histories, play


def delta(kind: str, text: str) -> News:
    return News("delta", {"turn_id": "t", "item_id": "t.1", "kind": kind, "text": text})


def test_thoughts_are_dimmed_on_a_terminal(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "isatty", lambda descriptor: True)
    view = TextView(ALL)
    view.show([delta("reasoning", "hm\x1b[2J")])
    view.show([delta("reasoning", ", yes")])
    view.show([delta("text", "Yes")])
    view.show([delta("reasoning", "but")])
    view.end_line()
    out, err = capfd.readouterr()
    assert out == "Yes\n"
    assert err == "\x1b[2mhm\x1b[0m\x1b[2m, yes\x1b[0m\n\x1b[2mbut\x1b[0m\n"


def test_what_was_thought_before_the_answer_began_is_of_the_past(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "isatty", lambda descriptor: True)
    TextView(ALL).show([delta("reasoning", "hm"), delta("text", "Yes")])
    assert capfd.readouterr() == ("Yes", "")


def news_of(text: str) -> News:
    return News("compaction", {"conversation_id": "c", "state": "started", "text": text})


def test_a_compaction_is_told_to_a_terminal_between_lines(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "isatty", lambda descriptor: True)
    view = TextView(ALL)
    view.show([news_of("Compacting\x1b[2J")])
    assert capfd.readouterr() == ("", "Compacting\n")
    view.show([delta("text", "Let me"), news_of("Compacted.")])
    view.show([delta("text", " see")])
    assert capfd.readouterr() == ("Let me see", "")
    finished = {"type": "turn_finished", "turn_id": "t", "outcome": "completed", "code": 0}
    view.show([News("event", finished)])
    assert capfd.readouterr() == ("\n", "Compacted.\n")


def test_a_compaction_is_no_news_in_a_pipe_and_a_record_for_a_program(
    capfd: pytest.CaptureFixture[str],
) -> None:
    TextView(ALL).show([news_of("Compacting")])
    assert capfd.readouterr() == ("", "")
    JsonView(ALL).show([news_of("Compacting")])
    assert capfd.readouterr().out.startswith('{"type": "compaction", "conversation_id": "c"')


def test_what_is_said_beside_the_news_has_a_line_of_its_own(
    capfd: pytest.CaptureFixture[str],
) -> None:
    view = TextView(ALL)
    view.show([delta("text", "Let me")])
    view.tell("A question?\n")
    assert capfd.readouterr().out == "Let me\nA question?\n"


def test_a_program_finds_questions_among_the_news(capfd: pytest.CaptureFixture[str]) -> None:
    view = JsonView(ALL)
    view.tell("A question?\n")
    view.end_line()
    view.show([News("event", {"type": "question_asked", "seq": 1})])
    assert capfd.readouterr().out == '{"type": "question_asked", "seq": 1}\n'


@contextmanager
def written() -> Iterator[list[str]]:
    """What the views write meanwhile."""
    texts: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(views, "write_text", texts.append)
        yield texts


def watch(view: View, past: Sequence[Map], later: Sequence[Map]) -> str:
    """All that a view shows of a past, and then of one event after the other."""
    with written() as texts:
        view.show([News("event", each) for each in past])
        for each in later:
            view.show([News("event", each)])
    return "".join(texts)


@given(
    steps=histories,
    more=histories,
    limit=st.integers(0, 4),
    shape=st.sampled_from([TextView, JsonView]),
)
def test_an_end_that_tells_enough_shows_what_the_whole_shows(
    steps: list[str], more: list[str], limit: int, shape: type[TextView] | type[JsonView]
) -> None:
    log = play(steps)
    past, summary = [*log.events], log.summary()
    for step in more:
        log.do(step)
    later = log.events[len(past) :]
    whole = watch(shape(limit), past, later)
    for cut in range(len(past)):
        tail = past[cut:]
        if holds_open_turns(tail, summary) and shape(limit).tells_enough(tail):
            assert watch(shape(limit), tail, later) == whole


@pytest.mark.parametrize("shape", [TextView, JsonView])
def test_a_few_turns_tell_enough_of_a_few_messages(shape: type[TextView] | type[JsonView]) -> None:
    log = play(["accept", "start", "say", "end"] * 20)
    assert shape(4).tells_enough(log.events[-12:])
    assert not shape(4).tells_enough(log.events[-8:])
    assert shape(0).tells_enough(log.events[-2:])
    assert not shape(0).tells_enough(log.events[-1:])
    assert not shape(ALL).tells_enough(log.events)


def test_a_prompt_that_waited_since_before_is_needed_by_those_who_show_it_then() -> None:
    log = play(["accept", "accept", "start", "say", "end", "start", "say", "end"])
    assert [each["type"] for each in log.events[6:]] == [
        "turn_started",
        "item_added",
        "turn_finished",
    ]
    assert not TextView(2).tells_enough(log.events[5:])
    assert TextView(1).tells_enough(log.events[5:])
    assert TextView(2).tells_enough(log.events[2:])
