"""Forms: the flat JSON schemas that a server may ask a person to fill in, and their checks.

Pure values; MCP's `PrimitiveSchemaDefinition` in all its spellings is read, and written anew
in one. No regular expression of a stranger's is ever run: a `pattern` is shown and left to
its server. A schema with anything deeper is refused whole, for half a form is no form.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, Literal

FIELDS_LIMIT = 32
"""A person fills them in one by one."""
CHOICES_LIMIT = 100
NAME_CHARACTERS = 100
TITLE_CHARACTERS = 200
DESCRIPTION_CHARACTERS = 1_000
VALUE_CHARACTERS = 16_384
"""Of one text that is answered."""
FORM_BYTES = 65_536
"""Of all of a form, as JSON: its question is in every listing of what waits."""
CONTENT_BYTES = 131_072
"""Of all that is answered, as JSON: an event with it fits a message."""
NUMBER_LIMIT = 2**63
"""Numbers of the wire are smaller."""
FORMATS = {"email": "e-mail address", "uri": "address", "date": "date", "date-time": "time"}

Kind = Literal["string", "number", "integer", "boolean", "choice", "choices"]
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})")
"""RFC 3339's `date-time`, which JSON Schema's format is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field.

    Attributes:
        least, most: of a text's characters, of a number, of how many choices.
        choices: value and title of each, where something is chosen.
        form: the format or pattern of a text that is shown; only a known format is checked.
    """

    name: str
    kind: Kind
    required: bool = False
    title: str = ""
    description: str = ""
    least: float | None = None
    most: float | None = None
    choices: tuple[tuple[str, str], ...] = ()
    form: str | None = None
    pattern: str | None = None
    default: Any = None

    @property
    def schema(self) -> dict[str, Any]:
        """The field as it is shown to programs."""
        said: dict[str, Any] = {"type": self.kind}
        titled = [{"const": value, "title": title} for value, title in self.choices]
        names = "minimum", "maximum"
        match self.kind:
            case "string":
                names = "minLength", "maxLength"
            case "choice":
                said = {"type": "string", "oneOf": titled}
            case "choices":
                said = {"type": "array", "items": {"anyOf": titled}}
                names = "minItems", "maxItems"
            case _:
                pass
        more = {
            "title": self.title or None,
            "description": self.description or None,
            names[0]: self.least,
            names[1]: self.most,
            "format": self.form,
            "pattern": self.pattern,
            "default": self.default,
        }
        return said | {name: value for name, value in more.items() if value is not None}

    def check(self, value: object) -> str | None:
        """What is wrong with a value, as a sentence; None: it fits."""
        match self.kind:
            case "string":
                return self._check_text(value)
            case "number" | "integer":
                return self._check_number(value)
            case "boolean":
                return None if isinstance(value, bool) else "This is true or false."
            case "choice":
                known = [each for each, _ in self.choices]
                return None if value in known else f"This is one of: {_list(known)}."
            case "choices":
                return self._check_choices(value)

    def _check_text(self, value: object) -> str | None:
        if not isinstance(value, str):
            return "This is a text."
        if len(value) > VALUE_CHARACTERS:
            return f"This has more than {VALUE_CHARACTERS:,} characters."
        amiss = self._check_range(len(value), " characters")
        if amiss is None and self.form in FORMATS and not _fits_format(self.form, value):
            return f"This is no {FORMATS[self.form]}{_EXAMPLES[self.form]}."
        return amiss

    def _check_number(self, value: object) -> str | None:
        if not isinstance(value, int | float) or isinstance(value, bool):
            return f"This is a {_WORDS[self.kind]}."
        if self.kind == "integer" and not isinstance(value, int):
            return "This is a whole number."
        if not math.isfinite(value) or abs(value) >= NUMBER_LIMIT:
            return "This number is too large."
        return self._check_range(value, "")

    def _check_choices(self, value: object) -> str | None:
        known = [each for each, _ in self.choices]
        if not isinstance(value, list | tuple) or any(each not in known for each in value):
            return f"This is a list of some of: {_list(known)}."
        if len(set(value)) != len(value):
            return "This names one of them twice."
        return self._check_range(len(value), " of them")

    def _check_range(self, size: float, of_what: str) -> str | None:
        if self.least is not None and size < self.least:
            return f"This is at least {self.least:g}{of_what}."
        if self.most is not None and size > self.most:
            return f"This is at most {self.most:g}{of_what}."
        return None

    def describe(self) -> str:
        """A line about it, for whoever shows a question without knowing forms."""
        said = f"{self.name}: {_WORDS[self.kind]}"
        if self.choices:
            said += f" ({_list([value for value, _ in self.choices])})"
        if self.default is not None:
            said += f", else {self.default!r}"
        return said + (", required" if self.required else "")


_WORDS: Mapping[Kind, str] = {
    "string": "text",
    "number": "number",
    "integer": "whole number",
    "boolean": "yes or no",
    "choice": "one of them",
    "choices": "some of them",
}
_EXAMPLES = {
    "email": " (as ada@example.org)",
    "uri": " (as https://example.org/page)",
    "date": " (as 2026-11-22)",
    "date-time": " (as 2026-11-22T14:30:00Z)",
}


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of an object, in the order in which they are asked for."""

    fields: tuple[Field, ...]

    @property
    def schema(self) -> dict[str, Any]:
        """The form as it is shown to programs: a JSON schema."""
        return {
            "type": "object",
            "properties": {each.name: each.schema for each in self.fields},
            "required": [each.name for each in self.fields if each.required],
        }

    def describe(self) -> list[str]:
        """A line about each field."""
        return [each.describe() for each in self.fields]


def read_form(schema: Mapping[str, Any]) -> Form:
    """The form that a schema is; raise `ValueError` with half a sentence that says why not."""
    properties, required = schema.get("properties", {}), schema.get("required") or []
    if schema.get("type", "object") != "object" or not isinstance(properties, Mapping):
        raise ValueError("it is not of an object with fields.")
    if len(properties) > FIELDS_LIMIT:
        raise ValueError(f"it has more than {FIELDS_LIMIT} fields.")
    names = list(properties)
    if not isinstance(required, list | tuple) or not all(each in names for each in required):
        raise ValueError("it requires a field that it does not have.")
    form = Form(
        tuple(
            _read_field(name, said, required=name in required) for name, said in properties.items()
        )
    )
    size = _measure(form.schema)
    if size is None:
        raise ValueError("it holds text that is none.")
    if size > FORM_BYTES:
        raise ValueError(f"it has more than {FORM_BYTES:,} bytes.")
    return form


def check_fields(form: Form, content: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with what was filled in: a sentence by field; `""` is all of it."""
    size = _measure(content)
    if size is None:
        return {"": "A text holds what is no character."}
    if size > CONTENT_BYTES:
        return {"": f"All together is at most {CONTENT_BYTES:,} bytes."}
    known = {each.name: each for each in form.fields}
    amiss = {name: "There is no such field." for name in content if name not in known}
    for name, field in known.items():
        if name in content:
            said = field.check(content[name])
        else:
            said = "This is required." if field.required else None
        if said is not None:
            amiss[name] = said
    return amiss


def _measure(value: object) -> int | None:
    """Its bytes as JSON; None: it cannot be written in UTF-8, as half of a pair of surrogates."""
    try:
        return len(json.dumps(value, ensure_ascii=False).encode())
    except UnicodeEncodeError:
        return None


def _read_field(name: object, said: object, *, required: bool) -> Field:
    if not isinstance(name, str) or not 0 < len(name) <= NAME_CHARACTERS:
        raise ValueError(f"the name of a field has 1 to {NAME_CHARACTERS} characters.")
    if not isinstance(said, Mapping):
        raise ValueError(f"the field {name!r} is not described.")
    shape = _resolve_optional(said)
    field = Field(
        name=name,
        kind="string",
        required=required,
        title=_read_text(shape, "title", TITLE_CHARACTERS),
        description=_read_text(shape, "description", DESCRIPTION_CHARACTERS),
    )
    return _with_default(_with_kind(field, shape), shape.get("default"))


def _resolve_optional(said: Mapping[str, Any]) -> Mapping[str, Any]:
    """`anyOf` of one shape and null, as pydantic writes what may be left out, is that shape."""
    ways = said.get("anyOf")
    if "type" in said or not isinstance(ways, list | tuple):
        return said
    shapes = [each for each in ways if isinstance(each, Mapping) and each.get("type") != "null"]
    if len(shapes) != 1 or len(ways) == 1:
        return said
    return {**shapes[0], **{name: each for name, each in said.items() if name != "anyOf"}}


def _with_kind(field: Field, shape: Mapping[str, Any]) -> Field:
    choices = _read_choices(shape)
    match shape.get("type"):
        case "string" | None if choices:
            return replace(field, kind="choice", choices=choices)
        case "string":
            least, most = _read_range(shape, "minLength", "maxLength")
            form = _read_text(shape, "format", NAME_CHARACTERS) or None
            pattern = _read_text(shape, "pattern", TITLE_CHARACTERS) or None
            return replace(field, least=least, most=most, form=form, pattern=pattern)
        case "number" | "integer" as kind:
            least, most = _read_range(shape, "minimum", "maximum")
            return replace(field, kind=kind, least=least, most=most)
        case "boolean":
            return replace(field, kind="boolean")
        case "array" if isinstance(items := shape.get("items"), Mapping):
            if choices := _read_choices(items):
                least, most = _read_range(shape, "minItems", "maxItems")
                return replace(field, kind="choices", choices=choices, least=least, most=most)
        case _:
            pass
    raise ValueError(f"the field {field.name!r} is no text, number, yes or no, or choice.")


def _read_choices(shape: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """What can be chosen, and how it is called; empty: nothing is."""
    titled = shape.get("oneOf") or shape.get("anyOf")
    if isinstance(titled, list | tuple) and all(isinstance(each, Mapping) for each in titled):
        found = [(each.get("const"), each.get("title", each.get("const"))) for each in titled]
    else:
        values = [shape["const"]] if "const" in shape else shape.get("enum")
        if not isinstance(values, list | tuple):
            return ()
        names = shape.get("enumNames")
        if not isinstance(names, list | tuple) or len(names) != len(values):
            names = values
        found = list(zip(values, names, strict=True))
    if len(found) > CHOICES_LIMIT:
        raise ValueError(f"a field has more than {CHOICES_LIMIT} choices.")
    choices = tuple(
        (value, title[:TITLE_CHARACTERS])
        for value, title in found
        if isinstance(value, str) and isinstance(title, str) and len(value) <= TITLE_CHARACTERS
    )
    is_whole = len(choices) == len(found) and len({value for value, _ in choices}) == len(found)
    if not is_whole:
        raise ValueError("the choices of a field are not all different, short texts.")
    return choices


def _read_range(
    shape: Mapping[str, Any], least: str, most: str
) -> tuple[float | None, float | None]:
    found = []
    for name in (least, most):
        value = shape.get(name)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        found.append(value if is_number and abs(value or 0) < NUMBER_LIMIT else None)
    return found[0], found[1]


def _read_text(shape: Mapping[str, Any], name: str, limit: int) -> str:
    value = shape.get(name)
    return value.strip()[:limit] if isinstance(value, str) else ""


def _with_default(field: Field, value: object) -> Field:
    """A default that does not fit its own field is none."""
    fits = value is not None and field.check(value) is None
    return replace(field, default=value) if fits else field


def _fits_format(form: str, value: str) -> bool:
    try:
        match form:
            case "email":
                return _EMAIL.fullmatch(value) is not None
            case "uri":
                return _URI.fullmatch(value) is not None
            case "date":
                return _DAY.fullmatch(value) is not None and bool(date.fromisoformat(value))
            case _:
                return _TIME.fullmatch(value) is not None and bool(datetime.fromisoformat(value))
    except ValueError:
        return False


def _list(values: Sequence[str]) -> str:
    return ", ".join(values)
