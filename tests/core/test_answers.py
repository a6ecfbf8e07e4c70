"""What an answer means to its turn."""

import pytest

from askd.core import answers
from askd.core.items import AssistantMessage, Blob, Reasoning, Text, ToolCall, UserMessage
from askd.core.outcome import Stop

CALL = ToolCall("a", "f", "{}")
NOTHING = AssistantMessage("x")
THOUGHT = AssistantMessage("x", reasoning=(Reasoning("hm"),))
SAID = AssistantMessage("x", (Text("yes"),))
BLANK = AssistantMessage("x", (Text(" \n"),))
STORED = AssistantMessage("x", (Blob("sha", 9, "text/plain"),))
CALLED = AssistantMessage("x", calls=(CALL,))


@pytest.mark.parametrize(
    ("message", "empty", "paused"),
    [
        (NOTHING, True, False),
        (AssistantMessage("x", (Text(""),)), True, False),
        (BLANK, False, False),
        (THOUGHT, False, False),
        (CALLED, False, False),
        (SAID, False, True),
        (STORED, False, True),
    ],
)
def test_nothing_and_something(message: AssistantMessage, empty: bool, paused: bool) -> None:
    assert answers.is_empty(message) is empty
    assert answers.is_paused(message, "pause") is paused
    assert not answers.is_paused(message, "end")


@pytest.mark.parametrize(
    ("message", "stop", "can"),
    [
        (SAID, "end", True),
        (SAID, "unknown", True),
        (NOTHING, "end", True),
        (NOTHING, "pause", True),  # it is as good as an end
        (SAID, "pause", False),
        (SAID, "length", False),
        (SAID, "refusal", False),
        (SAID, "filtered", False),
        (CALLED, "calls", False),
        (CALLED, "end", False),
    ],
)
def test_what_can_be_objected_to(message: AssistantMessage, stop: Stop, can: bool) -> None:
    assert answers.can_object(message, stop) is can


def test_an_objection_can_be_told_from_what_people_say() -> None:
    said = answers.make_objection("t.3", "That is no number.")
    assert said == UserMessage(
        "t.3.objection",
        (Text("That is no number. Answer once more, with nothing but what was asked for."),),
    )
    assert answers.is_objection(said)
    assert not answers.is_objection(UserMessage("t.3", said.parts))


def test_the_ends() -> None:
    end = answers.give_up("That is no number.")
    assert (end.outcome, end.code, end.reason) == ("failed", 1, "schema_mismatch")
    assert end.message == "That is no number."
    assert (answers.stop_circling(7).message or "").startswith("The turn was ended after 7 ")
