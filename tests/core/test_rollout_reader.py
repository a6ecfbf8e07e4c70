"""What the records of every version become: turns, answers, calls, and what was taken back."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.core.drafts import DraftStray, DraftSummary, DraftTurn
from askd.core.items import AssistantMessage, Snapshot, Text, ToolOutput, Unknown
from askd.core.outcome import Usage
from askd.core.rollout_reader import (
    READ_TYPES,
    BadShape,
    RolloutReader,
    read_usage,
    subtract_usage,
)
from tests.core.rollouts import GENUINE, assistant, call, line, name_of, output, user
from tests.core.values import JSON


def read(*records: dict[str, Any]) -> RolloutReader:
    reader = RolloutReader(at=5.0)
    for record in records:
        reader.take(record)
    reader.finish()
    return reader


def turns(reader: RolloutReader) -> list[DraftTurn]:
    return [entry for entry in reader.draft.entries if isinstance(entry, DraftTurn)]


def texts(turn: DraftTurn) -> list[str]:
    return [
        "".join(part.text for part in item.parts if isinstance(part, Text))
        for _, item in turn.said
        if isinstance(item, AssistantMessage | ToolOutput)
    ]


@pytest.mark.parametrize("path", GENUINE, ids=name_of)
def test_every_item_of_a_genuine_file_is_in_the_draft_once(path: Path) -> None:
    records = [json.loads(raw) for raw in path.read_text().splitlines()]
    reader = read(*records)
    items = [each["payload"] for each in records if each["type"] == "response_item"]
    found = turns(reader)
    said = [item for turn in found for _, item in turn.said]
    said += [entry.item for entry in reader.draft.entries if isinstance(entry, DraftStray)]
    kept = [item.raw["item"] for item in said if isinstance(item, Unknown)]
    answers = [item for item in said if isinstance(item, AssistantMessage)]
    counted = len(kept) + sum(bool(turn.prompt) for turn in found)
    counted += sum(isinstance(item, ToolOutput | Snapshot) for item in said)
    counted += sum(bool(a.parts) + len(a.calls) + len(a.reasoning) for a in answers)
    assert counted == len(items)
    assert all(item in items for item in kept)
    compactions = sum(each["type"] == "compacted" for each in records)
    assert reader.items == len(items) + compactions
    assert sum(isinstance(e, DraftSummary) for e in reader.draft.entries) == compactions
    assert {turn.model for turn in found} == {"fake/gpt-5"}
    assert reader.source_id == records[0]["payload"]["id"]


RECORDS = st.fixed_dictionaries(
    {"type": st.sampled_from([*READ_TYPES, "world_state"]), "payload": JSON},
    optional={"timestamp": JSON, "ordinal": JSON},
)
ITEM_TYPES = st.sampled_from(
    ["message", "reasoning", "function_call", "function_call_output", "ghost_snapshot", "summary"]
)
EVENT_TYPES = st.sampled_from(
    ["token_count", "turn_aborted", "task_complete", "thread_rolled_back"]
)
FIELDS = st.dictionaries(
    st.sampled_from(
        ["role", "content", "call_id", "output", "name", "info", "error", "num_turns", "message"]
    ),
    JSON,
)
TYPED = st.builds(
    lambda kind, inner, fields: line(kind, {**fields, "type": inner}),
    st.sampled_from(READ_TYPES),
    ITEM_TYPES | EVENT_TYPES,
    FIELDS,
)
WHOLE = st.fixed_dictionaries({"items": st.lists(JSON | FIELDS), "metadata": JSON})


@given(st.lists(RECORDS | TYPED | WHOLE, max_size=20))
def test_whatever_the_records_are_nothing_but_a_bad_shape_is_raised(records: list[Any]) -> None:
    reader = RolloutReader(at=5.0)
    for record in records:
        with suppress(BadShape):
            reader.take(record)
    reader.finish()


def test_one_answer_is_one_message_until_its_outputs_come() -> None:
    thought = line("response_item", {"type": "reasoning", "summary": [{"text": "hm"}]})
    reader = read(
        user("go"), thought, assistant("I look."), call("a"), call("b"), output("a"), output("b"),
        assistant("Done."),
    )  # fmt: skip
    (turn,) = turns(reader)
    first = turn.said[0][1]
    assert isinstance(first, AssistantMessage)
    assert (first.reasoning[0].text, len(first.calls)) == ("hm", 2)
    assert texts(turn) == ["I look.", "done", "done", "Done."]
    outputs = [item for _, item in turn.said if isinstance(item, ToolOutput)]
    assert [each.name for each in outputs] == ["shell", "shell"]


def test_two_answers_in_a_row_stay_two() -> None:
    (turn,) = turns(read(user("go"), assistant("one"), assistant("two")))
    assert texts(turn) == ["one", "two"]


def test_orphans_stay_where_they_are() -> None:
    before, turn = turns(read(output("x"), user("go"), output("y"), call("y"), output("")))
    assert (before.prompt, texts(before)) == ((), ["done"])
    assert [type(item) for _, item in turn.said] == [ToolOutput, AssistantMessage, ToolOutput]


def test_a_model_that_speaks_first_has_a_turn_without_a_prompt() -> None:
    first, second = turns(read(assistant("Welcome."), user("hi")))
    assert (first.prompt, texts(first)) == ((), ["Welcome."])
    assert second.prompt == (Text("hi"),)


def test_after_a_compaction_the_rest_of_its_turn_is_a_turn_of_its_own() -> None:
    compacted = line("compacted", {"message": "so far"})
    reader = read(user("go"), assistant("one"), compacted, assistant("two"))
    one, summary, two = reader.draft.entries
    assert isinstance(one, DraftTurn)
    assert isinstance(two, DraftTurn)
    assert isinstance(summary, DraftSummary)
    assert (summary.text, two.prompt, texts(two)) == ("so far", (), ["two"])


def test_a_summary_is_found_in_the_history_that_replaces() -> None:
    prefix = "Another language model started to solve this problem and produced a  summary of ..."
    history = [user("go")["payload"], user(f"{prefix}\nSUM")["payload"]]
    reader = read(user("go"), line("compacted", {"message": "", "replacement_history": history}))
    kept = ((Text("go"),),)
    assert reader.draft.entries[1] == DraftSummary(turns(reader)[0].at, f"{prefix}\nSUM", kept)
    assert len(turns(reader)) == 1


def test_a_history_that_replaces_what_the_file_has_not_is_read() -> None:
    prefix = "Another language model started to solve this problem and produced a summary of ..."
    history = [user("go")["payload"], user(prefix)["payload"], 5]
    reader = read(
        line("compacted", {"message": prefix, "replacement_history": history}), user("on")
    )
    assert [turn.prompt for turn in turns(reader)] == [(Text("go"),), (Text("on"),)]


def test_turns_are_taken_back_from_the_last_with_all_that_followed() -> None:
    back = line("event_msg", {"type": "thread_rolled_back", "num_turns": 2})
    reader = read(
        user("a"), assistant("1"), user("b"), line("compacted", {"message": "s"}), assistant("2"),
        user("c"), back, user("d"),
    )  # fmt: skip
    assert [(turn.prompt, turn.taken_back) for turn in turns(reader)] == [
        ((Text("a"),), False),
        ((Text("b"),), True),
        ((), True),
        ((Text("c"),), True),
        ((Text("d"),), False),
    ]
    assert not any(isinstance(entry, DraftSummary) for entry in reader.draft.entries)


def test_more_turns_than_there_are_are_all() -> None:
    back = line("event_msg", {"type": "thread_rolled_back", "num_turns": 9})
    assert [turn.taken_back for turn in turns(read(user("a"), back))] == [True]


def test_how_a_turn_ended_is_told_by_events() -> None:
    aborted = line("event_msg", {"type": "turn_aborted", "reason": "interrupted"})
    failed = line("event_msg", {"type": "task_complete", "error": {"message": "No room."}})
    vague = line("event_msg", {"type": "task_complete", "error": {}})
    well = line("event_msg", {"type": "task_complete", "error": None})
    found = turns(read(user("a"), aborted, user("b"), failed, user("c"), vague, user("d"), well))
    assert [turn.aborted for turn in found] == [True, False, False, False]
    assert [turn.failed for turn in found] == [None, "No room.", "The turn failed.", None]


def test_usage_is_what_a_turn_added_to_the_total() -> None:
    def total(tokens: int) -> dict[str, Any]:
        info = {"total_token_usage": {"input_tokens": tokens, "cached_input_tokens": 1}}
        return line("event_msg", {"type": "token_count", "info": info})

    found = turns(read(user("a"), total(5), total(5), user("b"), total(9), user("c"), total(1)))
    assert [turn.usage for turn in found] == [Usage(5, 0, 1), Usage(4), None]


def test_names_of_usage() -> None:
    assert read_usage({"prompt_tokens": 2, "completion_tokens": 3}) == Usage(2, 3)
    details = {"input_tokens": 2, "input_tokens_details": {"cached_tokens": 1}}
    assert read_usage(details) == Usage(2, 0, 1)
    assert read_usage({"input_tokens": -1, "output_tokens": True}) == Usage()
    assert subtract_usage(Usage(), Usage()) is None


def test_the_first_line_counts_and_a_fork_copies_later_ones() -> None:
    meta = {"id": "one", "model_provider": "openai", "cwd": "/w"}
    context = line("turn_context", {"model": "gpt-5"})
    late = line("turn_context", {"model": "other/name", "cwd": "/x"})
    other = line("session_meta", {"id": "two"})
    reader = read(line("session_meta", meta), other, user("a"), context, late, user("b"))
    assert reader.source_id == "one"
    assert [(turn.model, turn.cwd) for turn in turns(reader)] == [
        ("openai/gpt-5", "/w"),
        ("other/name", "/x"),
    ]


def test_what_the_program_said_is_kept_out_of_sight() -> None:
    developer = line("response_item", {"type": "message", "role": "developer", "content": "x"})
    reader = read(developer, user("a"), developer)
    stray, turn = reader.draft.entries
    assert isinstance(stray, DraftStray)
    assert isinstance(turn, DraftTurn)
    assert isinstance(stray.item, Unknown)
    assert isinstance(turn.said[0][1], Unknown)


def test_an_output_may_be_nested_or_a_list() -> None:
    listed = [{"type": "input_text", "text": "4"}]
    reader = read(call("a"), output("a", {"content": "5"}), output("a", listed), output("a", None))
    assert texts(turns(reader)[0]) == ["", "5", "4", ""]


def test_a_whole_turn_in_one_line() -> None:
    items = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "2+2?"},
        {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "calc"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "4"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "4"}]},
        "noise",
    ]
    metadata = {"model": "gpt-5", "provider": "openai", "usage": {"prompt_tokens": 7}}
    record = {"timestamp": "2026-01-02T03:04:05Z", "items": items, "metadata": metadata}
    reader = read(record, {"timestamp": 1_800_000_000, "items": [{"role": "user", "content": "b"}]})
    assert reader.draft.system == "Be brief."
    first, second = turns(reader)
    assert (first.prompt, first.model, first.usage) == ((Text("2+2?"),), "openai/gpt-5", Usage(7))
    assert texts(first) == ["", "4", "4"]
    assert (second.at, second.usage) == (1_800_000_000.0, None)


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (line("response_item", None), "response_item: its payload is no object"),
        (line("response_item", {"type": None}), "response_item: it does not say what it is"),
        (line("event_msg", {"type": "thread_rolled_back"}), "num_turns is no number"),
        ({"items": ["x"]}, "none among them"),
    ],
)
def test_a_record_without_its_shape_says_so(record: dict[str, Any], why: str) -> None:
    with pytest.raises(BadShape, match=why):
        read(record)


def test_what_is_not_known_is_passed_over() -> None:
    reader = read(line("world_state", 5), line("from_tomorrow", {}), {"timestamp": 1})
    assert (reader.items, reader.draft.entries) == (0, [])
