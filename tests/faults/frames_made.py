"""Bytes to flood a socket with: noise, valid requests that were spoiled, and bombs."""

import random
import struct
from collections.abc import Callable
from typing import Any

import msgpack

from ask.protocol import PROTOCOL
from ask.protocol.frames import encode_request

HELLO = {"client": "flood", "version": "1", "protocol": PROTOCOL}
HELLO_FRAME = encode_request(0, "hello", HELLO)
NOISE_SHARE = 0.6
NOISE_BYTES = 300
"""The longest noise: most of it is no message after a few bytes."""
NOBODY = "0" * 32

# None of these ends the daemon, asks a model, or keeps anything: a flood of accepted requests
# is another matter than a flood of frames.
VALID: tuple[tuple[str, dict[str, Any]], ...] = (
    ("hello", HELLO),
    ("daemon/status", {}),
    ("conversation/list", {"limit": 5, "live": True}),
    ("conversation/read", {"conversation_id": NOBODY, "after_seq": 0, "limit": 200}),
    ("conversation/subscribe", {"conversation_id": NOBODY, "after_seq": 7, "interactive": True}),
    ("conversation/note", {"conversation_id": NOBODY, "text": "a note", "level": "command"}),
    ("conversation/search", {"text": "nothing", "rank": False, "limit": 3}),
    ("conversation/resolve", {"target": {"kind": "session", "value": NOBODY}}),
    ("blob/put", {"sha256": NOBODY * 2, "size": 3, "offset": 0, "bytes": b"abc"}),
    (
        "turn/start",
        {
            "target": {"kind": "session", "value": NOBODY},
            "key": "a-key",
            "parts": [{"type": "text", "text": "hello"}],
            "env": {"LANG": "C"},
        },
    ),
)
VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 2**63, 2**64 - 1, -(2**63), 0.5, float("nan"), float("inf"), "", "\0",
    "x" * 2000, b"", b"\xff" * 50, [], {}, [[]], {"": {}}, [None] * 50, "\u2028\u202e",
)  # fmt: skip


def make_frame(seed: int, number: int) -> bytes:
    """The frame of this number: equal seeds make equal frames."""
    dice = random.Random(seed * 1_000_003 + number)
    if dice.random() < NOISE_SHARE:
        return dice.randbytes(dice.randint(1, NOISE_BYTES))
    return dice.choice(SPOILERS)(dice)


def _choose(dice: random.Random) -> bytes:
    method, params = dice.choice(VALID)
    return encode_request(dice.randrange(2**32), method, params)


def _flip(dice: random.Random) -> bytes:
    frame = bytearray(_choose(dice))
    for _ in range(dice.randint(1, 4)):
        frame[dice.randrange(len(frame))] = dice.randrange(256)
    return bytes(frame)


def _cut(dice: random.Random) -> bytes:
    frame = _choose(dice)
    return frame[: dice.randrange(1, len(frame))]


def _insert(dice: random.Random) -> bytes:
    frame = _choose(dice)
    at = dice.randrange(len(frame))
    return frame[:at] + dice.randbytes(dice.randint(1, 8)) + frame[at:]


def _announce(dice: random.Random) -> bytes:
    """A length that is not true, where a byte of the frame was."""
    frame = _choose(dice)
    at = dice.randrange(len(frame))
    head = dice.choice((b"\xdc", b"\xdd", b"\xde", b"\xdf", b"\xda", b"\xdb", b"\xc6", b"\xc9"))
    length = struct.pack(">I", dice.choice((2**32 - 1, 2**31, 70_000, 1025)))
    return frame[:at] + head + length + frame[at + 1 :]


def _misshape(dice: random.Random) -> bytes:
    """Valid MessagePack, and a message or nearly one: another value, key, kind or id."""
    method, params = dice.choice(VALID)
    changed = dict(params)
    key = dice.choice([*params, "surplus"])
    changed[key] = dice.choice(VALUES)
    message: list[Any] = [0, dice.randrange(2**32), method, [changed]]
    if dice.random() < 0.4:
        message[dice.randrange(4)] = dice.choice(VALUES)
    packed: bytes = msgpack.packb(message)
    return packed


SPOILERS: tuple[Callable[[random.Random], bytes], ...] = (
    _flip,
    _cut,
    _insert,
    _announce,
    _misshape,
)


def make_bombs() -> dict[str, bytes]:
    """Single messages that cost a careless reader its memory, its stack or its sense."""
    mebibyte = 1024 * 1024
    head = b"\x94\x00\x01\xa1x\x91"  # [0, 1, "x", [...
    bombs = {
        f"{name} nested {depth} deep": head + opening * depth + closing
        for depth in (1, 31, 33, 100, 500, 1000, 1023, 1024, 1025, 2000, 5000)
        for name, opening, closing in (("lists", b"\x91", b"\xc0"), ("maps", b"\x81\xa1a", b"\xc0"))
    }
    for name, empty in (("maps", b"\x80"), ("lists", b"\x90")):
        count = mebibyte - 64
        bombs[f"1 MiB of empty {name}"] = head + b"\xdd" + struct.pack(">I", count) + empty * count
        parts = (count // 1027) * (b"\xdc" + struct.pack(">H", 1024) + empty * 1024)
        bombs[f"1 MiB of empty {name} in short lists"] = head + b"\xdc\x03\xff" + parts
    for name, code in (("list", 0xDD), ("map", 0xDF), ("text", 0xDB), ("bytes", 0xC6)):
        bombs[f"a {name} that announces 4 GiB"] = head + bytes([code]) + b"\xff" * 4 + b"\x01" * 99
    nest = b"\xdc\x04\x00"
    bombs["lists in lists that announce 1024 each"] = head + nest * 1000
    bombs["lists in lists that announce 64 Ki each"] = head + b"\xdc\xff\xff" * 1000
    bombs["an extension of 4 GiB"] = head + b"\xc9" + b"\xff" * 4 + b"\x05" + b"x" * 99
    bombs["an extension"] = head + b"\x81\xa1a\xd4\x05x"
    bombs["a timestamp"] = head + b"\x81\xa1a\xd6\xff\x00\x00\x00\x01"
    bombs["not a number"] = head + b"\x81\xa1a\xcb\x7f\xf8" + bytes(6)
    bombs["infinity"] = head + b"\x81\xa1a\xcb\x7f\xf0" + bytes(6)
    bombs["a key twice"] = head + b"\x82\xa1a\x01\xa1a\x02"
    bombs["a number as a key"] = head + b"\x81\x01\x02"
    bombs["bad UTF-8"] = head + b"\x81\xa1a\xa4\xff\xfe\xed\xa0"
    bombs["half of a surrogate pair"] = head + b"\x81\xa1a\xa3\xed\xa0\x80"
    bombs["a byte that MessagePack does not know"] = head + b"\xc1"
    bombs["2 MiB of text"] = head + b"\x81\xa1a\xdb" + struct.pack(">I", 2 * mebibyte)
    bombs["2 MiB of text"] += b"x" * (2 * mebibyte)
    return bombs


def make_huge_hello() -> bytes:
    """A greeting of a mebibyte, to be sent in place of hello."""
    return encode_request(0, "hello", {**HELLO, "client": "x" * 1_000_000})
