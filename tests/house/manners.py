"""Reads every file of the project and says which ones lack manners.

Size, a docstring that opens the file, and nothing of the machine that the file
was written on. What the code does is checked elsewhere.
"""

import ast
import re
from collections.abc import Iterator

from tests.house.floors import CLIENT, DAEMON, ROOT

LINES_MAX = 350
"""Beyond this a stranger would no longer look for all of it in one place."""

LONG_FOR_A_REASON: dict[str, str] = {
    "client/ask/protocol/messages.py": "one table: every method of the wire and its shapes",
}
"""Files over the limit, each with why it is one concept all the same."""

NOT_OURS = {
    ".git", ".venv", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", "__pycache__",
    "dist", "build",
}  # fmt: skip

# Written in pieces: the list of what must not be named would else name it.
MACHINE_NAMES = (
    "/" + "work/",
    "/" + "root/",
    "py" + "pi.org",
    "python" + "hosted",
    "registry" + ".npmjs",
    "deb" + ".debian",
)
MACHINE = re.compile("|".join(re.escape(name) for name in MACHINE_NAMES))
# `tests/work/` or `https://host/work/` end in such a name and are none.
INSIDE_A_PATH = re.compile(r"[\w.~-]$")


def find_long(name: str, text: str) -> list[str]:
    """Say if a file has more lines than one concept takes."""
    lines = text.count("\n")
    if lines <= LINES_MAX or name in LONG_FOR_A_REASON:
        return []
    return [f"{name}: {lines} lines, more than {LINES_MAX}"]


def find_unopened(name: str, text: str) -> list[str]:
    """Say if a module does not open with a sentence."""
    opening = ast.get_docstring(ast.parse(text)) or ""
    first = opening.partition("\n\n")[0].strip()
    if first.endswith((".", ":", "!", "?")):
        return []
    return [f"{name}: does not open with a sentence that says what it is"]


def find_machine_names(name: str, text: str) -> list[str]:
    """Say where a file names a path or a host of one machine."""
    return [
        f"{name}:{number} names {match[0]!r}"
        for number, line in enumerate(text.splitlines(), start=1)
        for match in MACHINE.finditer(line)
        if not (match[0].startswith("/") and INSIDE_A_PATH.search(line[: match.start()]))
    ]


def read_modules() -> Iterator[tuple[str, str]]:
    """Yield (path from the root, text) of every module of the daemon and the client."""
    for root in (DAEMON, CLIENT):
        for path in sorted(root.rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def read_files() -> Iterator[tuple[str, str]]:
    """Yield (path from the root, text) of every text file of the project."""
    for path in sorted(ROOT.rglob("*")):
        relative = path.relative_to(ROOT)
        if NOT_OURS.intersection(relative.parts) or not path.is_file():
            continue
        if any(part.endswith(".egg-info") for part in relative.parts):
            continue
        try:
            yield relative.as_posix(), path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
