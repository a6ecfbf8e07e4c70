"""`ask daemon status` the short way. Without a running daemon it gives up.

It prints what the long way prints (a test compares them), and declines what it
would have to escape.
"""

from ask.fast import caller

TYPE_CHECKING = False  # what mypy believes of the name; importing `typing` would cost 2 ms
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

QUIET_S = 1.0
"""A daemon that takes longer is the long way's concern, which has a limit and a sentence."""
_WORDS = {None: "null", True: "true", False: "false"}
_ANSWERS = {None: "unknown", True: "yes", False: "no"}


def run_status(environ: "Mapping[str, str]", *, as_json: bool) -> int | None:
    """Print the status: the exit code, or None where the long way has to say something."""
    status = caller.ask_once(environ, "daemon/status", {}, quiet_s=QUIET_S)
    text = None if status is None else (encode_status if as_json else lay_out_status)(status)
    if text is None:
        return None
    try:
        caller.write_all(1, text.encode())
    except caller.StdoutClosed:
        return 141
    except caller.StdoutFailed:
        return None
    return 0


def lay_out_status(status: "Mapping[str, Any]") -> str | None:
    """The status for people: one fact a line."""
    lines = list_facts(status)
    return "\n".join(lines) + "\n" if all(line.isprintable() for line in lines) else None


def list_facts(status: "Mapping[str, Any]") -> "list[str]":
    """Each fact as a person would say it: `draining: no`, `rss: 45 MB`."""
    lines = []
    for name, value in status.items():
        if value is None or isinstance(value, bool):
            value = _ANSWERS[value]
        elif name.endswith("_bytes") and isinstance(value, int):
            name, value = name[: -len("_bytes")], f"{round(value / 1e6)} MB"
        elif name.endswith("_s") and isinstance(value, int | float):
            name, value = name[: -len("_s")], f"{round(value)} s"
        lines.append(f"{name}: {value}")
    return lines


def encode_status(status: "Mapping[str, Any]") -> str | None:
    """The status as one JSON object on one line, if it holds plain names and values only."""
    pairs = []
    for name, value in status.items():
        if isinstance(value, str):
            if not (value.isascii() and value.isprintable()) or '"' in value or "\\" in value:
                return None
            value = f'"{value}"'
        elif value is None or isinstance(value, bool):
            value = _WORDS[value]
        elif not isinstance(value, int | float):
            return None
        pairs.append(f'"{name}": {value}')
    return "{" + ", ".join(pairs) + "}\n"
