"""Reads the documentation and says what in it is not so.

Links, paths of the project, and command lines of `ask` can be checked by a
machine; whether a sentence is true cannot, and is not tried here.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from ask.protocol.messages import METHODS
from tests.house.floors import CLIENT, DAEMON
from tests.house.pages import ROOT

DOCS = ROOT / "docs"

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)

# A span is meant as a path of the project if it begins with one of these, or ends like a source.
TOP = ("client/", "daemon/", "tests/", "docs/", "systemd/", ".ci/")
SOURCE = re.compile(r"[\w.\-/]+\.(py|sql|md|service|socket)")
# Where a shorter path may begin: `store/writer.py` is clear enough within the daemon.
BASES = (ROOT, DAEMON / "askd", CLIENT / "ask", ROOT / "systemd")
# Files of the readers' own projects, which look like ours.
THEIRS = {"AGENTS.md", "docs/RULES.md"}
# Files of a user, which look like modules.
WRITTEN = {"ask.db", "askd.lock", "askd.log", "askd.sock"}
MODULE = re.compile(r"askd?(\.[a-z_]+)+")

SEPARATORS = {"|", "||", "&", "&&", ";", "(", ")", "()"}
REDIRECTIONS = {">", ">>", "<", "<<", "<<<", ">&", "<&", "&>"}
SHELLS = ("sh", "bash")


def pages() -> list[Path]:
    """Every page that people read."""
    return [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]


def read_prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def find_broken_links(page: Path) -> list[str]:
    """Say which relative links of a page lead nowhere, headings included."""
    found = []
    for target in LINK.findall(read_prose(page)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, heading = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        if not path.exists():
            found.append(f"{page.name}: {target} is not there")
        elif heading and heading not in _headings(path):
            found.append(f"{page.name}: {target}: no such heading")
    return found


def find_missing_paths(name: str, prose: str) -> list[str]:
    """Say which paths and modules that stand in backticks do not exist."""
    found = []
    for span in SPAN.findall(prose):
        if span in METHODS or span in THEIRS or span in WRITTEN:
            continue  # `daemon/status` is no path
        if span.startswith(TOP) or SOURCE.fullmatch(span):
            if not any((base / span).exists() for base in BASES):
                found.append(f"{name}: `{span}` is not there")
        elif MODULE.fullmatch(span) and not _is_module(span):
            found.append(f"{name}: `{span}` is no module")
    return found


def read_examples(text: str) -> Iterator[list[str]]:
    """Yield the arguments of every `ask ...` in a page's blocks of shell: they should run."""
    for language, block in FENCE.findall(text):
        if language in SHELLS:
            for line in block.replace("\\\n", " ").splitlines():
                yield from split_line(line)


def read_mentions(text: str) -> Iterator[list[str]]:
    """Yield the arguments of every `ask ...` in a sentence: they may lack what is needed."""
    for span in SPAN.findall(FENCE.sub("", text)):
        if span.startswith("ask "):
            yield from split_line(span)


def split_line(line: str) -> Iterator[list[str]]:
    """Yield the arguments of every `ask` in one line of shell."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    command: list[str] = []
    for token in [*lexer, ";"]:
        if token in SEPARATORS:
            yield from _arguments(command)
            command = []
        else:
            command.append(token)


def _arguments(command: Sequence[str]) -> Iterator[list[str]]:
    """What stands after `ask` (by any path) and before the first redirection."""
    for place, word in enumerate(command):
        if word == "ask" or word.endswith("/ask"):
            rest = list(command[place + 1 :])
            ends = [i for i, each in enumerate(rest) if each in REDIRECTIONS]
            if ends:
                descriptor = rest[ends[0] - 1 : ends[0]]
                rest = rest[: ends[0] - (1 if descriptor and descriptor[0].isdigit() else 0)]
            yield rest
            return


def _headings(page: Path) -> set[str]:
    """The anchors that a page's headings make, as code hosts build them."""
    found = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in found}


def _is_module(dotted: str) -> bool:
    """Whether a dotted name is a module, or a name that a module of it could hold."""
    package, *steps = dotted.split(".")
    path = (DAEMON if package == "askd" else CLIENT) / package
    for place, step in enumerate(steps):
        if (path / step).is_dir():
            path = path / step
            continue
        return (path / f"{step}.py").exists() and place >= len(steps) - 2
    return True
