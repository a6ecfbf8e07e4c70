"""OpenAI's Responses API, scripted: its rules for input items, and its events.

The shapes follow the public types of the `openai` package, the words of refusals
what its users report. It knows only what a stateless client sends: `store` false,
every item in the request.
"""

from collections.abc import Mapping
from typing import Any

from tests.fakes.chat_answers import NAME, Json, Status, read_text
from tests.fakes.vendor import Said, Vendor, bearer, halves, json_status, sse

CALL_ID_LIMIT = 64
LEAST_OUTPUT_TOKENS = 16

PARAMETERS = {
    "background", "conversation", "include", "input", "instructions", "max_output_tokens",
    "max_tool_calls", "metadata", "model", "parallel_tool_calls", "previous_response_id", "prompt",
    "prompt_cache_key", "prompt_cache_retention", "reasoning", "safety_identifier", "service_tier",
    "store", "stream", "stream_options", "temperature", "text", "tool_choice", "tools",
    "top_logprobs", "top_p", "truncation", "user", "verbosity",
}  # fmt: skip

TYPES = {401: "invalid_request_error", 429: "rate_limit_error", 500: "server_error"}


def error(code: int, message: str, *, param: str | None = None, kind: str | None = None) -> Status:
    """An error in the vendor's shape; `kind` is its `code`."""
    body = {
        "message": message,
        "type": TYPES.get(code, "server_error" if code > 500 else "invalid_request_error"),
        "param": param,
        "code": kind,
    }
    return json_status(code, {"error": body}, {"retry-after-ms": "20"} if code == 429 else None)


class OpenAIResponses(Vendor):
    """POST /v1/responses."""

    dialect = "openai-responses"
    prefix = "/v1"
    completion_path = "/responses"

    def read_key(self, headers: Mapping[str, str]) -> str | None:
        return bearer(headers)

    def refuse_key(self, key: str | None) -> Status:
        if key is None:
            return error(401, "You didn't provide an API key.")
        text = (
            "Incorrect API key provided: ***. You can find your API key at "
            "https://platform.openai.com/account/api-keys."
        )
        return error(401, text, kind="invalid_api_key")

    def refuse_model(self, name: str) -> Status:
        text = f"The requested model '{name}' does not exist."
        return error(400, text, param="model", kind="model_not_found")

    def refuse_size(self, tokens: int, limit: int) -> Status:
        text = (
            "Your input exceeds the context window of this model. "
            "Please adjust your input and try again."
        )
        return error(400, text, param="input", kind="context_length_exceeded")

    def fail(self, code: int) -> Status:
        if code == 429:
            text = "Rate limit reached. Please try again in 20ms."
            return error(429, text, kind="rate_limit_exceeded")
        return error(code, f"Failed with {code}.")

    def fail_late(self) -> bytes:
        broken = {"code": "server_error", "message": "The model crashed."}
        response = {"id": "resp_1", "object": "response", "status": "failed", "error": broken}
        return sse({"type": "response.failed", "sequence_number": 99, "response": response})

    def last_prompt(self, body: Json) -> str:
        if isinstance(body["input"], str):
            return body["input"]
        said = [read_text(item["content"]) for item in body["input"] if item.get("role") == "user"]
        return said[-1] if said else ""

    def first_tool(self, body: Json) -> str | None:
        tools = body.get("tools") or []
        return str(tools[0]["name"]) if tools else None

    def find_violation(self, body: Json) -> Status | None:
        unknown = sorted(set(body) - PARAMETERS)
        if unknown:
            text = f"Unknown parameter: '{unknown[0]}'."
            return error(400, text, param=unknown[0], kind="unknown_parameter")
        least = body.get("max_output_tokens")
        if least is not None and least < LEAST_OUTPUT_TOKENS:
            text = (
                "Invalid 'max_output_tokens': integer below minimum value. "
                f"Expected a value >= {LEAST_OUTPUT_TOKENS}, but got {least} instead."
            )
            return error(400, text, param="max_output_tokens", kind="integer_below_min_value")
        items = body.get("input")
        if isinstance(items, str) and items:
            return None
        if not isinstance(items, list) or not items:
            text = 'One of "input" or "previous_response_id" or \'prompt\' must be provided.'
            return error(400, text, param="input", kind="missing_required_parameter")
        for index, item in enumerate(items):
            refusal = _find_bad_item(item, f"input[{index}]")
            if refusal is not None:
                return refusal
        return _find_unpaired(items) or _find_bad_tool(body) or _find_bad_format(body)

    def answer_other(
        self, method: str, path: str, body: bytes, models: tuple[str, ...]
    ) -> Status | None:
        if (method, path) != ("GET", "/models"):
            return None
        listed = [{"id": name, "object": "model", "owned_by": "system"} for name in models]
        return json_status(200, {"object": "list", "data": listed})

    def speak(self, said: Said) -> list[bytes]:
        numbered: list[bytes] = []
        response: Json = {"id": "resp_1", "object": "response", "status": "in_progress"}
        output: list[Json] = []

        def send(kind: str, **fields: Any) -> None:
            numbered.append(sse({"type": kind, "sequence_number": len(numbered), **fields}))

        def finish(item: Json) -> None:
            send("response.output_item.done", output_index=len(output), item=item)
            output.append(item)

        send("response.created", response=response)
        if said.thought:
            item: Json = {"id": "rs_1", "type": "reasoning", "summary": []}
            send("response.output_item.added", output_index=0, item=item)
            where = {"item_id": "rs_1", "output_index": 0, "summary_index": 0}
            send("response.reasoning_summary_text.delta", **where, delta=said.thought)
            summary = [{"type": "summary_text", "text": said.thought}]
            finish({**item, "summary": summary, "encrypted_content": "c2VhbGVk"})
        if said.texts:
            kind = "refusal" if said.stop == "refusal" else "output_text"
            item = {"id": "msg_1", "type": "message", "role": "assistant", "content": []}
            send("response.output_item.added", output_index=len(output), item=item)
            where = {"item_id": "msg_1", "output_index": len(output), "content_index": 0}
            for text in said.texts:
                send(f"response.{kind}.delta", **where, delta=text)
            key = "refusal" if kind == "refusal" else "text"
            finish({**item, "content": [{"type": kind, key: "".join(said.texts)}]})
        for place, (call_id, name, arguments) in enumerate(said.calls, start=1):
            item_id = f"fc_{place}"
            item = {"id": item_id, "type": "function_call", "call_id": call_id, "name": name}
            send("response.output_item.added", output_index=len(output), item=item)
            for piece in halves(arguments):
                where = {"item_id": item_id, "output_index": len(output)}
                send("response.function_call_arguments.delta", **where, delta=piece)
            finish({**item, "arguments": arguments, "status": "completed"})
        usage = {
            "input_tokens": said.input_tokens,
            "input_tokens_details": {"cached_tokens": said.cached_tokens},
            "output_tokens": said.output_tokens,
            "output_tokens_details": {"reasoning_tokens": 2 if said.thought else 0},
            "total_tokens": said.input_tokens + said.output_tokens,
        }
        status = "incomplete" if said.stop == "length" else "completed"
        response = {**response, "status": status, "output": output, "usage": usage}
        if said.stop == "length":
            response["incomplete_details"] = {"reason": "max_output_tokens"}
        send(f"response.{status}", response=response)
        return numbered


def _find_bad_item(item: Json, where: str) -> Status | None:
    """What is wrong with one input item by itself."""
    match item.get("type", "message"):
        case "message":
            return _find_bad_content(item, where)
        case "function_call" | "function_call_output":
            call_id = item.get("call_id")
            if not call_id:
                text = f"Missing required parameter: '{where}.call_id'."
                return error(400, text, kind="missing_required_parameter")
            if len(call_id) > CALL_ID_LIMIT:
                text = (
                    f"Invalid '{where}.call_id': string too long. Expected a string with maximum "
                    f"length {CALL_ID_LIMIT}, but got a string with length {len(call_id)} instead."
                )
                param = f"{where}.call_id"
                return error(400, text, param=param, kind="string_above_max_length")
            if item["type"] == "function_call" and not NAME.fullmatch(str(item.get("name"))):
                text = (
                    f"Invalid '{where}.name': string does not match pattern. "
                    "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
                )
                return error(400, text, param=f"{where}.name", kind="invalid_value")
            if item["type"] == "function_call" and not str(item.get("id", "fc")).startswith("fc"):
                text = (
                    f"Invalid '{where}.id': '{item['id']}'. Expected an ID that begins with 'fc'."
                )
                return error(400, text, param=f"{where}.id", kind="invalid_value")
            return None
        case "reasoning":
            if item.get("encrypted_content"):
                return None
            text = (
                f"Item with id '{item.get('id')}' not found. Items are not persisted when `store` "
                "is set to false. Try again with `store` set to true, or remove this item from "
                "your input."
            )
            return error(404, text, param="input")
        case other:
            text = f"Invalid value: '{other}'."
            return error(400, text, param=where, kind="invalid_value")


def _find_bad_content(item: Json, where: str) -> Status | None:
    role, content = item.get("role"), item.get("content")
    if role not in ("user", "assistant", "system", "developer"):
        text = f"Invalid value: '{role}'."
        return error(400, text, param=f"{where}.role", kind="invalid_value")
    if isinstance(content, str):
        return None
    allowed = (
        ("output_text", "refusal")
        if role == "assistant"
        else ("input_text", "input_image", "input_file")
    )
    for place, part in enumerate(content or [{}]):
        if part.get("type") not in allowed:
            names = "', '".join(allowed)
            text = f"Invalid value: '{part.get('type')}'. Supported values are: '{names}'."
            param = f"{where}.content[{place}]"
            return error(400, text, param=param, kind="invalid_value")
    return None


def _find_unpaired(items: list[Json]) -> Status | None:
    calls: list[str] = []
    answered: list[str] = []
    for index, item in enumerate(items):
        kind = item.get("type")
        if kind == "function_call":
            calls.append(item["call_id"])
        elif kind == "function_call_output":
            if item["call_id"] not in calls:
                text = (
                    f"No tool call found for function call output with call_id {item['call_id']}."
                )
                return error(400, text, param="input")
            answered.append(item["call_id"])
        elif kind == "reasoning":
            following = items[index + 1] if index + 1 < len(items) else {}
            if following.get("role", "assistant") != "assistant" or not following:
                text = (
                    f"Item '{item.get('id')}' of type 'reasoning' was provided without its "
                    "required following item."
                )
                return error(400, text, param="input")
    for call_id in calls:
        if call_id not in answered:
            return error(400, f"No tool output found for function call {call_id}.", param="input")
    return None


def _find_bad_tool(body: Json) -> Status | None:
    for index, tool in enumerate(body.get("tools") or []):
        if tool.get("type") == "function" and "name" not in tool:
            text = f"Missing required parameter: 'tools[{index}].name'."
            return error(400, text, kind="missing_required_parameter")
    return None


def _find_bad_format(body: Json) -> Status | None:
    wanted = (body.get("text") or {}).get("format") or {}
    if wanted.get("type") != "json_schema":
        return None
    for name in ("name", "schema"):
        if name not in wanted:
            text = f"Missing required parameter: 'text.format.{name}'."
            return error(400, text, kind="missing_required_parameter")
    if wanted.get("strict") and wanted["schema"].get("additionalProperties") is not False:
        text = (
            f"Invalid schema for response_format '{wanted['name']}': In context=(), "
            "'additionalProperties' is required to be supplied and to be false."
        )
        return error(400, text, param="text.format.schema", kind="invalid_json_schema")
    return None
