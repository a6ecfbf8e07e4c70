"""What the daemon says about itself, on standard error: a service manager or a client keeps it.

A record is one line, `TIME LEVEL NAME: MESSAGE`; whatever else it has comes on lines that
begin with four blanks, so that no message can pass for another record. Every line goes
through one formatter, which hides what is known to be secret in the whole of it, tracebacks
included. Where standard error is the daemon's own file, `log_file` puts it aside in time.
"""

import logging
import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TextIO

from askd.log_file import STDERR, LogFile
from askd.systemd import is_journal

LEVELS = ("debug", "info", "warning", "error")
FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
JOURNAL_FORMAT = "%(name)s: %(message)s"
"""The journal knows time and level itself."""
INDENT = "    "
CHATTY = ("httpx", "httpcore", "httpx2", "httpcore2", "hpack")
"""They write a line a request, with its URL: nothing that a user of ours looks for."""

STRANGERS = ("mcp", "client")
"""The SDK of MCP: it writes what servers say, with a traceback for what it could not read, and at
times to a logger of this second name. What there is to say of a server is said elsewhere."""

_CONTROLS = {
    code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n"
} | {code: f"\\u{code:04x}" for code in (0x2028, 0x2029)}
"""What a terminal would obey, or somebody's reader take for the end of a line."""
_PRIORITIES = ((logging.ERROR, 3), (logging.WARNING, 4), (logging.INFO, 6))
"""Of syslog(3), as sd-daemon(3) has them stand before a line: `<4>`; 7 is for the rest."""

SetLevel = Callable[[str | None], None]


class _Formatter(logging.Formatter):
    """Formats a record, and hides in the result: arguments, exceptions and all."""

    def __init__(self, hide: Callable[[str], str], *, for_journal: bool) -> None:
        super().__init__(JOURNAL_FORMAT if for_journal else FORMAT)
        self._hide = hide
        self._for_journal = for_journal

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        """ISO 8601 with milliseconds and the zone."""
        return (
            datetime.fromtimestamp(record.created).astimezone().isoformat(timespec="milliseconds")
        )

    def format(self, record: logging.LogRecord) -> str:
        text = self._hide(super().format(record)).translate(_CONTROLS)
        if not self._for_journal:
            return text.replace("\n", f"\n{INDENT}")
        priority = next((n for level, n in _PRIORITIES if record.levelno >= level), 7)
        return "\n".join(f"<{priority}>{line}" for line in text.split("\n"))


class _Handler(logging.StreamHandler[TextIO]):
    """Writes a record to standard error, and tells that it has."""

    def __init__(self, written: Callable[[], None]) -> None:
        super().__init__(sys.stderr)
        self._written = written

    def emit(self, record: logging.LogRecord) -> None:
        super().emit(record)
        self._written()


def configure_log(
    level: str | None,
    *,
    hide: Callable[[str], str] = str,
    for_journal: bool = False,
    written: Callable[[], None] = lambda: None,
) -> None:
    """Write messages of this level and above; an unknown level, or None, is `info`.

    Args:
        hide: takes a whole formatted record and gives it without secrets.
        for_journal: standard error is the journal's, which wants each line's level before it.
        written: called after each record; it may log nothing, and not fail.
    """
    known = (level or "").lower()
    handler = _Handler(written)
    handler.setFormatter(_Formatter(hide, for_journal=for_journal))
    logging.basicConfig(
        level=known.upper() if known in LEVELS else "INFO", handlers=[handler], force=True
    )
    for name in CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)
    for name in STRANGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def open_log(
    own_level: str | None, log_file: Path, *, systemd: Mapping[str, str], hide: Callable[[str], str]
) -> SetLevel:
    """Configure the log for a daemon's life; what comes back sets the level that settings name.

    Args:
        own_level: of this process; it wins over the settings'.
        log_file: put aside in time, if it is what standard error is.
        systemd: its variables, which say whether that is the journal.
    """
    for_journal, written = is_journal(systemd, STDERR), LogFile(log_file).look

    def set_level(level: str | None) -> None:
        configure_log(own_level or level, hide=hide, for_journal=for_journal, written=written)

    set_level(None)
    return set_level
