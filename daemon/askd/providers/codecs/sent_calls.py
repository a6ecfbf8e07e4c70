"""Calls of earlier answers, made fit to be sent: their ids, names and arguments.

A model may have written anything: arguments that are no JSON, a name with a
space in it; another provider may have made ids that this one refuses. The log
keeps what was written. What is sent is derived from it here, purely and always
in the same way, so that a call and its output still meet and a provider's
cache still fits.
"""

import hashlib
import json
import re
from typing import Any

from askd.providers.codecs.lenient import read_text, write_json

USUAL_IDS = re.compile(r"(?!.*#)[!-~]{1,64}")
"""OpenAI refuses more than 64 characters; `#` is ours, from renaming doubles."""

PLAIN_IDS = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What Anthropic takes, also behind another vendor's API."""

NINE_IDS = re.compile(r"[A-Za-z0-9]{9}")
"""What Mistral takes, and nothing else."""

_HALF_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_NAMES = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
NAME_LIMIT = 64

UNREADABLE = "unreadable_arguments"
"""The one key of the object that stands for arguments that were none."""


def fit_call_id(call_id: str, allowed: re.Pattern[str] = USUAL_IDS) -> str:
    """The id if it may be sent, else one made from all of it: equal for equal ids only."""
    if allowed.fullmatch(call_id):
        return call_id
    digest = hashlib.sha256(call_id.encode("utf-8", "replace")).hexdigest()
    made = f"call_{digest[:24]}"
    return made if allowed.fullmatch(made) else digest[:9]


def fit_name(name: str) -> str:
    """The tool's name; what no provider takes becomes `_`, and no name `unknown`."""
    if _NAMES.fullmatch(name):
        return name
    return _NOT_IN_NAMES.sub("_", name)[:NAME_LIMIT] or "unknown"


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
        return write_json({UNREADABLE: raw})
    if _HALF_ESCAPE.search(raw):
        # Half a character is valid JSON to Python and to few others.
        return write_json(parsed)
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
