"""Finds what a regular expression matches, in a process of its own.

A program, run by path (`python -I -S matching_program.py`), standard library
only. Python's expressions can take longer than the universe has, and hold every
thread up meanwhile; a process can be ended. On its standard input: a line
`{"pattern", "most", "text_s"}` and a JSON text a line; at the end it prints
`{"found": [...]}`, each text that was matched once, or `{"too_many": true}`. When
one text takes longer than `text_s` seconds, SIGVTALRM ends it.
"""

import json
import re
import signal
import sys
from collections.abc import Iterable


def find(pattern: str, texts: Iterable[str], *, most: int, text_s: float) -> list[str] | None:
    """What is matched, each text once, in order; None: it is more than `most`."""
    expression = re.compile(pattern)
    found: dict[str, None] = {}
    try:
        for text in texts:
            # Of time that the processor spent: a busy machine is not the expression's fault.
            signal.setitimer(signal.ITIMER_VIRTUAL, text_s)
            found.update({match[0]: None for match in expression.finditer(text) if match[0]})
            if len(found) > most:
                return None
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return list(found)


def main() -> int:
    """Read, find, tell."""
    asked = json.loads(sys.stdin.readline())
    texts = (json.loads(line) for line in sys.stdin)
    found = find(asked["pattern"], texts, most=asked["most"], text_s=asked["text_s"])
    print(json.dumps({"too_many": True} if found is None else {"found": found}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
