"""Cutting and aligning text for people: never inside what they see as one character.

A small part of Unicode's rules (UAX 29), from the standard library's tables:
combining marks, joiners, flags, Hangul and emoji modifiers. It never raises, and
text that it does not understand is cut between code points.
"""

import unicodedata

JOINER = "\u200d"
KEYCAP_AND_SELECTORS = frozenset("\u20e3\ufe0e\ufe0f")
# Nobody sees a cluster longer than this; text made of marks alone ends here all the same.
CLUSTER_LIMIT = 64


def cut(text: str, limit: int) -> str:
    """At most `limit` code points from the start of `text`, ending at a grapheme."""
    if len(text) <= limit:
        return text
    end = limit
    while end > 0 and limit - end < CLUSTER_LIMIT and not is_boundary(text, end):
        end -= 1
    return text[: end if is_boundary(text, end) else limit]


def shorten(text: str, limit: int, *, mark: str = "... ({total} chars total)") -> str:
    """Cut `text` as `cut` does and say how long it was, if it was longer."""
    if len(text) <= limit:
        return text
    return cut(text, limit) + mark.format(total=len(text))


def is_boundary(text: str, index: int) -> bool:
    """True if `text` may be cut before `text[index]`."""
    if index <= 0 or index >= len(text):
        return True
    before, after = text[index - 1], text[index]
    if before == "\r":
        return after != "\n"
    if _extends(after) or before == JOINER:
        return False
    if _is_flag_letter(before) and _is_flag_letter(after):
        return _flag_letters_before(text, index) % 2 == 0
    return not _continues_hangul(before, after)


def find_width(text: str) -> int:
    """How many columns `text` takes on a terminal, one line without control characters."""
    width = 0
    for character in text:
        if _extends(character) or unicodedata.category(character) == "Cf":
            continue
        width += 2 if unicodedata.east_asian_width(character) in "WF" else 1
    return width


def fit(text: str, columns: int) -> str:
    """`text` as one line of exactly `columns` columns: shortened with `...`, or padded."""
    line = " ".join(text.split())
    if find_width(line) > columns:
        kept = line
        while kept and find_width(kept) > columns - 3:
            kept = cut(kept, len(kept) - 1)
        line = kept.rstrip() + "..."
    return line + " " * (columns - find_width(line))


def _extends(character: str) -> bool:
    return (
        character == JOINER
        or character in KEYCAP_AND_SELECTORS
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= character <= "\U000e007f"  # tags: the flags of regions
        or unicodedata.category(character) in ("Mn", "Me", "Mc")
    )


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _flag_letters_before(text: str, index: int) -> int:
    count = 0
    while count < index and _is_flag_letter(text[index - 1 - count]):
        count += 1
    return count


def _continues_hangul(before: str, after: str) -> bool:
    leading = "\u1100" <= before <= "\u115f"
    vowel_after = "\u1160" <= after <= "\u11a7"
    trailing_after = "\u11a8" <= after <= "\u11ff"
    if leading:
        return "\u1100" <= after <= "\u115f" or vowel_after or "\uac00" <= after <= "\ud7a3"
    if "\u1160" <= before <= "\u11a7":
        return vowel_after or trailing_after
    if "\uac00" <= before <= "\ud7a3":
        bare = (ord(before) - 0xAC00) % 28 == 0
        return trailing_after or (vowel_after and bare)
    return "\u11a8" <= before <= "\u11ff" and trailing_after
