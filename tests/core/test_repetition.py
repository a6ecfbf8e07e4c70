"""Repetition: which calls are the same, what makes a row, and who is refused."""

import json

from hypothesis import given
from hypothesis import strategies as st

from askd.core.conversation import TurnRecord
from askd.core.events import ItemAdded, PromptAccepted
from askd.core.items import AssistantMessage, Item, Text, ToolCall, ToolOutput, UserMessage
from askd.core.repetition import count_repeats, refuse_repetition


def make_record(*items: Item) -> TurnRecord:
    """A turn with these items, in the order of the log."""
    record = TurnRecord(prompt=PromptAccepted("t", "key", ()), accepted_seq=1, position=0)
    record.items.extend(ItemAdded("t", each) for each in items)
    return record


def answer(number: int, *calls: ToolCall) -> list[Item]:
    """An answer with calls, and an output for each."""
    outputs = [
        ToolOutput(f"t.{number}.{k}", each.call_id, each.name, (Text("same"),))
        for k, each in enumerate(calls, start=1)
    ]
    return [AssistantMessage(f"t.{number}", calls=calls), *outputs]


def call(number: int, arguments: str = '{"path": "a"}', name: str = "read_file") -> ToolCall:
    """A call with an id of its own."""
    return ToolCall(f"c{number}", name, arguments)


def test_a_call_may_be_made_as_often_in_a_row_as_the_limit_says() -> None:
    calls = [call(k) for k in range(4)]
    record = make_record(*(item for k, each in enumerate(calls) for item in answer(k, each)))
    assert [refuse_repetition(record, each, 3) is None for each in calls] == [
        True,
        True,
        True,
        False,
    ]
    assert "4 times in a row" in (refuse_repetition(record, calls[3], 3) or "")


def test_another_call_begins_a_new_row() -> None:
    last = call(4)
    record = make_record(
        *answer(1, call(1)), *answer(2, call(2)), *answer(3, call(3, '{"path": "b"}')),
        *answer(4, last),
    )  # fmt: skip
    assert count_repeats(record, last) == 1


def test_a_persons_word_begins_a_new_row() -> None:
    last = call(3)
    record = make_record(
        *answer(1, call(1)), *answer(2, call(2)), UserMessage("u", (Text("again"),)),
        *answer(3, last),
    )  # fmt: skip
    assert count_repeats(record, last) == 1


def test_calls_of_one_answer_are_counted_one_after_the_other() -> None:
    calls = (call(1), call(2), call(3))
    record = make_record(AssistantMessage("t.1", calls=calls))
    assert [count_repeats(record, each) for each in calls] == [1, 2, 3]


def test_a_row_is_one_also_with_something_else_beside_it_in_every_answer() -> None:
    last = call(5)
    record = make_record(
        *answer(1, call(1), call(2, name="run_command")),
        *answer(2, call(3), call(4, name="run_command")),
        *answer(3, last),
    )
    assert count_repeats(record, last) == 3


def test_the_same_arguments_are_the_same_however_they_are_spelled() -> None:
    last = call(2, '{ "b":2,"a" : 1 }')
    record = make_record(*answer(1, call(1, '{"a": 1, "b": 2}')), *answer(2, last))
    assert count_repeats(record, last) == 2


def test_what_is_no_json_is_compared_as_it_came_and_another_tool_is_another_call() -> None:
    broken, other = call(2, '{"a": '), call(3, '{"a": ', "write_file")
    record = make_record(*answer(1, call(1, '{"a": ')), *answer(2, broken), *answer(3, other))
    assert count_repeats(record, broken) == 2
    assert count_repeats(record, other) == 1


def test_what_an_earlier_attempt_said_does_not_count() -> None:
    last = call(2)
    record = make_record(*answer(2, last))
    record.items.insert(
        0, ItemAdded("t", AssistantMessage("t.1", calls=(call(1),)), status="superseded")
    )
    assert count_repeats(record, last) == 1


def test_arguments_nested_too_deeply_to_read_are_compared_as_they_came() -> None:
    deep = "[" * 100_000
    last = call(2, deep)
    record = make_record(*answer(1, call(1, deep)), *answer(2, last))
    assert count_repeats(record, last) == 2


@given(st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=12))
def test_the_count_is_the_length_of_the_run_at_the_end(paths: list[str]) -> None:
    calls = [call(k, json.dumps({"path": path})) for k, path in enumerate(paths)]
    record = make_record(*(item for k, each in enumerate(calls) for item in answer(k, each)))
    run = 0
    for path in reversed(paths):
        if path != paths[-1]:
            break
        run += 1
    assert count_repeats(record, calls[-1]) == run
