"""The terminal: who it is, and what may be written to it.

What a model says is untrusted. `ControlFilter` takes out every sequence that a
terminal would obey, also one that is cut in two between deltas. It keeps no
text back for longer than a sequence lasts, and it never lets through an escape
character or a C1 control. Light enough for the fast path: it imports no `re`.
"""

from ask.fast.caller import find_terminal

__all__ = ["ControlFilter", "find_terminal", "flatten", "strip_controls", "tell_where"]

_GROUND = 0
_RETURN = 1  # a carriage return, of which the next character says whether it is a line's end
_ESCAPE = 2
_CSI = 3
_STRING = 4  # OSC, DCS, SOS, PM, APC: text for the terminal itself
_STRING_ESCAPE = 5
_INTERMEDIATE = 6  # an escape and a blank to a slash: no sequence of another kind begins here

_ESC = "\x1b"
_CSI_C1 = "\x9b"
_STRINGS_C1 = "\x90\x98\x9d\x9e\x9f"
_STRINGS_ESC = "PX]^_"
_STRING_ENDS = "\x07\x18\x1a\x9c"
"""BEL, CAN, SUB and ST. A line's end ends a string too: an unclosed one must not eat the answer."""
_BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Controls that show text in another order than it is read; they are shown as escapes."""


def strip_controls(text: str) -> str:
    """A whole text without what a terminal would obey."""
    return ControlFilter().feed(text)


def flatten(text: str) -> str:
    """A text of others on one line, with nothing that a terminal would obey."""
    return " ".join(strip_controls(text).split())


def tell_where(by: str) -> str:
    """Where a question was answered, in brackets; nothing if it was at no terminal."""
    kind, _, rest = by.partition(":")
    match kind:
        case "name":
            return f" (in {rest})"
        case "tty":
            return f" (in {rest.split(':')[0]})"
        case "at":
            machine, _, there = rest.partition(":")
            return f" (on {machine}{tell_where(there).replace(' (', ', ').rstrip(')')})"
        case "tmux":
            return f" (in the tmux pane {rest.rpartition(':')[2]})"
        case _:
            return ""


class ControlFilter:
    """Takes control sequences out of a text that comes in pieces.

    Kept: every printable character, tabs, line ends (`\\r\\n` too). Taken out: all
    other C0 and C1 controls, DEL, lone `\\r`, and whole CSI, OSC, DCS, SOS, PM and
    APC sequences. The pieces' borders do not matter.
    """

    __slots__ = ("_state",)

    def __init__(self) -> None:
        self._state = _GROUND

    def feed(self, text: str) -> str:
        """What of the next piece may be shown."""
        if self._state == _GROUND and text.replace("\n", "").replace("\t", "").isprintable():
            return text
        shown: list[str] = []
        for char in text:
            self._step(char, shown)
        return "".join(shown)

    def _step(self, char: str, shown: list[str]) -> None:
        state = self._state
        if state == _STRING:
            if char == _ESC:
                self._state = _STRING_ESCAPE
            elif char in _STRING_ENDS:
                self._state = _GROUND
            elif char == "\n":
                self._begin(char, shown)
        elif state in (_ESCAPE, _STRING_ESCAPE):
            self._escape(char, shown)
        elif state == _CSI and " " <= char <= "?":
            return
        elif state == _CSI and "@" <= char <= "~":
            self._state = _GROUND
        elif state == _INTERMEDIATE and " " <= char <= "/":
            return
        elif state == _INTERMEDIATE and "0" <= char <= "~":
            self._state = _GROUND
        else:
            if state == _RETURN and char == "\n":
                shown.append("\r")
            self._begin(char, shown)

    def _escape(self, char: str, shown: list[str]) -> None:
        """The character after an ESC; `ESC \\` (ST) is among those that just end it."""
        if char == "[":
            self._state = _CSI
        elif char in _STRINGS_ESC:
            self._state = _STRING
        elif " " <= char <= "/":
            self._state = _INTERMEDIATE
        elif "0" <= char <= "~":
            self._state = _GROUND
        else:
            self._begin(char, shown)

    def _begin(self, char: str, shown: list[str]) -> None:
        """A character outside of every sequence."""
        self._state = _GROUND
        if char == _ESC:
            self._state = _ESCAPE
        elif char == _CSI_C1:
            self._state = _CSI
        elif char in _STRINGS_C1:
            self._state = _STRING
        elif char == "\r":
            self._state = _RETURN
        elif char in _BIDI:
            shown.append(f"\\u{ord(char):04x}")
        elif char in "\n\t" or (char >= " " and not "\x7f" <= char <= "\x9f"):
            shown.append(char)
