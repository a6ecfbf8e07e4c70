"""What tools do, in a line each: what it is about, and how it ended."""

import json
from typing import Any

import pytest

from ask.activity import Activity, describe_call, describe_end, fit_line
from ask.graphemes import find_width

Map = dict[str, Any]


def calls(*named: tuple[str, str, Map]) -> Map:
    found = [
        {"call_id": call_id, "name": name, "arguments": json.dumps(arguments)}
        for call_id, name, arguments in named
    ]
    item = {"type": "assistant_message", "id": "a", "parts": [], "calls": found}
    return {"type": "item_added", "item": item}


def output(call_id: str, text: str = "", **fields: Any) -> Map:
    parts = [{"type": "text", "text": text}]
    item = {"type": "tool_output", "id": "o", "call_id": call_id, "name": "t", "parts": parts}
    return {"type": "item_added", "item": {**item, **fields}}


def test_a_line_for_each_call_that_ended() -> None:
    activity = Activity()
    asked = calls(("1", "read_file", {"path": "notes.md"}), ("2", "run_command", {"command": "x"}))
    assert activity.take(asked) is None
    assert list(activity.running.values()) == ["[read_file] notes.md", "[run_command] x"]
    failed = output("2", "no such thing\n[exit code 2]", is_error=True)
    assert activity.take(failed) == "[run_command] x (exit code 2)"
    assert activity.take(output("1", "found")) == "[read_file] notes.md"
    assert activity.running == {}
    assert activity.take(output("unseen")) == "[t]"


def test_nothing_runs_while_a_person_is_asked() -> None:
    activity = Activity()
    for question in ("q1", "q2"):
        activity.take({"type": "question_asked", "question_id": question})
    assert activity.asked
    activity.take({"type": "question_answered", "question_id": "q2"})
    assert activity.asked
    activity.take({"type": "question_answered", "question_id": "q1"})
    assert not activity.asked


def test_another_attempt_begins_with_nothing() -> None:
    activity = Activity()
    activity.take(calls(("1", "read_file", {})))
    activity.take({"type": "question_asked", "question_id": "q"})
    activity.take({"type": "turn_started"})
    assert (activity.running, activity.asked) == ({}, False)
    replaced = {**calls(("1", "read_file", {})), "status": "superseded"}
    assert activity.take(replaced) is None
    assert activity.running == {}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ('{"path": "a", "pattern": "b"}', "[t] b"),
        ('{"start": 1, "path": "a"}', "[t] a"),
        ('{"n": 1, "topic": "sky", "more": "x"}', "[t] sky"),
        ('{"command": ["ls"]}', "[t]"),
        ("{}", "[t]"),
        ("", "[t]"),
        ("[1]", "[t] [1]"),
        ("no json", "[t] no json"),
        ("[" * 100_000, "[t] " + "[" * 100_000),
    ],
)
def test_the_argument_that_says_most(arguments: str, words: str) -> None:
    assert describe_call("t", arguments) == words


@pytest.mark.parametrize(
    ("text", "fields", "how"),
    [
        ("fine", {}, ""),
        ("out\n[exit code 0]", {}, ""),
        (
            "[exit code 137, as after SIGKILL]",
            {"is_error": True},
            "exit code 137, as after SIGKILL",
        ),
        ("out\n[stopped after 120 s]\n", {"is_error": True}, "stopped after 120 s"),
        ("out\n[ended by SIGTERM]", {"is_error": True}, "ended by SIGTERM"),
        ("There is no such file.\nx", {"is_error": True}, "failed: There is no such file."),
        ("", {"is_error": True}, "failed"),
        ("x", {"synthetic": "denied", "is_error": True}, "not run"),
        ("x", {"synthetic": "interrupted"}, "interrupted"),
        ("x", {"synthetic": "unknown_tool"}, "no such tool"),
        ("x", {"synthetic": "of a later day"}, "of a later day"),
    ],
)
def test_how_it_ended(text: str, fields: Map, how: str) -> None:
    assert describe_end(output("1", text, **fields)["item"]) == how


@pytest.mark.parametrize(
    ("line", "columns", "shown"),
    [
        ("[run] make test (exit code 2)", None, "[run] make test (exit code 2)"),
        ("[run] make test (exit code 2)", 29, "[run] make test (exit code 2)"),
        ("[run] make tests (exit code 2)", 29, "[run] make t... (exit code 2)"),
        ("[run] make\n\x1b[2J (exit code 2)", 60, "[run] make \\x1b[2J (exit code 2)"),
        ("[run] 雪雪雪雪 (failed)", 20, "[run] 雪... (failed)"),
        ("[run] (a and then much more", 20, "[run] (a and then..."),
        ("[run] x (failed: " + "y" * 90 + ")", 20, "[run] x (failed:..."),
    ],
)
def test_a_line_fits_and_keeps_how_it_ended(line: str, columns: int | None, shown: str) -> None:
    assert fit_line(line, columns) == shown
    assert columns is None or find_width(shown) <= columns
