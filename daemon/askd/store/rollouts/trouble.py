"""Trouble that must not stop anybody: said once, remembered while it lasts, tried again later.

For work beside the log, whose failing costs no conversation. It does none of that
work and waits for nothing.
"""

import logging
import math
from pathlib import Path

import trio

from askd.errors import AskdError

log = logging.getLogger(__name__)

RETRY_S = 30.0
RETRY_MAX_S = 600.0
"""After trouble everything is tried again, this often; half as often each time that it lasts."""


class Trouble:
    """What goes wrong with rollouts.

    Attributes:
        text: what went wrong last, a sentence; None: since then everything went well.
        retry_at: when to try again, by trio's clock; infinity: there is no reason to.
    """

    def __init__(self) -> None:
        self.text: str | None = None
        self.retry_at = math.inf
        self._pause_s = RETRY_S
        self._is_clean = True
        self._said: set[tuple[Path, object]] = set()

    def begin(self) -> None:
        """Everything is tried from here on."""
        self._is_clean = True
        self.retry_at = math.inf

    def note(self, error: Exception, directory: Path) -> None:
        """Something went wrong; each kind of it is said once for a directory, until all is well."""
        self._is_clean = False
        if self.retry_at == math.inf:
            self.retry_at = trio.current_time() + self._pause_s
            self._pause_s = min(2 * self._pause_s, RETRY_MAX_S)
        self.text = describe(error, directory)
        kind = (directory, getattr(error, "errno", None) or type(error))
        if kind in self._said:
            return
        self._said.add(kind)
        is_foreseen = isinstance(error, OSError | AskdError)
        log.warning(
            "%s The conversations are safe; it is tried again.",
            self.text,
            exc_info=None if is_foreseen else error,
        )

    def forget(self, directory: Path) -> None:
        """Everything was tried; if all went well, what was wrong is over."""
        if not self._is_clean:
            return
        if self.text is not None:
            log.info("Rollouts are written again: %s", directory)
        self.text = None
        self._said.clear()
        self._pause_s = RETRY_S


def describe(error: Exception, directory: Path) -> str:
    """What went wrong, for a person."""
    if isinstance(error, OSError):
        # A second name is where a draft was to go, and the one that people know.
        where = error.filename2 or error.filename or directory
        return f"Rollouts cannot be written: {where}: {error.strerror or error}."
    if isinstance(error, AskdError):
        return f"Rollouts cannot be written: {error.message}"
    return f"Rollouts cannot be written: {type(error).__name__}: {error}."
