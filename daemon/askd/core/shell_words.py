"""A shell's line as words: its simple commands, and whether all of it could be read for certain.

Pure. It reads what POSIX shells and bash have in common and runs, expands and looks up
nothing. Where the two differ, or where what runs is only known when it runs, a line is
not certain; its words are read all the same, as far as they go, for rules that forbid.
The grammar is that of POSIX (Shell Command Language, 2.2 to 2.10) with bash's additions.
"""

import re
from dataclasses import dataclass, field

LINE_CHARACTERS = 32_768
"""A longer line is not worth reading: nobody writes one, and it takes time from everybody."""
MAX_DEPTH = 8
"""Of commands inside of commands that are read; nothing so deep is certain anyway."""

_NAMES = "! { } [[ ]] case do done elif else esac fi for function if in select then until while"
RESERVED = frozenset(_NAMES.split())
"""Words that make of the ones behind them something else than a simple command."""

_BLANKS = " \t"
_DEVICES = frozenset({"/dev/null"})
"""Where output may go, and input come from, without a file being touched."""
_VARIABLE = re.compile(r"\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z_][A-Za-z0-9_]*\})")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[[^]]*\])?\+?=")
_OPERATOR = re.compile(r"<<<|<<-|<<|>>|>&|<&|>\||<>|<|>")
_BACKTICKED = re.compile(r"((?:[^`\\]|\\.)*)`?", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{1,2})|([0-7]{1,3})|u([0-9A-Fa-f]{1,4})|(.))", re.DOTALL)


@dataclass(slots=True)
class Word:
    """One word, its quotes taken off.

    Attributes:
        literal: it stands there as it will be; False: something in it is replaced by the shell,
            or a backslash keeps an alias from being used. Variables and commands are left out of
            the text; where nothing else is in it, it may be no word at all, or several.
        quoted: a part of it stood in quotes.
        is_assignment: it begins as `NAME=` does.
    """

    text: str = ""
    literal: bool = True
    quoted: bool = False
    is_assignment: bool = False


@dataclass(slots=True)
class Line:
    """What was read.

    Attributes:
        commands: the words of each simple command, in order; those inside of others too.
        certain: no more than these commands run, each with these words, no file is opened for
            them, and nothing runs beside what comes next.
    """

    commands: list[list[Word]] = field(default_factory=list)
    certain: bool = True


def read_line(text: str, depth: int = 0) -> Line:
    """Read a line, or several. It takes time in proportion to its length."""
    reader = _Reader(text, depth)
    reader.read()
    if reader.is_ragged:
        # Quotes in a text that is no command may have hidden commands that come after it.
        for each in text.split("\n"):
            reader.line.commands.extend(_read_alone(each, depth))
    return reader.line


def _read_alone(text: str, depth: int) -> list[list[Word]]:
    reader = _Reader(text, depth)
    reader.read()
    return reader.line.commands


class _Reader:
    """Reads from a place on, to the end, or to what closes the command in another's words."""

    def __init__(self, text: str, depth: int, at: int = 0, closing: str = "") -> None:
        self._text = text
        self._depth = depth
        self.at = at
        self._closing = closing
        self._opened = 0
        self._word: Word | None = None
        self._words: list[Word] = []
        self._operator: str | None = None
        """Of a redirection whose target comes next."""
        self.is_ragged = False
        self.line = Line()

    def read(self) -> None:
        while self.at < len(self._text):
            if self._is_closed():
                break
            self._step()
        else:
            self._doubt(bool(self._closing))
        self._end_command()

    def _is_closed(self) -> bool:
        char = self._text[self.at]
        if not self._closing or char not in "(){}":
            return False
        if char == self._closing:
            self._opened -= 1
            return self._opened < 0
        self._opened += char == ("(" if self._closing == ")" else "{")
        return False

    def _step(self) -> None:
        char = self._text[self.at]
        if char in _BLANKS:
            self._end_word()
            self.at += 1
        elif char in "\n;":
            self._doubt(self._text.startswith(";;", self.at))
            self._end_command()
            self.at += 1
        elif char in "&|":
            self._join(char)
        elif char in "()":
            self._doubt()
            self._end_command()
            self.at += 1
        elif char in "<>":
            self._redirect()
        elif char == "'":
            self._quote_all()
        elif char == '"':
            self._quote_some()
        elif char == "\\":
            self._escape()
        elif char in "$`":
            self._expand(quoted=False)
        else:
            self._take(char)

    def _take(self, char: str) -> None:
        # A comment hides nothing that runs, but where one begins is not everywhere the same.
        self._doubt(self._word is None and char == "#")
        # What is no blank here may be one for a shell in another locale.
        self._doubt(not char.isprintable() or (char.isspace() and char != " "))
        word = self._begin()
        replaced = char in "*?[]{}" or (char == "~" and (not word.text or word.text[-1] in "=:"))
        if replaced:
            word.literal = False
        word.text += char
        if char == "=" and _ASSIGNMENT.fullmatch(word.text):
            word.is_assignment = True
        self.at += 1

    def _begin(self) -> Word:
        if self._word is None:
            self._word = Word()
        return self._word

    def _doubt(self, is_doubtful: bool = True) -> None:
        if is_doubtful:
            self.line.certain = False

    def _join(self, char: str) -> None:
        following = self._text[self.at + 1 : self.at + 2]
        if following == char:
            self.at += 2
        else:
            # Alone it puts what stands before it into the background; `&>` and `|&` redirect.
            self._doubt(char == "&" or following == "&")
            self.at += 1
        self._end_command()

    def _redirect(self) -> None:
        word = self._word
        if word is not None and word.literal and not word.quoted and _is_number(word.text):
            self._word = None  # of a descriptor
        self._end_word()
        found = _OPERATOR.match(self._text, self.at)
        operator = found.group() if found else self._text[self.at]
        self.at += len(operator)
        self._doubt(self._operator is not None or operator not in ("<", ">", ">>", "<&", ">&"))
        self.is_ragged |= operator in ("<<", "<<-")
        self._operator = operator

    def _end_word(self) -> None:
        word, self._word = self._word, None
        if word is None:
            return
        # Some builtins read their arguments once more: `printf -v 'a[$(id)]' x`.
        self._doubt("$(" in word.text or "${" in word.text or "`" in word.text)
        if self._operator is None:
            self._words.append(word)
            return
        operator, self._operator = self._operator, None
        if operator in ("<&", ">&"):
            harmless = _is_number(word.text) or word.text == "-"
        else:
            harmless = word.text in _DEVICES
        self._doubt(not (harmless and word.literal))

    def _end_command(self) -> None:
        self._end_word()
        self._doubt(self._operator is not None)
        self._operator = None
        words, self._words = self._words, []
        while words and (words[0].is_assignment or _is_reserved(words[0])):
            self._doubt()
            words = words[1:]
        if words:
            self._doubt(not words[0].literal or not words[0].text)
            self.line.commands.append(words)

    def _quote_all(self) -> None:
        end = self._text.find("'", self.at + 1)
        if end < 0:
            self._doubt()
            self.is_ragged, end = True, len(self._text)
        word = self._begin()
        word.quoted = True
        word.text += self._text[self.at + 1 : end]
        self.at = end + 1

    def _quote_some(self) -> None:
        word = self._begin()
        word.quoted = True
        self.at += 1
        while self.at < len(self._text) and self._text[self.at] != '"':
            char = self._text[self.at]
            if char == "\\" and self._text[self.at + 1 : self.at + 2] in tuple('$`"\\\n'):
                escaped = self._text[self.at + 1]
                word.text += "" if escaped == "\n" else escaped
                self.at += 2
            elif char in "$`":
                self._expand(quoted=True)
            else:
                word.text += char
                self.at += 1
        if self.at >= len(self._text):
            self._doubt()
            self.is_ragged = True
        self.at += 1

    def _escape(self) -> None:
        following = self._text[self.at + 1 : self.at + 2]
        self.at += 2
        self._doubt(following != "\n" and not (following and following.isprintable()))
        if following and following != "\n":
            word = self._begin()
            word.text += following
            word.literal = False

    def _expand(self, *, quoted: bool) -> None:
        """What begins with `$`, or is a command in backticks."""
        word = self._begin()
        word.literal = False
        plain = _VARIABLE.match(self._text, self.at)
        if plain:
            self.at = plain.end()
            return
        self._doubt()
        opening = self._text[self.at : self.at + 2]
        if opening in ("$(", "${"):
            self.at += 2
            self._enter(")" if opening == "$(" else "}")
        elif opening[0] == "`":
            inner = _BACKTICKED.match(self._text, self.at + 1)
            assert inner is not None  # it matches nothing at all, too
            self.at = inner.end()
            if self._depth < MAX_DEPTH:
                said = re.sub(r"\\([$`\\])", r"\1", inner.group(1))
                self.line.commands.extend(read_line(said, self._depth + 1).commands)
        elif opening == "$'" and not quoted:
            self._quote_escaped()
        else:
            self.at += 1

    def _enter(self, closing: str) -> None:
        """Commands in the midst of a word; those too deep are read as if they stood beside it."""
        if self._depth >= MAX_DEPTH:
            return
        inner = _Reader(self._text, self._depth + 1, self.at, closing)
        inner.read()
        self.at = inner.at + 1
        self.is_ragged |= inner.is_ragged
        self.line.commands.extend(inner.line.commands)

    def _quote_escaped(self) -> None:
        """`$'...'`, in which `\\x72` is a letter."""
        self.at += 2
        start = self.at
        while self.at < len(self._text) and self._text[self.at] != "'":
            self.at += 2 if self._text[self.at] == "\\" else 1
        self._begin().text += _ESCAPE.sub(_unescape, self._text[start : self.at])
        self.at += 1


def _is_reserved(word: Word) -> bool:
    return not word.quoted and word.text in RESERVED  # in quotes it is a program's name


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def _unescape(found: re.Match[str]) -> str:
    hexadecimal, octal, unicode, other = found.groups()
    if other is not None:
        return str(other)
    digits = hexadecimal or unicode
    return chr(int(digits, 16) if digits else int(octal, 8))
