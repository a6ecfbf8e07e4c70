"""Texts by script: how much of a text is words, digits, marks, Cyrillic, Han, emoji...

What a vocabulary makes of a text depends on the script first: a token is four or
five letters of English, one ideograph, half a letter of Devanagari with a small
model. So a text is measured in classes, each in tokens of an ordinary large
vocabulary, and what one model does otherwise is a factor to each class
(`calibration`). Counted is over whole buffers with the functions of `bytes` and
`int`, a few nanoseconds a byte: nothing here loops over characters. It knows no
model, and is not exact.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

Class = Literal[
    "words",
    "digits",
    "marks",
    "space",
    "latin",
    "greek",
    "cyrillic",
    "semitic",
    "indic",
    "han",
    "hangul",
    "symbols",
    "emoji",
    "images",
    "thoughts",
    "frames",
    "base",
]
"""What is counted apart. From `words` to `space`: ASCII; to `emoji`: other scripts; `images`, what
a model thought, what stands around each message, and around the whole request."""

CLASSES: Sequence[Class] = get_args(Class)

# Tokens for each of what is counted: fitted to two large vocabularies in use (their median error
# over source files, listings, logs, settings and prose is four in a hundred), rounded.
_LETTER = 0.1
_WORD = 0.6
_HUMP = 0.45  # a capital inside a word: camelCase, Base64
_DIGIT = 0.85
_MARK = 0.21
_MARK_RUN = 0.42
_LINE = 0.35
_GAP = 1.25  # two blanks or more in a row: an indent, the space between columns

# For each character. Vocabularies differ most here; these are between an older and a newer one.
_CHARACTERS: Mapping[Class, float] = {
    "latin": 0.6,
    "greek": 0.5,
    "cyrillic": 0.38,
    "semitic": 0.5,
    "indic": 0.6,
    "han": 0.85,
    "hangul": 0.75,
    "symbols": 1.1,
    "emoji": 1.8,
}

# The first byte of a character in UTF-8 tells its script, near enough.
_LEADS: Mapping[Class, tuple[tuple[int, int], ...]] = {
    "latin": ((0xC2, 0xCD), (0xE1, 0xE1)),  # accents; E1: more of them, Georgian, Ethiopic, Khmer
    "greek": ((0xCE, 0xCF),),
    "cyrillic": ((0xD0, 0xD4),),  # and the beginning of Armenian
    "semitic": ((0xD5, 0xDF),),  # Hebrew, Arabic, Syriac
    "indic": ((0xE0, 0xE0),),  # and Thai, Lao
    "han": ((0xE3, 0xE9),),  # and kana
    "hangul": ((0xEA, 0xED),),
    "symbols": ((0xE2, 0xE2), (0xEE, 0xEF)),  # dashes, quotes, arrows, frames; fullwidth forms
    "emoji": ((0xF0, 0xF7),),  # and rare ideographs
}

_LETTER_BIT, _MARK_BIT, _BLANK_BIT, _CAPITAL_BIT = 1, 2, 4, 8
"""One bit for each kind of ASCII that makes runs; a capital has two."""

_LETTERS, _MARKS, _BLANKS, _CAPITALS, _HUMPS = (
    bytes([bits])
    for bits in (
        _LETTER_BIT,
        _MARK_BIT,
        _BLANK_BIT,
        _LETTER_BIT | _CAPITAL_BIT,
        _CAPITAL_BIT,  # a run of capitals that begins inside a run of letters
    )
)


def _flag(byte: int) -> int:
    sign = chr(byte)
    if byte >= 0x80 or sign.isdigit():
        return 0
    if sign.isalpha():
        return _LETTER_BIT | (_CAPITAL_BIT if sign.isupper() else 0)
    if sign in " \t":
        return _BLANK_BIT
    return 0 if byte < 0x20 else _MARK_BIT


_FLAGS = bytes(map(_flag, range(256)))
_DIGITS = b"0123456789"
_NOT_DIGITS = bytes(set(range(256)) - set(_DIGITS))

_CODES: Mapping[Class, bytes] = {each: bytes([code]) for code, each in enumerate(_LEADS, 1)}
_SCRIPTS = bytes(
    next(
        (
            _CODES[each][0]
            for each, ranges in _LEADS.items()
            if any(first <= byte <= last for first, last in ranges)
        ),
        0,
    )
    for byte in range(256)
)
_NOT_LEADS = bytes(range(0xC0))
"""ASCII, and the bytes of a character after its first."""

PLACES: Mapping[Class, int] = {each: place for place, each in enumerate(CLASSES)}


def measure_text(text: str) -> list[float]:
    """Tokens of an ordinary vocabulary, a number for each of `CLASSES`."""
    found = [0.0] * len(CLASSES)
    add_text(found, text)
    return found


def add_text(found: list[float], text: str) -> None:
    """Add a text's tokens to those of others."""
    if not text:
        return
    # A lone surrogate cannot be encoded and counts as the `?` that takes its place.
    data = text.encode("utf-8", "replace")
    _add_ascii(found, data)
    if len(data) > len(text):
        leads = data.translate(_SCRIPTS, _NOT_LEADS)
        for each, weight in _CHARACTERS.items():
            found[PLACES[each]] += weight * leads.count(_CODES[each])


def _add_ascii(found: list[float], data: bytes) -> None:
    flags = data.translate(_FLAGS)
    size = len(flags)
    # As one large number: a byte beside its neighbour is a shift, and a run begins where the
    # neighbour is of another kind.
    here = int.from_bytes(flags, "little")
    inside = here & (here << 8)
    starts = (here ^ inside).to_bytes(size, "little")
    later = (inside ^ (inside & (inside << 8))).to_bytes(size, "little")  # each run's second byte
    letters = flags.count(_LETTERS) + flags.count(_CAPITALS)
    words = starts.count(_LETTERS) + starts.count(_CAPITALS)
    found[0] += _LETTER * letters + _WORD * words + _HUMP * starts.count(_HUMPS)
    found[1] += _DIGIT * len(data.translate(None, _NOT_DIGITS))
    found[2] += _MARK * flags.count(_MARKS) + _MARK_RUN * starts.count(_MARKS)
    found[3] += _LINE * data.count(b"\n") + _GAP * later.count(_BLANKS)
