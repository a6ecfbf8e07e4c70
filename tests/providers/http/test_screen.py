"""Events that hold the key come out without it, in order, and none is lost."""

import random
from typing import Any

import pytest

from askd.core.outcome import Failure, Usage
from askd.providers.base import (
    CallDelta,
    Ended,
    Failed,
    ReasoningDelta,
    ReasoningSealed,
    Stopped,
    StreamEvent,
    TextDelta,
    UsageReported,
)
from askd.providers.http.screen import Screen
from askd.providers.redact import KnownSecrets

KEY = "sk-canary-0123456789"
ENDS: list[StreamEvent] = [Stopped("end"), Ended(), Failed(Failure(1, "unavailable", "x"))]


def show(*events: StreamEvent) -> list[StreamEvent]:
    """What comes out of a screen, event by event, and at the end."""
    screen = Screen(KnownSecrets([KEY]))
    shown = [each for event in events for each in screen.feed([event])]
    return shown + screen.flush()


def test_events_pass_as_they_are() -> None:
    events: list[StreamEvent] = [
        ReasoningDelta("Let me think"),
        ReasoningSealed({"signature": "x"}),
        TextDelta("Hello"),
        CallDelta(0, "call_1", "read", ""),
        CallDelta(0, arguments="{}"),
        UsageReported(Usage(1, 2)),
        Stopped("calls"),
        Ended(),
    ]
    assert show(*events) == events


def test_what_says_nothing_is_no_event() -> None:
    assert show(TextDelta(""), ReasoningDelta(""), CallDelta(0), Ended()) == [Ended()]


@pytest.mark.parametrize("end", ENDS)
def test_held_back_text_comes_before_the_end(end: StreamEvent) -> None:
    assert show(TextDelta("yes"), end) == [TextDelta("ye"), TextDelta("s"), end]


def test_held_back_text_comes_when_nothing_more_does() -> None:
    assert show(TextDelta("yes")) == [TextDelta("ye"), TextDelta("s")]


def test_text_is_whole_before_what_is_no_text() -> None:
    call = CallDelta(0, "call_1", "f", "{}")
    assert show(TextDelta("as"), call) == [TextDelta("a"), TextDelta("s"), call]
    assert show(ReasoningDelta("s"), TextDelta("b")) == [ReasoningDelta("s"), TextDelta("b")]
    sealed = ReasoningSealed(None)
    assert show(ReasoningDelta("s"), sealed) == [ReasoningDelta("s"), sealed]
    assert show(TextDelta("s"), ReasoningDelta("b")) == [TextDelta("s"), ReasoningDelta("b")]


def test_count_in_the_middle_parts_nothing() -> None:
    used = UsageReported(Usage(1, 1))
    assert show(TextDelta(KEY[:5]), used, TextDelta(KEY[5:])) == [used, TextDelta("***")]


def test_calls_are_kept_apart() -> None:
    events = [
        CallDelta(index, arguments=KEY[i : i + 4]) for i in range(0, 20, 4) for index in (0, 1)
    ]
    shown = show(CallDelta(0, "a", "f"), CallDelta(1, "b", "f"), *events)
    assert shown == [
        CallDelta(0, "a", "f"),
        CallDelta(1, "b", "f"),
        CallDelta(0, arguments="***"),
        CallDelta(1, arguments="***"),
    ]


def test_arguments_that_only_began_like_a_key_are_given_at_the_end() -> None:
    shown = show(CallDelta(3, "a", "f", '{"x": "sk-can'), Ended())
    text = "".join(each.arguments for each in shown if isinstance(each, CallDelta))
    assert text == '{"x": "sk-can'
    assert shown[-1] == Ended()


def test_names_ids_and_raw_reasoning_are_screened() -> None:
    raw: dict[str, Any] = {
        "type": "thinking",
        "all": [{"a": f"x{KEY}", KEY: 1}],
        "n": 2,
        "z": None,
    }
    hidden = {"type": "thinking", "all": [{"a": "x***", "***": 1}], "n": 2, "z": None}
    assert show(ReasoningSealed(raw)) == [ReasoningSealed(hidden)]
    assert show(CallDelta(0, f"id-{KEY}", f"name-{KEY}")) == [CallDelta(0, "id-***", "name-***")]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("kind", [TextDelta, ReasoningDelta])
def test_echo_that_is_cut_anywhere(seed: int, kind: type[TextDelta | ReasoningDelta]) -> None:
    chance = random.Random(seed)
    text = f"The key {KEY} is {KEY}{KEY}, skies."
    cuts = sorted(chance.sample(range(1, len(text)), 12))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, None], strict=True)]
    shown = show(*[kind(piece) for piece in pieces], Ended())
    said = "".join(each.text for each in shown if isinstance(each, TextDelta | ReasoningDelta))
    assert said == "The key *** is ******, skies."
