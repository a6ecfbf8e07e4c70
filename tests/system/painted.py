"""Every byte that was written to a terminal, looked at: what an editor writes there is known.

Anything else that a terminal would obey is somebody else's: a model's, a tool's, a server's.
"""

import re

OURS = re.compile(r"\x1b\[\??[\d;]*[A-DHJKhlm]")
"""What the editor and our colours use: the cursor's steps, erasing, modes, attributes."""
MODES = {f"\x1b[?{number}" for number in ("1l", "7h", "7l", "12l", "25h", "25l", "2004h", "2004l")}
"""Keys of the cursor, wrapping, blinking, hiding, and brackets around what is pasted."""
THEIRS = {"\x1b[2J", "\x1b[H", "\x1b[31;41m"}
"""What an editor might use, and ours does not in a window that keeps its size."""


def check_written(written: str, *, allowed: str = "") -> None:
    """Nothing in it is obeyed but what is ours; `allowed`: more characters that may be there."""
    sequences = OURS.findall(written)
    assert {each for each in sequences if each[2] == "?"} <= MODES
    assert not THEIRS & set(sequences)
    left = OURS.sub("", written)
    bad = {char for char in left if not (char.isprintable() or char in f"\r\n\b{allowed}")}
    at = min((left.index(char) for char in bad), default=0)
    assert not bad, left[max(at - 60, 0) : at + 60]
