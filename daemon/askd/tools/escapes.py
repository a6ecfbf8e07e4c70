"""What a program writes for a terminal, taken out of its text before a model reads it.

Escape sequences (colours, titles, the clipboard's OSC 52), control characters but tabs and
line ends, and what a line has written over itself: of a progress line its last state stays.
It judges no words, and it is not what keeps a terminal safe: whoever shows a text there
filters it again.
"""

import re

_SEQUENCE = re.compile(
    # Strings for the terminal itself: OSC, DCS, SOS, PM, APC, up to their end or the line's; an
    # unclosed one must not eat the rest.
    r"(?:\x1b[PX\]^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x18\x1a\x1b\x9c\n]*"
    r"(?:[\x07\x18\x1a\x9c]|\x1b\\)?"
    # CSI: parameters, intermediates, a final letter.
    r"|(?:\x1b\[|\x9b)[ -?]*[@-~]?"
    # Every other sequence: intermediates and a final letter; also a lone escape.
    r"|\x1b[ -/]*[0-~]?"
)
_STRUCK_OVER = re.compile(r"[^\n]\x08")
"""How a typewriter makes bold letters, and manual pages do: a letter, one step back, a letter."""
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def strip_escapes(text: str) -> str:
    """The text as a person would have read it in the end; every line end is a `\\n`."""
    text = _SEQUENCE.sub("", text).replace("\r\n", "\n")
    if "\r" in text:
        text = "\n".join(map(_fold_line, text.split("\n")))
    if "\b" in text:
        text = _STRUCK_OVER.sub("", text)
    return _CONTROLS.sub("", text)


def _fold_line(line: str) -> str:
    """What is left of a line that was begun anew, once or many times."""
    return next((each for each in reversed(line.split("\r")) if each), "")
