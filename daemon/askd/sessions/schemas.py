"""Schemas: what an answer must fit, checked before it is asked for and when it has come.

Draft 2020-12, or the draft that `$schema` names. Nothing is ever fetched: a
`$ref` leads to somewhere in the schema itself or the schema is refused. `format`
is a remark, as the drafts have it. jsonschema is imported when it is first needed.
"""

import json
import re
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

from askd.errors import RequestError

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

Schema = Mapping[str, Any]

SCHEMA_LIMIT_BYTES = 64 * 1024
"""As JSON. It stands in the prompt's event, and with many models in each request."""
SCHEMA_DEPTH = 20
"""Lists and maps within each other: with the event around it, it must fit a message."""
SCHEMA_CONTAINERS = 4000
"""Lists and maps in all, for the same reason."""
CHECK_LIMIT_S = 2.0
"""A pattern can take for ever, and nothing else runs meanwhile. Usual checks take milliseconds."""
MOST_DIGITS = 4_000
"""Of a whole number in an answer: Python itself reads no more than 4,300 of them."""
PROBLEM_LENGTH = 300
"""What is quoted of a problem: it holds the value that does not fit, however long that is."""

_FENCE = re.compile(r"(`{3,})[^\n`]*\n(.*?)\n?[ \t]*\1", re.DOTALL)


class _TooSlow(Exception):
    """A check that did not come to an end in time."""


class _TooLong(Exception):
    """A number that is not read, with the sentence that says so."""


def check_schema(schema: Schema) -> None:
    """Raise `RequestError` (`bad_schema`) for a schema that no answer can be checked against."""
    try:
        text = json.dumps(schema, allow_nan=False)
    except (ValueError, TypeError, RecursionError) as error:
        raise _refuse(f"it is no JSON ({error})") from None
    if len(text) > SCHEMA_LIMIT_BYTES:
        raise _refuse(f"it takes {len(text)} bytes, and {SCHEMA_LIMIT_BYTES} are the most")
    _check_shape(schema)
    from jsonschema.exceptions import SchemaError

    try:
        with _limit_time():
            _choose_draft(schema).check_schema(dict(schema))
            _check_inside(schema)
            next(_make_validator(schema).iter_errors(None), None)
    except SchemaError as error:
        raise _refuse(_describe(error)) from None
    except re.error as error:
        raise _refuse(f"the pattern {_cut(repr(error.pattern))} is none: {error}") from None
    except RecursionError:
        raise _refuse("it refers to itself without an end") from None
    except _TooSlow:
        raise _refuse("it takes too long to check") from None


def find_objection(text: str, schema: Schema) -> str | None:
    """Why an answer does not fit, as a sentence; None: it does. `schema` has been checked.

    Raises:
        RequestError: nobody can tell, for it takes too long.
    """
    try:
        answer = json.loads(strip_fence(text), parse_int=_read_int, parse_constant=_refuse_constant)
    except _TooLong as error:
        return str(error)
    except ValueError as error:
        return f"The answer is not JSON: {error}."
    except RecursionError:
        return "The answer is not JSON that can be read: it is nested too deep."
    from jsonschema.exceptions import best_match

    try:
        with _limit_time():
            problem = best_match(_make_validator(schema).iter_errors(answer))
    except _TooSlow:
        raise _refuse("it takes too long to check an answer against it") from None
    except OverflowError:  # `multipleOf` a fraction, of what no float can hold
        return "A number in the answer is too large to be checked against the schema."
    return None if problem is None else f"The answer does not fit the schema: {_describe(problem)}."


def strip_fence(text: str) -> str:
    """The answer without the one code fence that may be around all of it.

    Models are told to leave it away, and some cannot.
    """
    stripped = text.strip()
    fenced = _FENCE.fullmatch(stripped)
    return stripped if fenced is None else fenced[2]


def describe_wish(schema: Schema, *, is_sent: bool) -> str:
    """What to tell a model of a schema; `is_sent`: it gets the schema itself in another way."""
    if is_sent:
        return "Answer with JSON that fits the given schema, and with nothing else."
    text = json.dumps(schema, ensure_ascii=False)
    return (
        "Answer with JSON that fits this JSON Schema, and with nothing else: no explanation, "
        f"no code fence.\n\n{text}"
    )


def _refuse(why: str) -> RequestError:
    return RequestError(f"The schema cannot be used: {why}.", reason="bad_schema")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _read_int(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise _TooLong(
            f"A number in the answer has {len(digits):,} digits, and {MOST_DIGITS:,} are the most."
        )
    return int(digits)


def _check_shape(schema: Schema) -> None:
    level: list[Any] = [schema]
    containers = depth = 0
    while level:
        depth += 1
        containers += len(level)
        if depth > SCHEMA_DEPTH or containers > SCHEMA_CONTAINERS:
            raise _refuse("it is nested too deep, or has too many parts")
        inside = [each.values() if isinstance(each, Mapping) else each for each in level]
        level = [each for values in inside for each in values if isinstance(each, Mapping | list)]


def _choose_draft(schema: Schema) -> "type[Validator]":
    from jsonschema import Draft202012Validator
    from jsonschema.validators import validator_for

    # What is no text is no draft's name; the draft's own schema says so then.
    named = isinstance(schema.get("$schema", ""), str)
    return validator_for(schema if named else {}, default=Draft202012Validator)


def _make_validator(schema: Schema) -> "Validator":
    from referencing import Registry

    # A registry of our own: the usual one would fetch what it does not know.
    return _choose_draft(schema)(schema, registry=Registry())


def _check_inside(schema: Schema) -> None:
    """Look up every reference and compile every pattern."""
    from referencing import Registry, Resource
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    reference: Any = schema.get("$id")
    try:
        root: Resource[Any] = Resource.from_contents(schema, default_specification=DRAFT202012)
        waiting = [(root, Registry[Any]().resolver_with_root(root))]
        while waiting:
            resource, here = waiting.pop()
            contents = resource.contents
            if not isinstance(contents, Mapping):
                continue
            for name in ("$ref", "$dynamicRef"):
                reference = contents.get(name)
                if isinstance(reference, str):
                    here.lookup(reference)
            for pattern in (contents.get("pattern", ""), *contents.get("patternProperties", {})):
                re.compile(pattern)
            waiting += [(each, here.in_subresource(each)) for each in resource.subresources()]
    except (Unresolvable, ValueError):  # the latter for what is no address at all
        why = f"{_cut(repr(reference))} leads nowhere in it, and nothing is fetched"
        raise _refuse(why) from None


def _describe(problem: Any) -> str:
    """Where and what, of a jsonschema error: `$.age: 'x' is not of type 'integer'`."""
    return f"{_cut(str(problem.json_path))}: {_cut(str(problem.message))}"


def _cut(text: str) -> str:
    if len(text) <= PROBLEM_LENGTH:
        return text
    half = PROBLEM_LENGTH // 2
    return f"{text[:half]} ... {text[-half:]}"


@contextmanager
def _limit_time() -> Iterator[None]:
    """End what runs in here by `_TooSlow`; a thread would not do: `re` keeps the interpreter."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGALRM, _ring)
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, CHECK_LIMIT_S)
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, before)


def _ring(number: int, frame: FrameType | None) -> None:
    raise _TooSlow
