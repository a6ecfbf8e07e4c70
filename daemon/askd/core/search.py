"""Searching for words: what counts as one, what a person asks for, what is shown of a hit.

Pure, and the same on both sides: the words of a text go into the index as
`find_words` answers them, and the words of a question are looked for as the same
function answers them. No letter that a person types is syntax to a database.
"""

import functools
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from askd.core.events import Body, ItemAdded, PromptAccepted, ViewChanged
from askd.core.items import AssistantMessage, Part, Summary, Text, ToolOutput, UserMessage

Role = Literal["user", "assistant", "tool", "summary"]

WORD_LENGTH = 64
"""Of a longer word only so much counts: a digest still fits, a picture spelled in letters not."""
SNIPPET_LENGTH = 160
"""Two lines of a terminal: enough to see whether this is what was meant."""
SNIPPET_LEAD = 48
"""How much of it stands before the first hit."""
ELLIPSIS = "..."

# Scripts that set no spaces between words: there each character is looked for, and
# several in a row as a phrase. Thai, Lao, Myanmar, Khmer; kana; Han.
_ALONE = (
    "\u0e01-\u0e33\u0e40-\u0e46\u0e81-\u0eb3\u0ec0-\u0ec6\u1000-\u102a\u1780-\u17b3"
    "\u3041-\u3096\u30a1-\u30fa\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\uff66-\uff9d\U00020000-\U0003134f"
)
# Signs that belong to the letter before them and are no letters to Python: accents,
# Hebrew points, Arabic vowels, the vowel signs of India and its neighbours.
_SIGNS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a"
    "\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0900-\u0903"
    "\u093a-\u094f\u0955-\u0957\u0981-\u0983\u09bc-\u09cd\u0a01-\u0a03\u0a3c-\u0a4d"
    "\u0a81-\u0a83\u0abc-\u0acd\u0b01-\u0b03\u0b3c-\u0b4d\u0bbe-\u0bcd\u0c00-\u0c04"
    "\u0c3c-\u0c56\u0c81-\u0c83\u0cbc-\u0ccd\u0d00-\u0d03\u0d3b-\u0d4d\u0dca-\u0ddf"
)
_WORD = re.compile(f"[{_ALONE}]|(?:(?![{_ALONE}])[^\\W_]|[{_SIGNS}])+")
_GAP = re.compile(r"\s+")
_REST = "[a-z0-9]*"
_ESCAPE = "\x1b"
_SEEN = re.compile(rf"{_ESCAPE}\[[0-?]*[ -/]*[@-~]|{_WORD.pattern}")
_PLAIN_WORD = re.compile("[a-z0-9]+")
"""The same for most texts, many times as fast."""
_NOT_PLAIN = re.compile(f"[^\\W_a-zA-Z0-9]|[{_ALONE}{_SIGNS}{_ESCAPE}]")
"""Also characters that stand alone and that this Python's Unicode does not know yet."""
_ASKED = re.compile(r'"([^"]*)"(\*?)|(\S+)')


@dataclass(frozen=True, slots=True)
class Term:
    """Words that stand in a row; with `is_start` the last one may go on."""

    words: tuple[str, ...]
    is_start: bool = False


@dataclass(frozen=True, slots=True)
class Snippet:
    """A piece of a text on one line; `marks`: where in it hits stand, as [start, end)."""

    text: str
    marks: tuple[tuple[int, int], ...] = ()


def find_said(body: Body) -> tuple[Role, tuple[Part, ...]] | None:
    """What an event says that can be searched, and in which role.

    Prompts, answers, tool outputs and summaries; of what a later attempt replaced,
    of reasoning, of the arguments of calls and of notices nothing.
    """
    match body:
        case PromptAccepted(items=items):
            return "user", tuple(part for item in items for part in item.parts)
        case ItemAdded(item=item, status=status) if status != "superseded":
            match item:
                case UserMessage(parts=parts):
                    return "user", parts
                case AssistantMessage(parts=parts):
                    return "assistant", parts
                case ToolOutput(parts=parts):
                    return "tool", parts
                case Summary(text=text):
                    return "summary", (Text(text),)
                case _:
                    return None
        case ViewChanged(summary=Summary(text=text)):
            return "summary", (Text(text),)
        case _:
            return None


def find_item_id(body: Body) -> str | None:
    """The id of the item that an event brought; of several the first."""
    match body:
        case PromptAccepted(items=(first, *_)):
            return first.id
        case ItemAdded(item=item):
            return item.id
        case ViewChanged(summary=Summary(id=id)):
            return id
        case _:
            return None


def find_words(text: str) -> list[str]:
    """The words of a text in their order, each as it is compared: no case, no accents."""
    if _is_plain(text):
        return [word[:WORD_LENGTH] for word in _PLAIN_WORD.findall(text.lower())]
    return [word for found in _find(_compose(text)) for word in _fold(found[0])]


def read_terms(asked: str) -> tuple[Term, ...]:
    """What a person looks for; all of it must be there.

    Words set apart by white space, in any order; "words in quotes" stand in a row,
    and so do the parts of `a_name.like-this`; a `*` at the end of a word finds what
    begins with it. Nothing else means anything, and what holds no word is passed over.
    """
    terms = []
    for found in _ASKED.finditer(asked):
        quoted, star, word = found[1], found[2], found[3]
        words = tuple(find_words(word if quoted is None else quoted))
        if words:
            is_start = word.endswith("*") if quoted is None else bool(star)
            terms.append(Term(words, is_start))
    return tuple(dict.fromkeys(terms))


def cut_snippet(text: str, terms: tuple[Term, ...]) -> Snippet:
    """The piece of a text around its first hit, on one line; without one its beginning."""
    text = _compose(text)
    marks: list[tuple[int, int]] = []
    limit = len(text)
    for start, end in _find_hits(text, terms):
        if not marks:
            limit = max(0, start - SNIPPET_LEAD) + SNIPPET_LENGTH
        if start >= limit:
            break
        marks.append((start, min(end, limit)))
    start = max(0, marks[0][0] - SNIPPET_LEAD) if marks else 0
    end = min(len(text), start + SNIPPET_LENGTH)
    start = _find_gap(text, start, marks[0][0]) if marks and start else start
    return _put_on_one_line(text, start, end, marks)


def _is_plain(text: str) -> bool:
    """Whether all of its words are ASCII; quotes, dashes and emoji are no words."""
    if text.isascii():
        return _ESCAPE not in text
    return _NOT_PLAIN.search(text) is None


def _compose(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _find(text: str) -> Iterator[re.Match[str]]:
    """The words as they stand there; the colours of a program's output are none."""
    return (found for found in _SEEN.finditer(text) if found[0][0] != _ESCAPE)


def _fold(word: str) -> tuple[str, ...]:
    """A word as it is compared; a few (a fraction, a ligature of words) come apart."""
    if word.isascii():
        return (word.lower()[:WORD_LENGTH],)
    # Twice: a letter of another width or weight becomes a capital only by its decomposition.
    plain = unicodedata.normalize("NFKD", word.casefold()).casefold()
    bare = "".join(char for char in plain if unicodedata.category(char) != "Mn")
    return tuple(piece[:WORD_LENGTH] for piece in _WORD.findall(bare))


def _find_hits(text: str, terms: tuple[Term, ...]) -> Iterator[tuple[int, int]]:
    """Where words of the terms stand, [start, end), in order, each place once."""
    if _is_plain(text):
        pattern = _spell(terms)
        yield from (found.span() for found in pattern.finditer(text.lower()) if found[0])
        return
    longest = max((len(term.words) for term in terms), default=0)
    window: list[tuple[int, int, str]] = []
    covered = 0
    for start, end, word in _split(text, ahead=longest):
        window.append((start, end, word))
        if len(window) < longest:
            continue
        reach = _match_at(window, terms)
        if reach is not None and window[0][0] >= covered:
            covered = reach
            yield window[0][0], reach
        window.pop(0)


@functools.lru_cache(maxsize=64)
def _spell(terms: tuple[Term, ...]) -> re.Pattern[str]:
    """The terms as one pattern for a plain text; those of most words first, so that they win."""
    ways = []
    for term in sorted(terms, key=lambda each: -len(each.words)):
        words = [word + _REST if len(word) == WORD_LENGTH else word for word in term.words]
        words[-1] += _REST if term.is_start else ""
        if all(word.isascii() for word in term.words):
            ways.append("[^a-z0-9]+".join(words))
    return re.compile(f"(?<![a-z0-9])(?:{'|'.join(ways)})(?![a-z0-9])" if ways else "")


def _split(text: str, *, ahead: int) -> Iterator[tuple[int, int, str]]:
    """The words with their places, and some that are none, so that the last ones are seen."""
    for found in _find(text):
        for word in _fold(found[0]):
            yield found.start(), found.end(), word
    for _ in range(ahead):
        yield len(text), len(text), ""


def _match_at(window: Sequence[tuple[int, int, str]], terms: Sequence[Term]) -> int | None:
    """Where the longest term ends that begins with the first of these words; None: none does."""
    reach = None
    for term in terms:
        *before, last = term.words
        size = len(term.words)
        if any(window[place][2] != word for place, word in enumerate(before)):
            continue
        word = window[size - 1][2]
        if word == last or (term.is_start and word.startswith(last)):
            reach = max(reach or 0, window[size - 1][1])
    return reach


def _find_gap(text: str, start: int, before: int) -> int:
    """The first beginning of a word from `start` on, if there is one `before` the hit."""
    for place in range(start, before):
        if text[place].isspace():
            return place + 1
    return start


def _put_on_one_line(text: str, start: int, end: int, marks: Sequence[tuple[int, int]]) -> Snippet:
    """Between `start` and `end`, white space become one space each, the marks moved along."""
    line = ""
    moved: list[tuple[int, int]] = []
    place = start
    for first, last in [(first, min(last, end)) for first, last in marks if first < end]:
        line = _join(line, text[place:first])
        begins = len(line)
        line = _join(line, text[first:last])
        moved.append((begins, len(line)))
        place = last
    line = _join(line, text[place:end])
    if start:
        line = ELLIPSIS + line
        moved = [(a + len(ELLIPSIS), b + len(ELLIPSIS)) for a, b in moved]
    return Snippet(line + (ELLIPSIS if end < len(text) else ""), tuple(moved))


def _join(line: str, more: str) -> str:
    """A line with more of it, no white space but single spaces, none at its beginning."""
    more = _GAP.sub(" ", more)
    return line + (more.lstrip(" ") if not line or line.endswith(" ") else more)
