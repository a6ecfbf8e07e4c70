"""What it takes to show a conversation in windows: a terminal that can, and the extra `chat`.

Told from cheap signs; nothing heavy is imported to find out.
"""

import importlib.util
import sys
from collections.abc import Mapping

from ask.markdown.wanted import PLAIN_TERMINALS

NEEDED = ("prompt_toolkit", "rich")
"""What the extra installs."""


def can_draw(environ: Mapping[str, str]) -> bool:
    """Whether a person sits at a terminal that can show more than lines."""
    is_plain = environ.get("TERM", "") in PLAIN_TERMINALS
    return sys.stdin.isatty() and sys.stdout.isatty() and not is_plain


def is_installed() -> bool:
    """Whether what draws is there; nothing of it is imported."""
    return all(importlib.util.find_spec(name) is not None for name in NEEDED)
