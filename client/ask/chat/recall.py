"""What a person typed in chats before: kept in a file of their own, found with the arrow keys.

One JSON string a line, mode 0600. A file that grew too large is begun anew with the latest
half of it. What cannot be read or written is left alone in silence: a history that is not
there is no reason not to talk.
"""

import errno
import json
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from prompt_toolkit.history import History

FILE_LIMIT_BYTES = 1 << 20
"""Some ten thousand prompts; reading them all takes a few milliseconds."""
LINE_LIMIT_CHARACTERS = 32 * 1024
"""A longer text was pasted, and is not what somebody looks for with an arrow key."""
MODE = 0o600


class Recall(History):
    """The history of one file; None: of this chat alone."""

    def __init__(self, path: Path | None) -> None:
        super().__init__()
        self._path = path

    def load_history_strings(self) -> Iterable[str]:
        """What was typed, the latest first."""
        if self._path is None:
            return []
        try:
            content, is_whole = read_end(self._path)
        except OSError:
            return []
        lines = content.split(b"\n")
        if not is_whole:
            lines = lines[len(lines) // 2 :]
            self._begin_anew(lines)
        return [text for line in reversed(lines) if (text := read_entry(line)) is not None]

    def store_string(self, string: str) -> None:
        """Keep what was typed."""
        if self._path is None or len(string) > LINE_LIMIT_CHARACTERS:
            return
        line = json.dumps(string).encode() + b"\n"  # a lone surrogate is written as such, too
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
            with open(open_file(self._path, flags), "ab", buffering=0) as stream:
                stream.write(line)  # at once: two chats may do so
        except OSError:
            self._path = None

    def _begin_anew(self, lines: list[bytes]) -> None:
        assert self._path is not None
        beside = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        try:
            with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, MODE), "wb") as stream:
                stream.write(b"\n".join(lines))
            beside.replace(self._path)
        except OSError:
            beside.unlink(missing_ok=True)


def open_file(path: Path, flags: int) -> int:
    """A descriptor of a file; raise `OSError` for what is none, and never wait for a pipe's end."""
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, MODE)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "This is no file")
    return descriptor


def read_end(path: Path) -> tuple[bytes, bool]:
    """The last of a file, and whether that is all of it."""
    with open(open_file(path, os.O_RDONLY), "rb") as stream:
        before = max(stream.seek(0, os.SEEK_END) - FILE_LIMIT_BYTES, 0)
        stream.seek(before)
        return stream.read(FILE_LIMIT_BYTES), before == 0


def read_entry(line: bytes) -> str | None:
    """What a line of the file holds; None: nothing that was typed."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, str) and found else None
