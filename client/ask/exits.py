"""How the command ends: exit codes, and the one exception that carries one.

Commands raise `Failed` and never print an error or exit themselves; `root.main`
says it once, in one place, in the same words everywhere.
"""

from typing import Any

from ask.protocol.errors import (
    BUSY,
    CREDENTIALS,
    CUT,
    DONE,
    FAILED,
    INTERRUPTED,
    NO_DAEMON,
    NOT_FOUND,
    OVERFLOW,
    PIPE_CLOSED,
    RATE_LIMITED,
    STORAGE,
    TERMINATED,
    TIME_LIMIT,
    USAGE,
)

__all__ = [
    "BUSY",
    "CREDENTIALS",
    "CUT",
    "DONE",
    "FAILED",
    "INTERRUPTED",
    "NOT_FOUND",
    "NO_DAEMON",
    "OVERFLOW",
    "PIPE_CLOSED",
    "RATE_LIMITED",
    "SIGNALLED",
    "STORAGE",
    "TERMINATED",
    "TIME_LIMIT",
    "USAGE",
    "Failed",
    "explain_unwritable",
]


SIGNALLED = 128
"""Added to a signal's number, as shells do: 130 for Ctrl-C."""


class Failed(Exception):
    """The command ends with `code` and one sentence that a person can act on.

    Attributes:
        code: the exit code.
        message: the sentence.
        hint: what to do about it, on a line of its own.
        data: for programs (`--json`): holds `reason`, and what the reason brings along.
    """

    def __init__(
        self,
        code: int,
        message: str,
        *,
        hint: str | None = None,
        data: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data: dict[str, Any] = data or {}
        found = self.data.get("hint")
        self.hint: str | None = hint or (found if isinstance(found, str) else None)


def explain_unwritable(
    reason: str, *, hint: str | None = None, data: dict[str, Any] | None = None
) -> Failed:
    """The error of a standard output that takes no more: why, in the system's words."""
    return Failed(
        STORAGE,
        f"Standard output cannot be written: {reason}.",
        hint=hint,
        data={"reason": "output_failed", **(data or {})},
    )
