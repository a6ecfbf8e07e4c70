"""Where a list goes on: the last row's time and id, as an opaque word.

A place and not a count, so that rows added meanwhile repeat nothing and hide nothing.
"""

import base64
import binascii
import json
import math

from askd.store.refusals import bad_cursor


def encode_cursor(at: float, id: str) -> str:
    """The place after this row."""
    return base64.urlsafe_b64encode(json.dumps([at, id]).encode()).decode()


def decode_cursor(cursor: str) -> tuple[float, str]:
    """The (time, id) of a row; raises `RequestError` for what no list answered."""
    try:
        match json.loads(base64.b64decode(cursor, altchars=b"-_", validate=True)):
            case [int() | float() as at, str() as id] if not isinstance(at, bool):
                id.encode()  # raises for half a character, which no row's id holds
                if not math.isfinite(at):
                    raise bad_cursor()
                return float(at), id
            case _:
                raise bad_cursor()
    except (binascii.Error, ValueError, OverflowError, RecursionError):
        raise bad_cursor() from None
