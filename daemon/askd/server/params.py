"""Parameters from the wire: checked against the contract's dataclasses, strictly.

The shapes are those of `ask.protocol.messages`, which knows no pydantic; the
models are derived from them, each at its method's first call, since pydantic
takes longer to load than the socket may take to answer. Nothing is coerced,
nothing unknown is passed over, and no message repeats a value: it may be a key.
"""

import dataclasses
import functools
import operator
import types
import typing
from collections.abc import Callable
from typing import Any

from ask.protocol.messages import METHODS
from askd.errors import RequestError

FIELD_LENGTH = 80
"""Of a parameter's path in a message: an unknown one may have any name."""

if typing.TYPE_CHECKING:
    from pydantic import BaseModel


def read_params(method: str, params: dict[str, Any]) -> Any:
    """The parameters as the method's dataclass; raise `RequestError` naming what is wrong."""
    shape = METHODS[method].params
    try:
        checked = _model_of(shape).model_validate(params)
    except ValueError as error:  # pydantic's, which is loaded with the first model and not here
        field, message = _describe(error)
        raise RequestError(f"{method}: {message}", data={"field": field}) from None
    rebuild = _rebuild(shape)
    assert rebuild is not None, shape
    return rebuild(checked)


@functools.cache
def _model_of(shape: type) -> "type[BaseModel]":
    """The pydantic model of a dataclass and, inside it, of those that it holds."""
    from pydantic import ConfigDict, create_model

    hints = _hints_of(shape)
    fields: dict[str, Any] = {}
    for field in dataclasses.fields(shape):
        required = field.default is dataclasses.MISSING
        default = ... if required else field.default
        if dataclasses.is_dataclass(default) and not isinstance(default, type):
            default = _model_of(type(default)).model_validate(dataclasses.asdict(default))
        fields[field.name] = (_annotation(hints[field.name]), default)
    # `extra="ignore"` for hello alone: a newer client may say more about itself than we know.
    extra: typing.Literal["ignore", "forbid"] = (
        "ignore" if shape is METHODS["hello"].params else "forbid"
    )
    return create_model(
        shape.__name__, __config__=ConfigDict(strict=True, extra=extra, frozen=True), **fields
    )


@functools.cache
def _hints_of(shape: type) -> dict[str, Any]:
    return typing.get_type_hints(shape)


def _annotation(hint: Any) -> Any:
    """The same annotation with a model in place of each dataclass."""
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _model_of(hint)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    inner = tuple(_annotation(argument) for argument in arguments)
    if origin in (list, dict):
        return origin[inner]
    if origin in (types.UnionType, typing.Union):
        return functools.reduce(operator.or_, inner)
    return hint


@functools.cache
def _rebuild(shape: Any) -> Callable[[Any], Any] | None:
    """What makes a checked value the dataclass that it was derived from; None: it is nothing else.

    Compiled once for each annotation: every request of every client passes here.
    """
    if dataclasses.is_dataclass(shape) and isinstance(shape, type):
        inner = {name: _rebuild(hint) for name, hint in _hints_of(shape).items()}
        steps = [(name, step) for name, step in inner.items() if step is not None]

        def rebuild(model: Any) -> Any:
            values = dict(model.__dict__)
            for name, step in steps:
                values[name] = step(values[name])
            return shape(**values)

        return rebuild
    if typing.get_origin(shape) is list:
        (hint,) = typing.get_args(shape)
        step = _rebuild(hint)
        return None if step is None else lambda values: [step(each) for each in values]
    return None


def _describe(error: ValueError) -> tuple[str, str]:
    """The first fault of a `ValidationError`: the parameter's path, and a sentence."""
    from pydantic import ValidationError

    assert isinstance(error, ValidationError), error
    fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
    field = ".".join(str(step) for step in fault["loc"])[:FIELD_LENGTH]
    match fault["type"]:
        case "missing":
            return field, f"the parameter {field!r} is missing."
        case "extra_forbidden":
            return field, f"there is no parameter {field!r}."
        case "model_type" | "dict_type":
            return field, f"the parameter {field!r} should be a map."
        case _:
            message = fault["msg"].removeprefix("Input should be ")
            return field, f"the parameter {field!r} should be {message}."
