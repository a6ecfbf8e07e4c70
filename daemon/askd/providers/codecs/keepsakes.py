"""What a vendor wants back with the next request, made fit to be stored until then.

Pure. A server may send anything in such a field; a log can hold no half
characters, no depth without end, no number that its format does not know.
"""

import json
import math
from typing import Any

from askd.core.items import PART_LIMIT_BYTES, AssistantMessage
from askd.providers.codecs.lenient import Json, read_text

DEPTH = 12
"""Levels of an object that are kept; what vendors want back has four or five."""

INTEGER_LIMIT = 1 << 63
"""From here on, an integer does not fit where it would be kept."""


def keep(value: Json) -> Json | None:
    """The object as it can be stored and sent again; None if it is too large for an event.

    Without it a model has forgotten what it thought; it can answer all the same.
    """
    kept: Json = copy_json(value)
    size = len(json.dumps(kept, ensure_ascii=False).encode())
    return kept if size <= PART_LIMIT_BYTES else None


def is_from(message: AssistantMessage, *, provider: str, model: str) -> bool:
    """Whether this provider and model gave this answer, and so may have its reasoning back."""
    if message.provider != provider:
        return False
    return message.model in (None, model) or message.model == f"{provider}/{model}"


def copy_json(value: Any, *, depth: int = DEPTH) -> Any:
    """The same JSON, with null in place of what could not be stored."""
    match value:
        case str():
            return read_text(value)
        case bool() | None:
            return value
        case int():
            return value if -INTEGER_LIMIT <= value < INTEGER_LIMIT else None
        case float():
            return value if math.isfinite(value) else None
        case list() if depth:
            return [copy_json(each, depth=depth - 1) for each in value]
        case dict() if depth:
            return {read_text(k): copy_json(v, depth=depth - 1) for k, v in value.items()}
    return None
