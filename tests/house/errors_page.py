"""Writes `docs/reference/errors.md`: every sentence an error can say, by code and by reason.

Sentences and what they advise come from the sources; what a reason means and what to do is
written by hand, into the page itself. `python -m tests.house.errors_page` makes the page anew
and keeps what was written of the reasons that are still there; a test says which ones lack it.
"""

import re
import textwrap
from collections.abc import Iterable, Mapping

from ask.commands.root import DEFAULT_REASONS
from ask.protocol.errors import EXIT_CODES, REASONS
from tests.house.error_texts import TOOL, Sentence, find_sentences
from tests.house.pages import REFERENCE, write_page

PATH = REFERENCE / "errors.md"

HEAD = """\
# Errors

Every sentence that an error can say. Search this page for words of yours; `…` stands for what
differs, such as a name or a number. What follows it, set in, is advised with it.

Each stands under its [exit code](exit-codes.md) and its reason, the word in `data.reason` that
`--json`, [the library](library.md) and [the protocol](protocol.md) give a program. A provider's,
git's or a system's own words are shown within ours and are not here. What the daemon writes down
besides is in [the log](log.md).
"""

FOOT = """
The sentences are generated from the sources by `tests/house/errors_page.py`, what a reason means
is written here.
"""

NO_REASON = "no reason"
TOLD = "## What a model is told of a tool"

_MEANING = re.compile(r"^### (?:`(\w+)`|(no reason at \d+))\n\n(.*?)\n(?=\n|\Z)", re.M | re.S)
_TOLD = re.compile(rf"^{TOLD}\n\n(.*?)\n\n", re.M | re.S)


def find_meanings(page: str) -> dict[str, str]:
    """What a page says of each reason; `no reason at CODE` and `tool` are among them."""
    found = {word or none: text for word, none, text in _MEANING.findall(page)}
    told = _TOLD.search(page)
    return found if told is None else {**found, TOOL: told[1]}


def find_groups() -> dict[int, dict[str, list[Sentence]]]:
    """The sentences by code and reason; a reason that has none is there, too."""
    groups: dict[int, dict[str, list[Sentence]]] = {code: {} for code in sorted(EXIT_CODES)}
    for reason, code in REASONS.items():
        groups[code][reason] = []
    for each in find_sentences():
        if each.reason == TOOL:
            continue
        reason = each.reason or DEFAULT_REASONS.get(each.code, "")
        groups[each.code].setdefault(reason or name_none(each.code), []).append(each)
    return {code: found for code, found in groups.items() if found}


def name_none(code: int) -> str:
    """How the errors of a code are called that have no reason."""
    return f"{NO_REASON} at {code}"


def render(meanings: Mapping[str, str]) -> str:
    """The whole page; a reason without a meaning has an empty line."""
    page = HEAD
    for code, reasons in find_groups().items():
        page += (
            f"\n## {code}\n\n" + textwrap.fill(f"The code means: {EXIT_CODES[code]}.", 100) + "\n"
        )
        for reason, sentences in reasons.items():
            title = f"`{reason}`" if reason in REASONS else reason
            page += f"\n### {title}\n\n{meanings.get(reason, '')}\n" + _list(sentences)
    told = [each for each in find_sentences() if each.reason == TOOL]
    page += f"\n{TOLD}\n\n{meanings.get(TOOL, '')}\n" + _list(told)
    return page + FOOT


def _list(sentences: Iterable[Sentence]) -> str:
    lines = []
    for text, hint in sorted({(each.text, each.hint) for each in sentences}):
        lines.append(text)
        if hint:
            lines.append(f"    {hint}")
    return "\n```text\n" + "\n".join(lines) + "\n```\n" if lines else ""


if __name__ == "__main__":
    written = PATH.read_text(encoding="utf-8") if PATH.exists() else ""
    write_page(PATH, render(find_meanings(written)))
