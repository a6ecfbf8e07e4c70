"""What fits a message: an event that does not leaves a sentence, a page ends where it must."""

import dataclasses
import math
from typing import Any

import pytest

from ask.protocol.frames import FrameReader, encode_notification, encode_response
from askd.core import events
from askd.core.events import Event, QuestionAsked, TurnFinished, UnknownBody
from askd.core.items import AssistantMessage, Reasoning, Text, UserMessage
from askd.server import fitting

ENVELOPE = {"conversation_id", "seq", "at", "type", "version"}


def event(body: events.Body) -> Event:
    return Event("c", 7, 12.5, body)


def show(body: events.Body) -> dict[str, Any]:
    """An event with this body, which a client's reader takes."""
    fitted = fitting.fit_event(event(body))
    assert len(FrameReader().feed(encode_notification("event", fitted.value))) == 1
    return fitted.value


def nest(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return value


UNFIT: dict[str, Any] = {
    "too large": "x" * 1024 * 1024,
    "nested": nest(40),
    "containers": [[]] * 30_000,
    "nan": [1.0, math.nan],
    "a large number": [2**64],
    "no string for a key": {"a": {1: 2}},
    "not a value": [object()],
}


@pytest.mark.parametrize("name", UNFIT)
def test_what_fits_no_message_leaves_as_its_envelope_and_a_sentence(name: str) -> None:
    params = show(QuestionAsked("t", "q", "approval", "d", {"raw": UNFIT[name]}, 9.0))
    assert params["left_out"].startswith("The content is not shown: ")
    assert "detail" not in params
    assert (params["turn_id"], params["question_id"], params["seq"]) == ("t", "q", 7)


def test_even_small_fields_that_do_not_fit_are_left_out() -> None:
    params = show(UnknownBody({"type": "x", "n": 2**70, "t": "y" * 2000, "raw": [2**70]}))
    assert set(params) == {*ENVELOPE, "left_out"}


def finish_with(size: int, count: int) -> list[Event]:
    finished = event(TurnFinished("t", "failed", 1, message="x" * size))
    return [dataclasses.replace(finished, seq=n) for n in range(1, count + 1)]


def test_a_page_is_short_and_holds_one_event_at_the_least() -> None:
    page = fitting.cut_page(finish_with(80_000, 9))
    assert [fitted.value["seq"] for fitted in page] == [1, 2, 3]
    assert [fitted.value["seq"] for fitted in fitting.cut_page(finish_with(900_000, 2))] == [1]
    assert fitting.cut_page([]) == []
    crowded = [event(QuestionAsked("t", "q", "approval", "d", {"a": [[]] * 9000}, 1.0))] * 5
    assert len(fitting.cut_page(crowded)) == 2
    frame = encode_response(1, None, {"data": [f.value for f in fitting.cut_page(crowded)]})
    assert len(FrameReader().feed(frame)) == 1


def test_an_item_comes_with_its_tokens_or_a_sentence() -> None:
    message = UserMessage("u", (Text("hi"),))
    fitted = fitting.fit_item(message, 5)
    assert fitted.value == {
        "type": "user_message",
        "id": "u",
        "parts": [{"type": "text", "text": "hi"}],
        "tokens": 5,
    }
    odd = AssistantMessage("a", reasoning=(Reasoning("", {"x": math.inf}),))
    assert fitting.fit_item(odd, 9).value == {
        "type": "assistant_message",
        "id": "a",
        "tokens": 9,
        "left_out": "The content is not shown: a number is not finite.",
    }
    assert fitting.fit_record({"type": "system", "text": "s"}, 1).value["tokens"] == 1
