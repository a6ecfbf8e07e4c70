"""GitHub Copilot, scripted: the exchange of tokens, and chat in OpenAI's chunks.

One server plays GitHub and Copilot: `GET /copilot_internal/v2/token` gives a token
for the sign-in, `/chat/completions` and `/models` take only that token, with the
headers that say which editor is asking. The endpoints are not documented; shapes
and words are those that users of other clients report.
"""

import json
from collections.abc import Mapping

from tests.fakes import chat_answers
from tests.fakes.chat_answers import Json, Status
from tests.fakes.vendor import Said, Vendor, bearer, halves, json_status

SIGN_IN = "ghu_signed-in"
TOKEN = "tid=fake;exp=4102444800"
TOKEN_LIFE_S = 1500
NEEDED_HEADERS = {
    "editor-version": "bad request: missing Editor-Version header for IDE auth\n",
    "copilot-integration-id": "bad request: missing Copilot-Integration-Id header\n",
}


def error(code: int, message: str, kind: str = "") -> Status:
    """An error in the vendor's shape: no type."""
    headers = {"retry-after": "0"} if code == 429 else None
    return json_status(code, {"error": {"message": message, "code": kind}}, headers)


class Copilot(Vendor):
    """POST /chat/completions."""

    dialect = "copilot"
    completion_path = "/chat/completions"

    def find_bad_headers(self, headers: Mapping[str, str]) -> Status | None:
        for name, words in NEEDED_HEADERS.items():
            if name not in headers:
                return Status(400, words.encode())
        return None

    def read_key(self, headers: Mapping[str, str]) -> str | None:
        return bearer(headers)

    def refuse_key(self, key: str | None) -> Status:
        return Status(401, b"IDE token expired: unauthorized: token expired\n")

    def refuse_model(self, name: str) -> Status:
        return error(400, "The requested model is not supported.", "model_not_supported")

    def refuse_size(self, tokens: int, limit: int) -> Status:
        text = f"prompt token count of {tokens} exceeds the limit of {limit}"
        return error(400, text, "model_max_prompt_tokens_exceeded")

    def fail(self, code: int) -> Status:
        return error(code, f"Failed with {code}.", "rate_limited" if code == 429 else "")

    def fail_late(self) -> bytes:
        return chat_answers.event({"error": {"message": "The model crashed.", "code": ""}})

    def last_prompt(self, body: Json) -> str:
        return chat_answers.last_prompt(body)

    def first_tool(self, body: Json) -> str | None:
        tools = body.get("tools") or []
        return str(tools[0]["function"]["name"]) if tools else None

    def find_violation(self, body: Json) -> Status | None:
        refusal = chat_answers.find_violation(body)
        if refusal is None:
            return None
        words = json.loads(refusal.body)["error"]["message"]
        return error(refusal.code, words, "invalid_request_body")

    def exchange(self, headers: Mapping[str, str], *, base_url: str, now: float) -> Status:
        """A token for a sign-in. `now` in unix seconds."""
        if headers.get("authorization") != f"token {SIGN_IN}":
            return json_status(401, {"message": "Bad credentials", "status": "401"})
        expires_at = int(now) + TOKEN_LIFE_S
        given = {"token": TOKEN, "expires_at": expires_at, "refresh_in": TOKEN_LIFE_S}
        return json_status(200, {**given, "endpoints": {"api": base_url}})

    def answer_other(
        self, method: str, path: str, body: bytes, models: tuple[str, ...]
    ) -> Status | None:
        if (method, path) != ("GET", "/models"):
            return None
        limits = {
            "max_context_window_tokens": 128000,
            "max_prompt_tokens": 64000,
            "max_output_tokens": 4096,
        }
        supports = {"tool_calls": True, "vision": True, "streaming": True}
        listed = [
            {
                "id": name,
                "name": name.title(),
                "object": "model",
                "vendor": "OpenAI",
                "model_picker_enabled": True,
                "capabilities": {"type": "chat", "limits": limits, "supports": supports},
            }
            for name in models
        ]
        return json_status(200, {"object": "list", "data": listed})

    def speak(self, said: Said) -> list[bytes]:
        chunk = chat_answers.chunk
        events = [chunk({"role": "assistant", "content": None})]
        if said.thought:
            events.append(chunk({"reasoning_text": said.thought}))
        events += [chunk({"content": text}) for text in said.texts]
        for place, (call_id, name, arguments) in enumerate(said.calls):
            first, rest = halves(arguments)
            head = {"index": place, "id": call_id, "type": "function"}
            events.append(
                chunk({"tool_calls": [{**head, "function": {"name": name, "arguments": first}}]})
            )
            piece = {"index": place, "function": {"arguments": rest}}
            events.append(chunk({"tool_calls": [piece]}))
        finish = {"end": "stop", "length": "length", "calls": "tool_calls"}
        events.append(chunk({}, finish=finish.get(said.stop, "content_filter")))
        counts = {
            "prompt_tokens": said.input_tokens,
            "completion_tokens": said.output_tokens,
            "total_tokens": said.input_tokens + said.output_tokens,
            "prompt_tokens_details": {"cached_tokens": said.cached_tokens},
        }
        return [*events, chat_answers.event({"choices": [], "usage": counts}), chat_answers.DONE]
