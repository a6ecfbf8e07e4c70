"""Known secrets, and the text without them.

Exact values only: it guesses at nothing that merely looks like a key, so that
no answer about keys is garbled. What it shows in place of one is `***`. A text
that comes in pieces is held back only where a secret may have begun.
"""

import base64
import json
import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field
from threading import Lock
from urllib.parse import parse_qsl, quote, unquote, urlsplit

MASK = "***"

SHORTEST = 8
"""Characters. A shorter value stands in innocent words, and no provider's key is so short."""

MOST_VALUES = 256
"""The latest are kept: tokens that are renewed every half hour make five days of them."""

PLACEHOLDERS = frozenset(
    {"password", "lm-studio", "not-needed", "not-required", "no-key-required", "sk-no-key-required"}
)
"""What people set where a local server wants any key: words that answers may well hold."""

SECRET_NAMES = ("auth", "key", "token", "secret", "cookie")
"""A header, or a field of a URL's query, with one of these in its name holds a secret."""

WORD_CHARACTERS = 16
"""Letters alone, and fewer than this: `anything`, `whatever`. Where a server wants any key at all
people take such a word, and hiding it would spoil every answer that holds it. No vendor's key is
one."""

_FIRST = 3  # characters of a secret that a quick look goes by: "sk-", "ghu", "eyJ"


@dataclass(frozen=True, slots=True)
class _Index:
    """What to look for, made once for every change of the known values."""

    forms: tuple[str, ...] = ()  # sorted, for the search by prefix
    by_head: dict[str, tuple[str, ...]] = field(default_factory=dict)  # longest first
    heads: re.Pattern[str] | None = None  # the first SHORTEST characters of any
    # The first _FIRST of any, or fewer of them at the end: where these are not, is no secret.
    hints: re.Pattern[str] | None = None
    starts: frozenset[str] = frozenset()  # the first character of any
    longest: int = 0

    def find(self, text: str, start: int) -> tuple[int, int] | None:
        """The first whole secret at or after `start`, the longest one there."""
        if self.heads is None:
            return None
        while (found := self.heads.search(text, start)) is not None:
            for form in self.by_head[found[0]]:
                if text.startswith(form, found.start()):
                    return found.start(), found.start() + len(form)
            start = found.start() + 1
        return None

    def find_beginning(self, text: str, start: int) -> int:
        """Where, at or after `start`, the rest of the text may be a secret's beginning."""
        for place in range(max(start, len(text) - self.longest + 1), len(text)):
            if text[place] not in self.starts:
                continue
            rest = text[place:]
            near = bisect_left(self.forms, rest)
            # Among the sorted, those that begin with `rest` follow it; itself is no beginning.
            while near < len(self.forms) and self.forms[near].startswith(rest):
                if len(self.forms[near]) > len(rest):
                    return place
                near += 1
        return len(text)


class KnownSecrets:
    """The values that nobody may see; any thread may add to them and hide them."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._lock = Lock()
        self._forms: dict[str, tuple[str, ...]] = {}  # by value, the latest last
        self._index = _Index()
        for value in values:
            self.add(value)

    def add(self, value: str | None) -> None:
        """Hide this value from now on, as it is, in a URL, in JSON; no short one, and no word."""
        value = (value or "").strip()
        if len(value) >= SHORTEST and not is_word(value):
            self._keep(
                value, (value, quote(value, safe="", errors="replace"), json.dumps(value)[1:-1])
            )

    def add_named(self, name: str, value: str) -> None:
        """Hide the value of a header or of a field of a query, if its name says that it is one."""
        if any(each in name.lower() for each in SECRET_NAMES):
            self.add(value)
            self.add(value.partition(" ")[2])  # what follows `Bearer`, `Basic`, `Token`

    def add_url(self, url: str | None) -> None:
        """Hide what is secret in a URL: fields of its query, and the password.

        That one also as it is sent: `Basic` and the pair in base64.
        """
        try:
            parts = urlsplit(url or "")
            fields = parse_qsl(parts.query)
            user, password = unquote(parts.username or ""), unquote(parts.password or "")
        except ValueError:
            return
        for name, value in fields:
            self.add_named(name, value)
        if password:
            pair = base64.b64encode(f"{user}:{password}".encode()).decode()
            self.add(password)
            self.add(parts.password)
            self.add(pair)

    def hide(self, text: str) -> str:
        """The text with every known secret replaced by `***`."""
        index = self._index
        if index.hints is None or index.hints.search(text) is None:
            return text
        pieces: list[str] = []
        place = 0
        while (found := index.find(text, place)) is not None:
            pieces += (text[place : found[0]], MASK)
            place = found[1]
        pieces.append(text[place:])
        return "".join(pieces)

    @property
    def index(self) -> _Index:
        """What to look for just now."""
        return self._index

    def _keep(self, value: str, forms: tuple[str, ...]) -> None:
        with self._lock:
            if self._forms.pop(value, None) is not None:
                self._forms[value] = forms  # known, and now the latest
                return
            self._forms[value] = forms
            while len(self._forms) > MOST_VALUES:
                del self._forms[next(iter(self._forms))]
            self._index = _make_index({form for each in self._forms.values() for form in each})


def is_word(value: str) -> bool:
    """Whether people would write this without a thought of a key."""
    one_case = value.islower() or value.isupper() or value.istitle()
    is_plain = value.isalpha() and one_case and len(value) < WORD_CHARACTERS
    return is_plain or value.lower() in PLACEHOLDERS


class StreamRedactor:
    """The same for a text that comes in pieces.

    However it is cut, what comes out is what `hide` makes of the whole.

    Attributes:
        held: what may be a secret's beginning.
    """

    def __init__(self, secrets: KnownSecrets) -> None:
        self._secrets = secrets
        self.held = ""

    def feed(self, text: str) -> str:
        """What may be shown now; a possible beginning of a secret at the end is held back."""
        index = self._secrets.index
        if not self.held and (index.hints is None or index.hints.search(text) is None):
            return text  # nearly always: no secret stands in it and none can begin at its end
        return self._take(self.held + text, index)

    def flush(self) -> str:
        """What was held back, at the end of the text."""
        held, self.held = self.held, ""
        return self._secrets.hide(held) if held else ""

    def _take(self, text: str, index: _Index) -> str:
        shown: list[str] = []
        place = 0
        while True:
            # The first of both counts: a secret inside a longer, unfinished one must wait.
            hold = index.find_beginning(text, place)
            found = index.find(text, place)
            if found is None or found[0] >= hold:
                self.held = text[hold:]
                shown.append(text[place:hold])
                return "".join(shown)
            shown += (text[place : found[0]], MASK)
            place = found[1]


def _make_index(forms: set[str]) -> _Index:
    if not forms:
        return _Index()
    by_head: dict[str, tuple[str, ...]] = {}
    for form in sorted(forms, key=len, reverse=True):
        head = form[:SHORTEST]
        by_head[head] = (*by_head.get(head, ()), form)
    return _Index(
        forms=tuple(sorted(forms)),
        by_head=by_head,
        heads=re.compile("|".join(sorted(map(re.escape, by_head)))),
        hints=re.compile("|".join(sorted(_make_hints(forms)))),
        starts=frozenset(form[0] for form in forms),
        longest=max(map(len, forms)),
    )


def _make_hints(forms: set[str]) -> set[str]:
    hints = {re.escape(form[:_FIRST]) for form in forms}
    ends = {form[:length] for form in forms for length in range(1, _FIRST)}
    return hints | {re.escape(end) + r"\Z" for end in ends}
