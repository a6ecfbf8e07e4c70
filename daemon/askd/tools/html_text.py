"""HTML as text that a model reads: headings, lists, links and tables in plain signs.

Pure, and linear in the length of the page whatever stands in it: each sign is looked at a
bounded number of times, and nothing is built of what does not nest as it should. It runs
nothing, fetches nothing, and keeps no comment, script or style.
"""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import urljoin

_TAG = re.compile(
    r"""<(/?)([a-zA-Z][a-zA-Z0-9:-]*+)((?:[^=>]++|=\s*+(?:"[^"]*+"|'[^']*+')?+)*+)>"""
)
"""A tag and its attributes; possessive: nothing is tried twice. A quote that is never closed is
none, which can be found out once a page for each of the two kinds."""
_ATTRIBUTE = re.compile(r"""([a-zA-Z-]++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'>]++))""")
_LONG_NUMBER = re.compile(r"&#x?[0-9a-fA-F]{9,};?", re.IGNORECASE)
"""No character has such a number, and Python takes its time over it."""
_SPACES = re.compile(r"\s+")
_GAPS = re.compile(r"\n{3,}")

RAW = {"script", "style", "template", "noscript", "svg", "iframe", "object", "canvas", "math"}
"""What is left out up to its end."""
BLOCKS = {
    "address", "article", "aside", "blockquote", "body", "dd", "div", "dl", "dt", "fieldset",
    "figcaption", "figure", "footer", "form", "header", "hr", "main", "nav", "ol", "p", "section",
    "table", "tbody", "tfoot", "thead", "ul",
}  # fmt: skip
HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
LINK_LENGTH = 500
"""Longer addresses are left out: what they carry is not for reading."""


@dataclass(slots=True)
class _Page:
    base: str
    pieces: list[str] = field(default_factory=list)
    title: str = ""
    is_set: bool = False  # inside of <pre>: white space counts
    links: list[str] = field(default_factory=list)

    def say(self, text: str) -> None:
        """Add running text."""
        if self.is_set:
            self.pieces.append(text)
            return
        text = _SPACES.sub(" ", text)
        if self._ends_with_space():
            text = text.removeprefix(" ")
        if text:
            self.pieces.append(text)

    def start_line(self, count: int = 1) -> None:
        """Begin a line; with 2 leave one empty."""
        if self.pieces:
            self.pieces.append("\n" * count)

    def _ends_with_space(self) -> bool:
        return not self.pieces or self.pieces[-1][-1:] in (" ", "\n")


def read_html(source: str, base: str = "") -> str:
    """The text of a page, with its title on top; links are made whole by `base`."""
    page = _Page(base)
    for kind, name, rest in _walk(source):
        if kind == "text":
            page.say(_unescape(rest))
        elif kind == "title":
            page.title = page.title or _SPACES.sub(" ", _unescape(rest)).strip()
        elif kind == "open":
            _open(page, name, rest)
        else:
            _close(page, name)
    text = "\n".join(line.rstrip() for line in "".join(page.pieces).split("\n"))
    text = _GAPS.sub("\n\n", text).strip()
    heading = f"# {page.title}"
    return f"{heading}\n\n{text}".strip() if page.title and heading not in text[:2000] else text


def _walk(source: str) -> Iterator[tuple[str, str, str]]:
    """(kind, name, rest) of what a page is made of: `text`, `open`, `close` and `title`."""
    place, end = 0, len(source)
    while place < end:
        start = source.find("<", place)
        if start < 0:
            start = end
        if start > place:
            yield "text", "", source[place:start]
        if start == end:
            return
        if source.startswith(("<!", "<?"), start):
            place = _pass_over(source, start)
            continue
        tag = _TAG.match(source, start)
        if tag is None:
            if not source[start + 1 : start + 2].isalpha() and source[start + 1 : start + 2] != "/":
                yield "text", "", "<"  # a sign of its own, as in `a < b`
                place = start + 1
                continue
            return  # no tag ends from here on: the rest is all attributes
        place = tag.end()
        name = tag[2].lower()
        if tag[1]:
            yield "close", name, ""
        elif name in RAW or name == "title":
            closing = _find_closing(source, name, place)
            if name == "title":
                yield "title", "", source[place:closing]
            place = closing
        else:
            yield "open", name, tag[3]


def _pass_over(source: str, start: int) -> int:
    """The end of a comment or of a declaration."""
    closing = "-->" if source.startswith("<!--", start) else ">"
    end = source.find(closing, start)
    return len(source) if end < 0 else end + len(closing)


def _find_closing(source: str, name: str, place: int) -> int:
    found = re.compile(f"</{name}", re.IGNORECASE | re.ASCII).search(source, place)
    return len(source) if found is None else found.start()


def _open(page: _Page, name: str, attributes: str) -> None:
    if name in HEADINGS:
        page.start_line(2)
        page.pieces.append(f"{HEADINGS[name]} ")
    elif name == "li":
        page.start_line()
        page.pieces.append("- ")
    elif name in ("br", "tr"):
        page.start_line()
    elif name in ("td", "th"):
        page.say(" | " if page.pieces and page.pieces[-1][-1:] != "\n" else "")
    elif name == "pre":
        page.start_line(2)
        page.is_set = True
    elif name in BLOCKS:
        page.start_line(2)
    elif name == "img":
        words = _read_attributes(attributes).get("alt", "")
        page.say(f"[image: {words}]" if words else "")
    elif name == "a":
        page.links.append(_read_link(page.base, _read_attributes(attributes).get("href", "")))


def _close(page: _Page, name: str) -> None:
    if name == "pre":
        page.is_set = False
        page.start_line(2)
    elif name in BLOCKS or name in HEADINGS:
        page.start_line(2)
    elif name == "a" and page.links:
        link = page.links.pop()
        if link:
            page.pieces.append(f" ({link})")


def _read_attributes(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in _ATTRIBUTE.finditer(text):
        value = next((part for part in each.groups()[1:] if part is not None), "")
        found.setdefault(each[1].lower(), _unescape(value))
    return found


def _read_link(base: str, href: str) -> str:
    """Where a link leads, if that can be fetched and is not a place in the same page."""
    href = href.strip()
    if not href or href.startswith("#") or len(href) > LINK_LENGTH:
        return ""
    try:
        link = urljoin(base, href)
    except ValueError:
        return ""
    is_web = link.startswith(("http://", "https://"))
    return link if is_web and link.isprintable() and " " not in link else ""


def _unescape(text: str) -> str:
    return html.unescape(_LONG_NUMBER.sub("\ufffd", text)) if "&" in text else text
