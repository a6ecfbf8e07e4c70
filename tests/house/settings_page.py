"""Renders `docs/reference/settings.md` from the models of `askd.settings`.

Run `python -m tests.house.settings_page` to write it. What a setting is, its
type, its default and its sentence come from the code; only the order of the
page and the sentences on variables are written here.
"""

import typing
from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Any

import annotated_types
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from ask.protocol.names import KEY_NAMES
from askd.providers.known import KNOWN
from askd.settings import SUPPORTED_DIALECTS, Settings
from tests.house.pages import REFERENCE, render_table, write_page

PATH = REFERENCE / "settings.md"

# What stands for the key of a table of tables, by the field that holds it.
PLACEHOLDERS = {"providers": "NAME", "models": '"provider/model"'}

VARIABLES: dict[str, str] = {
    "ASK_HOME": "One directory for everything (data, configuration, state, socket), "
    "in place of the XDG directories.",
    "ASK_SOCKET": "The socket's path.",
    "ASK_MODEL": "The model. The client's goes before the conversation's own model, "
    "the daemon's after it.",
    "ASK_SYSTEM": "The system prompt, as `-S` gives it.",
    "ASK_TERMINAL": "Who this terminal is, for `-c`; any text.",
    "ASK_RENDER": "`plain`: answers on a terminal are shown as they come, not painted.",
    "ASK_HOST": "Another machine whose daemon is meant, `ssh://user@host`, as `-H` gives it.",
    "ASK_REMOTE_CWD": "Where tools run there, as `--remote-cwd` gives it; unset: there are none.",
    "ASK_REMOTE_COMMAND": "What `ask` is over there, as words: `/opt/ask/bin/ask`.",
    "ASK_SEND_KEYS": "`1`: providers' keys go there, as `--send-keys` says; else they stay here.",
    "ASK_LOG": "The daemon's log level, in place of `[log] level`.",
}
"""Variables of our own; providers' keys have a table of their own in the contract."""

HEAD = """\
# Settings

The daemon reads `config.toml` in the configuration directory: `$ASK_HOME/config` if `ASK_HOME` is
set, else `$XDG_CONFIG_HOME/ask`, which is `~/.config/ask` where nothing else is said.
`ask config path` prints where it is and `ask config check` checks it. There need not be a file, for
nothing in it is needed. An unknown key or a wrong type is an error that names key and line.
"""

DIALECTS = """
The dialects are {dialects}. These names need neither `dialect` nor `base_url`:
{known}.
"""

VARIABLES_HEAD = """
## Variables

An option on the command line goes before all of these. What is heeded of other programs'
variables is [on another page](environment.md), with the files that are written.

"""

KEYS = """
These hold providers' keys, and any of them can be named in `api_key_env`: {names}.

What is set where `ask` runs travels with the prompt, is used for that turn only, is never stored,
and goes before what the daemon has. `OPENAI_BASE_URL` says where `OPENAI_API_KEY` is good for, and
travels with it.
"""

FOOT = """
This page is generated from `daemon/askd/settings` by `tests/house/settings_page.py`.
"""


def find_settings(
    model: type[BaseModel] = Settings, table: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], str, FieldInfo]]:
    """Yield (table, name, field) of every setting that has a value of its own."""
    for name, field in model.model_fields.items():
        inner = table_model(field)
        if inner is None:
            yield table, name, field
            continue
        step = (name, PLACEHOLDERS[name]) if name in PLACEHOLDERS else (name,)
        yield from find_settings(inner, table + step)


def table_model(field: FieldInfo) -> type[BaseModel] | None:
    """The model of a table (or of a table of tables), else None."""
    for shape in (field.annotation, *typing.get_args(field.annotation)):
        if isinstance(shape, type) and issubclass(shape, BaseModel):
            return shape
    return None


def describe_type(field: FieldInfo) -> str:
    """A setting's type in words."""
    above = [mark.gt for mark in field.metadata if isinstance(mark, annotated_types.Gt)]
    words = _type_words(field.annotation)
    return f"{words} above {above[0]}" if above else words


def describe_default(field: FieldInfo) -> str:
    """A setting's default as it would stand in the file."""
    if field.is_required():
        return "*needed*"
    if field.default is None:
        return "not set"
    if field.default_factory is not None:
        return "empty"
    return f"`{_toml(field.default)}`"


def render() -> str:
    """The whole page."""
    tables: dict[tuple[str, ...], list[tuple[str, str, str, str]]] = {}
    for table, name, field in find_settings():
        row = (f"`{name}`", describe_type(field), describe_default(field), field.description or "")
        tables.setdefault(table, []).append(row)
    page = HEAD
    for table, rows in tables.items():
        title = f"`[{'.'.join(table)}]`" if table else "At the top of the file"
        sentence = _table_sentence(table)
        page += f"\n## {title}\n\n{sentence}"
        page += render_table(("setting", "type", "default", "what it does"), rows)
        if table[:1] == ("providers",):
            page += DIALECTS.format(
                dialects=", ".join(f"`{each}`" for each in SUPPORTED_DIALECTS),
                known=", ".join(f"`{each}`" for each in KNOWN),
            )
    page += VARIABLES_HEAD
    page += render_table(
        ("variable", "what it does"), [(f"`{n}`", t) for n, t in VARIABLES.items()]
    )
    return page + KEYS.format(names=", ".join(f"`{name}`" for name in KEY_NAMES)) + FOOT


def _table_sentence(table: tuple[str, ...]) -> str:
    if not table:
        return ""
    description = Settings.model_fields[table[0]].description
    return f"{description}\n\n" if description else ""


def _type_words(shape: Any) -> str:
    origin = typing.get_origin(shape)
    arguments = typing.get_args(shape)
    if origin in (UnionType, typing.Union):
        return " or ".join(_type_words(each) for each in arguments if each is not NoneType)
    if origin is typing.Literal:
        words = ", ".join(f"`{_toml(each)}`" for each in arguments)
        return f"one of {words}" if len(arguments) > 1 else words
    if origin is typing.Annotated:
        inner = _type_words(arguments[0])
        above = [mark.gt for mark in arguments[1:] if isinstance(mark, annotated_types.Gt)]
        return f"{inner} above {above[0]}" if above else inner
    if origin is list:
        return f"list of {_type_words(arguments[0])}"
    if origin is dict:
        return f"table of {_type_words(arguments[1])}"
    names = {str: "text", bool: "`true` or `false`", int: "whole number", float: "number"}
    return names[shape]


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return f'"{value}"' if isinstance(value, str) else f"{value:g}"


if __name__ == "__main__":
    write_page(PATH, render())
