"""What the daemon says about itself, on standard error: a service manager or a client keeps it.

Every line goes through one formatter, which hides what is known to be secret in
the whole of it, tracebacks included. It writes no file and rotates none.
"""

import logging
import sys
from collections.abc import Callable

LEVELS = ("debug", "info", "warning", "error")
FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
CHATTY = ("httpx", "httpcore", "hpack")
"""They write a line a request, with its URL: nothing that a user of ours looks for."""


class _HidingFormatter(logging.Formatter):
    """Formats a record, and hides in the result: arguments, exceptions and all."""

    def __init__(self, hide: Callable[[str], str]) -> None:
        super().__init__(FORMAT)
        self._hide = hide

    def format(self, record: logging.LogRecord) -> str:
        return self._hide(super().format(record))


def configure_log(level: str | None, *, hide: Callable[[str], str] | None = None) -> None:
    """Write messages of this level and above; an unknown level, or None, is `info`.

    `hide` takes a whole formatted record and gives it without secrets.
    """
    known = (level or "").lower()
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter(FORMAT) if hide is None else _HidingFormatter(hide))
    logging.basicConfig(
        level=known.upper() if known in LEVELS else "INFO", handlers=[handler], force=True
    )
    for name in CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)
