"""What the daemon says about itself, on standard error: a service manager or a client keeps it."""

import logging
import sys

LEVELS = ("debug", "info", "warning", "error")
FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
CHATTY = ("httpx", "httpcore", "hpack")
"""They write a line a request, with its URL: nothing that a user of ours looks for."""


def configure_log(level: str | None) -> None:
    """Write messages of this level and above; an unknown level, or None, is `info`."""
    known = (level or "").lower()
    logging.basicConfig(
        level=known.upper() if known in LEVELS else "INFO",
        format=FORMAT,
        stream=sys.stderr,
        force=True,
    )
    for name in CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)
