"""What the scripted OpenAI-Chat server says, as values; it knows no sockets.

An answer is a list of steps that the server carries out in order. A behaviour is
chosen by a word in the last user message, so that a real process can script the
server without a side channel; the last such word wins:

    ECHO:words       the rest of the line, in a few chunks
    SLOW, SLOW:0.2   twenty tokens, one per interval (seconds)
    HOLD, HOLD:5     that many tokens (3), then waits for POST /control/release
    FAIL 429         an error status: 400, 401, 404, 429, 500, 503
    FAIL ONCE        one 500 for this very text, an answer when it comes again
    LATE 500         three tokens, then an error inside the stream
    CUT              three tokens, then the end of the body without [DONE]
    DROP             three tokens, then the connection breaks inside a chunk
    LENGTH           five tokens and finish_reason "length"
    CODE             prose around one fenced Python block
    ESC              control sequences split across deltas
    THINK            reasoning_content before the answer
    MEND:words       "Surely." at first, and the words to the next message without a word
    CALLS:[[name, arguments], ...]
                     calls all of these tools at once, and says "done" when they have answered
    HUGE:N           calls write_file with N bytes of arguments, in pieces; then as CALLS
    SAY:[piece, ...] these deltas; where null stands it waits as HOLD does
    SUM              facts about the request: messages, bytes, a digest
    (none)           tok0 tok1 ... tok19
"""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

TOKENS = [f"tok{number} " for number in range(20)]
DONE = b"data: [DONE]\n\n"
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
CALL_ID_LIMIT = 40
PIECE_BYTES = 50_000
CODE_TEXT = "Here it is:\n\n```python\nprint('hello')\n```\n\nThat is all.\n"
ESC_DELTAS = [
    "red \x1b",
    "[31mtext\x1b[0",
    "m, title \x1b]0;pwned",
    "\x07 and \x9b2J clear",
    "ed\n",
]


@dataclass(frozen=True)
class Pause:
    """Wait for an interval; used by SLOW alone."""

    seconds: float


@dataclass(frozen=True)
class Hold:
    """Wait until someone releases the server."""


@dataclass(frozen=True)
class Drop:
    """Break the connection inside a chunk."""


Step = bytes | Pause | Hold | Drop


@dataclass(frozen=True)
class Status:
    """A whole response that is not a stream."""

    code: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


Answer = Status | Sequence[Step]


def chunk(delta: Json, *, finish: str | None = None) -> bytes:
    """One `chat.completion.chunk` as an SSE event."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return event({"object": "chat.completion.chunk", "model": "fake", "choices": [choice]})


def event(data: Json) -> bytes:
    """Any JSON as an SSE event."""
    return b"data: " + json.dumps(data, ensure_ascii=False).encode() + b"\n\n"


def usage(*, prompt: int = 10, completion: int = 20) -> bytes:
    """The last chunk, the one without choices."""
    counts = {"prompt_tokens": prompt, "completion_tokens": completion}
    return event({"choices": [], "usage": {**counts, "total_tokens": prompt + completion}})


def say(*texts: str, finish: str = "stop") -> list[Step]:
    """A whole answer: these deltas, the finish reason, the usage, [DONE]."""
    return [chunk({"role": "assistant", "content": None}), *_deltas(texts), *_end(finish)]


def call(call_id: str, name: str, arguments: str, *, text: str = "") -> list[Step]:
    """A whole answer that asks for one tool, its arguments in two pieces."""
    middle = len(arguments) // 2
    head = {"index": 0, "id": call_id, "type": "function"}
    first = {**head, "function": {"name": name, "arguments": arguments[:middle]}}
    rest = {"index": 0, "function": {"arguments": arguments[middle:]}}
    spoken = [chunk({"content": text})] if text else []
    pieces = [chunk({"tool_calls": [first]}), chunk({"tool_calls": [rest]})]
    return [*spoken, *pieces, *_end("tool_calls")]


def call_all(named: Sequence[tuple[str, Json]]) -> list[Step]:
    """A whole answer that asks for several tools at once."""
    calls = [
        {
            "index": place,
            "id": f"call_{place}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for place, (name, arguments) in enumerate(named)
    ]
    return [chunk({"tool_calls": calls}), *_end("tool_calls")]


def call_hugely(size: int) -> list[Step]:
    """A whole answer that asks for one tool with so many bytes of arguments."""
    first = {"index": 0, "id": "call_0", "type": "function", "function": {"name": "write_file"}}
    piece = {"index": 0, "function": {"arguments": "x" * PIECE_BYTES}}
    pieces = [chunk({"tool_calls": [each]}) for each in [first, *[piece] * (size // PIECE_BYTES)]]
    return [*pieces, *_end("tool_calls")]


def error(code: int, message: str, *, param: str | None = None, kind: str | None = None) -> Status:
    """An error in the vendor's shape; `kind` is its `code`."""
    types = {401: "authentication_error", 429: "rate_limit_error", 500: "server_error"}
    body = {
        "message": message,
        "type": types.get(code, "invalid_request_error"),
        "param": param,
        "code": kind,
    }
    headers = {"retry-after-ms": "20"} if code == 429 else {}
    return Status(code, json.dumps({"error": body}).encode(), headers)


FAILURES = {
    400: error(400, "We could not parse your request.", kind="invalid_value"),
    401: error(401, "Incorrect API key provided: none.", kind="invalid_api_key"),
    404: error(404, "The model `gone` does not exist.", kind="model_not_found"),
    429: error(429, "Rate limit reached. Please try again in 20ms.", kind="rate_limit_exceeded"),
    500: error(500, "The server had an error while processing your request."),
    503: Status(503, b"<html><body><h1>503 Service Unavailable</h1></body></html>"),
}

_WORDS = re.compile(
    r"ECHO:(?P<echo>[^\n]*)|MEND:(?P<mend>[^\n]*)|CALLS:(?P<calls>[^\n]*)|SAY:(?P<said>[^\n]*)"
    r"|HUGE:(?P<huge>\d+)|\bSLOW\b(?::(?P<interval>[\d.]+))?|\bHOLD\b(?::(?P<count>\d+))?"
    r"|\bFAIL (?P<status>\d{3})\b|\b(?:FAIL ONCE|LATE 500|CUT|DROP|LENGTH|CODE|ESC|THINK|SUM)\b"
)


def choose_answer(body: Json, size: int, *, interval: float, failed_before: bool) -> Answer:
    """The answer that the last user message asks for. `size` is the body's, in bytes."""
    found = list(_WORDS.finditer(last_prompt(body)))
    if not found:
        said = [word["mend"] for text in user_texts(body) for word in _WORDS.finditer(text)]
        mended = [words for words in said if words]
        return say(*(_pieces(mended[-1]) if mended else TOKENS))
    word = found[-1]
    match word[0].partition(":")[0].split():
        case ["ECHO"]:
            return say(*_pieces(word["echo"]))
        case ["SAY"]:
            pieces = json.loads(word["said"])
            steps = [Hold() if each is None else _deltas([each])[0] for each in pieces]
            return [*steps, *_end("stop")]
        case ["MEND"]:
            return say("Surely.")
        case ["CALLS"]:
            has_answers = body["messages"][-1]["role"] == "tool"
            return say("done") if has_answers else call_all(json.loads(word["calls"]))
        case ["HUGE"]:
            has_answers = body["messages"][-1]["role"] == "tool"
            return say("done") if has_answers else call_hugely(int(word["huge"]))
        case ["SLOW"]:
            pause = Pause(float(word["interval"] or interval))
            steps = [step for delta in _deltas(TOKENS) for step in (delta, pause)]
            return [*steps, *_end("stop")]
        case ["HOLD"]:
            count = int(word["count"] or 3)
            before, after = _deltas(TOKENS[:count]), _deltas(TOKENS[count:])
            return [*before, Hold(), *after, *_end("stop")]
        case ["FAIL", "ONCE"]:
            return say("recovered") if failed_before else FAILURES[500]
        case ["FAIL", code]:
            return FAILURES.get(int(code), error(int(code), f"Failed with {code}."))
        case ["LATE", _]:
            broken = {"error": {"message": "The model crashed.", "type": "server_error"}}
            return [*_deltas(TOKENS[:3]), event(broken)]
        case ["CUT"]:
            return _deltas(TOKENS[:3])
        case ["DROP"]:
            return [*_deltas(TOKENS[:3]), Drop()]
        case ["LENGTH"]:
            return say(*TOKENS[:5], finish="length")
        case ["CODE"]:
            return say(*_pieces(CODE_TEXT))
        case ["ESC"]:
            return say(*ESC_DELTAS)
        case ["THINK"]:
            return [chunk({"reasoning_content": "Let me think."}), *say("Done.")]
        case _:
            return say(*_pieces(summarize(body, size)))


def summarize(body: Json, size: int) -> str:
    """What SUM answers: `messages=N body_bytes=N last_bytes=N last_sha256=HEX`."""
    last = last_prompt(body).encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(last).hexdigest()
    count = len(body["messages"])
    return f"messages={count} body_bytes={size} last_bytes={len(last)} last_sha256={digest}"


def last_prompt(body: Json) -> str:
    """The text of the last user message, or nothing."""
    return next(reversed(user_texts(body)), "")


def user_texts(body: Json) -> list[str]:
    """The texts of all user messages."""
    return [read_text(each["content"]) for each in body["messages"] if each["role"] == "user"]


def read_text(content: Any) -> str:
    """A message's text: a string, or the text blocks of a list."""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content)
    return "" if content is None else str(content)


def find_violation(body: Any) -> Status | None:
    """The vendor's refusal of a request that breaks its rules, or None."""
    messages = body.get("messages") if isinstance(body, dict) else None
    if not isinstance(messages, list) or not messages:
        text = "Invalid 'messages': empty array. Expected an array with minimum length 1."
        return error(400, text, param="messages", kind="empty_array")
    pending: list[str] = []
    paired = False
    for index, message in enumerate(messages):
        role = message.get("role") if isinstance(message, dict) else None
        where = f"messages.[{index}].role"
        if role == "tool":
            if not paired or message.get("tool_call_id") not in pending:
                # The misspelling is the vendor's own, and programs look for it.
                return error(
                    400,
                    "Invalid parameter: messages with role 'tool' must be a response to a "
                    "preceeding message with 'tool_calls'.",
                    param=where,
                )
            pending.remove(message["tool_call_id"])
        elif pending:
            return _unanswered(pending, where)
        elif role == "assistant":
            calls = message.get("tool_calls", ())
            refusal = next(filter(None, map(_refuse_call, calls)), None)
            if refusal is not None:
                return refusal
            pending = [each["id"] for each in calls]
            paired = bool(pending)
        elif role == "system" and index > 0:
            return error(400, "System message must be at the beginning.", param=where)
        elif role in ("user", "system"):
            paired = False
        else:
            return error(400, f"Invalid value: {role!r}.", param=where, kind="invalid_value")
        refusal = _refuse_content(message, f"messages.[{index}].content")
        if refusal is not None:
            return refusal
    return _unanswered(pending, "messages") if pending else None


def _refuse_call(call: Json) -> Status | None:
    """What is wrong with one call by itself."""
    where, function = "messages.tool_calls", call["function"]
    if not 0 < len(call["id"]) <= CALL_ID_LIMIT:
        text = (
            f"Invalid '{where}.id': string too long. Expected a string with maximum length "
            f"{CALL_ID_LIMIT}, but got a string with length {len(call['id'])} instead."
        )
        return error(400, text, param=f"{where}.id", kind="string_above_max_length")
    if not NAME.fullmatch(function["name"]):
        text = (
            f"Invalid '{where}.function.name': string does not match pattern. "
            "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
        )
        return error(400, text, param=f"{where}.function.name", kind="invalid_value")
    if not isinstance(function["arguments"], str):
        text = f"Invalid type for '{where}.function.arguments': expected a string."
        return error(400, text, param=f"{where}.function.arguments", kind="invalid_type")
    return None


def _refuse_content(message: Json, where: str) -> Status | None:
    content = message.get("content")
    match content:
        case str():
            return None
        case None if message.get("tool_calls"):
            return None
        case [_, *_]:
            kinds = ["text", "image_url"] if message["role"] == "user" else ["text"]
            wrong = [part for part in content if part.get("type") not in kinds]
            if not wrong:
                return None
            text = f"Invalid content type. {wrong[0].get('type')} is only supported for user."
            return error(400, text, param=where)
        case _:
            text = f"Invalid value for 'content': expected a string, got {content!r}."
            return error(400, text, param=where)


def _unanswered(pending: list[str], where: str) -> Status:
    text = (
        "An assistant message with 'tool_calls' must be followed by tool messages responding to "
        "each 'tool_call_id'. The following tool_call_ids did not have response messages: "
    )
    return error(400, text + ", ".join(pending), param=where)


def _deltas(texts: Iterable[str]) -> list[Step]:
    return [chunk({"content": text}) for text in texts]


def _pieces(text: str) -> list[str]:
    """A text in about four pieces; an empty one is one empty piece."""
    size = max(1, -(-len(text) // 4))
    return [text[start : start + size] for start in range(0, len(text), size)] or [""]


def _end(finish: str) -> list[Step]:
    return [chunk({}, finish=finish), usage(), DONE]
