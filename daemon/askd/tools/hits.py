"""Hits of a search: read from what its program prints, and checked before they are believed.

The program walks by paths, and a directory may become a link while it does. So a hit counts
only when the very bytes stand at the very place of a file that really lies in the workspace.
Nothing here searches.
"""

import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass

from askd.tools.beneath import open_beneath
from askd.tools.workspace import Workspace

LINE_BYTES = 2048
"""Of one line: a model sees less of it, and some files have one line alone."""
HEAD_BYTES = 4096 + 64
"""Of what stands before it: a path and two numbers."""

_HIT = re.compile(rb"([^\0\n]+)\0(\d{1,12}):(\d{1,15}):(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A line that matched. `text`: its beginning, as bytes; `path`: below the workspace."""

    path: str
    number: int
    offset: int
    text: bytes


class HitReader:
    """Takes `PATH NUL NUMBER:OFFSET:LINE` apart, however the pieces come; other lines are none.

    Of a line without end no more is kept than can be used.
    """

    def __init__(self) -> None:
        self._line = bytearray()

    def feed(self, data: bytes | bytearray) -> list[Hit]:
        """The hits that are complete with the next piece."""
        hits: list[Hit] = []
        *ended, rest = bytes(data).split(b"\n")
        for piece in ended:
            self._keep(piece)
            hit = _parse(bytes(self._line))
            if hit is not None:
                hits.append(hit)
            self._line.clear()
        self._keep(rest)
        return hits

    def _keep(self, piece: bytes) -> None:
        room = HEAD_BYTES + LINE_BYTES - len(self._line)
        self._line += piece[: max(room, 0)]


def _parse(line: bytes) -> Hit | None:
    found = _HIT.fullmatch(line)
    if found is None:
        return None
    path, number, offset, text = found.groups()
    return Hit(
        path=os.fsdecode(path).removeprefix("./"),
        number=int(number),
        offset=int(offset),
        text=text[:LINE_BYTES],
    )


def check_hits(workspace: Workspace, hits: Sequence[Hit]) -> list[Hit]:
    """Those of the hits that are what they say, in files that are the caller's."""
    return [each for each in hits if not workspace.is_own(each.path) and _is_there(workspace, each)]


def _is_there(workspace: Workspace, hit: Hit) -> bool:
    try:
        descriptor = open_beneath(
            workspace.fd, hit.path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY, links=False
        )
    except OSError:
        return False
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return False
        return os.pread(descriptor, len(hit.text), hit.offset) == hit.text
    except OSError:
        return False
    finally:
        os.close(descriptor)
