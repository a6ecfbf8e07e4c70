"""Reads `docs/explanation/security.md` and says where it claims a defence without a test.

Whether a test tries what the sentence says, a person has to judge. That the sentence
is one, names a test, and that the test is there, is found here.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.house.prose import DOCS, SPAN

PATH = DOCS / "explanation" / "security.md"

DEFENDED, OPEN = "Defended", "Not defended"
PARTS = (DEFENDED, OPEN)
MARK = " Test: "
"""Between a claim and the tests that try to break it."""
PARTY = re.compile(r"^## (.+)$", re.MULTILINE)
PART = re.compile(r"^### (.+)$", re.MULTILINE)
FUNCTION = re.compile(r"test_\w+")
ENDS_WITHIN = re.compile(r"[.!?](?=\s+\S)")
"""The end of a sentence that another one follows."""


@dataclass(frozen=True, slots=True)
class Party:
    """Somebody who can come near; `parts` has the bullets of each part, one line each."""

    name: str
    parts: dict[str, list[str]]


def read_parties(text: str) -> list[Party]:
    """Everybody whom the page names, in its order."""
    _, *pieces = PARTY.split(text)
    found = []
    for name, body in zip(pieces[::2], pieces[1::2], strict=True):
        _, *parts = PART.split(body)
        bullets = {
            part: read_bullets(lines) for part, lines in zip(parts[::2], parts[1::2], strict=True)
        }
        found.append(Party(name, bullets))
    return found


def read_bullets(text: str) -> list[str]:
    """The points of a list, each as one line."""
    points: list[str] = []
    for line in text.splitlines():
        if line.startswith("- "):
            points.append(line[2:])
        elif points and line.startswith("  "):
            points[-1] += " " + line.strip()
        elif line.strip():
            points.append("")  # it stands outside of the list: no claim, and so found as one
    return points


def find_faults(text: str, root: Path) -> list[str]:
    """Say what is missing: a part of somebody's, a claim's test, a test that is named."""
    found = []
    for party in read_parties(text):
        if tuple(party.parts) != PARTS or not all(party.parts.values()):
            found.append(f"{party.name}: not both of {', '.join(PARTS)}, with something in each")
        for claim in party.parts.get(DEFENDED, ()):
            found += [f"{party.name}: {claim[:60]!r}: {why}" for why in find_gaps(claim, root)]
    return found


def find_gaps(claim: str, root: Path) -> Iterator[str]:
    """Yield what is wrong with one claim of a defence: `A sentence. Test: ...`."""
    sentence, mark, tests = claim.partition(MARK)
    if not sentence.endswith(".") or ENDS_WITHIN.search(sentence):
        yield "is not one sentence"
    if not mark:
        yield "names no test"
    file: Path | None = None
    for span in SPAN.findall(tests):
        if FUNCTION.fullmatch(span):
            if file is None or span not in read_functions(file):
                yield f"{span} is not there"
        else:
            file = root / span
            if not is_test(span) or not file.is_file():
                yield f"{span} is no test"
                file = None
    if mark and not SPAN.findall(tests):
        yield "names no test"


def is_test(path: str) -> bool:
    """Whether a path is one of the tests', or of the tables that they run."""
    return path.startswith("tests/") and path.endswith(".py")


def read_functions(path: Path) -> frozenset[str]:
    """The tests of a file; none if it cannot be one."""
    return _read_functions(path) if path.is_file() else frozenset()


@cache
def _read_functions(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, kinds))
