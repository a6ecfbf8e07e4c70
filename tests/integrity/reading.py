"""What a request says, read from its bytes by the rules of each dialect.

Written anew from the vendors' documents and sharing nothing with the codecs, so that
the two cannot agree on a mistake. `find_breaks` holds any request to the rules that
all dialects have in common; Ollama has no rules of its own, and is held to them too.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from askd.providers.base import Dialect
from tests.fakes.chat_answers import Json

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
UNSENDABLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Seen:
    """One message: a text, calls as (id, name, arguments), or the output of `call_id`."""

    role: str
    text: str = ""
    calls: tuple[tuple[str, str, str], ...] = ()
    call_id: str = ""


def read_request(dialect: Dialect, body: bytes) -> list[Seen]:
    """The messages of a request, the system prompt first if there is one."""
    parsed: Json = json.loads(body.decode("utf-8"), parse_constant=_refuse)
    match dialect:
        case "openai-responses":
            return _read_input(parsed)
        case "anthropic":
            return _read_blocks(parsed)
        case _:
            return [_read_message(each) for each in parsed["messages"]]


def read_sound(dialect: Dialect, body: bytes) -> list[Seen]:
    """The messages of a request that breaks no rule and holds nothing that cannot be sent."""
    assert (bad := list(find_bad_text(body))) == [], (dialect, bad)
    seen = read_request(dialect, body)
    assert (breaks := list(find_breaks(seen))) == [], (dialect, breaks)
    return seen


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


def _read_message(message: Json) -> Seen:
    calls = tuple(
        (each["id"], each["function"]["name"], _read_arguments(each["function"]["arguments"]))
        for each in message.get("tool_calls", ())
    )
    return Seen(message["role"], _join(message["content"]), calls, message.get("tool_call_id", ""))


def _read_input(body: Json) -> list[Seen]:
    seen = [Seen("system", body["instructions"])] if "instructions" in body else []
    for item in body["input"]:
        match item["type"]:
            case "message":
                seen.append(Seen(item["role"], _join(item["content"])))
            case "function_call":
                call = (item["call_id"], item["name"], _read_arguments(item["arguments"]))
                last = seen[-1] if seen else None
                if last is not None and last.role == "assistant":
                    seen[-1] = Seen("assistant", last.text, (*last.calls, call))
                else:
                    seen.append(Seen("assistant", "", (call,)))
            case "function_call_output":
                seen.append(Seen("tool", _join(item["output"]), call_id=item["call_id"]))
            case "reasoning":
                pass
            case other:
                raise AssertionError(f"an item of type {other!r}")
    return seen


def _read_blocks(body: Json) -> list[Seen]:
    seen = [Seen("system", _join(body["system"]))] if "system" in body else []
    for message in body["messages"]:
        blocks = message["content"]
        for block in blocks:
            if block["type"] == "tool_result":
                text = _join(block.get("content", ""))
                seen.append(Seen("tool", text, call_id=block["tool_use_id"]))
        calls = tuple(
            (block["id"], block["name"], _read_arguments(block["input"]))
            for block in blocks
            if block["type"] == "tool_use"
        )
        texts = [block for block in blocks if block["type"] == "text"]
        if calls or texts:
            seen.append(Seen(message["role"], _join(texts), calls))
    return seen


def _join(content: str | list[Json] | None) -> str:
    if isinstance(content, list):
        return "\n\n".join(part["text"] for part in content if "text" in part)
    return content or ""


def _read_arguments(arguments: str | Json) -> str:
    """As one text, whichever way the dialect writes them; no object is an error."""
    parsed = json.loads(arguments) if isinstance(arguments, str) else arguments
    assert isinstance(parsed, dict)
    return json.dumps(parsed, sort_keys=True)


def find_breaks(seen: Sequence[Seen]) -> Iterable[str]:
    """Every rule that a request breaks, whoever is asked."""
    talk = [each for each in seen if each.role != "system"]
    if not talk or talk[0].role != "user":
        yield "it does not begin with the user"
    waiting: list[str] = []
    ids: list[str] = []
    last = ""
    for each in talk:
        if each.role == "tool":
            if each.call_id not in waiting:
                yield f"an output without its call: {each.call_id!r}"
            else:
                waiting.remove(each.call_id)
            last = "tool"
            continue
        if waiting:
            yield f"calls without outputs: {waiting}"
        if each.role == last:
            yield f"neighbours that are both {last}"
        last = each.role
        waiting = [call_id for call_id, _, _ in each.calls]
        ids += waiting
        if not all(waiting):
            yield "a call without an id"
        for _, name, _ in each.calls:
            if not NAME.fullmatch(name):
                yield f"a tool named {name!r}"
    if waiting:
        yield f"calls without outputs at the end: {waiting}"
    if len(set(ids)) < len(ids):
        yield f"ids that come twice: {ids}"


def find_bad_text(body: bytes) -> Iterable[str]:
    """NUL and half characters, however often they are escaped."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        yield f"it is no UTF-8: {error}"
        return
    for found in _walk(json.loads(text)):
        if UNSENDABLE.search(found):
            yield f"text that cannot be sent: {found[:80]!r}"


def _walk(value: Any) -> Iterable[str]:
    """Every text of a JSON value; the arguments of a call are JSON inside of it."""
    match value:
        case str():
            yield value
            if value.lstrip().startswith("{"):
                try:
                    yield from _walk(json.loads(value))
                except (ValueError, RecursionError):
                    return
        case list():
            for each in value:
                yield from _walk(each)
        case dict():
            for key, each in value.items():
                yield key
                yield from _walk(each)
        case _:
            return
