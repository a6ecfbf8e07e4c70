"""What a daemon's answer means to whoever asked: its result, a refusal, or that there is none.

Errors, the reading of one answer, and the shape of whoever can ask. It sends nothing and
waits for nothing.
"""

from typing import Any, Protocol

from ask.exits import Failed
from ask.listener import NoDaemon
from ask.protocol.frames import Response


class Caller(Protocol):
    """Whoever can ask the daemon: a connection, or the thread that owns one."""

    def call(
        self, method: str, params: dict[str, Any] | None = None, *, limit_s: float = ...
    ) -> dict[str, Any]:
        """As `Client.call`."""


class RpcError(Failed):
    """The daemon refused a request: `code` is an exit code, `data["reason"]` a word."""

    def __init__(self, code: int, message: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(code, message, data=data)

    @property
    def reason(self) -> str:
        """The word for programs, as in `ask.protocol.errors.REASONS`."""
        return str(self.data.get("reason", "internal"))


class ConnectionLost(NoDaemon):
    """The daemon went away in the middle; connecting again may help."""

    def __init__(self, message: str = "The connection to the daemon was lost.") -> None:
        super().__init__(message, hint="See what happened: ask daemon logs")


class Silent(ConnectionLost):
    """It is there and takes what is sent, and nothing comes back: stopped, or very busy."""

    def __init__(self, pid: object = None) -> None:
        known = "" if pid is None else f" (pid {pid})"
        super().__init__(f"The daemon{known} is running, and does not answer.")
        if pid is not None:
            self.hint = f"See what it does: ask daemon logs; or end it: kill -KILL {pid}"


def unpack(answer: Response) -> dict[str, Any]:
    """What was answered; raises `RpcError` for a refusal."""
    error = answer.error
    if error is not None:
        data = error.get("data")
        raise RpcError(
            _code_of(error.get("code")),
            str(error.get("message", "The daemon refused.")),
            data if isinstance(data, dict) else None,
        )
    return answer.result if isinstance(answer.result, dict) else {}


def _code_of(value: object) -> int:
    return value if isinstance(value, int) and 0 < value < 256 else 1
