"""Frozen dataclasses to plain JSON-like values and back, by their annotations.

The one place that knows how a core value looks at rest. It refuses what does
not fit (`BadRecord`), and it never guesses: no coercion between types.

A dataclass with a class variable `TYPE` is written with `"type": TYPE`; a union
of such classes is read by that tag. A field that equals its default is not
written. A union that contains a class with `TYPE = "unknown"` keeps a tag it
does not know as that class, raw, so that a newer writer loses nothing.
"""

import dataclasses
import functools
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

type_hints = functools.cache(typing.get_type_hints)

Json = Any
"""None, bool, int, float, str, a list of these, or a dict of them by str."""

Read = Callable[[Json], Any]
_PLAIN = frozenset({str, int, bool, float})
T = TypeVar("T")


class BadRecord(ValueError):
    """A stored value does not have the shape that its type demands."""


def encode(value: Any) -> Json:
    """Turn a core value into JSON-like data: dicts, lists and scalars."""
    if value is None or type(value) in _PLAIN:
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _encode_dataclass(value)
    if isinstance(value, tuple | list):
        return [encode(each) for each in value]
    if isinstance(value, Mapping):
        return {key: encode(each) for key, each in value.items()}
    return value


def decode(shape: type[T], data: Json) -> T:
    """Read `data` as `shape`; raise `BadRecord` naming what does not fit."""
    return typing.cast("T", _reader(typing.cast("Any", shape))(data))


def _encode_dataclass(value: Any) -> dict[str, Json]:
    tag = getattr(value, "TYPE", None)
    if tag == "unknown":
        return dict(value.raw)
    record: dict[str, Json] = {} if tag is None else {"type": tag}
    for name, default in _defaults(value.__class__):
        content = getattr(value, name)
        if default is not dataclasses.MISSING and content == default:
            continue
        record[name] = encode(content)
    return record


@functools.cache
def _defaults(shape: Any) -> list[tuple[str, Any]]:
    """Every field of a dataclass with its default or `MISSING`; cached, it is asked per event."""
    return [(field.name, field.default) for field in dataclasses.fields(shape)]


@functools.cache
def _reader(shape: Any) -> Read:
    """Compile the reader of one annotation; cached, for it runs per event."""
    origin = typing.get_origin(shape)
    arguments = typing.get_args(shape)
    if shape is Any:
        return lambda data: data
    if dataclasses.is_dataclass(shape):
        return _dataclass_reader(typing.cast("type", shape))
    if origin in (types.UnionType, typing.Union):
        return _union_reader(arguments)
    if origin is tuple:
        return _tuple_reader(_reader(arguments[0]))
    if origin is typing.Literal:
        return _literal_reader(arguments)
    if origin in (dict, Mapping) or (isinstance(origin, type) and issubclass(origin, Mapping)):
        return _mapping_reader(_reader(arguments[1]))
    return _scalar_reader(shape)


def _scalar_reader(kind: type) -> Read:
    # bool is an int to Python and to nobody else; an int is a valid float.
    accepted: tuple[type, ...] = (int, float) if kind is float else (kind,)

    def read(data: Json) -> Any:
        if not isinstance(data, accepted) or (isinstance(data, bool) and kind is not bool):
            raise BadRecord(f"expected {kind.__name__}, got {type(data).__name__}")
        return data

    return read


def _literal_reader(choices: tuple[Any, ...]) -> Read:
    def read(data: Json) -> Any:
        if data not in choices:
            raise BadRecord(f"expected one of {choices!r}, got {data!r}")
        return data

    return read


def _tuple_reader(read_one: Read) -> Read:
    def read(data: Json) -> tuple[Any, ...]:
        if not isinstance(data, list | tuple):
            raise BadRecord(f"expected a list, got {type(data).__name__}")
        return tuple(read_one(each) for each in data)

    return read


def _mapping_reader(read_one: Read) -> Read:
    def read(data: Json) -> dict[str, Any]:
        if not isinstance(data, Mapping):
            raise BadRecord(f"expected a map, got {type(data).__name__}")
        return {str(key): read_one(each) for key, each in data.items()}

    return read


def _dataclass_reader(shape: type) -> Read:
    hints = type_hints(shape)
    fields = [field for field in dataclasses.fields(shape) if field.init]
    readers = {field.name: _reader(hints[field.name]) for field in fields}
    required = [
        field.name
        for field in fields
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    ]

    def read(data: Json) -> Any:
        if not isinstance(data, Mapping):
            raise BadRecord(f"{shape.__name__}: expected a map, got {type(data).__name__}")
        for name in required:
            if name not in data:
                raise BadRecord(f"{shape.__name__}: {name!r} is missing")
        try:
            # Names that this version does not know are passed over: they come from a newer one.
            return shape(**{n: readers[n](data[n]) for n in data if n in readers})
        except BadRecord as error:
            raise BadRecord(f"{shape.__name__}: {error}") from None

    return read


def _union_reader(members: tuple[Any, ...]) -> Read:
    tagged = {m.TYPE: m for m in members if getattr(m, "TYPE", None) is not None}
    fallback = tagged.pop("unknown", None)
    plain = [m for m in members if getattr(m, "TYPE", None) is None and m is not type(None)]
    optional = type(None) in members

    def read(data: Json) -> Any:
        if data is None and optional:
            return None
        if tagged and isinstance(data, Mapping):
            tag = data.get("type")
            if isinstance(tag, str) and tag in tagged:
                return _reader(tagged[tag])(data)
            if fallback is not None:
                return fallback(raw=dict(data))
            raise BadRecord(f"unknown type {tag!r}")
        for member in plain:
            try:
                return _reader(member)(data)
            except BadRecord:
                continue
        raise BadRecord(f"nothing in {members!r} fits {type(data).__name__}")

    return read
