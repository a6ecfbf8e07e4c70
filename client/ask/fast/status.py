"""`ask daemon status` the short way, and how a daemon's status looks.

The long way prints with the same functions. Without a running daemon it gives up.
"""

import os

import ask
from ask.fast import caller, codec

TYPE_CHECKING = False  # what mypy believes of the name; importing `typing` would cost 2 ms
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def read_status(environ: "Mapping[str, str]") -> "dict[str, Any] | None":
    """Ask the running daemon how it is; None: the long way finds out what is wrong."""
    stream = caller.open_socket(environ)
    if stream is None:
        return None
    hello = {"client": "ask", "version": ask.__version__, "protocol": 1}
    request = codec.encode([0, 1, "hello", [hello]]) + codec.encode([0, 2, "daemon/status", [{}]])
    decoder = codec.Decoder()
    answers: list[Any] = []
    try:
        stream.sendall(request)
        while len(answers) < 2:
            data = stream.recv(16 * 1024)
            if not data:
                return None
            answers += decoder.feed(data)
        (_, _, _, greeting), (_, _, error, result) = answers[:2]
        if error is not None or greeting["protocol"] != 1 or not isinstance(result, dict):
            return None
    except (OSError, codec.BadMessage, LookupError, TypeError, ValueError):
        return None
    return result


def show_status(status: "Mapping[str, Any]") -> str:
    """The status for people, one line a fact."""
    facts = [
        ("pid", status["pid"]),
        ("version", f"{status['version']} (protocol {status['protocol']})"),
        ("uptime", _show_duration(float(status["uptime_s"]))),
        ("memory", f"{status['rss_bytes'] / 2**20:.1f} MiB"),
        ("sessions", status["sessions"]),
        ("jobs", status["jobs"]),
        ("clients", status["clients"]),
        ("socket", status["socket"]),
        ("data", status["data"]),
        ("sqlite", status["sqlite"]),
    ]
    if status.get("draining"):
        facts.append(("draining", "yes: no new prompts are accepted"))
    return "".join([f"{name + ':':<10}{fact}\n" for name, fact in facts])


def to_json(value: object) -> str:
    """As `json.dumps(value, ensure_ascii=False)`, for what messages carry."""
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return '"' + "".join([_escape(char) for char in value]) + '"'
    if isinstance(value, dict):
        return "{" + ", ".join([f"{to_json(k)}: {to_json(v)}" for k, v in value.items()]) + "}"
    if isinstance(value, list):
        return "[" + ", ".join([to_json(each) for each in value]) + "]"
    return repr(value)


def _escape(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char < " ":
        return {"\b": "\\b", "\f": "\\f"}.get(char, f"\\u{ord(char):04x}")
    return char


def _show_duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    units = [(days, "d"), (hours, "h"), (minutes, "min"), (rest, "s")]
    shown = [f"{count} {unit}" for count, unit in units if count]
    return " ".join(shown[:2]) or "0 s"


def run(environ: "Mapping[str, str]", *, as_json: bool) -> int | None:
    """Print the status: the exit code, or None where the long way has to say something."""
    status = read_status(environ)
    if status is None:
        return None
    text = f"{to_json(status)}\n" if as_json else show_status(status)
    try:
        os.write(1, text.encode())
    except OSError:
        return 141
    return 0
