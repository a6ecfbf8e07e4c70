"""Ollama's own API, scripted: NDJSON, no pairing rules, and a window that cuts without a word.

What does not parse as Ollama's own types is refused in the words of its JSON
reader; everything else is let in, as the real one does. The shapes follow the
public types of the `ollama` package.
"""

import json
from collections.abc import Mapping
from typing import Any

from tests.fakes.chat_answers import Json, Status
from tests.fakes.vendor import BYTES_PER_TOKEN, Said, Vendor, bearer, json_status

DEFAULT_WINDOW = 4096
CONTEXT_LENGTH = 8192
CAPABILITIES = ["completion", "tools", "vision", "thinking"]
AT = "2026-11-21T23:17:37.045Z"
TYPES: dict[str, tuple[type, str]] = {"content": (str, "string"), "role": (str, "string")}


def error(code: int, message: str) -> Status:
    """An error in the vendor's shape."""
    return json_status(code, {"error": message})


class Ollama(Vendor):
    """POST /api/chat."""

    dialect = "ollama"
    completion_path = "/api/chat"
    stream_type = "application/x-ndjson"

    def read_key(self, headers: Mapping[str, str]) -> str | None:
        return bearer(headers)

    def refuse_key(self, key: str | None) -> Status:
        return error(401, "unauthorized")

    def refuse_model(self, name: str) -> Status:
        return error(404, f"model '{name}' not found")

    def refuse_size(self, tokens: int, limit: int) -> Status | None:
        return None

    def fail(self, code: int) -> Status:
        return error(code, f"failed with {code}")

    def fail_late(self) -> bytes:
        return _line({"error": "an error was encountered while running the model"})

    def last_prompt(self, body: Json) -> str:
        said = [message["content"] for message in body["messages"] if message["role"] == "user"]
        return str(said[-1]) if said else ""

    def first_tool(self, body: Json) -> str | None:
        tools = body.get("tools") or []
        return str(tools[0]["function"]["name"]) if tools else None

    def find_violation(self, body: Json) -> Status | None:
        messages = body.get("messages") or []
        for message in messages:
            for name, (kind, go_name) in TYPES.items():
                if name in message and not isinstance(message[name], kind):
                    return _unreadable(message[name], f"messages.{name} of type {go_name}")
            if message.get("role") not in ("system", "user", "assistant", "tool"):
                return error(400, f"invalid role: {message.get('role')}, must be one of "
                                  '["system", "user", "assistant", "tool"]')  # fmt: skip
            for call in message.get("tool_calls") or []:
                arguments = call["function"]["arguments"]
                if not isinstance(arguments, dict):
                    where = "ToolCallFunction.messages.tool_calls.function.arguments"
                    return _unreadable(arguments, f"{where} of type map[string]interface {{}}")
        return None

    def answer_other(
        self, method: str, path: str, body: bytes, models: tuple[str, ...]
    ) -> Status | None:
        match method, path:
            case "GET", "/api/tags":
                return json_status(200, {"models": [_tag(name) for name in models]})
            case "GET", "/api/version":
                return json_status(200, {"version": "0.12.0"})
            case "POST", "/api/show":
                name = json.loads(body).get("model")
                if name not in models:
                    return self.refuse_model(name)
                info = {"general.architecture": "fake", "fake.context_length": CONTEXT_LENGTH}
                shown = {"details": _tag(name)["details"], "model_info": info}
                return json_status(200, {**shown, "capabilities": CAPABILITIES})
            case _:
                return None

    def count_tokens(self, body: Json, size: int) -> int:
        """What the model read of a request: no more than its window."""
        window = (body.get("options") or {}).get("num_ctx") or DEFAULT_WINDOW
        return min(size // BYTES_PER_TOKEN, int(window))

    def speak(self, said: Said) -> list[bytes]:
        lines = []

        def say(**message: Any) -> None:
            spoken = {"role": "assistant", "content": "", **message}
            lines.append(
                _line({"model": "fake", "created_at": AT, "message": spoken, "done": False})
            )

        if said.thought:
            say(thinking=said.thought)
        for text in said.texts:
            say(content=text)
        for _, name, arguments in said.calls:
            say(tool_calls=[{"function": {"name": name, "arguments": json.loads(arguments)}}])
        end = {
            "model": "fake",
            "created_at": AT,
            "message": {"role": "assistant", "content": ""},
            "done": True,
            "done_reason": "length" if said.stop == "length" else "stop",
            "total_duration": 5_000_000,
            "prompt_eval_count": said.input_tokens,
            "eval_count": said.output_tokens,
        }
        return [*lines, _line(end)]


def _line(value: Json) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"


def _tag(name: str) -> Json:
    details = {
        "format": "gguf",
        "family": "fake",
        "families": ["fake"],
        "parameter_size": "1B",
        "quantization_level": "Q4_0",
    }
    return {"name": name, "model": name, "modified_at": AT, "size": 1, "details": details}


def _unreadable(value: Any, where: str) -> Status:
    """What Go's JSON reader says of a value of another type."""
    names = {str: "string", list: "array", dict: "object", int: "number", type(None): "null"}
    kind = names.get(type(value), "value")
    return error(400, f"json: cannot unmarshal {kind} into Go struct field {where}")
