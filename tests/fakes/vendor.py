"""What the scripted servers of single vendors have in common: what is said, and by which words.

A vendor turns a neutral `Said` into its own events, and refuses in its own words.
Which answer is given is chosen by a word in the last user message, as in
`chat_answers`, by the same words, and one more:

    CALL    text, then a call of the first tool that was offered
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from tests.fakes.chat_answers import Answer, Hold, Json, Pause, Status, Step

TOKENS = tuple(f"tok{number} " for number in range(20))

BYTES_PER_TOKEN = 4
"""How the fakes count: a request's tokens are its body's bytes by this."""


Call = tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One answer, in no vendor's words. `call` is id, name and the arguments' JSON; `more` are
    calls beside it."""

    texts: tuple[str, ...] = ()
    thought: str = ""
    call: Call | None = None
    more: tuple[Call, ...] = ()
    stop: Literal["end", "length", "calls", "refusal"] = "end"
    input_tokens: int = 10
    cached_tokens: int = 0
    output_tokens: int = 5

    @property
    def calls(self) -> tuple[Call, ...]:
        """All of them."""
        return self.more if self.call is None else (self.call, *self.more)


class Vendor(ABC):
    """One vendor's rules and words. Instances keep nothing."""

    dialect: str
    prefix = ""
    completion_path: str
    stream_type = "text/event-stream"

    def find_bad_headers(self, headers: Mapping[str, str]) -> Status | None:
        """A refusal of what the headers lack beside the key, or None."""
        return None

    @abstractmethod
    def read_key(self, headers: Mapping[str, str]) -> str | None:
        """The key that a request came with."""

    @abstractmethod
    def refuse_key(self, key: str | None) -> Status:
        """The answer to no key, or to a wrong one."""

    @abstractmethod
    def refuse_model(self, name: str) -> Status:
        """The answer to a model that there is not."""

    @abstractmethod
    def refuse_size(self, tokens: int, limit: int) -> Status | None:
        """The answer to a request over the window; None: the vendor cuts it without a word."""

    @abstractmethod
    def fail(self, code: int) -> Status:
        """The answer that has this error status."""

    @abstractmethod
    def fail_late(self) -> bytes:
        """An error inside a stream that has begun well."""

    @abstractmethod
    def find_violation(self, body: Json) -> Status | None:
        """The refusal of a request that breaks a rule, or None."""

    @abstractmethod
    def last_prompt(self, body: Json) -> str:
        """The text of the last user message, or nothing."""

    @abstractmethod
    def first_tool(self, body: Json) -> str | None:
        """The name of the first tool that was offered."""

    @abstractmethod
    def speak(self, said: Said) -> list[bytes]:
        """The answer's events, the end among them; a list entry is what may stand alone."""

    def answer_other(
        self, method: str, path: str, body: bytes, models: tuple[str, ...]
    ) -> Status | None:
        """What is answered beside completions: lists of models. None: there is no such path."""
        return None


def sse(data: Json, *, named: bool = True) -> bytes:
    """One event, with its type as the event's name where the vendor sends that."""
    name = f"event: {data['type']}\n" if named else ""
    return f"{name}data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def halves(text: str) -> tuple[str, str]:
    """A text in two pieces, as arguments are streamed."""
    middle = len(text) // 2
    return text[:middle], text[middle:]


_WORDS = re.compile(
    r"ECHO:(?P<echo>[^\n]*)|\bSLOW\b(?::(?P<interval>[\d.]+))?|\bHOLD\b|\bFAIL (?P<status>\d{3})\b"
    r"|\b(?:LATE 500|CUT|LENGTH|THINK|CALL|REFUSE)\b"
)


def choose_answer(vendor: Vendor, body: Json, *, tokens: int, interval_s: float) -> Answer:
    """The answer that the last user message asks for. `tokens` is the request's size."""
    found = list(_WORDS.finditer(vendor.last_prompt(body)))
    plain = Said(texts=TOKENS, input_tokens=tokens, output_tokens=len(TOKENS))
    if not found:
        return list(vendor.speak(plain))
    word = found[-1]
    match word[0].partition(":")[0].split():
        case ["ECHO"]:
            return list(vendor.speak(replace(plain, texts=halves(word["echo"]))))
        case ["SLOW"]:
            return _paced(vendor.speak(plain), float(word["interval"] or interval_s))
        case ["HOLD"]:
            events = vendor.speak(plain)
            return [*events[:8], Hold(), *events[8:]]
        case ["FAIL", code]:
            return vendor.fail(int(code))
        case ["LATE", _]:
            return [*vendor.speak(plain)[:8], vendor.fail_late()]
        case ["CUT"]:
            return list(vendor.speak(plain)[:8])
        case ["LENGTH"]:
            return list(vendor.speak(replace(plain, texts=TOKENS[:5], stop="length")))
        case ["THINK"]:
            return list(vendor.speak(replace(plain, texts=("Done.",), thought="Let me think.")))
        case ["REFUSE"]:
            return list(vendor.speak(replace(plain, texts=("I will not.",), stop="refusal")))
        case _:
            name = vendor.first_tool(body) or "get_weather"
            call = ("call_1", name, '{"city": "Oslo"}')
            said = replace(plain, texts=("I will ask.",), call=call, stop="calls")
            return list(vendor.speak(said))


def _paced(events: list[bytes], seconds: float) -> list[Step]:
    def steps() -> Iterator[Step]:
        for event in events:
            yield event
            yield Pause(seconds)

    return list(steps())


def json_status(code: int, value: Any, headers: dict[str, str] | None = None) -> Status:
    """An error as the vendor writes it."""
    return Status(code, json.dumps(value).encode(), headers or {})


def bearer(headers: Mapping[str, str]) -> str | None:
    """The key of an `authorization: Bearer` header."""
    scheme, _, key = headers.get("authorization", "").partition(" ")
    return key if scheme.lower() == "bearer" and key else None
