"""The calls of a turn without an output: each gets one, and none a second."""

from dataclasses import replace

from askd.core.events import ItemAdded
from askd.core.items import AssistantMessage, Text, ToolCall, ToolOutput
from askd.core.open_calls import OpenCalls
from askd.core.pairs import interrupt_call

CALL, OTHER = ToolCall("a", "f", "{}"), ToolCall("b", "g", "{}")
MESSAGE = AssistantMessage("t.1", calls=(CALL, OTHER))
OUTPUT = ToolOutput("whatever", "a", "f", (Text("4"),))


def opened(*, runs: bool = True) -> OpenCalls:
    calls = OpenCalls("t")
    calls.add(MESSAGE, 1, runs=runs)
    return calls


def test_an_output_closes_its_call_once_under_the_id_that_it_was_promised() -> None:
    calls = opened()
    assert [(each.call, each.item_id) for each in calls] == [(CALL, "t.1.1"), (OTHER, "t.1.2")]
    assert calls.answer(OUTPUT) == ItemAdded("t", replace(OUTPUT, id="t.1.1"), 1)
    assert calls.answer(OUTPUT) is None
    assert [each.call for each in calls] == [OTHER]


def test_what_never_runs_is_closed_and_what_runs_answers_for_itself() -> None:
    calls = opened(runs=False)
    third = ToolCall("c", "h", "{}")
    calls.add(AssistantMessage("t.2", calls=(third,)), 2, runs=True)
    assert calls.interrupt(those_that_run=False) == [
        ItemAdded("t", interrupt_call(CALL, "t.1.1"), 1),
        ItemAdded("t", interrupt_call(OTHER, "t.1.2"), 1),
    ]
    assert [each.call for each in calls] == [third]
    assert len(calls.interrupt(those_that_run=True)) == 1
    assert not calls


def test_a_name_is_taken_for_good() -> None:
    calls = opened()
    calls.answer(OUTPUT)
    calls.note_names(AssistantMessage("t.2", calls=(ToolCall("a#2", "f", "{}"),)))
    assert [each.call_id for each in calls.rename((CALL,))] == ["a#3"]
