"""Templates: a saved prompt, what it needs, and what it asks of the model; read from text.

Pure. A template may begin with TOML between two lines of `+++`; the rest is the prompt,
with `$input` and named places (`ask.placeholders`). A key that is not known is an error
that names it and its line, for a setting that does nothing would look as if it did.
"""

import difflib
import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ask.exits import USAGE, Failed
from ask.placeholders import find_names, is_name, normalize, substitute
from ask.schemas import read_fields, read_schema
from ask.wish import APPROVALS, EFFORTS

Map = dict[str, Any]

FENCE = "+++"
"""Around the settings, on a line of its own; as other tools have it that write TOML there."""
INPUT = "input"
"""The place of what is asked: the prompt's words, or else standard input."""
NAME_CHARACTERS = 64
"""As long as a conversation's name may be."""
HEAD_CHARACTERS = 32 * 1024
"""Of settings. A schema takes a few hundred; the reader of TOML is slow on what is nested."""
PARAMETERS_LIMIT = 64
"""Places of one template: more can hardly be said on one command line."""
LARGE = 2**63
"""Numbers from here on are not for a message."""
NAME_RULE = (
    f"A template's name has 1 to {NAME_CHARACTERS} characters that can be seen, no / and no :, "
    "and begins with no dot and no dash."
)

_NO_DEFAULTS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A template as it stands in its file. None: the template does not say.

    Attributes:
        tools: the words of `-T`.
        schema: as JSON.
        defaults: values of places that the command line may leave out.
        body: the prompt, its places not filled; empty if it has none.
    """

    name: str
    description: str | None = None
    model: str | None = None
    system: str | None = None
    tools: tuple[str, ...] | None = None
    approve: str | None = None
    temperature: float | None = None
    max_output_tokens: int | None = None
    effort: str | None = None
    schema: str | None = None
    extract: bool = False
    defaults: Mapping[str, str] = field(default_factory=lambda: _NO_DEFAULTS)
    body: str = ""

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names that `-p` may give: of the prompt's places, then of the system prompt's."""
        found = (*find_names(self.body), *find_names(self.system or ""))
        return tuple(dict.fromkeys(name for name in found if name != INPUT))

    @property
    def takes_input(self) -> bool:
        """Whether the prompt says where what is asked belongs."""
        return INPUT in find_names(self.body)

    @property
    def first_line(self) -> str:
        """The first line of the prompt that is not empty; empty if there is none."""
        return next((line.strip() for line in self.body.splitlines() if line.strip()), "")


def check_name(name: str) -> str:
    """The name itself, if a template can have it; raise `Failed` (bad_name) with the rule."""
    if is_template_name(name):
        return name
    raise Failed(USAGE, f"{name!r} cannot be one. {NAME_RULE}", data={"reason": "bad_name"})


def is_template_name(name: str) -> bool:
    """Whether a template, and with it a file, can have this name."""
    return (
        0 < len(name) <= NAME_CHARACTERS
        and name.isprintable()
        and not name.isspace()
        and name[0] not in ".-"
        and not {"/", ":"} & set(name)
    )


def parse_template(text: str, name: str) -> Template:
    """Read a template's whole text.

    Raises:
        Failed: code 2 (bad_template), with the line of what is wrong where there is one.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    head, body = _split(text, name)
    if not head.strip() and not body.strip():
        raise refuse(name, "it is empty", hint=f"Write it: ask templates edit {name}")
    settings = _read_settings(head, name)
    template = Template(name=name, body=body.strip("\n"), **settings)
    if INPUT in find_names(template.system or ""):
        raise refuse(
            name,
            f"line {_find_line(head, 'system')}: the system prompt cannot hold $input",
            hint="What is asked belongs into the prompt, below the settings.",
        )
    if template.extract and template.schema is not None:
        raise refuse(name, "extract and schema exclude each other")
    if len(template.parameters) > PARAMETERS_LIMIT:
        raise refuse(name, f"it has more than {PARAMETERS_LIMIT} parameters")
    for each in template.defaults:
        if each not in (*template.parameters, INPUT):
            what = f"line {_find_line(head, each)}: there is no ${each} to have a default"
            raise refuse(name, what, hint=_suggest(each, template.parameters))
    return template


def check_parameters(template: Template, said: Mapping[str, str]) -> None:
    """Raise `Failed` (usage), naming the parameters that the template does not have."""
    known = template.parameters
    for each in said:
        if each == INPUT:
            raise Failed(
                USAGE,
                "$input is what is asked, and no parameter.",
                hint=f"Say it as the prompt: ask -t {template.name} ...",
                data={"reason": "usage"},
            )
        if each not in known:
            has = f"It has: {', '.join(known)}." if known else "It has none."
            raise Failed(
                USAGE,
                f"The template {template.name!r} has no parameter {each!r}.",
                hint=_suggest(each, known) or has,
                data={"reason": "usage"},
            )


def fill_text(template: Template, text: str, values: Mapping[str, str]) -> str:
    """One text of a template, its places filled by values, else by the defaults.

    Raises:
        Failed: some have neither; all of them are named, `$input` among them.
    """
    known = {**template.defaults, **values}
    names = find_names(text)
    missing = [name for name in names if name not in known and name != INPUT]
    if missing:
        raise Failed(
            USAGE,
            f"The template {template.name!r} needs {', '.join(missing)}.",
            hint=f"Say it: {' '.join(f'-p {each}=...' for each in missing)} "
            "(a dollar that is meant as one is written $$)",
            data={"reason": "usage", "parameters": missing},
        )
    if INPUT in names and INPUT not in known:
        raise Failed(
            USAGE,
            f"The template {template.name!r} needs something to work on.",
            hint=f"Say it, or pipe it: ask -t {template.name} WORDS, or ... | "
            f"ask -t {template.name}",
            data={"reason": "empty_prompt"},
        )
    return substitute(text, known)


def refuse(name: str, what: str, *, hint: str | None = None) -> Failed:
    """What is raised for a template that cannot be used as it is."""
    message = f"The template {name!r} cannot be used: {what}."
    return Failed(USAGE, message, hint=hint, data={"reason": "bad_template"})


# ---- its settings ------------------------------------------------------------------


class _Wrong(Exception):
    """What a value should have been."""


def _split(text: str, name: str) -> tuple[str, str]:
    """The settings, on the lines that they have in the file, and the prompt."""
    lines = text.split("\n")
    first = lines[0].rstrip()
    if first == "---" and "---" in (line.rstrip() for line in lines[1:]):
        hint = f'Write: {FENCE}, then lines such as model = "openai/gpt-5", then {FENCE}'
        raise refuse(name, f"its settings stand between {FENCE}, and are TOML", hint=hint)
    if first != FENCE:
        return "", text
    for place, line in enumerate(lines[1:], start=1):
        if line.rstrip() == FENCE:
            head = "\n".join(["", *lines[1:place]])
            if len(head) > HEAD_CHARACTERS:
                raise refuse(name, f"its settings have more than {HEAD_CHARACTERS} characters")
            return head, "\n".join(lines[place + 1 :])
    raise refuse(name, f"line 1: its settings have no end: a line with {FENCE} alone")


def _read_settings(head: str, name: str) -> Map:
    try:
        found = tomllib.loads(head)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        why = "they are nested too deep" if isinstance(error, RecursionError) else str(error)
        raise refuse(name, f"its settings are not valid TOML: {why.rstrip('.')}") from None
    settings: Map = {}
    for key, value in found.items():
        if key not in READERS:
            what = f"line {_find_line(head, key)}: there is no setting {key[:NAME_CHARACTERS]!r}"
            known = ", ".join(READERS)
            raise refuse(name, what, hint=_suggest(key, list(READERS)) or f"There are: {known}.")
        try:
            settings[key] = READERS[key](value)
        except _Wrong as error:
            what = f"line {_find_line(head, key)}: {key} {error}"
            raise refuse(name, what) from None
        except Failed as error:  # a schema's
            what = f"line {_find_line(head, key)}: {error.message.rstrip('.')}"
            raise refuse(name, what, hint=error.hint) from None
    return settings


def _find_line(head: str, key: str) -> int:
    """The line on which a key stands first; TOML's reader does not keep it."""
    plain = re.escape(key)
    pattern = re.compile(rf"""\s*\[?\[?\s*["']?{plain}["']?\s*[=.\]]|.*[{{,.]\s*{plain}\s*=""")
    lines = enumerate(head.split("\n"), start=1)
    return next((number for number, line in lines if pattern.match(line)), 1)


def _suggest(name: str, known: Sequence[str]) -> str | None:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"Did you mean {near[0]!r}?" if near else None


def _read_text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _Wrong("is a text in quotes, not empty")
    if "\0" in value:
        raise _Wrong("holds a null, which no prompt can have")
    return value


def _read_tools(value: object) -> tuple[str, ...]:
    words = value.split(",") if isinstance(value, str) else value
    if not isinstance(words, list) or not all(isinstance(each, str) for each in words):
        raise _Wrong('is a text such as "read,web_fetch", or a list of such names')
    stripped = tuple(each.strip() for each in words)
    if not all(stripped) or not stripped:
        raise _Wrong('has an empty name; "none" takes all tools away')
    return stripped


def _read_choice(choices: Sequence[str]) -> Callable[[object], str]:
    def read(value: object) -> str:
        if not isinstance(value, str) or value not in choices:
            raise _Wrong(f"is one of {', '.join(choices)}")
        return value

    return read


def _read_temperature(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < LARGE:
        raise _Wrong("is a number from zero on")
    return float(value)


def _read_count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < LARGE:
        raise _Wrong("is a whole number from one on")
    return value


def _read_flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise _Wrong("is true or false")
    return value


def _read_schema(value: object) -> str:
    """Fields as `--schema` has them, JSON, or a table; never a file: where would it be?"""
    if isinstance(value, dict):
        try:
            value = json.dumps(value)
        except (TypeError, ValueError, RecursionError):
            raise _Wrong("holds what JSON has no word for, such as a date") from None
    text = _read_text(value)
    is_json = text.lstrip().startswith(("{", "["))
    return json.dumps(read_schema(text) if is_json else read_fields(text))


def _read_defaults(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise _Wrong("is a table: a line [defaults], and beneath it a line for each")
    defaults: dict[str, str] = {}
    for each, text in value.items():
        if isinstance(text, bool) or not isinstance(text, str | int | float) or "\0" in str(text):
            raise _Wrong(f"has no text or number for {each[:NAME_CHARACTERS]!r}")
        if not is_name(normalize(each)):
            raise _Wrong(f"names {each[:NAME_CHARACTERS]!r}, which no parameter can be called")
        defaults[normalize(each)] = str(text)
    return defaults


READERS: dict[str, Callable[[object], Any]] = {
    "description": _read_text,
    "model": _read_text,
    "system": _read_text,
    "tools": _read_tools,
    "approve": _read_choice(APPROVALS),
    "temperature": _read_temperature,
    "max_output_tokens": _read_count,
    "effort": _read_choice(EFFORTS),
    "schema": _read_schema,
    "extract": _read_flag,
    "defaults": _read_defaults,
}
"""The settings that a template may have, and how each is read."""
