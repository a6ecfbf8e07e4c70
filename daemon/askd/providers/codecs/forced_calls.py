"""Tools for models that were never taught to call any: told of in words, called in forced JSON.

Above every dialect and pure: a request with tools becomes one without, whose system prompt
describes them and whose schema leaves a model two forms to answer in: a call, or an answer.
Calls and outputs of before become text in it, so that they look like what is asked for now.
How the answer is read is told in `forced_answers`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from askd.core.context import render_parts
from askd.core.items import AssistantMessage, Item, Text, ToolCall, ToolOutput, UserMessage
from askd.core.pairs import fit_name
from askd.providers.base import ModelRequest
from askd.providers.codecs.lenient import Json
from askd.providers.codecs.sent_calls import fit_arguments

NEXT, TOOL, ARGUMENTS, ANSWER = "next", "tool", "arguments", "answer"
"""The keys of what such a model writes: what is next is a tool with arguments, or an answer."""

WORDS = (
    "You can use tools. Everything that you write is one JSON object and nothing else, in one of "
    "two forms.\n"
    f'To use a tool: {{"{NEXT}": {{"{TOOL}": NAME, "{ARGUMENTS}": {{...}}}}}}. You are then told '
    "its output.\n"
    f'To answer: {{"{NEXT}": {{"{ANSWER}": ...}}}}. This ends your turn.\n'
    "The tools are:"
)
OUTPUT = "[Output of the tool {name}; the user did not say this.]"

_KEPT = ("type", "description", "enum", "const", "required", "additionalProperties")
"""Of a schema, beside what it consists of. Patterns, lengths and bounds make grammars that are
refused or take for ever; the tool checks them."""
_CHOICES = ("anyOf", "oneOf", "allOf")
_TABLES = ("$defs", "definitions")


def write_calls(request: ModelRequest, *, can_force: bool) -> ModelRequest:
    """The request as a model is asked that calls tools in JSON; without tools it stays as it is.

    Args:
        can_force: its provider holds it to a schema; else it is only told.
    """
    if not request.tools:
        return request
    items = [_write_item(item) for item in request.items]
    lines = [WORDS, *(f"- {_describe(tool)}" for tool in request.tools)]
    system = "\n\n".join(filter(None, (request.system, "\n".join(lines))))
    callable_now = () if repeats_itself(request.items) else request.tools
    schema = make_schema(callable_now, request.schema) if can_force else None
    return replace(request, items=items, tools=(), system=system, schema=schema)


def repeats_itself(items: Sequence[Item]) -> bool:
    """Whether the last two calls since anybody said something are the same.

    Small models go on like this for ever. What they have been told is all that they will be
    told, so they are left nothing but to answer.
    """
    calls: list[ToolCall] = []
    for item in reversed(items):
        match item:
            case UserMessage():
                break
            case AssistantMessage(calls=more):
                calls += reversed(more)
            case _:
                continue
    last = [(call.name, call.arguments) for call in calls[:2]]
    return len(last) == 2 and last[0] == last[1]


def make_schema(tools: Sequence[Mapping[str, Any]], answer: Mapping[str, Any] | None) -> Json:
    """The schema of what the model may write.

    Args:
        tools: that it may call; none: it can only answer.
        answer: what an answer must fit; None: it is a text.
    """
    shared: Json = {}
    forms = []
    for place, tool in enumerate(tools):
        arguments = _fit(tool["parameters"], f"tool{place}_", shared)
        forms.append(_close({TOOL: {"const": tool["name"]}, ARGUMENTS: arguments}))
    said = {"type": "string"} if answer is None else _fit(answer, "answer_", shared)
    forms.append(_close({ANSWER: said}))
    schema = _close({NEXT: {"anyOf": forms}})
    return {**schema, "$defs": shared} if shared else schema


def _write_item(item: Item) -> Item:
    match item:
        case AssistantMessage(calls=calls) if calls:
            text = render_parts(item.parts)
            lines = [*([text] if text else []), *map(_write_call, calls)]
            return replace(item, parts=(Text("\n".join(lines)),), calls=())
        case ToolOutput(id=id, name=name, parts=parts):
            heading = Text(f"{OUTPUT.format(name=fit_name(name))}\n")
            return UserMessage(id, (heading, *parts))
        case _:
            return item


def _write_call(call: ToolCall) -> str:
    arguments = json.loads(fit_arguments(call.arguments))
    said = {NEXT: {TOOL: fit_name(call.name), ARGUMENTS: arguments}}
    return json.dumps(said, ensure_ascii=False)


def _describe(tool: Mapping[str, Any]) -> str:
    """One line for a tool, the way a function is written down, then what it is for.

    Small models copy what stands where a value belongs: there is nothing but types.
    """
    properties = _read_table(tool["parameters"], "properties")
    required = tool["parameters"].get("required", [])
    signature, remarks = [], [str(tool["description"])]
    for name, each in properties.items():
        said = each if isinstance(each, Mapping) else {}
        signature.append(f"{name}{'' if name in required else '?'}: {said.get('type', 'any')}")
        if isinstance(said.get("description"), str):
            remarks.append(f"{name}: {said['description']}")
    return f"{tool['name']}({', '.join(signature)}): {' '.join(remarks)}"


def _close(properties: Json) -> Json:
    """An object of exactly these."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _fit(schema: Any, prefix: str, shared: Json) -> Any:
    """A schema as a part of another one: definitions go into `shared`, names with a prefix."""
    if not isinstance(schema, Mapping):
        return schema if isinstance(schema, bool) else {}
    if isinstance(schema.get("$ref"), str):
        return _fit_reference(schema["$ref"], prefix)
    for table in _TABLES:
        for name, each in _read_table(schema, table).items():
            shared[f"{prefix}{name}"] = _fit(each, prefix, shared)
    fitted: Json = {name: schema[name] for name in _KEPT if name in schema}
    if isinstance(fitted.get("additionalProperties"), Mapping):
        fitted["additionalProperties"] = _fit(fitted["additionalProperties"], prefix, shared)
    properties = _read_table(schema, "properties")
    if properties:
        fitted["properties"] = {
            name: _fit(each, prefix, shared) for name, each in properties.items()
        }
    if "items" in schema:
        fitted["items"] = _fit(schema["items"], prefix, shared)
    for choice in _CHOICES:
        if isinstance(schema.get(choice), list):
            fitted[choice] = [_fit(each, prefix, shared) for each in schema[choice]]
    return fitted


def _fit_reference(reference: str, prefix: str) -> Json:
    """A reference to where the definition went; one to elsewhere becomes anything at all."""
    start, _, name = reference.rpartition("/")
    is_ours = start in [f"#/{table}" for table in _TABLES]
    return {"$ref": f"#/$defs/{prefix}{name}"} if is_ours else {}


def _read_table(schema: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = schema.get(name)
    return found if isinstance(found, Mapping) else {}
