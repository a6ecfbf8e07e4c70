"""Whether an answer is painted at all: told from cheap signs, before anything heavy is loaded.

Plain are pipes and files, `NO_COLOR` (no-color.org: present and not empty), `TERM=dumb`,
`ASK_RENDER=plain`, and an installation without the extra `chat`. It imports no rich to find
rich.
"""

import os
import sys

STDOUT = 1
NEEDED = ("rich", "markdown_it")
PLAIN_TERMINALS = ("", "dumb", "unknown")

TYPE_CHECKING = False  # what mypy believes of the name; importing `typing` would cost 2 ms
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ask.markdown.live import Live


def find_plainness(environ: "Mapping[str, str]") -> str | None:
    """What of the environment wants answers plain, in words; None: nothing does."""
    if environ.get("NO_COLOR"):
        return "NO_COLOR is set"
    if environ.get("ASK_RENDER") == "plain":
        return "ASK_RENDER is plain"
    terminal = environ.get("TERM", "")
    return f"TERM is {terminal or 'not set'}" if terminal in PLAIN_TERMINALS else None


def is_installed() -> bool:
    """Whether the extra `chat` is there; nothing of it is imported.

    It looks for directories: Python's own finders would first list all that is installed,
    which takes longer than all else that is done here.
    """
    return all(any(os.path.isdir(f"{path}/{name}") for path in sys.path) for name in NEEDED)


def open_live(environ: "Mapping[str, str]") -> "Live | None":
    """What shows answers on this terminal; None: they are shown as they come."""
    if not (find_plainness(environ) is None and os.isatty(STDOUT) and is_installed()):
        return None
    from ask.markdown.live import Live

    return Live()
