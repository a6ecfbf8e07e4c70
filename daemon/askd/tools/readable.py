"""Bodies of the web as text: which kinds are read, and how their bytes are decoded.

Pure. Only text is read, and what says nothing of its kind is text if it looks like some.
Encodings are those of pages; a name of another is passed over, never looked up.
"""

import re

from askd.tools.base import CannotRun
from askd.tools.html_text import read_html

PAGES = ("text/html", "application/xhtml+xml")
_TEXTS = re.compile(
    r"text/[^;\s]+|application/(?:[^;\s]+\+)?(?:json|xml|yaml|toml)"
    r"|application/(?:x-)?(?:javascript|ndjson|jsonlines|json-seq|yaml|toml|sh|tex|sql)"
)
_CHARSET = re.compile(r"""charset\s*=\s*["']?([a-zA-Z0-9._-]{1,40})""", re.IGNORECASE)
_KNOWN = re.compile(
    r"utf-?8|utf-?16(?:[lb]e)?|iso-?8859-?[0-9]{1,2}|latin-?1|windows-?125[0-8]|cp125[0-8]"
    r"|koi8-[ru]|shift[_-]jis|euc-(?:jp|kr)|iso-2022-jp|gb2312|gbk|gb18030|big5|us-ascii|ascii",
    re.IGNORECASE,
)
_BYTE_ORDER_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_CONTROLS = dict.fromkeys([*range(9), 11, 12, *range(14, 32), *range(127, 160)])
HEAD_BYTES = 2048
"""In which a page says its encoding (HTML demands it in the first 1024)."""


def read_body(body: bytes, content_type: str, *, url: str) -> str:
    """The text of a body; `CannotRun` if it is not one. Control characters are left out."""
    kind = find_kind(body, content_type)
    text = _decode(body, content_type, is_page=kind in PAGES)
    if kind in PAGES:
        text = read_html(text, url)
    return text.replace("\r\n", "\n").replace("\r", "\n").translate(_CONTROLS)


def find_kind(body: bytes, content_type: str) -> str:
    """The media type of what is text; `CannotRun` for everything else."""
    kind = content_type.partition(";")[0].strip().lower()
    if not kind:
        start = body[:HEAD_BYTES].lstrip().lower()
        is_page = start.startswith((b"<!doctype html", b"<html"))
        kind = "text/html" if is_page else "text/plain"
    if kind not in PAGES and not _TEXTS.fullmatch(kind):
        raise CannotRun(f"That is {kind[:80]!r}; only text is fetched.")
    has_mark = any(body.startswith(mark) for mark, _ in _BYTE_ORDER_MARKS)
    if b"\0" in body[:HEAD_BYTES] and not has_mark and "utf-16" not in content_type.lower():
        raise CannotRun("That is no text, whatever its server says.")
    return kind


def _decode(body: bytes, content_type: str, *, is_page: bool) -> str:
    named = _CHARSET.search(content_type)
    encoding = named[1] if named else ""
    for mark, its in _BYTE_ORDER_MARKS:
        if body.startswith(mark):
            body, encoding = (body.removeprefix(mark), its) if its == "utf-8" else (body, its)
    if not encoding and is_page:
        inside = _CHARSET.search(body[:HEAD_BYTES].decode("latin-1"))
        encoding = inside[1] if inside else ""
    if not _KNOWN.fullmatch(encoding):
        encoding = "utf-8"
    try:
        return body.decode(encoding, "replace")
    except LookupError:  # a number that no ISO 8859 has
        return body.decode("utf-8", "replace")
