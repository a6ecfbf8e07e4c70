"""Unified diffs for people who decide and for models, never longer than can be read.

Pure. What was left out is said, for nobody should allow what they believe to have seen.
A diff of this is to be read, not to be applied.
"""

import difflib
from collections.abc import Callable, Iterator, Sequence

DIFF_LINES = 2_000
DIFF_CHARACTERS = 100_000
"""A question with a diff of this many, each of four bytes, still fits one message."""

LINE_CHARACTERS = 2_000

COMPARED_PAIRS = 1_000_000
"""Beyond this many pairs of lines comparing would take seconds: all of them are replaced."""

LINES_COMPARED = 20_000
"""Of what lies between the first change and the last."""

CONTEXT = 3
"""Unchanged lines around a change, as everywhere."""

NO_NEWLINE = "\\ No newline at end of file"

Change = tuple[str, int, int, int, int]


def draw_diff(before: str | None, after: str, path: str) -> str:
    """A unified diff of two texts; "" if they are the same.

    Args:
        before: None: there was no such file.
        path: as it is shown; on one line.
    """
    if before is not None and before == after:
        return ""
    head = [f"--- {'/dev/null' if before is None else 'a/' + path}", f"+++ b/{path}"]
    lines, left_out = draw_changes(before or "", after)
    shown: list[str] = []
    characters, is_full = 0, False
    for line in lines:
        characters += len(line) + 1
        is_full = is_full or len(shown) == DIFF_LINES or characters > DIFF_CHARACTERS
        if is_full:
            left_out += 1
        else:
            shown.append(line)
    return "\n".join([*head, *shown, *say_left_out(left_out)]) + "\n"


def draw_changes(before: str, after: str) -> tuple[Iterator[str], int]:
    """The lines of a unified diff below its head, and how many more there are, uncompared."""
    start, old_end, new_end = _find_middle(before, after)
    old, old_rest = _take_lines(before[start:old_end])
    new, new_rest = _take_lines(after[start:new_end])
    return _draw_groups(old, new, after.count("\n", 0, start)), old_rest + new_rest


def say_left_out(lines: int) -> list[str]:
    """The last line of a diff that is not all of it."""
    return [f"[{lines:,} more lines of this diff are not shown]"] if lines else []


def _find_middle(old: str, new: str) -> tuple[int, int, int]:
    """Where two texts begin to differ, and where each ends to: whole lines, with some around.

    A large text with a small change is so compared without being taken apart.
    """
    start = _count_shared(old, new, lambda text, length: text[:length])
    for _ in range(CONTEXT + 1):
        start = old.rfind("\n", 0, start)
        if start < 0:
            break
    start += 1
    rest_old, rest_new = old[start:], new[start:]
    shared = _count_shared(rest_old, rest_new, lambda text, length: text[len(text) - length :])
    end = len(rest_old) - shared
    for _ in range(CONTEXT + 1):
        end = rest_old.find("\n", end) + 1
        if not end:
            return start, len(old), len(new)
    return start, start + end, len(new) - (len(rest_old) - end)


def _count_shared(old: str, new: str, cut: Callable[[str, int], str]) -> int:
    """How many characters of one end two texts share; found by halves, for it is quick."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if cut(old, middle) == cut(new, middle):
            low = middle
        else:
            high = middle - 1
    return low


def _take_lines(text: str) -> tuple[list[str], int]:
    """The first lines of a text, more than are ever shown, and how many follow them."""
    lines = text.split("\n", LINES_COMPARED)
    if len(lines) <= LINES_COMPARED:
        return split_lines(text), 0
    return [f"{each}\n" for each in lines[:-1]], count_lines(lines[-1])


def split_lines(text: str) -> list[str]:
    """The lines of a text, each with its newline; nothing but a newline ends one."""
    lines = text.split("\n")
    last = lines.pop()
    return [f"{each}\n" for each in lines] + ([last] if last else [])


def count_lines(text: str) -> int:
    """How many lines a text has; what follows the last newline is one if it is not empty."""
    return text.count("\n") + (not text.endswith("\n") and text != "")


def _draw_groups(old: Sequence[str], new: Sequence[str], above: int) -> Iterator[str]:
    """The lines of a diff of what has so many lines above it in both texts."""
    for group in _group(_find_changes(old, new), len(old), len(new)):
        first, last = group[0], group[-1]
        before = _draw_range(above + first[1], above + last[2])
        yield f"@@ -{before} +{_draw_range(above + first[3], above + last[4])} @@"
        for tag, a, b, c, d in group:
            if tag == "equal":
                yield from _draw_lines(" ", old[a:b])
            else:
                yield from _draw_lines("-", old[a:b])
                yield from _draw_lines("+", new[c:d])


def _find_changes(old: Sequence[str], new: Sequence[str]) -> list[Change]:
    """What is equal and what is not, in order; what both begin and end with costs nothing."""
    shorter = min(len(old), len(new))
    start = 0
    while start < shorter and old[start] == new[start]:
        start += 1
    end = 0
    while end < shorter - start and old[-1 - end] == new[-1 - end]:
        end += 1
    a, b, c, d = start, len(old) - end, start, len(new) - end
    if (b - a) * (d - c) > COMPARED_PAIRS:
        middle: list[Change] = [("replace", a, b, c, d)]
    else:
        found = difflib.SequenceMatcher(None, old[a:b], new[c:d]).get_opcodes()
        middle = [(tag, a + i, a + j, c + k, c + m) for tag, i, j, k, m in found]
    return [
        ("equal", 0, start, 0, start),
        *middle,
        ("equal", b, len(old), d, len(new)),
    ]


def _group(changes: Sequence[Change], old: int, new: int) -> Iterator[list[Change]]:
    """The changes in groups that are apart, with a few unchanged lines around each."""
    group: list[Change] = []
    for tag, a, b, c, d in changes:
        if tag != "equal":
            group.append((tag, a, b, c, d))
            continue
        if group:
            if b - a <= 2 * CONTEXT and (b, d) != (old, new):
                group.append((tag, a, b, c, d))
                continue
            kept = min(CONTEXT, b - a)
            if kept:
                group.append((tag, a, a + kept, c, c + kept))
            yield group
            group = []
        if (b, d) != (old, new):
            kept = min(CONTEXT, b - a)
            group = [(tag, b - kept, b, d - kept, d)] if kept else []
    if any(tag != "equal" for tag, *_ in group):
        yield group


def _draw_range(start: int, end: int) -> str:
    """Where lines are, counted from 1; of none, the line before them, as diff(1) has it."""
    length = end - start
    if length == 1:
        return f"{start + 1}"
    return f"{start + 1 if length else start},{length}"


def _draw_lines(sign: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        text = line.removesuffix("\n")
        if text.endswith("\r"):
            # Else a change of nothing but the ends of lines would look like none.
            text = text[:-1] + "␍"
        if len(text) > LINE_CHARACTERS:
            text = f"{text[:LINE_CHARACTERS]} [{len(text) - LINE_CHARACTERS:,} more characters]"
        yield sign + text
        if not line.endswith("\n"):
            yield NO_NEWLINE
