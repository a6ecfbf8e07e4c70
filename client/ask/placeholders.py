"""Named places in a text, and their values: `$name`, `${name}`, and `$$` for a dollar.

Pure. Each place is filled once: what a value says is never read as a place. A dollar
that no name follows is left as it is (`$5`, `$(date)`), and so is a brace that is not
closed. It decides nothing about which names there may be.
"""

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

MARK = "$"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value belongs."""

    name: str


def find_names(text: str) -> tuple[str, ...]:
    """The names of all places, each once, in their order."""
    names = [piece.name for piece in _split(text) if isinstance(piece, Place)]
    return tuple(dict.fromkeys(names))


def substitute(text: str, values: Mapping[str, str]) -> str:
    """The text with every place filled.

    Raises:
        KeyError: a place has no value; nothing is guessed at.
    """
    return "".join(
        values[piece.name] if isinstance(piece, Place) else piece for piece in _split(text)
    )


def is_name(text: str) -> bool:
    """Whether a place can have this name: as an identifier, of letters of any script."""
    return text.isidentifier() and normalize(text) == text


def normalize(name: str) -> str:
    """A name as it is compared: however the letter was typed, `é` is one letter (NFC)."""
    return unicodedata.normalize("NFC", name)


def _split(text: str) -> Iterator[str | Place]:
    begin = 0
    while (mark := text.find(MARK, begin)) >= 0:
        yield text[begin:mark]
        after = mark + 1
        if text[after : after + 1] == MARK:
            yield MARK
            begin = after + 1
            continue
        is_braced = text[after : after + 1] == "{"
        first = after + is_braced
        end = _find_end(text, first)
        if end == first or (is_braced and text[end : end + 1] != "}"):
            yield MARK
            begin = after
            continue
        yield Place(normalize(text[first:end]))
        begin = end + is_braced
    yield text[begin:]


def _find_end(text: str, first: int) -> int:
    """Where the name ends that begins here; here, if none does."""
    if not text[first : first + 1].isidentifier():
        return first
    end = first + 1
    # One letter at a time: marks that stand on the letter before are not among `\w`.
    while end < len(text) and f"a{text[end]}".isidentifier():
        end += 1
    return end
