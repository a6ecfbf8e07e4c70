"""Calls of earlier answers, made fit to be sent: their ids and arguments.

A model may have written arguments that are no JSON; another provider may have
made ids that this one refuses, or one id in every answer. The log keeps what was
written. What is sent is derived from it here, purely and always in the same way,
so that a call and its output still meet and a provider's cache still fits. Names
are the same for every provider: `core.pairs` sees to them.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any

from askd.core.items import ToolCall
from askd.providers.codecs.lenient import read_text, write_json
from askd.providers.codecs.sent_body import fit_json

USUAL_IDS = re.compile(r"(?!.*#)[!-~]{1,40}")
"""OpenAI's chat refuses more than 40 characters, its Responses more than 64; `#` is ours, from
renaming doubles."""

PLAIN_IDS = re.compile(r"[A-Za-z0-9_-]{1,40}")
"""What Anthropic takes, also behind another vendor's API."""

NINE_IDS = re.compile(r"[A-Za-z0-9]{9}")
"""What Mistral takes, and nothing else."""

_BAD_ESCAPE = re.compile(r"\\u(?:[dD][89a-fA-F]|0000)")

UNREADABLE = "unreadable_arguments"
"""The one key of the object that stands for arguments that were none."""


class SentIds:
    """The ids that the calls of one request go under, each of them once.

    Servers that count the calls of an answer give the same ids with every answer, and
    a provider may insist on ids that come once in a request (Anthropic does, wherever
    Claude answers).
    """

    def __init__(self, allowed: re.Pattern[str] = USUAL_IDS) -> None:
        self._allowed = allowed
        self._used: set[str] = set()
        self._open: dict[str, str] = {}

    def begin(self, calls: Sequence[ToolCall]) -> list[str]:
        """The ids of a message's calls, in order; the outputs to come are theirs."""
        ids = [self._take(call.call_id) for call in calls]
        self._open = {call.call_id: sent for call, sent in zip(calls, ids, strict=True)}
        return ids

    def answer(self, call_id: str) -> str | None:
        """The id that an output goes under; None: the last message has no such call waiting."""
        return self._open.pop(call_id, None)

    def _take(self, call_id: str) -> str:
        sent, repeats = fit_call_id(call_id, self._allowed), 1
        while sent in self._used:
            repeats += 1
            sent = fit_call_id(f"{call_id}#{repeats}", self._allowed)
        self._used.add(sent)
        return sent


def fit_call_id(call_id: str, allowed: re.Pattern[str] = USUAL_IDS) -> str:
    """The id if it may be sent, else one made from all of it: equal for equal ids only."""
    if allowed.fullmatch(call_id):
        return call_id
    digest = hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()
    made = f"call_{digest[:24]}"
    return made if allowed.fullmatch(made) else digest[:9]


def fit_arguments(raw: str) -> str:
    """The arguments as the text of a JSON object, unchanged if they are one.

    None at all become `{}`. Anything else is wrapped whole, so that the model
    still sees what it wrote beside the error that answered it, and no server's
    parser or template stumbles over it.
    """
    if not raw.strip():
        return "{}"
    parsed = _parse_object(raw)
    if parsed is None:
        return write_json(fit_json({UNREADABLE: raw}))
    if _BAD_ESCAPE.search(raw):
        # Half a character and NUL are valid JSON to Python and not to everybody.
        return write_json(fit_json(parsed))
    return read_text(raw)


def _parse_object(raw: str) -> dict[str, Any] | None:
    """The JSON object that this text is, or None; NaN and Infinity are no JSON."""
    try:
        parsed = json.loads(raw, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict) else None


def _refuse(constant: str) -> Any:
    raise ValueError(constant)
