"""Golden frames: one of every message that a version of the protocol ever had, as bytes.

Run `python -m tests.client.protocol.golden` after a method, a notification or a
parameter was added: it appends what is missing and changes nothing that is
there. Whoever changes or removes what is there raises `PROTOCOL`.
"""

import dataclasses
import json
import types
import typing
from pathlib import Path
from typing import Any

from ask.protocol import PROTOCOL
from ask.protocol.errors import REASONS
from ask.protocol.frames import encode_notification, encode_request, encode_response
from ask.protocol.messages import METHODS, NOTIFICATIONS

FOLDER = Path(__file__).resolve().parents[2] / "data" / "protocol"
PATH = FOLDER / f"version-{PROTOCOL}.json"
REQUEST_ID = 7


def make_all() -> dict[str, bytes]:
    """Every message of this version by its name; `smallest` has only what is needed."""
    frames: dict[str, bytes] = {}
    for name, method in METHODS.items():
        frames[f"request {name}"] = encode_request(REQUEST_ID, name, example(method.params))
        smallest = example(method.params, optional=False)
        frames[f"smallest request {name}"] = encode_request(REQUEST_ID, name, smallest)
        frames[f"result {name}"] = encode_response(REQUEST_ID, None, example(method.result))
    for name, notification in NOTIFICATIONS.items():
        frames[f"notification {name}"] = encode_notification(name, example(notification.params))
    for reason, code in REASONS.items():
        error = {"code": code, "message": "A sentence.", "data": {"reason": reason}}
        frames[f"error {reason}"] = encode_response(REQUEST_ID, error)
    return frames


def example(hint: Any, *, optional: bool = True) -> Any:
    """A value of this type, the same every time; without `optional` a shape's defaults are out."""
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        hints = typing.get_type_hints(hint)
        return {
            field.name: example(hints[field.name], optional=optional)
            for field in dataclasses.fields(hint)
            if optional or field.default is dataclasses.MISSING
        }
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return arguments[0]
    if origin in (types.UnionType, typing.Union):
        return example(arguments[0], optional=optional)
    if origin is list:
        return [example(arguments[0], optional=optional)]
    if origin is dict:
        return {"LANG": "C"}
    simple: dict[Any, Any] = {str: "é", int: 3, float: 1.5, bool: True, bytes: b"\x00\xff"}
    return simple.get(hint)


def read_golden() -> dict[str, bytes]:
    """What is kept for this version."""
    if not PATH.exists():
        return {}
    kept = json.loads(PATH.read_text(encoding="utf-8"))
    return {name: bytes.fromhex(frame) for name, frame in kept.items()}


def write_golden() -> None:
    """Keep what is there and add what is missing."""
    frames = {name: frame.hex() for name, frame in {**make_all(), **read_golden()}.items()}
    PATH.write_text(json.dumps(frames, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_golden()
