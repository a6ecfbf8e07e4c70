"""Parameters: the contract's shapes, strictly; one sentence that names what is wrong."""

import dataclasses
from typing import Any

import pytest

from ask.protocol.messages import (
    METHODS,
    ConfigWrite,
    Hello,
    PromptPart,
    Target,
    TurnOptions,
    TurnStart,
)
from askd.errors import RequestError
from askd.server.params import read_params

START: dict[str, Any] = {
    "target": {"kind": "session", "value": "work", "create": True},
    "key": "k",
    "parts": [{"type": "text", "text": "hi"}, {"type": "blob", "sha256": "ab", "bytes": 3}],
    "options": {"timeout_s": 3, "detach": True},
    "env": {"LANG": "C"},
}


def refuse(method: str, params: dict[str, Any]) -> RequestError:
    with pytest.raises(RequestError) as caught:
        read_params(method, params)
    assert caught.value.reason == "bad_params"
    assert caught.value.message.startswith(f"{method}: ")
    assert caught.value.message.endswith(".")
    assert "\n" not in caught.value.message
    return caught.value


def test_nested_shapes_become_the_contracts_values() -> None:
    assert read_params("turn/start", START) == TurnStart(
        target=Target(kind="session", value="work", create=True),
        key="k",
        parts=[
            PromptPart(type="text", text="hi"),
            PromptPart(type="blob", sha256="ab", bytes=3),
        ],
        options=TurnOptions(timeout_s=3.0, detach=True),
        env={"LANG": "C"},
    )


@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_a_model_and_its_defaults(method: str) -> None:
    shape: Any = METHODS[method].params
    fields = dataclasses.fields(shape)
    required = {f.name for f in fields if f.default is dataclasses.MISSING}
    if required:
        assert refuse(method, {}).data["field"] in required
    else:
        assert read_params(method, {}) == shape()
    if method != "hello":
        refuse(method, {"surely_not": 1})


def test_any_value_is_a_settings_value() -> None:
    assert read_params("config/write", {"key": "a", "value": [1, {"b": 2}]}) == ConfigWrite(
        key="a", value=[1, {"b": 2}]
    )


def test_a_newer_clients_hello_is_understood() -> None:
    params = {"client": "ask", "version": "9", "protocol": 1, "colour": "blue"}
    assert read_params("hello", params) == Hello(client="ask", version="9", protocol=1)


@pytest.mark.parametrize(
    ("change", "field", "words"),
    [
        ({"key": 5}, "key", "string"),
        ({"key": None}, "key", "string"),
        ({"target": {"kind": "latest"}}, "target.kind", "'new', 'id', 'session' or 'terminal'"),
        ({"target": {"kind": "new", "x": 1}}, "target.x", "no parameter"),
        ({"target": {}}, "target.kind", "missing"),
        ({"target": "new"}, "target", "a map"),
        ({"parts": {}}, "parts", "list"),
        ({"parts": [{"type": "text", "text": True}]}, "parts.0.text", "string"),
        ({"parts": [{"type": "blob", "bytes": 1.0}]}, "parts.0.bytes", "integer"),
        ({"options": {"timeout_s": "3"}}, "options.timeout_s", "number"),
        ({"options": {"timeout_s": True}}, "options.timeout_s", "number"),
        ({"options": {"detach": 1}}, "options.detach", "boolean"),
        ({"options": None}, "options", "a map"),
        ({"follow": 1}, "follow", "boolean"),
        ({"env": {"A": 1}}, "env.A", "string"),
        ({"env": []}, "env", "a map"),
        ({"busy": "drop"}, "busy", "'queue', 'steer' or 'fail'"),
    ],
)
def test_nothing_is_coerced(change: dict[str, Any], field: str, words: str) -> None:
    error = refuse("turn/start", {**START, **change})
    assert error.data["field"] == field
    assert words in error.message


def test_no_message_repeats_a_secret() -> None:
    error = refuse("turn/start", {**START, "secrets": {"OPENAI_API_KEY": ["sk-canary"]}})
    assert error.data["field"] == "secrets.OPENAI_API_KEY"
    assert "canary" not in error.message + repr(error.data)


def test_a_long_name_is_cut() -> None:
    assert len(refuse("turn/start", {**START, "x" * 5000: 1}).message) < 200
