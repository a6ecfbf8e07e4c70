"""The one reader of the environment and of `config.toml`.

`app` imports this room and hands plain values on; no other module of the daemon
looks at `os.environ`. What the file may hold is in `settings`; an unknown key or
a wrong type is a `BadConfig` that names key and line.
"""

import os
import tomllib
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ask.paths import Paths
from askd import systemd
from askd.errors import BadConfig
from askd.files import replace_file
from askd.providers.known import DIALECT_ADDRESSES, KNOWN
from askd.settings import SUPPORTED_DIALECTS, ProviderSettings, Settings


@dataclass(frozen=True, slots=True)
class Environment:
    """What the daemon takes from its own environment, read once.

    Attributes:
        keys: provider keys, the way to providers, and where credentials are kept: secrets.
            All of it, since the settings may name any variable, and later ones another.
        child_env: what commands that the settings name are run with.
        systemd: the service manager's variables, taken out of the environment.
    """

    paths: Paths
    keys: Mapping[str, str] = field(repr=False)
    child_env: Mapping[str, str]
    model: str | None
    log_level: str | None
    systemd: Mapping[str, str]


CHILD_NAMES: tuple[str, ...] = (
    "HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER", "XDG_CONFIG_HOME",
)  # fmt: skip
"""What a command that prints a key, and git, may see of the daemon's environment."""


def read_environment() -> Environment:
    """Read the process's environment and take systemd's variables out of it.

    They are for this process alone: a child that inherited them would answer in
    the daemon's name.
    """
    environ = os.environ
    passed = {name: environ.pop(name) for name in systemd.VARIABLES if name in environ}
    return Environment(
        paths=Paths.of(environ),
        keys={name: value for name, value in environ.items() if value},
        child_env={name: environ[name] for name in CHILD_NAMES if name in environ},
        model=environ.get("ASK_MODEL") or None,
        log_level=environ.get("ASK_LOG") or None,
        systemd=passed,
    )


def read_settings(path: Path) -> Settings:
    """Read and check the file; one that is not there means every default.

    Raises:
        BadConfig: not TOML, an unknown key, or a wrong type; names key and line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Settings()
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfig(f"{path}: cannot be read: {error}") from None
    return parse_settings(text, str(path))


def parse_settings(text: str, name: str) -> Settings:
    """Check the text of a configuration file; `name` stands in its errors."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadConfig(f"{name}: {error}") from None
    try:
        settings = Settings.model_validate(data)
    except ValidationError as error:
        raise BadConfig(_describe(error, text, name)) from None
    for location, sentence in _find_faults(settings):
        where = _line_of(text, location)
        raise BadConfig(f"{name}, line {where}: {'.'.join(location)}: {sentence}")
    return settings


def _find_faults(settings: Settings) -> Iterator[tuple[tuple[str, ...], str]]:
    """What does not fit together though each value is right: where, and why."""
    for provider, each in settings.providers.items():
        if not provider.strip() or "/" in provider:
            yield ("providers", provider), "a provider's name is not empty and has no /"
        problem = _find_gap(provider, each)
        if problem is not None:
            field, sentence = problem
            yield ("providers", provider, field), sentence
    for model in settings.models:
        if not all(model.partition("/")):
            yield ("models", model), 'is no model: name it as in [models."provider/model"]'


def _find_gap(provider: str, each: ProviderSettings) -> tuple[str, str] | None:
    """A field that is missing or does not fit its neighbours, and why."""
    dialect = each.dialect or (KNOWN[provider].dialect if provider in KNOWN else None)
    if dialect is None:
        return "dialect", f"is needed and not there: one of {', '.join(SUPPORTED_DIALECTS)}"
    if each.base_url is None and provider not in KNOWN and dialect not in DIALECT_ADDRESSES:
        return "base_url", "is needed and not there"
    return None


def write_setting(path: Path, key: str, value: Any) -> Settings:
    """Set `key` (dotted; None removes it) in the file, its comments kept; check, then replace.

    A step of the key that is no bare word stands in quotes: `approval.commands."git status"`.

    Raises:
        BadConfig: the file would not be valid with it; nothing is written then.
    """
    import tomlkit  # a megabyte that a daemon which writes no settings does not need

    text = path.read_text(encoding="utf-8") if path.exists() else ""
    try:
        document = tomlkit.parse(text)
    except tomlkit.exceptions.TOMLKitError as error:
        raise BadConfig(f"{path}: {error}") from None
    *tables, last = split_key(key)
    table: Any = document
    above: list[tuple[Any, str]] = []
    for step in tables:
        above.append((table, step))
        if step not in table and value is None:
            break  # what is not there needs no removing
        if step not in table:
            table[step] = tomlkit.table()
        table = table[step]
        if not isinstance(table, MutableMapping):
            raise BadConfig(f"{path}: {step} is no table.")
    else:
        if value is None:
            table.pop(last, None)
            _remove_empty(above)
        else:
            table[last] = value
    changed = tomlkit.dumps(document)
    settings = parse_settings(changed, str(path))
    replace_file(path, changed.encode())
    return settings


def _remove_empty(above: list[tuple[Any, str]]) -> None:
    """Take out the tables in which nothing is left, not even a comment."""
    for table, step in reversed(above):
        # A table that stands in several places of the file has no text of its own, and stays.
        find_text = getattr(table[step], "as_string", None)
        if find_text is None or find_text().strip():
            break
        del table[step]


def split_key(key: str) -> list[str]:
    """The steps of a dotted key, as TOML writes it; raise `BadConfig`."""
    steps: list[str] = []
    try:
        rest: Any = tomllib.loads(f"{key} = 0")
    except tomllib.TOMLDecodeError:
        rest = None
    while isinstance(rest, dict) and len(rest) == 1:
        ((step, rest),) = rest.items()
        steps.append(step)
    if rest != 0 or not steps:
        raise BadConfig(f"{key!r} is no setting's name.")
    return steps


_PLAIN_WORDS = {
    "bool_type": "must be true or false, without quotes",
    "bool_parsing": "must be true or false, without quotes",
    "string_type": "must be a text in quotes",
    "list_type": 'must be a list, such as ["a", "b"]',
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
}
"""What pydantic says in a programmer's words, by its names of the errors."""


def _describe(error: ValidationError, text: str, name: str) -> str:
    # A wrong name is behind most missing ones, so it is the one to tell.
    errors = sorted(error.errors(), key=lambda each: each["type"] != "extra_forbidden")
    first = errors[0]
    # A name that a table cannot have is told as if it were a step of its own.
    location = tuple(str(step) for step in first["loc"] if step != "[key]")
    dotted = ".".join(location)
    if first["type"] == "extra_forbidden":
        problem = "there is no such setting"
    elif first["type"] == "missing":
        problem = "is needed and not there"
    else:
        own = first["msg"].removeprefix("Value error, ")
        words = first["msg"].removeprefix("Input should ").lower().replace("be ", "must be ", 1)
        problem = _PLAIN_WORDS.get(first["type"], words if own == first["msg"] else own)
    return f"{name}, line {_line_of(text, location)}: {dotted}: {problem}"


def _line_of(text: str, location: tuple[str, ...]) -> int:
    """The line (from 1) on which a key stands, looked up in the text, else the nearest above it.

    TOML values carry no positions in the standard library's reader; this finds
    the last step below the table header that the earlier steps name.
    """
    wanted = list(location)
    table: list[str] = []
    best = 1
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if stripped.startswith("["):
            table = _keys_of(stripped.strip("[]").split("]")[0])
            if table and wanted[: len(table)] == table:
                best = number
            continue
        name = stripped.partition("=")[0]
        path = table + _keys_of(name) if "=" in stripped else []
        if path and path == wanted[: len(path)]:
            return number
    return best


def _keys_of(dotted: str) -> list[str]:
    """The steps of a dotted TOML key, its quotes taken off."""
    steps: list[str] = []
    current = ""
    quote = ""
    for char in dotted.strip():
        if quote:
            quote = "" if char == quote else quote
            current += "" if not quote else char
        elif char in "\"'":
            quote = char
        elif char == ".":
            steps.append(current.strip())
            current = ""
        else:
            current += char
    return [*steps, current.strip()] if current.strip() or steps else []
