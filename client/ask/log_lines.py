"""The daemon's log as it stands in a file: its last lines, each new one, and records made of them.

A record is one line, `TIME LEVEL NAME: MESSAGE`; further lines of it begin with four blanks
(`askd.logs` writes it so). What is older stands in files beside it, `.1` the youngest. Nothing
here knows a terminal: whoever shows a line cleans it.
"""

import os
import re
import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any

FOLLOW_PAUSE_S = 0.2
"""How often a followed log is looked at: as fast as a person reads."""
INDENT = "    "
_RECORD = re.compile(r"(\d{4}-\d\d-\d\dT\S+) (DEBUG|INFO|WARNING|ERROR|CRITICAL) ([\w.]+): (.*)")


def read_tail(path: Path, lines: int) -> list[str]:
    """The last `lines` lines; of the log before it too, if this one has fewer."""
    kept: deque[bytes] = deque(maxlen=lines)
    for each in (path.with_name(f"{path.name}.1"), path):
        try:
            with each.open("rb") as stream:
                kept.extend(stream)
        except FileNotFoundError:
            continue
    return [line.decode(errors="replace").rstrip("\n") for line in kept]


def follow_log(path: Path, lines: int) -> Generator[str | None, None, None]:
    """The last lines of a file and then each new one, also when the file is replaced.

    None: nothing has come for a moment.
    """
    last: int | None = lines
    while True:
        try:
            with path.open("rb") as stream:
                yield from _follow_stream(path, stream, last)
        except FileNotFoundError:  # not there yet, or just being put aside
            yield None
            time.sleep(FOLLOW_PAUSE_S)
        last = None  # of a file that comes later, all


def _follow_stream(
    path: Path, stream: BufferedReader, last: int | None
) -> Generator[str | None, None, None]:
    """Each line of one open file, the first time only the last ones; until it is replaced."""
    rest = b""
    if last is not None:
        *whole, rest = stream.read().split(b"\n")
        yield from (line.decode(errors="replace") for line in whole[max(0, len(whole) - last) :])
    while True:
        # Asked before it is read: what was written until it was put aside is not lost.
        replaced = _is_replaced(path, stream)
        *whole, rest = (rest + stream.read()).split(b"\n")
        yield from (line.decode(errors="replace") for line in whole)
        if replaced:
            if rest:
                yield rest.decode(errors="replace")  # last words of one that was killed
            return
        yield None
        time.sleep(FOLLOW_PAUSE_S)


def _is_replaced(path: Path, stream: BufferedReader) -> bool:
    """Whether the path now names another file, or this one was cut."""
    try:
        now = path.stat()
    except FileNotFoundError:
        return True
    opened = os.fstat(stream.fileno())
    return now.st_ino != opened.st_ino or now.st_size < stream.tell()


def read_records(lines: Iterable[str | None]) -> Iterator[dict[str, Any]]:
    """Join lines to records `{at, level, name, message}`; `at` is ISO 8601 with its zone.

    What is no record, such as the last words of a process that dies, has a message alone: the
    others are None. A record is whole when another begins, or with the next None.
    """
    pending: dict[str, Any] | None = None
    for line in lines:
        if pending is not None and line is not None and line.startswith(INDENT):
            pending["message"] += "\n" + line.removeprefix(INDENT)
            continue
        if pending is not None:
            yield pending
        pending = None if line is None else _read_record(line)
    if pending is not None:
        yield pending


def _read_record(line: str) -> dict[str, Any]:
    found = _RECORD.fullmatch(line)
    if found is None:
        return {"at": None, "level": None, "name": None, "message": line}
    at, level, name, message = found.groups()
    return {"at": at, "level": level.lower(), "name": name, "message": message}
