"""Scrubbing: a text that leaked, replaced in whatever a conversation holds.

Pure. A secret is looked for as it is and as JSON and URLs spell it, also JSON
within JSON, so that a file that holds the result does not hold it in any of
these. It finds no secret by itself, and none that is encoded in another way
(base64, an archive, a picture of it).
"""

import json
import re
from collections.abc import Iterable, Iterator

MARK = "[scrubbed]"
"""What stands in place of a secret. It is not replaced itself: a second run changes nothing."""
TOKENS = ("scrubbed", "removed", "_")
"""The same where providers take letters alone: in names of tools and ids of calls."""
SHORTEST = 4
"""Characters. A shorter text stands in innocent words."""
CUT = ".… \n"
"""What stands at the end of a text that was cut."""
ROUNDS = 8
"""What is left beside a mark can make the secret anew; after so many times all of a text goes."""
DEPTH = 3
"""How often JSON may stand within JSON: the arguments of a call, in a provider's own record, in
an event."""

_MASK = b"*"
_SURE = re.compile(r"[A-Za-z0-9_.-]+")
"""What JSON and URLs write as it is."""
_UNRESERVED = re.compile(r"[A-Za-z0-9_.~-]")


class Scrub:
    """The texts to replace, and how. It must not be shown: `repr` has none of them.

    Raises:
        ValueError: there is no text, or an empty one.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = tuple(dict.fromkeys(texts))
        if not self._texts or "" in self._texts:
            raise ValueError("there is nothing to replace")
        spellings = sorted({each for text in self._texts for each in spell(text)}, key=_by_length)
        self._spellings = spellings
        plain = "|".join(map(re.escape, spellings))
        self._plain = re.compile(plain)
        self._any = re.compile(f"{re.escape(MARK)}|{plain}")
        self._encoded = [each.encode("utf-8", "replace") for each in spellings]
        self._bytes = re.compile(b"|".join(map(re.escape, self._encoded)))
        self._hints = [max(_SURE.findall(text), key=len, default="") for text in self._texts]
        self._token = next((each for each in TOKENS if not self._plain.search(each)), TOKENS[-1])

    def may_stand_in(self, record: str) -> bool:
        r"""Whether a JSON text may hold one: a quick look, wrong only in saying yes.

        Every letter can be spelled as `\u0041`; what has none of these has the hint as it is.
        """
        return "\\u" in record or any(hint in record for hint in self._hints)

    def stands_in(self, text: str) -> bool:
        """Whether a text holds one, in any spelling."""
        return self.count(text) > 0

    def count(self, text: str) -> int:
        """How often they stand in a text; in marks they do not."""
        if self._plain.search(text) is None:
            return 0
        return sum(found[0] != MARK for found in self._any.finditer(text))

    def replace(self, text: str) -> str:
        """The text with a mark in place of each; none is left but inside marks."""
        for _ in range(ROUNDS):
            if not self.count(text):
                return text
            text = self._any.sub(MARK, text)
        return text if not self.count(text) else MARK

    def replace_cut(self, text: str) -> str:
        """The same for a text that was cut somewhere, such as a title: half of one counts too."""
        text = self.replace(text)
        end = text.rstrip(CUT)
        for spelled in self._spellings:
            for length in range(min(len(spelled) - 1, len(end)), SHORTEST - 1, -1):
                if end.endswith(spelled[:length]):
                    return f"{end[: len(end) - length]}{MARK}{text[len(end) :]}"
        return text

    def replace_token(self, token: str) -> str:
        """The same for a name or an id that providers are particular about."""
        if not self.count(token):
            return token
        return self.replace(token).replace(MARK, self._token)

    def stands_in_bytes(self, data: bytes) -> bool:
        """Whether bytes hold one, as UTF-8."""
        return self._bytes.search(data) is not None

    def find_bytes(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Where bytes hold one, as [start, end)."""
        return (found.span() for found in self._bytes.finditer(data))

    def mask_bytes(self, data: bytes) -> bytes:
        """The same number of bytes without them: for files that others are writing to."""
        return self._bytes.sub(lambda found: mask(len(found[0])), data)

    def replace_bytes(self, data: bytes) -> bytes:
        """Content as text if it is UTF-8, else in its length, so that a picture stays one."""
        if not self.stands_in_bytes(data):
            return data
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            return self.mask_bytes(data)
        return self.replace(text).encode("utf-8")

    @property
    def longest_bytes(self) -> int:
        """The length of the longest spelling: how much two pieces of a file must overlap."""
        return max(map(len, self._encoded))


def mask(length: int) -> bytes:
    """So many bytes in place of a secret."""
    mark = MARK.encode()
    return mark.ljust(length, _MASK) if length >= len(mark) else _MASK * length


def spell(text: str) -> set[str]:
    """A text as it is, on one line, in a URL, and in JSON, several deep."""
    spellings = {text, " ".join(text.split()) or text}
    found = set(spellings)
    for _ in range(DEPTH):
        found = {inner for each in found for inner in _spell_json(each)} - spellings
        spellings |= found
    return spellings | {_spell_url(text, safe=""), _spell_url(text, safe="/")}


def _spell_url(text: str, *, safe: str) -> str:
    """Percent and two digits for each byte that RFC 3986 reserves."""
    return "".join(
        each if _UNRESERVED.fullmatch(each) or each in safe else _escape(each) for each in text
    )


def _escape(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "replace"))


def _spell_json(text: str) -> set[str]:
    unicode = json.dumps(text, ensure_ascii=False)[1:-1]
    escaped = json.dumps(text)[1:-1]
    upper = re.sub(r"(?<=\\u)[0-9a-f]{4}", lambda found: found[0].upper(), escaped)
    both = {unicode, escaped, upper}
    return both | {each.replace("/", "\\/") for each in both}


def _by_length(text: str) -> tuple[int, str]:
    """The longest first: what is spelled with escapes goes whole."""
    return -len(text), text
