"""What a regular expression matches in all that is stored: the texts themselves.

An expression only finds: what it found is then replaced as plain texts, wherever
they stand. It runs in a process that is ended when it takes too long, so that no
expression can hold up the daemon. Neither it nor what it finds is shown.
"""

import json
import re
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import trio

from askd.core.scrubbing import SHORTEST
from askd.errors import RequestError
from askd.processes.supervise import Child, Command, open_child

PROGRAM = Path(__file__).with_name("matching_program.py")
TEXT_S = 5.0
"""For one expression in one text: the largest, of 32 MiB, takes a tenth of that."""
CPU_S = 1800
"""For one over everything that is stored."""
MEMORY_BYTES = 1024 * 1024 * 1024
PATTERN_CHARACTERS = 1000
"""A longer one is no person's; compiling it takes time too."""
MOST_TEXTS = 1000
"""Different texts that an expression may match: one that matches more matches too much."""
READ_BYTES = 65536


def check_expression(pattern: str) -> None:
    """Raise `RequestError` for what is no expression, or matches nothing at all."""
    if len(pattern) > PATTERN_CHARACTERS:
        raise RequestError(f"The expression has more than {PATTERN_CHARACTERS} characters.")
    try:
        expression = re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        raise RequestError("The pattern is no regular expression.") from None
    if expression.search("") is not None:
        raise RequestError("The expression matches the empty text, which is everywhere.")


async def find_matched(
    pattern: str, pages: AsyncIterator[Sequence[str]], *, allow_short: bool
) -> list[str]:
    """The texts that are matched, each once.

    Raises:
        RequestError: too many are, or too short ones, or it takes too long.
    """
    found = await _run(pattern, pages)
    if not allow_short and any(len(each) < SHORTEST for each in found):
        raise RequestError(
            f"The expression matches texts with fewer than {SHORTEST} characters, and these stand "
            "in innocent words. Be more exact, or say --yes."
        )
    return found


async def _run(pattern: str, pages: AsyncIterator[Sequence[str]]) -> list[str]:
    command = Command(
        argv=[sys.executable, "-I", "-S", "-X", "utf8", str(PROGRAM)],
        env={},
        rlimits={"CPU": CPU_S, "AS": MEMORY_BYTES},
    )
    said = bytearray()
    async with open_child(command) as child:
        # In it: the one who sends and the one who listens; both end with the process.
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_send, child, pattern, pages)
            while data := await child.stdout.receive_some(READ_BYTES):
                said += data
            nursery.cancel_scope.cancel()
        status = await child.wait()
    if status != 0:
        raise RequestError(
            f"The expression takes longer than {TEXT_S:g} s for one text, or more memory than it "
            "may have. Be more exact: no repetition within a repetition."
        )
    answer = json.loads(said)
    if "too_many" in answer:
        raise RequestError(
            f"The expression matches more than {MOST_TEXTS} different texts. Be more exact."
        )
    found: list[str] = answer["found"]
    return found


async def _send(child: Child, pattern: str, pages: AsyncIterator[Sequence[str]]) -> None:
    try:
        await child.stdin.send_all(
            _line({"pattern": pattern, "most": MOST_TEXTS, "text_s": TEXT_S})
        )
        async for page in pages:
            await child.stdin.send_all(b"".join(map(_line, page)))
        await child.stdin.aclose()
    except trio.BrokenResourceError:
        return  # it has ended: its status says why


def _line(value: object) -> bytes:
    return json.dumps(value).encode() + b"\n"
