"""Tools in words and in a schema, for models that were never taught to call any."""

import json
from collections.abc import Sequence
from typing import Any

import jsonschema
import pytest

from askd.core.items import (
    AssistantMessage,
    Item,
    Reasoning,
    Text,
    ToolCall,
    ToolOutput,
    UserMessage,
    join_text,
)
from askd.providers.base import ModelRequest
from askd.providers.codecs.forced_calls import make_schema, write_calls

READ: dict[str, Any] = {
    "name": "read_file",
    "description": "Read a file.",
    "parameters": {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Where it is.", "maxLength": 4096},
            "offset": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
        },
        "required": ["path"],
        "additionalProperties": False,
        "title": "ReadArguments",
    },
}
BARE: dict[str, Any] = {"name": "now", "description": "The time.", "parameters": {"type": "object"}}

ASKED = UserMessage("u1", (Text("What is in notes.txt?"),))
CALLING = AssistantMessage(
    "a1",
    parts=(Text("Let me see."),),
    reasoning=(Reasoning("hm"),),
    calls=(
        ToolCall("call_1", "read_file", '{"path": "notes.txt"}'),
        ToolCall("call_2", "read file", "no JSON"),
    ),
)
OUTPUTS = (
    ToolOutput("o1", "call_1", "read_file", (Text("the sea"),)),
    ToolOutput("o2", "call_2", "read file", (Text("no such tool"),), is_error=True),
)


def ask(*items: Item, **fields: Any) -> ModelRequest:
    return ModelRequest(model="m", items=items or (ASKED,), **fields)


def fits(value: Any, schema: Any) -> bool:
    return bool(jsonschema.Draft202012Validator(schema).is_valid(value))


def test_tools_are_told_in_words_and_no_more_sent() -> None:
    written = write_calls(ask(tools=[READ, BARE], system="Be brief."), can_force=True)
    assert written.tools == ()
    assert written.system is not None
    assert written.system.startswith("Be brief.\n\nYou can use tools.")
    lines = written.system.splitlines()
    assert "- read_file(path: string, offset?: any): Read a file. path: Where it is." in lines
    assert "- now(): The time." in lines
    assert list(written.items) == [ASKED]


def test_the_schema_leaves_a_call_or_an_answer() -> None:
    schema = write_calls(ask(tools=[READ, BARE]), can_force=True).schema
    assert schema is not None
    jsonschema.Draft202012Validator.check_schema(schema)
    for good in (
        {"next": {"answer": "The sea."}},
        {"next": {"tool": "read_file", "arguments": {"path": "a", "offset": None}}},
        {"next": {"tool": "now", "arguments": {}}},
    ):
        assert fits(good, schema), good
    refused: list[dict[str, Any]] = [
        {},
        {"next": {}},
        {"next": {"tool": "rm", "arguments": {}}},
        {"next": {"tool": "read_file", "arguments": {}}},
        {"next": {"tool": "read_file", "arguments": {"path": "a", "mode": 1}}},
        {"next": {"tool": "now", "arguments": {}, "answer": ""}},
        {"next": {"answer": {}}},
        {"answer": ""},
    ]
    for bad in refused:
        assert not fits(bad, schema), bad
    # What a grammar is refused for, or takes for ever over.
    assert "maxLength" not in json.dumps(schema)
    # OpenAI's dialects take an object at the root and nothing else.
    assert schema["type"] == "object"
    assert "anyOf" not in schema


def test_who_cannot_be_held_to_a_schema_is_only_told() -> None:
    written = write_calls(ask(tools=[READ]), can_force=False)
    assert written.schema is None
    assert "read_file" in str(written.system)


def test_without_tools_a_request_stays_as_it_is_with_its_calls_in_the_dialects_own_form() -> None:
    request = ask(ASKED, CALLING, *OUTPUTS, schema={"type": "object"}, system="Be brief.")
    assert write_calls(request, can_force=True) == request


def test_calls_and_outputs_of_before_become_text_beside_tools() -> None:
    written = write_calls(ask(ASKED, CALLING, *OUTPUTS, tools=[READ]), can_force=True)
    _, said, first, second = written.items
    assert isinstance(said, AssistantMessage)
    assert said.calls == ()
    lines = join_text(said.parts).splitlines()
    assert lines[0] == "Let me see."
    assert json.loads(lines[1]) == {
        "next": {"tool": "read_file", "arguments": {"path": "notes.txt"}}
    }
    assert "no JSON" in lines[2]
    assert isinstance(first, UserMessage)
    assert isinstance(second, UserMessage)
    told = join_text(first.parts)
    assert told == "[Output of the tool read_file; the user did not say this.]\nthe sea"
    assert (first.id, second.id) == ("o1", "o2")


def test_who_makes_the_same_call_twice_can_only_answer() -> None:
    same = ToolCall("c", "read_file", '{"path": "a"}')
    other = ToolCall("c", "read_file", '{"path": "b"}')
    output = OUTPUTS[0]

    def may_call(*calls: ToolCall, then: Sequence[Item] = ()) -> bool:
        said = [AssistantMessage("a", (), calls=(call,)) for call in calls]
        items = [each for message in said for each in (message, output)]
        schema = write_calls(ask(ASKED, *items, *then, tools=[READ]), can_force=True).schema
        assert fits({"next": {"answer": "yes"}}, schema)
        return fits({"next": {"tool": "read_file", "arguments": {"path": "a"}}}, schema)

    assert may_call()
    assert may_call(same)
    assert may_call(same, other)
    assert may_call(same, other, same)
    assert not may_call(same, same)
    assert not may_call(other, same, same)
    assert may_call(same, same, then=[ASKED])


def test_a_schema_for_the_answer_stands_in_the_place_of_its_text() -> None:
    wanted = {
        "type": "object",
        "properties": {"name": {"$ref": "#/$defs/Name"}, "more": {"items": {"type": "integer"}}},
        "required": ["name"],
        "$defs": {"Name": {"enum": ["a", "b"]}},
    }
    other = {**BARE, "parameters": {"type": "object", "properties": {"x": {"$ref": "#/$defs/Name"}},
             "required": ["x"], "$defs": {"Name": {"type": "integer"}}}}  # fmt: skip
    schema = write_calls(ask(tools=[other], schema=wanted), can_force=True).schema
    assert schema is not None
    jsonschema.Draft202012Validator.check_schema(schema)
    assert fits({"next": {"answer": {"name": "a", "more": [1]}}}, schema)
    assert fits({"next": {"tool": "now", "arguments": {"x": 1}}}, schema)
    assert not fits({"next": {"answer": {"name": 1}}}, schema)
    assert not fits({"next": {"answer": "a"}}, schema)
    assert not fits({"next": {"tool": "now", "arguments": {"x": "a"}}}, schema)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"type": "object", "properties": None, "required": []},
        {"type": "object", "properties": {"x": True, "y": {"$ref": "#/elsewhere"}, "z": 3}},
        {"type": "object", "properties": {"x": {"$ref": "#"}}, "anyOf": [{}, "y"]},
        {"$defs": {"Node": {"properties": {"next": {"$ref": "#/$defs/Node"}}}},
         "properties": {"x": {"$ref": "#/$defs/Node"}}},
        {"type": "object", "additionalProperties": {"type": "string", "pattern": "a+$"}},
    ],
)  # fmt: skip
def test_whatever_a_tools_schema_is_the_whole_is_one(parameters: dict[str, Any]) -> None:
    schema = make_schema([{**BARE, "parameters": parameters}], None)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert fits({"next": {"answer": "yes"}}, schema)
    assert write_calls(ask(tools=[{**BARE, "parameters": parameters}]), can_force=True).system
