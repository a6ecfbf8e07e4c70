"""Cutting long texts in their middle, never inside what a reader sees as one character.

A small part of Unicode's rules for grapheme clusters (UAX 29): marks, joiners,
selectors, flags. It keeps the beginning and the end, for what a message is about
stands there, and says how much is missing between them.
"""

import unicodedata

SHARE = 0.4
"""Of what fits, the beginning gets this much, and the end as much; the rest is for the mark."""
MARK = "[... {count} characters truncated ...]"
CLUSTER_LIMIT = 64
"""Text made of marks alone is cut all the same."""
_JOINERS = frozenset("\u200d\u20e3\ufe0e\ufe0f")


def cut_middle(text: str, limit: int) -> str:
    """At most about `limit` characters of a text: 40 % of that from each of its ends.

    A text that is no longer than `limit` comes back as it is. With a limit too
    small for anything the mark alone is left.
    """
    if len(text) <= limit:
        return text
    size = int(limit * SHARE)
    head = _find_boundary(text, size, step=-1)
    tail = _find_boundary(text, len(text) - size, step=1)
    mark = MARK.format(count=tail - head)
    return f"{text[:head]}{mark}{text[tail:]}"


def _find_boundary(text: str, index: int, *, step: int) -> int:
    """The nearest place in one direction at which the text may be cut."""
    place = index
    for _ in range(CLUSTER_LIMIT):
        if _is_boundary(text, place):
            return place
        place += step
    return index


def _is_boundary(text: str, index: int) -> bool:
    if index <= 0 or index >= len(text):
        return True
    before, after = text[index - 1], text[index]
    if before == "\u200d" or _extends(after) or (before, after) == ("\r", "\n"):
        return False
    # Two letters make a flag; four of them may be two flags: then it is left whole.
    return not (_is_flag(before) and _is_flag(after))


def _extends(character: str) -> bool:
    return (
        character in _JOINERS
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= character <= "\U000e007f"  # the flags of regions
        or unicodedata.category(character) in ("Mn", "Me", "Mc")
        or "\u1160" <= character <= "\u11ff"  # vowels and ends of Korean syllables
    )


def _is_flag(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
