"""The user units of askd, as text: the project's own, with this installation's places in them.

The texts stand once, in `systemd/` of the project, and travel beside this file when it is
installed. Here they are filled in and quoted; nothing is written and systemd is not asked.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from ask.exits import FAILED, Failed
from ask.paths import socket_candidates
from ask.spawn import inherit, name_program

SERVICE = "askd.service"
SOCKET = "askd.socket"
UNITS = (SERVICE, SOCKET)

MARK = (
    "# Written by `ask daemon install`, which writes it anew; `systemctl --user edit` adds to it."
)
"""The first line of what we wrote; what does not begin so is somebody else's and is left alone."""

ENV = "/usr/bin/env"
"""Runs a program of any name, in its own place."""

_INSTALLED = Path(__file__).parent / "systemd"
_CHECKED_OUT = Path(__file__).parents[2] / "systemd"
_PROGRAM = "%h/.local/bin/askd"
_LISTEN = "ListenStream=%t/ask/askd.sock"
_OF_THE_SESSION = ("HOME", "XDG_RUNTIME_DIR", "ASK_SOCKET")
"""The first two every user's systemd sets itself; the last one is said by the socket's unit."""


def render_units(environ: Mapping[str, str]) -> dict[str, str]:
    """The text of each unit by its name, for this installation and this user's places.

    Raises:
        Failed: the texts are not here, or a place cannot be written in a unit.
    """
    inherited = inherit(environ)
    variables = "".join(
        f"Environment={quote(f'{name}={value}')}\n"
        for name, value in inherited.items()
        if name not in _OF_THE_SESSION and value
    )
    texts = {}
    for name in UNITS:
        _, _, body = _read(name).partition("\n\n")  # what stands above is for who copies it by hand
        texts[name] = f"{MARK}\n\n{body}"
    start = f"ExecStart={_PROGRAM} run\n"
    ours = f"ExecStart={quote_command([*find_program(), 'run'])}\n"
    texts[SERVICE] = _replace(texts[SERVICE], start, f"{ours}{variables}")
    if environ.get("ASK_SOCKET") or environ.get("ASK_HOME"):
        place = escape(str(socket_candidates(environ)[0]))
        texts[SOCKET] = _replace(texts[SOCKET], _LISTEN, f"ListenStream={place}")
    return texts


def find_program() -> list[str]:
    """The words that start askd: its script beside this Python, else the module."""
    script = Path(sys.executable).with_name("askd")
    if os.access(script, os.X_OK):
        return [str(script)]
    return name_program()


def find_directory(environ: Mapping[str, str]) -> Path:
    """Where a user's own units stand."""
    config = environ.get("XDG_CONFIG_HOME") or ""
    base = Path(config) if config.startswith("/") else Path.home() / ".config"
    return base / "systemd" / "user"


def is_installed(environ: Mapping[str, str]) -> bool:
    """Whether a socket of askd's is among the user's units, whoever wrote it."""
    return (find_directory(environ) / SOCKET).exists()


def is_ours(path: Path) -> bool:
    """Whether a unit file is one that `ask daemon install` wrote; raises `OSError`."""
    return path.read_text(encoding="utf-8", errors="replace").startswith(MARK)


def quote_command(words: list[str]) -> str:
    """A command for `ExecStart=`: no program's name may hold a quote or a backslash there."""
    if set(words[0]) & set("\"'\\"):
        words = [ENV, *words]
    program, *arguments = words
    # Variables are put into arguments, not into the program's name.
    return " ".join([quote(program), *(quote(word).replace("$", "$$") for word in arguments)])


def quote(word: str) -> str:
    """One word of a line that systemd takes apart: in quotes, specifiers and escapes made plain.

    After systemd.syntax(7) and "Specifiers" of systemd.unit(5).
    """
    return '"{}"'.format(escape(word).replace("\\", "\\\\").replace('"', '\\"'))


def escape(word: str) -> str:
    """One word of a line that systemd takes whole: only `%` means something there."""
    if not word.isprintable():
        raise Failed(FAILED, f"What cannot be printed cannot stand in a unit: {word!r}.")
    return word.replace("%", "%%")


def _replace(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, old
    return text.replace(old, new)


def _read(name: str) -> str:
    for directory in (_INSTALLED, _CHECKED_OUT):
        try:
            return (directory / name).read_text(encoding="utf-8")
        except FileNotFoundError:
            continue
    raise Failed(FAILED, f"{name} is missing: ask is not installed whole.")
