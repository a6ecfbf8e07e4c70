r"""Mentions in a prompt: which `@path` means a file, and the words without the `@`.

Pure: whether a path exists, or a server that `@server:uri` names, is asked of the caller.
An `@` that names nothing and looks like no path is left alone (`@user`, `@app.get`,
`@scope/pkg`), and so is all code between backticks. It opens no file; `ask.attachments`
reads what is mentioned.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import Literal

from ask.fast.argv import can_begin
from ask.references import Reference, read_reference

Kind = Literal["file", "directory"]
Look = Callable[[str], Kind | None]
"""What is at a path: a directory, something else, nothing."""
Serves = Callable[[str], bool]
"""Whether a server of tools has this name."""

RUN_LIMIT = 4096
"""Characters that are looked at behind one `@`: the system takes no longer path."""
ENDS_LIMIT = 64
"""Places at which the name behind one `@` may end; each of them is looked up."""
FILE_ENDINGS = {
    "bash", "c", "cc", "cfg", "conf", "cpp", "cs", "css", "csv", "diff", "gif", "go", "h", "hpp",
    "htm", "html", "ini", "ipynb", "java", "jpeg", "jpg", "js", "json", "jsonl", "jsx", "kt",
    "lock", "log", "lua", "md", "mjs", "pdf", "php", "pl", "png", "proto", "ps1", "py", "pyi", "rb",
    "rs", "rst", "scss", "sh", "sql", "svg", "swift", "tex", "toml", "ts", "tsv", "tsx", "txt",
    "vue", "webp", "xml", "yaml", "yml", "zsh",
}  # fmt: skip
"""Endings by which a lone name is taken for a file that is missing, not for a decorator."""

_CLOSERS = frozenset(",;:!?()[]{}<>\"'`|#")
_DOTS = ".…"
_LINES = re.compile(r"#L([0-9]{1,9})(?:-L?([0-9]{1,9}))?(?![\w-])")
_BAD_LINES = re.compile(r"#L(?![A-Za-z]{2,}(?![\w-]))[\w-]*")
"""Behind a name, what was meant as lines and is none; `#License` is a heading's anchor."""
_ENDING = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,7}\Z")
_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})(.*)")
_BACKTICKS = re.compile(r"`+")
_SCHEME = re.compile(r"://\S*")


@dataclass(frozen=True, slots=True)
class Mention:
    """What one `@` means: a path as it was written, and perhaps lines of it, from 1 on."""

    path: str
    lines: tuple[int, int] | None = None

    @property
    def name(self) -> str:
        """As it was written, but for the quotes: `src/x.py#L10-25`."""
        if self.lines is None:
            return self.path
        first, last = self.lines
        return f"{self.path}#L{first}" + ("" if first == last else f"-{last}")


@dataclass(frozen=True, slots=True)
class Found:
    r"""A prompt that was searched.

    Attributes:
        text: without the `@` of each mention, and without the backslash of each `\@`.
        mentions: in their order; the same one twice if it was said twice.
        missing: what looks like a path and leads nowhere.
        bare: directories that were named without a slash, and so are no mentions.
        misread: what exists, with lines behind it that cannot be read, such as `x.py#L2-`.
        taken: the places of the characters that were taken out.
    """

    text: str
    mentions: tuple[Mention | Reference, ...] = ()
    missing: tuple[str, ...] = ()
    bare: tuple[str, ...] = ()
    misread: tuple[str, ...] = ()
    taken: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Reading:
    """What follows one `@`, up to where it ends."""

    end: int
    mention: Mention | Reference | None = None
    missing: str | None = None
    bare: str | None = None
    misread: str | None = None


def _serve_nothing(name: str) -> bool:
    return False


def find_mentions(text: str, look: Look, serves: Serves = _serve_nothing) -> Found:
    """Search a prompt for mentions."""
    mentions: list[Mention | Reference] = []
    missing: list[str] = []
    bare: list[str] = []
    misread: list[str] = []
    taken: list[int] = []
    end = 0
    for place in _find_marks(text):
        if place < end:
            continue  # inside the name before
        read = (
            _read_served(text, place, serves)
            or _read_quoted(text, place, look)
            or _read_run(text, place, look)
        )
        if read is None:
            continue
        if text[place - 1 : place] == "\\":
            # A backslash is taken away only where it was needed: `\@ifnextchar` keeps its own.
            if read.mention or read.missing:
                taken.append(place - 1)
            continue
        if read.mention is not None:
            mentions.append(read.mention)
            taken.append(place)
            end = read.end
        if read.missing is not None:
            missing.append(read.missing)
        if read.bare is not None:
            bare.append(read.bare)
        if read.misread is not None:
            misread.append(read.misread)
    kept = [text[a:b] for a, b in zip([0, *(t + 1 for t in taken)], [*taken, None], strict=True)]
    return Found(
        "".join(kept),
        tuple(mentions),
        tuple(missing),
        tuple(bare),
        tuple(misread),
        tuple(taken),
    )


def _find_marks(text: str) -> Iterator[int]:
    """The places of each `@` that could begin a mention, code and addresses left out."""
    addresses = (match.span() for match in _SCHEME.finditer(text))
    spans = sorted([*find_code(text), *addresses])
    starts = [start for start, _ in spans]
    ends = list(accumulate((end for _, end in spans), max))  # one may lie inside another
    place = text.find("@")
    while place >= 0:
        within = bisect_right(starts, place) - 1
        inside = within >= 0 and place < ends[within]
        if can_begin(text, place) and not inside and not _is_foreign(text, place):
            yield place
        place = text.find("@", place + 1)


def _is_foreign(text: str, place: int) -> bool:
    r"""Whether the backslash before an `@` is no escape: `C:\@x`, `\\@x`."""
    if text[place - 1 : place] != "\\":
        return False
    before = text[max(place - 2, 0) : place - 1]
    return before == "\\" or not can_begin(f"{before}@x", len(before))


# ---- one name -----------------------------------------------------------------------


def _read_served(text: str, place: int, serves: Serves) -> _Reading | None:
    """`@server:uri`, before any file: such a file can be written `@./server:uri`."""
    found = read_reference(text, place)
    if found is None or not serves(found[0].server):
        return None
    reference, end = found
    return _Reading(end, reference)


def _read_quoted(text: str, place: int, look: Look) -> _Reading | None:
    """`@"a path"`, perhaps with lines; None: it is none."""
    if text[place + 1] != '"':
        return None
    close = text.find('"', place + 2, place + 2 + RUN_LIMIT)
    path = text[place + 2 : max(close, 0)]
    if not path.strip() or "\n" in path:
        return None
    mention, end = Mention(path), close + 1
    lines = _LINES.match(text, end)
    if lines is not None:
        mention, end = Mention(path, _read_lines(lines)), lines.end()
    if look(path) is not None:
        return _Reading(end, mention, misread=_find_misread(mention, text, end))
    # `NSLog(@"hi")` is a string of another language.
    said = not text[place - 1 : place].strip() or looks_like_path(path, look)
    return _Reading(end, missing=mention.name) if said else None


def _read_run(text: str, place: int, look: Look) -> _Reading | None:
    """`@path`, the longest that exists; else what it looks like; None: nothing."""
    if text[place + 1] == '"':
        return None
    start = place + 1
    run = text[start : start + RUN_LIMIT].split(maxsplit=1)[0]
    ends = _find_ends(run)
    bare = None
    for end in ends:
        for mention, length in _read_name(run[:end]):
            kind = look(mention.path) if mention.path.strip("/.") else None
            if kind == "directory" and "/" not in mention.path:
                bare = bare or mention.path
            elif kind is not None:
                misread = _find_misread(mention, run, length)
                return _Reading(start + length, mention, misread=misread)
    if bare is not None:
        return _Reading(start, bare=bare)
    end = next((at for at, letter in enumerate(run) if letter in _CLOSERS), len(run))
    lines = _LINES.match(run, end)
    stem = run[:end].rstrip(_DOTS)
    after = run[end : end + 1]
    quote = text[place - 1 : place]
    is_call = after == "("
    is_literal = quote in ('"', "'") and after == quote
    if is_call or is_literal or not stem.strip("/."):
        return None
    if lines is not None:
        return _Reading(start, missing=Mention(stem, _read_lines(lines)).name)
    return _Reading(start, missing=stem) if looks_like_path(stem, look) else None


def _find_ends(run: str) -> list[int]:
    """Where a name may end, the longest first: before whatever names rarely hold."""
    found = (
        at
        for at in range(1, len(run))
        if run[at] in _CLOSERS
        or (not run[at].isascii() and not run[at].isalnum())
        # `x.pyを`: a script without spaces goes on behind the name.
        or run[at].isascii() != run[at - 1].isascii()
    )
    return [*islice(found, ENDS_LIMIT), len(run)][::-1]


def _read_name(text: str) -> Iterator[tuple[Mention, int]]:
    """What a piece behind an `@` may be, with its length: a path, one with lines, less a dot."""
    if not text.endswith(("/.", "/..")):
        yield Mention(text), len(text)
    at = text.rfind("#L")
    lines = _LINES.fullmatch(text.rstrip(_DOTS), at) if at > 0 else None
    if lines is not None:
        yield Mention(text[:at], _read_lines(lines)), lines.end()
    plain = text.rstrip(_DOTS)
    if plain and plain != text:
        yield Mention(plain), len(plain)


def _find_misread(mention: Mention, text: str, end: int) -> str | None:
    """The name and what stands behind it, if that was meant as lines and could not be read."""
    match = _BAD_LINES.match(text, end) if mention.lines is None else None
    return None if match is None else mention.path + match[0]


def _read_lines(match: re.Match[str]) -> tuple[int, int]:
    return int(match[1]), int(match[2] or match[1])


def looks_like_path(path: str, look: Look) -> bool:
    """Whether something that does not exist was meant as a path all the same.

    `@scope/pkg` was not, unless `scope` is a directory here; nor `@/components/x`,
    where the system has no `/components`: both are names in other languages.
    """
    if "@" in path:
        return False  # a version, or a handle on another server
    first, slash, _ = path.partition("/")
    if not slash:
        return path.rpartition(".")[2].lower() in FILE_ENDINGS and "." in path
    if first in (".", "..", "~"):
        return True
    if not first:
        return look("/" + path[1:].partition("/")[0]) == "directory"
    return path.endswith("/") or bool(_ENDING.search(path)) or look(first) == "directory"


# ---- code ---------------------------------------------------------------------------


def find_code(text: str) -> list[tuple[int, int]]:
    """Where code is, by its backticks: fenced blocks and spans, in order."""
    found: list[tuple[int, int]] = []
    place = begun = block = 0
    fence = ""
    for line in text.split("\n"):
        match = _FENCE.fullmatch(line)
        end = place + len(line)
        if fence:
            if match and match[1].startswith(fence) and not match[2].strip():
                found.append((block, end))
                fence, begun = "", end
        elif match and not (match[1][0] == "`" and "`" in match[2]):
            found += _find_spans(text, begun, place)
            fence, block = match[1], place
        elif not line.strip():
            found += _find_spans(text, begun, place)
            begun = end
        place = end + 1
    return [*found, *([(block, len(text))] if fence else _find_spans(text, begun, len(text)))]


def _find_spans(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Spans of one paragraph: backticks up to the next ones of the same number."""
    runs = list(_BACKTICKS.finditer(text, start, end))
    closes: dict[int, int] = {}  # by the place of the opening ones
    later: dict[int, int] = {}  # by their number
    for run in reversed(runs):
        number = len(run[0])
        closes[run.start()] = later.get(number, 0)
        later[number] = run.end()
    done = start
    for run in runs:
        if run.start() >= done and closes[run.start()]:
            done = closes[run.start()]
            yield run.start(), done
