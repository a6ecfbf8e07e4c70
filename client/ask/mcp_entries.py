"""A server of tools as another program's file describes it, in the words of our settings.

Pure. The keys are those of Claude, Codex, Cursor, VS Code, Gemini, Windsurf and Cline, as each
documents its file; what there is no word for here is left out and named. What is not understood
is refused with a sentence, and nothing is guessed. No sentence repeats a value.
"""

import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ask.protocol.names import SECRET_NAMES

Map = dict[str, Any]

STDIO = frozenset({"stdio", "local"})
HTTP = frozenset({"http", "streamablehttp", "remote"})
GIVEN_UP = frozenset({"sse", "ws", "websocket"})
"""Ways that the protocol had once, or never; a server that has one of the others is asked there."""

SAME = {
    "bearer_token_env": "bearer_token_env",
    "bearer_token_env_var": "bearer_token_env",
    "bearer_token_file": "bearer_token_file",
    "cwd": "cwd",
    "enabled_tools": "enabled_tools",
    "includeTools": "enabled_tools",
    "disabled_tools": "disabled_tools",
    "disabledTools": "disabled_tools",
    "excludeTools": "disabled_tools",
    "startup_timeout_s": "startup_timeout_s",
    "startup_timeout_sec": "startup_timeout_s",
    "tool_timeout_s": "tool_timeout_s",
    "tool_timeout_sec": "tool_timeout_s",
}
"""Keys whose values are taken as they are, and our words for them."""
ADDRESSES = ("url", "serverUrl", "httpUrl")
HEADERS = ("headers", "http_headers")
UNDERSTOOD = frozenset(
    {
        *(*SAME, *ADDRESSES, *HEADERS, "type", "transport", "command", "args", "env"),
        *("env_vars", "env_http_headers", "enabled", "disabled", "startup_timeout_ms"),
    }
)

_VARIABLE = re.compile(r"\$\{([^{}]*)\}")
_PLAIN = re.compile(r"(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", re.DOTALL)
_SECRET_LIKE = re.compile(
    r"(?:^|_)(?:KEY|APIKEY|TOKEN|SECRET|PASS|PASSWD|PASSWORD|PASSPHRASE|CREDENTIALS?|AUTH|PAT)"
    r"(?:_|$)|(?:KEY|TOKEN|SECRET|PASSWORD)$",
    re.IGNORECASE,
)


class Untakable(Exception):
    """This server cannot be taken as it is; the message goes on after its name: `it ...`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Who wrote a file, as far as it matters.

    Attributes:
        environ: the caller's variables, for what the file takes from them.
        root: the directory of the project that it is for; None: it is for all.
        is_shared: it comes with a project, so that others may have written it.
        expands: its program fills in `${NAME}`; else that is a text like any other.
    """

    environ: Mapping[str, str] = field(repr=False)
    root: str | None = None
    is_shared: bool = False
    expands: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """`[mcpServers.NAME]` as it is to be written, and what a person should know of it."""

    settings: Map = field(repr=False)
    notes: tuple[str, ...] = ()


def read_entry(value: Any, origin: Origin) -> Taken:
    """One server's object, as our settings would have it.

    Raises:
        Untakable: it has no place here, or only in part where the whole is needed.
    """
    if not isinstance(value, Mapping):
        raise Untakable("is described by something that is no object")
    _check_kind(value)
    took: set[str] = set()
    fill = _fill_openly(origin)
    fill_secret = _fill_secretly(origin, took)
    url = next((value[key] for key in ADDRESSES if value.get(key) is not None), None)
    command = value.get("command")
    if (url is None) == (command is None):
        raise Untakable(
            f"has {'neither a command nor' if url is None else 'both a command and'} a url"
        )
    settings: Map = {}
    if command is not None:
        settings["command"] = settle_program(fill(_read_text(command, "command")), origin.root)
        settings |= _drop_empty("args", [fill(each) for each in _read_list(value, "args")])
        env = {name: fill_secret(text) for name, text in _read_texts(value, "env").items()}
        settings |= _drop_empty("env", {**_take_variables(value, origin, took), **env})
    else:
        settings["url"] = fill(_read_text(url, "url"))
        settings |= _drop_empty("headers", _read_headers(value, origin, took, fill_secret))
    settings |= _read_same(value, fill, origin)
    if value.get("enabled") is False or value.get("disabled") is True:
        settings["enabled"] = False
    return Taken(settings=settings, notes=tuple(_note(value, settings, took)))


def _check_kind(value: Mapping[str, Any]) -> None:
    said = value.get("type") or value.get("transport")
    if said is None:
        return
    kind = re.sub("[-_ ]", "", str(said)).lower()
    if kind in GIVEN_UP:
        raise Untakable(
            f"speaks {kind.upper()}, and ask speaks stdio and streamable HTTP; many such servers "
            "have an address for that, too"
        )
    if kind not in STDIO | HTTP:
        raise Untakable("has a type that is none of: stdio, http")
    if (kind in STDIO) == any(value.get(key) is not None for key in ADDRESSES):
        raise Untakable("has a type that does not fit what else is said of it")


def _read_same(value: Mapping[str, Any], fill: Callable[[str], str], origin: Origin) -> Map:
    found: Map = {}
    for key, ours in SAME.items():
        said = value.get(key)
        if said is None:
            continue
        if ours.endswith("_tools"):
            found[ours] = [*found.get(ours, []), *_read_list(value, key)]
        elif ours.endswith("_s"):
            found[ours] = _read_seconds(said, key)
        else:
            found[ours] = fill(_read_text(said, key))
    if value.get("startup_timeout_ms") is not None and "startup_timeout_s" not in found:
        found["startup_timeout_s"] = _read_seconds(value["startup_timeout_ms"], "it") / 1000
    if "cwd" in found:
        found["cwd"] = os.path.join(origin.root or os.sep, found["cwd"])
    elif origin.root is not None and value.get("command") is not None:
        found["cwd"] = origin.root  # its program would have started it there
    return found


def _read_headers(
    value: Mapping[str, Any], origin: Origin, took: set[str], fill: Callable[[str], str]
) -> dict[str, str]:
    """Headers as they are, and those whose values are variables of the caller (Codex)."""
    headers: dict[str, str] = {}
    for key in HEADERS:
        headers |= {name: fill(text) for name, text in _read_texts(value, key).items()}
    for name, variable in _read_texts(value, "env_http_headers").items():
        headers[name] = _look_up(variable, origin, took)
    return headers


def _take_variables(value: Mapping[str, Any], origin: Origin, took: set[str]) -> dict[str, str]:
    """Codex hands on the variables that `env_vars` names, where they are set."""
    return {
        name: _look_up(name, origin, took)
        for name in _read_list(value, "env_vars")
        if name in origin.environ
    }


def _fill_openly(origin: Origin) -> Callable[[str], str]:
    """Fill in what is not secret, for a command line or an address, which others can see."""

    def find(name: str, default: str | None) -> str:
        if is_secret_name(name):
            raise Untakable(
                f"has ${{{name}}} where every process of this machine could read it; put it into "
                "env or headers"
            )
        return _find_value(name, default, origin)

    return lambda text: _expand(text, origin, find)


def _fill_secretly(origin: Origin, took: set[str]) -> Callable[[str], str]:
    """Fill in anything, for values that are written into the settings and shown to nobody."""

    def find(name: str, default: str | None) -> str:
        if name in origin.environ:
            return _look_up(name, origin, took)
        return _find_value(name, default, origin)

    return lambda text: _expand(text, origin, find)


def _expand(text: str, origin: Origin, find: Callable[[str, str | None], str]) -> str:
    if not origin.expands:
        return text

    def fill(match: re.Match[str]) -> str:
        inner = match[1]
        if inner == "userHome":
            return find("HOME", None)
        if inner == "workspaceFolder" and origin.root is not None:
            return origin.root
        plain = _PLAIN.fullmatch(inner)
        if plain is None or inner == "workspaceFolder":
            raise Untakable(f"has ${{{inner[:40]}}}, which only its own program can fill in")
        return find(plain[1], plain[2])

    return _VARIABLE.sub(fill, text)


def _find_value(name: str, default: str | None, origin: Origin) -> str:
    # As in a shell, `:-` is also for a variable that is empty.
    found = origin.environ.get(name)
    if default is not None and not found:
        return default
    if found is None:
        raise Untakable(f"needs ${{{name}}}, which is not set here")
    return found


def _look_up(name: str, origin: Origin, took: set[str]) -> str:
    if origin.is_shared and name in SECRET_NAMES:
        raise Untakable(
            f"wants your {name}, and the file comes with a project; if you trust it, add the "
            "server yourself"
        )
    found = _find_value(name, None, origin)
    if is_secret_name(name):
        took.add(name)
    return found


def is_secret_name(name: str) -> bool:
    """Whether a variable of this name probably holds what nobody should see."""
    return name in SECRET_NAMES or _SECRET_LIKE.search(name) is not None


def is_text(value: str) -> bool:
    """Whether it can be written down: half a character of JSON's `\\ud800`, or a byte, cannot."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def settle_program(command: str, root: str | None) -> str:
    """A program by its path, if it was said by one from `root`; a mere name stays one."""
    if os.sep in command and root is not None:
        return os.path.normpath(os.path.join(root, command))
    return command


def _note(value: Mapping[str, Any], settings: Map, took: Collection[str]) -> list[str]:
    notes = []
    if took:
        notes.append(f"{', '.join(sorted(took))} of your environment is written into the settings")
    left = sorted(str(key) for key, said in value.items() if key not in UNDERSTOOD and said)
    if left:
        notes.append(f"left out: {', '.join(left)}")
    if "bearer_token_env" in settings:
        notes.append(f"the daemon reads {settings['bearer_token_env']} in its own environment")
    return notes


def _drop_empty(key: str, value: Sequence[str] | Mapping[str, str]) -> Map:
    return {key: value} if value else {}


def _read_text(value: Any, key: str) -> str:
    if not isinstance(value, str) or not value.strip() or not is_text(value):
        raise Untakable(f"has a {key} that is no text")
    return value


def _read_word(value: Any, key: str) -> str:
    """A text; a number or a truth, which people write in JSON without quotes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if not isinstance(value, str) or not is_text(value):
        raise Untakable(f"has something in {key} that is no text")
    return value


def _read_list(value: Mapping[str, Any], key: str) -> list[str]:
    said = value.get(key)
    if said is None:
        return []
    if not isinstance(said, Sequence) or isinstance(said, str):
        raise Untakable(f"has {key} that are no list")
    return [_read_word(each, key) for each in said]


def _read_texts(value: Mapping[str, Any], key: str) -> dict[str, str]:
    said = value.get(key)
    if said is None:
        return {}
    if not isinstance(said, Mapping):
        raise Untakable(f"has {key} that is no object")
    return {
        _read_word(name, key): _read_word(each, key)
        for name, each in said.items()
        if each is not None
    }


def _read_seconds(value: Any, key: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e9:
        raise Untakable(f"has a {key} that is no time")
    return float(value)
