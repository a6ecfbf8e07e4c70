"""Messages as bytes: MessagePack-RPC, encoded, and decoded within limits.

Pure: bytes in, messages out; it opens nothing, waits for nothing and knows no
method. Whatever is fed, `FrameReader` answers with messages or with `BadFrame`
and never holds more than one message limit of unread bytes. After a `BadFrame`
the reader is dead: a stream that was wrong once has no boundaries to trust.
"""

import math
from dataclasses import dataclass
from typing import Any

import msgpack

from ask.protocol.limits import (
    CONTAINER_LIMIT,
    HELLO_LIMIT_BYTES,
    MESSAGE_LIMIT_BYTES,
    NESTING_LIMIT,
    Map,
)

REQUEST, RESPONSE, NOTIFICATION = 0, 1, 2
ID_LIMIT = 2**32
"""Request ids are unsigned 32-bit integers, as MessagePack-RPC says."""
SLICE_BYTES = 16 * 1024
"""The unpacker is fed this much and drained, so that a limit is passed by one slice at most."""
REQUEST_MEMBER_LIMIT = 1024
"""Room is made for every member that a list announces, before one has come, and the library
nests up to 1024 deep: 5 KB of nested lists that announce 4096 each took 26 MB, measured, and
these take 8. The longest list of a request is that of a prompt's parts."""

_PLAIN = frozenset({type(None), bool, int, float, str, bytes, list, dict})
_KEYS = frozenset({str})


class BadFrame(ValueError):
    """What came is not a message of this protocol, or is one over a limit.

    Attributes:
        id: the request's id if that much could be read, so that it can be answered.
        messages: those that were whole before the bad one.
    """

    def __init__(self, message: str, *, id: int | None = None) -> None:
        super().__init__(message)
        self.id = id
        self.messages: list[Message] = []


class MessageTooLarge(ValueError):
    """A message to be sent exceeds the limit. `size` is its size in bytes."""

    def __init__(self, size: int) -> None:
        super().__init__(f"a message of {size} bytes exceeds {MESSAGE_LIMIT_BYTES} bytes")
        self.size = size


@dataclass(frozen=True, slots=True)
class Request:
    """A call that wants an answer with the same `id`."""

    id: int
    method: str
    params: Map


@dataclass(frozen=True, slots=True)
class Response:
    """The answer: `error` is `{code, message, data}`, or None and `result` counts."""

    id: int
    error: Map | None
    result: Any


@dataclass(frozen=True, slots=True)
class Notification:
    """A call that wants no answer."""

    method: str
    params: Map


Message = Request | Response | Notification


def encode_request(id: int, method: str, params: Map) -> bytes:
    """The bytes of a request; raise `MessageTooLarge`."""
    return _encode([REQUEST, id, method, [params]])


def encode_response(id: int, error: Map | None, result: Any = None) -> bytes:
    """The bytes of a response; raise `MessageTooLarge`."""
    return _encode([RESPONSE, id, error, result])


def encode_notification(method: str, params: Map) -> bytes:
    """The bytes of a notification; raise `MessageTooLarge`."""
    return _encode([NOTIFICATION, method, [params]])


def _encode(message: list[Any]) -> bytes:
    try:
        frame: bytes = msgpack.packb(message)
    except UnicodeEncodeError:
        # Half of a surrogate pair, as broken JSON may hold: it is no text, and UTF-8 has no way
        # to say it. One "?" for each keeps every offset in code points true.
        frame = msgpack.packb(message, unicode_errors="replace")
    if len(frame) > MESSAGE_LIMIT_BYTES:
        raise MessageTooLarge(len(frame))
    return frame


class FrameReader:
    """Cuts a stream of bytes into messages.

    Args:
        limit: bytes of one message.
        first_limit: bytes of the first one, while nothing is known of the peer.
        member_limit: values in one list, or keys in one map.
    """

    def __init__(
        self,
        limit: int = MESSAGE_LIMIT_BYTES,
        *,
        first_limit: int | None = None,
        member_limit: int = CONTAINER_LIMIT,
    ) -> None:
        self._later_limit = limit
        self._limit = limit if first_limit is None else first_limit
        self._fed = 0  # bytes given to the unpacker
        self._start = 0  # where in them the unfinished message begins
        self._dead = False
        # The unpacker refers to its hooks: if they were ours, the two would live, with all that
        # a hostile peer made them hold, until the garbage collector comes by.
        self._tally = _Tally()
        self._unpacker = msgpack.Unpacker(
            max_buffer_size=limit + SLICE_BYTES,
            # What its buffer begins with, and would else be a mebibyte for each connection.
            read_size=min(SLICE_BYTES, limit),
            max_array_len=member_limit,
            max_map_len=member_limit,
            max_ext_len=0,  # timestamps would not pass through ext_hook
            strict_map_key=True,
            object_pairs_hook=self._tally.read_map,
            list_hook=self._tally.read_list,
            ext_hook=_refuse_ext,
        )

    @classmethod
    def for_daemon(cls) -> "FrameReader":
        """A reader for a peer that has yet to say hello."""
        return cls(first_limit=HELLO_LIMIT_BYTES, member_limit=REQUEST_MEMBER_LIMIT)

    @property
    def unfinished(self) -> int:
        """How many bytes of a message that is not whole yet have come."""
        return self._fed - self._start

    def feed(self, data: bytes | bytearray) -> list[Message]:
        """Every message that is whole after these bytes; raise `BadFrame`."""
        if self._dead:
            raise BadFrame("an earlier message was malformed")
        messages: list[Message] = []
        try:
            for start in range(0, len(data), SLICE_BYTES):
                self._feed_slice(data[start : start + SLICE_BYTES], messages)
        except BadFrame as error:
            self._dead = True
            error.messages = messages
            raise
        return messages

    def _feed_slice(self, data: bytes | bytearray, messages: list[Message]) -> None:
        self._unpacker.feed(data)
        self._fed += len(data)
        while (value := self._unpack()) is not _NOTHING:
            end = self._unpacker.tell()
            self._check_size(end - self._start)
            if self._tally.containers > NESTING_LIMIT:  # fewer cannot be nested deeper
                _check_nesting(value)
            messages.append(_read_message(value))
            self._start = end
            self._tally.containers = 0
            self._limit = self._later_limit
        self._check_size(self.unfinished)

    def _unpack(self) -> Any:
        try:
            return self._unpacker.unpack()
        except msgpack.OutOfData:
            return _NOTHING
        except BadFrame:
            raise
        except Exception as error:
            # Format, stack and buffer errors, bad UTF-8, lengths over a limit, memory: whatever
            # the library makes of it, these bytes are no message.
            raise BadFrame(f"not MessagePack: {type(error).__name__}") from None

    def _check_size(self, size: int) -> None:
        if size > self._limit:
            raise BadFrame(f"a message exceeds {self._limit} bytes")


class _Tally:
    """Counts the lists and maps of one message as they are closed, and checks what they hold."""

    __slots__ = ("containers",)

    def __init__(self) -> None:
        self.containers = 0

    def read_list(self, values: list[Any]) -> list[Any]:
        self._count()
        _check_values(values)
        return values

    def read_map(self, pairs: list[tuple[Any, Any]]) -> Map:
        self._count()
        result = dict(pairs)
        if len(result) != len(pairs):
            raise BadFrame("a map holds a key twice")
        if not set(map(type, result)) <= _KEYS:
            raise BadFrame("a map's key is not a string")
        _check_values(result.values())
        return result

    def _count(self) -> None:
        self.containers += 1
        if self.containers > CONTAINER_LIMIT:
            raise BadFrame(f"a message holds more than {CONTAINER_LIMIT} lists and maps")


_NOTHING = object()


def _refuse_ext(code: int, data: bytes) -> None:
    raise BadFrame(f"extension type {code} is not part of the protocol")


def _check_values(values: Any) -> None:
    kinds = set(map(type, values))
    if not kinds <= _PLAIN:
        raise BadFrame("extension types are not part of the protocol")
    if float in kinds and not all(math.isfinite(v) for v in values if type(v) is float):
        raise BadFrame("a number is not finite")


def _check_nesting(value: Any) -> None:
    """Walk by levels, not by recursion: what is checked here may be 1024 deep."""
    level = [value]
    depth = 0
    while level:
        depth += 1
        if depth > NESTING_LIMIT:
            raise BadFrame(f"lists and maps are nested deeper than {NESTING_LIMIT}")
        level = [
            child
            for container in level
            for child in (container.values() if type(container) is dict else container)
            if type(child) is list or type(child) is dict
        ]


def _read_message(value: Any) -> Message:
    match value:
        case [int() as kind, id, str() as method, params] if _is(kind, REQUEST) and _is_id(id):
            return Request(id, method, _read_params(params, id))
        case [int() as kind, id, error, result] if _is(kind, RESPONSE) and _is_id(id):
            return Response(id, _read_error(error, id), result)
        case [int() as kind, str() as method, params] if _is(kind, NOTIFICATION):
            return Notification(method, _read_params(params, None))
    raise BadFrame("not a request, a response or a notification of MessagePack-RPC")


def _is(kind: int, wanted: int) -> bool:
    return kind == wanted and type(kind) is int  # True == 1 to Python, not to the protocol


def _is_id(id: Any) -> bool:
    return type(id) is int and 0 <= id < ID_LIMIT


def _read_params(params: Any, id: int | None) -> Map:
    match params:
        case [dict() as only]:
            return only
        case _:
            raise BadFrame("params must be a list that holds exactly one map", id=id)


def _read_error(error: Any, id: int) -> Map | None:
    match error:
        case None:
            return None
        case {"code": int(), "message": str(), "data": dict()}:
            checked: Map = error
            return checked
        case _:
            raise BadFrame("an error must be a map of code, message and data", id=id)
