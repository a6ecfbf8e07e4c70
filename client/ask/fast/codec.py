"""MessagePack without the library: what the wire's own messages use, and nothing more.

nil, bool, int, float64, str, bin, array and map with string keys; no ext types,
no NaN. Bytes are as the `msgpack` library writes them, and it reads what the
library writes (property tests, both ways). Every message is bounded. At its end
stands the account of one turn: what of its messages is an answer, and still to be shown.
"""

import sys

TYPE_CHECKING = False  # what mypy believes of the name; importing `typing` would cost 2 ms
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MESSAGE_LIMIT_BYTES = 1024 * 1024
NESTING_LIMIT = 32
CONTAINER_LIMIT = 20_000
"""As in `ask.protocol.limits`; a test holds them equal."""

_LITTLE = sys.byteorder == "little"


class BadMessage(ValueError):
    """The bytes are no message, or one over a limit. There is no going on after it."""


class _Short(Exception):
    """The message needs at least `size` bytes, and there are fewer."""

    def __init__(self, size: int) -> None:
        self.size = size


def encode(value: object) -> bytes:
    """The bytes of a value; raise `BadMessage` for one that the wire does not carry."""
    out = bytearray()
    _write(out, value)
    return bytes(out)


def _write(out: bytearray, value: object) -> None:
    if value is None:
        out.append(0xC0)
    elif value is True:
        out.append(0xC3)
    elif value is False:
        out.append(0xC2)
    elif isinstance(value, str):
        data = value.encode()
        _write_head(out, len(data), (0xA0, 32), (0xD9, 0xDA, 0xDB))
        out += data
    elif isinstance(value, int):
        _write_int(out, value)
    elif isinstance(value, float):
        cell = bytearray(8)
        memoryview(cell).cast("d")[0] = value
        out.append(0xCB)
        out += cell[::-1] if _LITTLE else cell
    elif isinstance(value, bytes):
        _write_head(out, len(value), (0, 0), (0xC4, 0xC5, 0xC6))
        out += value
    elif isinstance(value, list):
        _write_head(out, len(value), (0x90, 16), (0, 0xDC, 0xDD))
        for each in value:
            _write(out, each)
    elif isinstance(value, dict):
        _write_head(out, len(value), (0x80, 16), (0, 0xDE, 0xDF))
        for key, each in value.items():
            _write(out, key)
            _write(out, each)
    else:
        raise BadMessage(f"{type(value).__name__} has no place in a message")


def _write_head(
    out: bytearray, size: int, short: tuple[int, int], tags: tuple[int, int, int]
) -> None:
    """A length: in the tag if below `short[1]`, else in 1, 2 or 4 bytes (a tag of 0: not in 1)."""
    if size < short[1]:
        out.append(short[0] | size)
    elif size < 0x100 and tags[0]:
        out += bytes((tags[0], size))
    elif size < 0x10000:
        out.append(tags[1])
        out += size.to_bytes(2, "big")
    else:
        out.append(tags[2])
        out += size.to_bytes(4, "big")


def _write_int(out: bytearray, value: int) -> None:
    if -32 <= value < 128:
        out.append(value & 0xFF)
        return
    if not -(2**63) <= value < 2**64:
        raise BadMessage("an integer of more than 64 bits")
    signed = value < 0
    for power in (0, 1, 2, 3):
        bits = 8 << power
        if value < 1 << bits and (not signed or value >= -1 << (bits - 1)):
            out.append((0xD0 if signed else 0xCC) + power)
            out += value.to_bytes(1 << power, "big", signed=signed)
            return


class Decoder:
    """Cuts a stream of bytes into values."""

    __slots__ = ("_containers", "_data", "_needed")

    def __init__(self) -> None:
        self._data = b""
        self._needed = 1  # bytes without which the first message cannot be whole
        self._containers = 0

    @property
    def unfinished(self) -> int:
        """How many bytes of a message that is not whole yet have come."""
        return len(self._data)

    def feed(self, data: bytes) -> list[object]:
        """Every value that is whole after these bytes; raise `BadMessage`."""
        self._data = self._data + data if self._data else data
        found: list[object] = []
        at = 0
        while len(self._data) - at >= self._needed:
            self._containers = 0
            try:
                value, end = self._read(at, 1)
            except _Short as short:
                self._needed = short.size - at
                break
            except UnicodeDecodeError:
                raise BadMessage("a string that is not UTF-8") from None
            if end - at > MESSAGE_LIMIT_BYTES:
                raise BadMessage(f"a message of more than {MESSAGE_LIMIT_BYTES} bytes")
            found.append(value)
            at = end
            self._needed = 1
        if self._needed > MESSAGE_LIMIT_BYTES:
            raise BadMessage(f"a message of more than {MESSAGE_LIMIT_BYTES} bytes")
        self._data = self._data[at:]
        return found

    def _take(self, at: int, size: int) -> bytes:
        end = at + size
        if end > len(self._data):
            raise _Short(end)
        return self._data[at:end]

    def _number(self, at: int, size: int) -> int:
        return int.from_bytes(self._take(at, size), "big")

    def _read(self, at: int, depth: int) -> tuple[object, int]:
        """The value that begins at `at`, and where it ends."""
        tag = self._take(at, 1)[0]
        at += 1
        if tag < 0x80:
            return tag, at
        if tag < 0x90:
            return self._read_map(at, tag & 0x0F, depth)
        if tag < 0xA0:
            return self._read_list(at, tag & 0x0F, depth)
        if tag < 0xC0:
            return self._read_text(at, tag & 0x1F)
        if tag >= 0xE0:
            return tag - 0x100, at
        if tag in (0xC0, 0xC2, 0xC3):
            return (None, None, False, True)[tag - 0xC0], at
        if 0xD9 <= tag <= 0xDB:
            width = 1 << (tag - 0xD9)
            return self._read_text(at + width, self._number(at, width))
        if 0xCC <= tag <= 0xCF:
            width = 1 << (tag - 0xCC)
            return self._number(at, width), at + width
        if 0xD0 <= tag <= 0xD3:
            width = 1 << (tag - 0xD0)
            return int.from_bytes(self._take(at, width), "big", signed=True), at + width
        if tag == 0xCB:
            return self._read_float(at), at + 8
        if 0xC4 <= tag <= 0xC6:
            width = 1 << (tag - 0xC4)
            size = self._number(at, width)
            return self._take(at + width, size), at + width + size
        if tag in (0xDC, 0xDD):
            width = 2 if tag == 0xDC else 4
            return self._read_list(at + width, self._number(at, width), depth)
        if tag in (0xDE, 0xDF):
            width = 2 if tag == 0xDE else 4
            return self._read_map(at + width, self._number(at, width), depth)
        raise BadMessage(f"tag 0x{tag:02x} is not used here")

    def _read_text(self, at: int, size: int) -> tuple[str, int]:
        return self._take(at, size).decode(), at + size

    def _read_float(self, at: int) -> float:
        data = self._take(at, 8)
        value: float = memoryview(data[::-1] if _LITTLE else data).cast("d")[0]
        if value != value:
            raise BadMessage("a number that is none (NaN)")
        return value

    def _enter(self, size: int, depth: int) -> None:
        self._containers += 1
        if depth > NESTING_LIMIT or size > MESSAGE_LIMIT_BYTES:
            raise BadMessage("too deep, or too long a list")
        if self._containers > CONTAINER_LIMIT:
            raise BadMessage(f"more than {CONTAINER_LIMIT} lists and maps")

    def _read_list(self, at: int, size: int, depth: int) -> tuple[list[object], int]:
        self._enter(size, depth)
        found: list[object] = []
        for _ in range(size):
            value, at = self._read(at, depth + 1)
            found.append(value)
        return found, at

    def _read_map(self, at: int, size: int, depth: int) -> tuple[dict[str, object], int]:
        self._enter(size, depth)
        found: dict[str, object] = {}
        for _ in range(size):
            key, at = self._read(at, depth + 1)
            if not isinstance(key, str) or key in found:
                raise BadMessage("a map's key that is no string, or stands there twice")
            found[key], at = self._read(at, depth + 1)
        return found, at


def needs_blob(event: "Mapping[str, Any]") -> bool:
    """Whether an answer's text is too large to stand in its event."""
    item = event.get("item") or {}
    return item.get("type") == "assistant_message" and any(
        part.get("type") != "text" for part in item.get("parts", ())
    )


def calls_tools(event: "Mapping[str, Any]") -> bool:
    """Whether a model asks for tools with an event."""
    item = event.get("item") or {}
    return bool(item.get("calls"))


class Answer:
    """What has come of one turn, and how much of it has been shown.

    Attributes:
        seq: the last event's.
        shown: characters shown, by item.
        started: the turn has left the queue.
        waits: the id of the message that joined a turn that ran: what is said before it joins is
            an answer to somebody else; None: it joined, or there is none.
        ended: the `turn_finished` event, once it has come.
    """

    __slots__ = (
        *("conversation_id", "ended", "line_open", "seq", "shown", "started", "turn_id"),
        "waits",
    )

    def __init__(self, accepted: "Mapping[str, Any]") -> None:
        self.conversation_id = str(accepted["conversation_id"])
        self.turn_id = str(accepted["turn_id"])
        self.seq = int(accepted["seq"]) - 1
        self.shown: dict[str, int] = {}
        self.waits: str | None = accepted.get("steers")
        self.started = self.waits is not None
        self.ended: dict[str, Any] | None = None
        self.line_open = False

    def read_delta(self, delta: "Mapping[str, Any]") -> str:
        """What of a delta is to be shown now."""
        if delta.get("turn_id") != self.turn_id or delta.get("kind") != "text":
            return ""
        if self.waits is not None:
            return ""
        return self.show(str(delta["item_id"]), int(delta["offset"]), str(delta["text"]))

    def read_event(self, event: "Mapping[str, Any]") -> str:
        """Take in an event; what of its item has not been shown yet."""
        if event.get("conversation_id") != self.conversation_id or event["seq"] <= self.seq:
            return ""
        self.seq = int(event["seq"])
        if event.get("turn_id") != self.turn_id:
            return ""
        kind = event["type"]
        if kind == "item_added" and event.get("status") != "superseded":
            item = event["item"]
            if self.waits is not None:
                self.waits = None if item.get("id") == self.waits else self.waits
            elif item.get("type") == "assistant_message":
                text = "".join([str(part.get("text", "")) for part in item.get("parts", ())])
                return self.show(str(item["id"]), 0, text)
        elif kind == "turn_started":
            self.started = True
            self.shown.clear()  # another attempt says it anew, under the same item's id
        elif kind == "turn_finished":
            self.ended = dict(event)
        return ""

    def show(self, item_id: str, offset: int, text: str) -> str:
        """What of an item's text lies beyond what was shown of it, on a line of its own."""
        before = self.shown.get(item_id, 0)
        if offset > before or offset + len(text) <= before:
            return ""
        new = text[before - offset :]
        if not before and self.line_open:
            new = "\n" + new
        self.shown[item_id] = offset + len(text)
        self.line_open = new[-1] != "\n"
        return new


def steers_answer(event: "Mapping[str, Any]", answer: Answer) -> bool:
    """Whether somebody has said something more to a turn whose answer is being shown."""
    is_own = event.get("turn_id") == answer.turn_id and answer.waits is None
    return is_own and event["type"] == "prompt_steered"
