"""Renders `docs/reference/http-openapi.json` from METHODS and the table of `http_face`.

Run `python -m tests.house.openapi_file` to write it. Parameters, bodies and answers
are those of the contract; paths and statuses are the table's.
"""

import json
import re
import typing
from typing import Any

from ask.protocol.messages import METHODS, NOTIFICATIONS
from tests.house.http_face import FACE, NOT_TRAVELLING, ROUTES, STATUS, STREAMED, Route
from tests.house.json_shapes import Schema, describe_fields, describe_shape, find_shapes
from tests.house.pages import REFERENCE, write_page

PATH = REFERENCE / "http-openapi.json"
VERSION = "1"
JSON, BYTES, STREAM = "application/json", "application/octet-stream", "text/event-stream"
BRACES = re.compile(r"{(\w+)}")

TEXT = (
    "A design: no release serves it. It offers the methods of askd's wire to programs that "
    "speak HTTP and no MessagePack, on a Unix socket or on loopback with a token. The page "
    "docs/reference/http.md says how, and what keeps others out."
)


def render() -> str:
    """The whole file."""
    return json.dumps(describe_face(), indent=2, ensure_ascii=False) + "\n"


def describe_face() -> Schema:
    """The OpenAPI document."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "askd over HTTP", "version": VERSION, "description": TEXT},
        "servers": [
            {
                "url": "http://localhost/v1",
                "description": "On the Unix socket; `localhost` is what `Host` says there.",
            },
            {
                "url": "http://127.0.0.1:{port}/v1",
                "description": "On loopback, with the token.",
                "variables": {"port": {"default": "8473"}},
            },
        ],
        "security": [{"token": []}, {}],
        "paths": describe_paths(),
        "components": {
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "What the file `http-token` in the state directory holds. "
                    "Not needed on the Unix socket, whose peers are the user's own processes.",
                }
            },
            "responses": {
                "Refused": describe_refusal(400, 499),
                "Failed": describe_refusal(500, 599),
            },
            "schemas": describe_schemas(),
        },
    }


def describe_refusal(first: int, last: int) -> Schema:
    """An answer that is an error, with every status of this range and when it comes."""
    found = dict(FACE)
    for code, status in STATUS.items():
        words = f"code {code}"
        found[status] = f"{found[status]}; {words}" if status in found else words
    lines = [f"{status}: {found[status]}." for status in sorted(found) if first <= status <= last]
    return {
        "description": " ".join(lines),
        "content": {JSON: {"schema": {"$ref": "#/components/schemas/Error"}}},
    }


def describe_paths() -> Schema:
    """Every path with its operations; two methods on one differ in what they answer."""
    paths: Schema = {}
    for name, route in ROUTES.items():
        operations = paths.setdefault(route.path, {})
        if route.verb in operations:
            _join(operations[route.verb], name, route)
        else:
            operations[route.verb] = describe_operation(name, route)
    return paths


def describe_operation(name: str, route: Route) -> Schema:
    """One method as an operation."""
    method = METHODS[name]
    operation: Schema = {
        "operationId": name.replace("/", "_"),
        "summary": method.text,
        "tags": [name.partition("/")[0]],
        "x-ask-methods": [name],
    }
    in_path = BRACES.findall(route.path)
    left = find_travelling(name, route)
    parameters = [_describe_parameter(name, each, "path") for each in in_path]
    in_query = [each for each in left if each not in in_path]
    if route.verb in ("get", "delete") or route.bytes_in:
        parameters += [_describe_parameter(name, each, "query") for each in in_query]
    elif in_query:
        gone = frozenset({*in_path, *_all_fields(method.params)} - set(in_query))
        schema = describe_shape(method.params, closed=True, without=gone)
        operation["requestBody"] = {
            "required": "required" in schema,
            "content": {JSON: {"schema": schema}},
        }
    if route.bytes_in:
        body: Schema = {"required": True, "content": {BYTES: {}}}
        operation["requestBody"] = body
    if parameters:
        operation["parameters"] = parameters
    operation["responses"] = {
        "200": {"description": "Done.", "content": _describe_answer(name, route)},
        "4XX": {"$ref": "#/components/responses/Refused"},
        "5XX": {"$ref": "#/components/responses/Failed"},
    }
    return operation


def find_travelling(name: str, route: Route) -> list[str]:
    """The parameters of a method that a request has."""
    gone = {*NOT_TRAVELLING, *route.without}
    return [each for each in _all_fields(METHODS[name].params) if each not in gone]


def describe_schemas() -> Schema:
    """The shapes that requests and answers refer to."""
    hints: list[Any] = [NOTIFICATIONS[each].params for each in STREAMED]
    for name, route in ROUTES.items():
        params = typing.get_type_hints(METHODS[name].params)
        hints += [params[each] for each in find_travelling(name, route)]
        if "json" in route.answer:
            hints.append(METHODS[name].result)
    schemas = {shape.__name__: describe_shape(shape) for shape in find_shapes(hints)}
    schemas["Error"] = {
        "type": "object",
        "description": "As on the wire: `code` is what ask would exit with.",
        "properties": {
            "code": {"type": "integer"},
            "message": {"type": "string", "description": "a sentence for people"},
            "data": {
                "type": "object",
                "properties": {"reason": {"type": "string", "description": "for programs"}},
                "required": ["reason"],
            },
        },
        "required": ["code", "message", "data"],
    }
    return dict(sorted(schemas.items()))


def _join(operation: Schema, name: str, route: Route) -> None:
    """Another method on the same path, told apart by what is accepted."""
    operation["x-ask-methods"].append(name)
    operation["summary"] += f" With `Accept: {STREAM}`: {METHODS[name].text}"
    operation["responses"]["200"]["content"] |= _describe_answer(name, route)
    known = {each["name"] for each in operation["parameters"]}
    in_path = BRACES.findall(route.path)
    operation["parameters"] += [
        _describe_parameter(name, each, "query")
        for each in find_travelling(name, route)
        if each not in known and each not in in_path
    ]
    operation["parameters"].append(
        {
            "name": "Last-Event-ID",
            "in": "header",
            "description": "In place of `after_seq`, as readers of such streams say it who connect "
            "again: the seq of the last event.",
            "schema": {"type": "integer"},
        }
    )


def _describe_answer(name: str, route: Route) -> Schema:
    content: Schema = {}
    if "json" in route.answer:
        content[JSON] = {
            "schema": {"$ref": f"#/components/schemas/{METHODS[name].result.__name__}"}
        }
    if route.answer == "bytes":
        content[BYTES] = {}
    if "stream" in route.answer:
        content[STREAM] = {
            "schema": {
                "type": "string",
                "description": "Server-sent events. `event` is one of "
                + ", ".join(f"`{each}`" for each in STREAMED)
                + "; `data` is one line of JSON of the shape that `x-ask-data` names; `id` is the "
                "seq of an event.",
                "x-ask-data": {
                    each: f"#/components/schemas/{NOTIFICATIONS[each].params.__name__}"
                    for each in STREAMED
                },
            }
        }
    return content


def _describe_parameter(name: str, field: str, place: str) -> Schema:
    schema, is_needed = describe_fields(METHODS[name].params)[field]
    schema = dict(schema)
    text = schema.pop("description", None)
    described: Schema = {"name": field, "in": place, "schema": schema}
    if is_needed or place == "path":
        described["required"] = True
    if text:
        described["description"] = text
    return described


def _all_fields(shape: Any) -> list[str]:
    return list(describe_fields(shape))


if __name__ == "__main__":
    write_page(PATH, render())
