"""The bytes of a request: JSON that every server can read, whatever the log holds.

Two kinds of text break servers: half characters, which UTF-8 cannot carry, and NUL,
which JSON can write and many a database behind an API cannot store, so that the
request is refused as a whole. Each becomes U+FFFD. This is the last thing that
happens to a request, in every dialect; nothing may change it afterwards.
"""

import json
import re
from typing import Any

from askd.providers.codecs.lenient import Json

REPLACEMENT = "\ufffd"

_BAD = re.compile("[\x00\ud800-\udfff]")


def write_body(body: Json) -> bytes:
    """The request as compact JSON.

    Raises:
        ValueError: a number that JSON cannot say; no codec writes one.
    """
    text = _dump(body)
    try:
        # Seldom needed, and a walk through everything: only what cannot be sent is looked for.
        return text.encode() if "\\u0000" not in text else _dump(fit_json(body)).encode()
    except UnicodeEncodeError:
        return _dump(fit_json(body)).encode()


def fit_text(text: str) -> str:
    """The text with U+FFFD in place of what cannot be sent."""
    return _BAD.sub(REPLACEMENT, text)


def fit_json(value: Any) -> Any:
    """The same JSON, each of its texts and keys fit to be sent."""
    match value:
        case str():
            return fit_text(value)
        case dict():
            return {fit_text(key): fit_json(each) for key, each in value.items()}
        case list() | tuple():
            return [fit_json(each) for each in value]
        case _:
            return value


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
