"""A command line as a shell has it: its words, what is open at its end, and text as a word.

Pure. It reads quotes and backslashes and expands nothing: `$x` stays `$x`. Bash and
fish hand over the line as it was typed; zsh knows its words better and says them.
"""

TYPE_CHECKING = False  # what mypy believes of the name; importing `typing` would cost 2 ms
if TYPE_CHECKING:
    from collections.abc import Sequence

PLAIN = frozenset("@%+=:,./-_")
"""What stands in a bash word as it is, beside letters and digits."""
BLANKS = " \t\n"
REDIRECTIONS = "<>"
SEPARATORS = "|&;()"
"""Characters that end a word of bash and are no part of any, where nothing quotes them."""


class Line:
    """A line up to where Tab was pressed.

    Attributes:
        words: those that are whole, as the command would get them, its own name the first.
        current: the one that Tab was pressed in, as far as it goes; empty between words.
        raw: the same as it was typed.
        quote: the quote that is open at the end, or nothing.
        redirected: the current word is where an output goes, or an input comes from.
    """

    __slots__ = ("current", "quote", "raw", "redirected", "words")

    def __init__(
        self, words: "Sequence[str]", current: str, raw: str, quote: str, *, redirected: bool
    ) -> None:
        self.words = list(words)
        self.current = current
        self.raw = raw
        self.quote = quote
        self.redirected = redirected


def split_line(text: str, *, fish: bool = False) -> Line:
    """Take a line apart. In fish a backslash in single quotes stands before `'` and `\\`."""
    words: list[str] = []
    word: list[str] = []
    begun = len(text)  # where the current word begins
    inside = False  # whether there is one, be it as empty as ''
    quote = ""
    redirected = False
    at = 0
    while at < len(text):
        letter = text[at]
        following = text[at + 1 : at + 2]
        if not inside:
            begun = at
        if quote:
            escapes = {'"': '"\\$`', "'": "'\\" if fish else "", "$'": "'\\"}[quote]
            if letter == quote[-1]:
                quote = ""
            elif letter == "\\" and following and following in escapes:
                word.append(following)
                at += 1
            else:
                word.append(letter)
        elif letter in BLANKS:
            if inside:
                if not redirected:
                    words.append("".join(word))
                word, inside, redirected = [], False, False
        elif letter == "\\":
            inside = True
            word.append(following)
            at += 1
        elif letter in "'\"":
            inside, quote = True, letter
        elif letter == "$" and following == "'" and not fish:
            inside, quote = True, "$'"
            at += 1
        elif letter in REDIRECTIONS and not fish:
            number = "".join(word)
            if inside and not redirected and not number.isdigit():
                words.append(number)
            word, inside, redirected = [], False, True
        elif letter in SEPARATORS and not fish:
            if inside and not redirected:
                words.append("".join(word))
            word, inside = [], False
        else:
            inside = True
            word.append(letter)
        at += 1
    if not inside:
        begun = len(text)
    return Line(words, "".join(word), text[begun:], quote, redirected=redirected)


def quote_word(text: str, quote: str) -> str:
    """Text as bash would have to read it behind a quote that is open, or behind none."""
    if quote == "'":
        return text.replace("'", "'\\''")
    if quote == "$'":
        return text.replace("\\", "\\\\").replace("'", "\\'")
    if quote == '"':
        for each in '\\"$`':
            text = text.replace(each, f"\\{each}")
        return text.replace("!", "\"'!'\"")  # a backslash before it would stay
    return "".join(
        letter if letter.isalnum() or letter in PLAIN or not letter.isascii() else f"\\{letter}"
        for letter in text
    )
