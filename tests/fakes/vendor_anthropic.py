"""Anthropic's Messages API, scripted: pairing by adjacency, and its events.

The shapes follow the public types of the `anthropic` package, the words of refusals
what its users report. It is the strictest of the vendors: a result stands in the
very next message, ahead of any text.
"""

import re
from collections.abc import Mapping
from typing import Any

from tests.fakes.chat_answers import Json, Status
from tests.fakes.vendor import Said, Vendor, bearer, halves, json_status, sse

TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
STOPS = {"end": "end_turn", "length": "max_tokens", "calls": "tool_use", "refusal": "refusal"}


def error(code: int, message: str) -> Status:
    """An error in the vendor's shape."""
    broken = {"type": TYPES.get(code, "api_error"), "message": message}
    body = {"type": "error", "error": broken, "request_id": "req_1"}
    return json_status(code, body, {"retry-after": "0"} if code == 429 else None)


class Anthropic(Vendor):
    """POST /v1/messages."""

    dialect = "anthropic"
    prefix = "/v1"
    completion_path = "/messages"

    def find_bad_headers(self, headers: Mapping[str, str]) -> Status | None:
        if "anthropic-version" not in headers:
            return error(400, "anthropic-version: header is required")
        return None

    def read_key(self, headers: Mapping[str, str]) -> str | None:
        return headers.get("x-api-key") or bearer(headers)

    def refuse_key(self, key: str | None) -> Status:
        return error(401, "x-api-key header is required" if key is None else "invalid x-api-key")

    def refuse_model(self, name: str) -> Status:
        return error(404, f"model: {name}")

    def refuse_size(self, tokens: int, limit: int) -> Status:
        return error(400, f"prompt is too long: {tokens} tokens > {limit} maximum")

    def fail(self, code: int) -> Status:
        words = {429: "Number of request tokens has exceeded your rate limit.", 529: "Overloaded"}
        return error(code, words.get(code, f"Failed with {code}."))

    def fail_late(self) -> bytes:
        return sse(
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
        )

    def last_prompt(self, body: Json) -> str:
        for message in reversed(body["messages"]):
            texts = [block["text"] for block in _blocks(message) if block.get("type") == "text"]
            if message["role"] == "user" and texts:
                return "".join(texts)
        return ""

    def first_tool(self, body: Json) -> str | None:
        tools = body.get("tools") or []
        return str(tools[0]["name"]) if tools else None

    def find_violation(self, body: Json) -> Status | None:
        if not isinstance(body.get("max_tokens"), int):
            return error(400, "max_tokens: Field required")
        if body["max_tokens"] < 1:
            return error(400, "max_tokens: Input should be greater than or equal to 1")
        if not 0 <= body.get("temperature", 0) <= 1:
            return error(400, "temperature: range: 0..1")
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages:
            return error(400, "messages: at least one message is required")
        return (
            _find_bad_thinking(body)
            or _find_bad_message(messages)
            or _find_unpaired(messages)
            or _find_bad_tool(body)
        )

    def answer_other(
        self, method: str, path: str, body: bytes, models: tuple[str, ...]
    ) -> Status | None:
        if (method, path) != ("GET", "/models"):
            return None
        listed = [
            {"type": "model", "id": name, "display_name": name.title(), "created_at": "2026-01-01"}
            for name in models
        ]
        page = {"data": listed, "has_more": False, "first_id": models[0], "last_id": models[-1]}
        return json_status(200, page)

    def speak(self, said: Said) -> list[bytes]:
        events: list[bytes] = []
        usage = {
            "input_tokens": said.input_tokens - said.cached_tokens,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": said.cached_tokens,
            "output_tokens": 1,
        }
        index = -1

        def send(kind: str, **fields: Any) -> None:
            events.append(sse({"type": kind, **fields}))

        def start(block: Json) -> None:
            nonlocal index
            index += 1
            send("content_block_start", index=index, content_block=block)

        def add(kind: str, **fields: str) -> None:
            send("content_block_delta", index=index, delta={"type": kind, **fields})

        message = {"id": "msg_1", "type": "message", "role": "assistant", "content": []}
        send("message_start", message={**message, "stop_reason": None, "usage": usage})
        if said.thought:
            start({"type": "thinking", "thinking": "", "signature": ""})
            add("thinking_delta", thinking=said.thought)
            add("signature_delta", signature="c2VhbGVk")
            send("content_block_stop", index=index)
        if said.texts:
            start({"type": "text", "text": ""})
            for text in said.texts:
                add("text_delta", text=text)
            send("content_block_stop", index=index)
        for call_id, name, arguments in said.calls:
            start({"type": "tool_use", "id": call_id, "name": name, "input": {}})
            for piece in halves(arguments):
                add("input_json_delta", partial_json=piece)
            send("content_block_stop", index=index)
        delta = {"stop_reason": STOPS[said.stop], "stop_sequence": None}
        send("message_delta", delta=delta, usage={"output_tokens": said.output_tokens})
        send("message_stop")
        return events


def _blocks(message: Json) -> list[Json]:
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or [])


def _find_bad_thinking(body: Json) -> Status | None:
    thinking = body.get("thinking") or {}
    if thinking.get("type") != "enabled":
        return None
    if thinking.get("budget_tokens", 0) < 1024:
        return error(400, "thinking.budget_tokens: Input should be greater than or equal to 1024")
    if thinking["budget_tokens"] >= body["max_tokens"]:
        return error(400, "`max_tokens` must be greater than `thinking.budget_tokens`.")
    if body.get("temperature", 1) != 1:
        return error(400, "`temperature` may only be set to 1 when thinking is enabled.")
    return None


def _find_bad_message(messages: list[Json]) -> Status | None:
    for index, message in enumerate(messages):
        if message.get("role") not in ("user", "assistant"):
            return error(
                400,
                f'messages: Unexpected role "{message.get("role")}". The Messages API accepts a '
                'top-level `system` parameter, not "system" as an input message role.',
            )
        blocks = _blocks(message)
        final = index == len(messages) - 1 and message["role"] == "assistant"
        if not blocks and not final:
            text = "all messages must have non-empty content except for the optional final "
            return error(400, f"messages.{index}: {text}assistant message")
        for place, block in enumerate(blocks):
            refusal = _find_bad_block(block, f"messages.{index}.content.{place}", message["role"])
            if refusal is not None:
                return refusal
    if messages[0]["role"] != "user":
        return error(400, 'messages: first message must use the "user" role')
    last = _blocks(messages[-1])
    if messages[-1]["role"] == "assistant" and last and _ends_in_space(last[-1]):
        text = "messages: final assistant content cannot end with trailing whitespace"
        return error(400, text)
    return None


def _ends_in_space(block: Json) -> bool:
    text = str(block.get("text", ""))
    return text != text.rstrip()


def _find_bad_block(block: Json, where: str, role: str) -> Status | None:
    match block.get("type"), role:
        case "text", _:
            if not block["text"]:
                return error(400, "messages: text content blocks must be non-empty")
            if not block["text"].strip():
                text = "messages: text content blocks must contain non-whitespace text"
                return error(400, text)
        case "tool_use", "assistant":
            if not NAME.fullmatch(block["id"]):
                pattern = "String should match pattern '^[a-zA-Z0-9_-]+$'"
                return error(400, f"{where}.tool_use.id: {pattern}")
            if not NAME.fullmatch(block["name"]):
                pattern = "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"
                return error(400, f"{where}.tool_use.name: {pattern}")
            if not isinstance(block["input"], dict):
                text = "Input should be a valid dictionary"
                return error(400, f"{where}.tool_use.input: {text}")
        case "thinking" | "redacted_thinking", "assistant":
            if block["type"] == "thinking" and not block.get("signature"):
                return error(400, f"{where}.thinking.signature: Field required")
        case (("tool_result" | "image" | "document"), "user"):
            pass
        case other, _:
            return error(
                400, f"{where}.type: Input tag '{other}' found using 'type' is not allowed"
            )
    return None


def _find_unpaired(messages: list[Json]) -> Status | None:
    """Results stand in the message after their calls, and nothing stands before them."""
    asked: list[str] = []
    known: list[str] = []
    for index, message in enumerate(messages):
        blocks = _blocks(message)
        led = 0
        while led < len(blocks) and blocks[led].get("type") == "tool_result":
            led += 1
        missing = [each for each in asked if each not in _answers(blocks[:led])]
        if missing:
            return _unanswered(index - 1, missing)
        for place, block in enumerate(blocks):
            if block.get("type") == "tool_result" and block["tool_use_id"] not in asked:
                return error(
                    400,
                    f"messages.{index}.content.{place}: unexpected `tool_use_id` found in "
                    f"`tool_result` blocks: {block['tool_use_id']}. Each `tool_result` block must "
                    "have a corresponding `tool_use` block in the previous message.",
                )
        answers = _answers(blocks)
        if len(set(answers)) < len(answers):
            text = f"messages.{index}: each tool_use must have a single result."
            return error(400, f"{text} Found multiple `tool_result` blocks with id: {answers[0]}")
        asked = [block["id"] for block in blocks if block.get("type") == "tool_use"]
        known += asked
        if len(set(known)) < len(known):
            return error(400, f"messages.{index}: `tool_use` ids must be unique")
    return _unanswered(len(messages) - 1, asked) if asked else None


def _answers(blocks: list[Json]) -> list[str]:
    return [block["tool_use_id"] for block in blocks if block.get("type") == "tool_result"]


def _unanswered(index: int, missing: list[str]) -> Status:
    return error(
        400,
        f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately "
        f"after: {', '.join(missing)}. Each `tool_use` block must have a corresponding "
        "`tool_result` block in the next message.",
    )


def _find_bad_tool(body: Json) -> Status | None:
    for index, tool in enumerate(body.get("tools") or []):
        if not NAME.fullmatch(str(tool.get("name", ""))):
            pattern = "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"
            return error(400, f"tools.{index}.custom.name: {pattern}")
        if (tool.get("input_schema") or {}).get("type") != "object":
            text = "Input should be 'object'"
            return error(400, f"tools.{index}.custom.input_schema.type: {text}")
    return None
