"""What was learnt of a provider's models, as a value and as a file.

The file spares a fresh daemon the question how large a window is. It names no
provider, no address and no key, only digests of them; one that cannot be read is
ignored with a line in the log, and written anew. It asks no server.
"""

import hashlib
import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from askd.files import replace_file
from askd.providers.base import Endpoint, Price
from askd.providers.models.listings import Listed

log = logging.getLogger(__name__)

MOST_PLACES = 64
"""Providers, addresses and callers' keys that are remembered; who was asked last stays."""

FILE_LIMIT_BYTES = 4 << 20
"""Some twenty of the largest listings known."""

VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Stock:
    """What a provider has for whoever asks with one credential.

    Attributes:
        models: by name, in the provider's order.
        listed_at: unix seconds when it listed all of them; 0: only these were asked about.
        tried_at: when it was asked last, with success or without.
        is_cut: it listed more than these.
    """

    models: Mapping[str, Listed]
    listed_at: float = 0.0
    tried_at: float = 0.0
    is_cut: bool = False


NOTHING = Stock(models={})


def find_key(endpoint: Endpoint, theirs: str | None) -> str:
    """Under which a listing is kept: who serves, where, and with whose credential.

    `theirs` is the caller's own key, if it is used: what it shows is for nobody else. All that
    the daemon itself may have belongs to its user, and a sign-in's key changes every hour.
    """
    parts = (endpoint.provider, endpoint.base_url, endpoint.unix_socket, endpoint.dialect, theirs)
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()


def read_file(path: Path) -> dict[str, Stock]:
    """What an earlier daemon has learnt; nothing if there is no file, or it is not one."""
    try:
        with path.open("rb") as stream:
            data = stream.read(FILE_LIMIT_BYTES + 1)
        if len(data) > FILE_LIMIT_BYTES:
            raise ValueError("it is too large")
        return _decode(json.loads(data))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, KeyError, RecursionError, AttributeError) as error:
        log.warning("%s is ignored: %s: %s", path, type(error).__name__, error)
        return {}


def write_file(path: Path, stocks: Mapping[str, Stock]) -> None:
    """Keep it for the next daemon, the newest first if not all of it fits.

    A disk that says no is worth a line in the log and nothing more.
    """
    rows: dict[str, Any] = {}
    size = 0
    for key, stock in sorted(stocks.items(), key=lambda each: -each[1].tried_at)[:MOST_PLACES]:
        row = {
            "listed_at": stock.listed_at,
            "tried_at": stock.tried_at,
            "is_cut": stock.is_cut,
            "models": [_encode(each) for each in stock.models.values()],
        }
        size += len(json.dumps({key: row}))
        if size < FILE_LIMIT_BYTES - 1024:  # the frame around it
            rows[key] = row
    try:
        replace_file(path, json.dumps({"version": VERSION, "places": rows}).encode())
    except OSError as error:
        log.warning("%s cannot be written: %s", path, error.strerror)


def _encode(listed: Listed) -> dict[str, Any]:
    """Only what is said: most is not."""
    return {name: value for name, value in asdict(listed).items() if value not in (None, False)} | {
        name: False for name in ("images", "tools") if getattr(listed, name) is False
    }


def _decode(content: Any) -> dict[str, Stock]:
    if content["version"] != VERSION:
        return {}
    return {
        str(key): Stock(
            models={each.name: each for each in map(_decode_model, row["models"])},
            listed_at=float(row["listed_at"]),
            tried_at=float(row["tried_at"]),
            is_cut=row.get("is_cut") is True,  # not there in what earlier versions wrote
        )
        for key, row in content["places"].items()
    }


def _decode_model(row: Any) -> Listed:
    price = row.get("price")
    for name in ("context_window", "max_output_tokens"):
        if not isinstance(row.get(name, 0), int):
            raise TypeError(f"{name} is no number")
    return Listed(
        **{
            **row,
            "name": str(row["name"]),
            "price": None if price is None else _decode_price(price),
        }
    )


def _decode_price(row: Any) -> Price:
    cached = row["cached"]
    return Price(
        input=float(row["input"]),
        output=float(row["output"]),
        cached=None if cached is None else float(cached),
    )
