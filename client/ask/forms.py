"""Fields of a form: what each takes, in words, and what somebody typed, as a value.

The daemon judges again what is sent, formats too; here it is looked at so that a person
hears of a slip where it was made. It shows nothing itself.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ask.reveal import shorten_line

Map = Mapping[str, Any]
DIGITS = 18
"""Of a whole number, with its sign; more may not fit the wire."""
BESIDE_COLUMNS = 20
"""Of a default that stands in our own line; a longer one has rows of its own, behind the gutter."""
NAME_COLUMNS = 40
FORMATS = {
    "email": (re.compile(".*@.*"), "e-mail address", "ada@example.org"),
    "uri": (re.compile("[A-Za-z].*:.*"), "address", "https://example.org/page"),
    "date": (re.compile(r"\d{4}-\d\d-\d\d"), "date", "2026-11-22"),
    "date-time": (re.compile(r"\d{4}-\d\d-\d\d[Tt ].*:.*"), "time", "2026-11-22T14:30:00Z"),
}
"""What nothing of the kind lacks, its name, one of it; the daemon judges what is let through."""
TRUTH = {"y": True, "yes": True, "true": True, "n": False, "no": False, "false": False}


class Field(NamedTuple):
    """One field of a form; `kind`: string, number, integer, boolean, choice, choices.

    `least`, `most`: of characters, of the number, of how many are chosen. `choices`: value, title.
    """

    name: str
    kind: str
    title: str = ""
    description: str = ""
    required: bool = False
    least: float | None = None
    most: float | None = None
    choices: tuple[tuple[str, str], ...] = ()
    form: str = ""
    default: Any = None


def read_fields(schema: Map) -> tuple[Field, ...]:
    """The fields of the schema in an elicitation's `detail`, in their order."""
    required = schema.get("required") or ()
    return tuple(
        _read_field(str(name), said, required=name in required)
        for name, said in (schema.get("properties") or {}).items()
    )


def _read_field(name: str, said: Map, *, required: bool) -> Field:
    kind = str(said.get("type"))
    least, most = "minimum", "maximum"
    titled = said.get("oneOf")
    if kind == "array":
        kind, titled = "choices", (said.get("items") or {}).get("anyOf")
        least, most = "minItems", "maxItems"
    elif titled is not None:
        kind = "choice"
    elif kind == "string":
        least, most = "minLength", "maxLength"
    return Field(
        name=name,
        kind=kind,
        title=str(said.get("title", "")),
        description=str(said.get("description", "")),
        required=required,
        least=said.get(least),
        most=said.get(most),
        choices=tuple((str(e["const"]), str(e.get("title", e["const"]))) for e in titled or ()),
        form=str(said.get("format") or said.get("pattern") or ""),
        default=said.get("default"),
    )


def word_field(it: Field) -> str:
    """What kind of thing a field takes, and in brackets what an empty line takes."""
    count = len(it.choices)
    match it.kind:
        case "boolean":
            words = "Yes or no (y/n)"
        case "choice":
            words = f"One of them (1-{count})"
        case "choices":
            words = f"Any of them (1-{count}, with commas){_word_range(it, '')}"
        case "integer":
            words = f"A whole number{_word_range(it, '')}"
        case "number":
            words = f"A number{_word_range(it, '')}"
        case _:
            form = f" ({it.form})" if it.form in FORMATS else ""
            words = f"A text{form}{_word_range(it, ' characters')}"
    default = _word_default(it)
    return words if default is None else f"{words} [{default}]"


def is_brief(text: str) -> bool:
    """Whether a stranger's text can stand within a line of ours, and pass for nothing else."""
    return len(text) <= BESIDE_COLUMNS and text.isascii() and text.isprintable()


def name_field(name: str) -> str:
    """A field within a line of ours."""
    return f'"{shorten_line(name, NAME_COLUMNS)}"'


def _word_range(it: Field, of_what: str) -> str:
    if it.least is not None and it.most is not None:
        return f", {it.least:g} to {it.most:g}{of_what}"
    if it.least is not None:
        return f", at least {it.least:g}{of_what}"
    return "" if it.most is None else f", at most {it.most:g}{of_what}"


def _word_default(it: Field) -> str | None:
    if it.default is None:
        return None
    places = {value: str(place) for place, (value, _) in enumerate(it.choices, start=1)}
    match it.kind:
        case "boolean":
            return "y" if it.default else "n"
        case "choice":
            return places.get(str(it.default))
        case "choices":
            return ",".join(places[each] for each in it.default if each in places)
        case _:
            text = str(it.default)
            return text if is_brief(text) else "what stands above"


def read_value(it: Field, text: str) -> Any:
    """What was typed into a field; raise `ValueError` with a sentence."""
    match it.kind:
        case "boolean":
            if text.lower() not in TRUTH:
                raise ValueError("This is yes or no.")
            return TRUTH[text.lower()]
        case "choice":
            return _read_choice(it, text)
        case "choices":
            chosen = [_read_choice(it, each.strip()) for each in text.split(",") if each.strip()]
            return _check(it, list(dict.fromkeys(chosen)), len(set(chosen)), " of them")
        case "integer" | "number":
            return _read_number(it, text)
        case _:
            return _check(it, _check_form(it, text), len(text), " characters")


def _check_form(it: Field, text: str) -> str:
    if it.form in FORMATS:
        looks, what, example = FORMATS[it.form]
        if not looks.fullmatch(text):
            raise ValueError(f"This is no {what} (as {example}).")
    return text


def _read_choice(it: Field, text: str) -> str:
    """A choice by its number, its value or its title; its own words come before a number."""
    for place in (0, 1):
        for choice in it.choices:
            if choice[place] == text:
                return choice[0]
    if text.isascii() and text.isdigit() and len(text) < 4 and 0 < int(text) <= len(it.choices):
        return it.choices[int(text) - 1][0]
    raise ValueError(f"This is a number from 1 to {len(it.choices)}, or what it stands for.")


def read_whole(text: str) -> int:
    """A whole number that fits the wire; raise `ValueError` with a sentence."""
    if len(text) > DIGITS:
        raise ValueError("This number is too large.")
    return int(text)


def _read_number(it: Field, text: str) -> Any:
    digits = text.removeprefix("-").removeprefix("+")
    if digits.isascii() and digits.isdigit():
        whole = read_whole(text)
        return _check(it, whole, whole)
    if it.kind == "integer":
        raise ValueError("This is a whole number.")
    try:
        value = float(text.replace("_", " "))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError("This is a number.")
    return _check(it, value, value)


def _check(it: Field, value: Any, size: float, of_what: str = "") -> Any:
    if it.least is not None and size < it.least:
        raise ValueError(f"This is at least {it.least:g}{of_what}.")
    if it.most is not None and size > it.most:
        raise ValueError(f"This is at most {it.most:g}{of_what}.")
    return value


def read_pairs(form: Sequence[Field], pairs: Sequence[str]) -> dict[str, Any]:
    """Content from `NAME=VALUE` words; fields that are not named take their defaults.

    Raises:
        ValueError: a word is no pair, names no field, or does not fit it; a sentence.
    """
    fields = {each.name: each for each in form}
    content = {each.name: each.default for each in form if each.default is not None}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or name not in fields:
            known = ", ".join(map(name_field, fields)) or "none"
            raise ValueError(f"{pair!r} is no NAME=VALUE of a field; there are: {known}.")
        try:
            content[name] = read_value(fields[name], text)
        except ValueError as error:
            raise ValueError(f"{name_field(name)}: {error}") from None
    return content
