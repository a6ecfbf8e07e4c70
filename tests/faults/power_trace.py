"""What a program asked of the disk, in order, as `strace` saw it.

A write counts from its end on. What a caller was told counts from the beginning of the telling,
and a sync covers what was over when it began: each the hardest way to read a trace of threads.
"""

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.faults.programmes import CannotRun
from tests.house.floors import ROOT

CALLS = "openat,write,pwrite64,ftruncate,fsync,fdatasync,rename,unlink"
STRING = 64 * 1024 * 1024
"""Bytes of a write that are put into the trace: all of them."""
LIMIT_S = 120.0
SHARED = "-shm"
"""Memory that processes share, by way of a file: no disk has to keep it."""
LINE = re.compile(
    r"^(\d+) +(?:(?P<call>\w+)\((?P<arguments>.*?)"
    r"(?:\) += (?P<answer>-?\d+).*| <unfinished \.\.\.>)"
    r"|<\.\.\. \w+ resumed>(?P<more>.*?)\) += (?P<late>-?\d+).*)$"
)
HEX = r'"((?:\\x[0-9a-f]{2})*)"'
FILE = re.compile(r"^\d+<((?:\\x[0-9a-f]{2})*)>(\(deleted\))?")
QUOTED = re.compile(HEX)


@dataclass(frozen=True, slots=True)
class Made:
    """A name that was not there has a new, empty file."""

    path: str


@dataclass(frozen=True, slots=True)
class Written:
    """Bytes in a file; `offset` None: at its end."""

    path: str
    offset: int | None
    data: bytes


@dataclass(frozen=True, slots=True)
class Cut:
    """A file has this many bytes."""

    path: str
    size: int


@dataclass(frozen=True, slots=True)
class Synced:
    """A file's bytes, or a directory's names, that were there before step `before` are safe."""

    path: str
    before: int


@dataclass(frozen=True, slots=True)
class Renamed:
    """A file has another name, which may have been another's."""

    path: str
    to: str


@dataclass(frozen=True, slots=True)
class Removed:
    """A name is gone."""

    path: str


@dataclass(frozen=True, slots=True)
class Said:
    """What callers were told."""

    text: str


Step = Made | Written | Cut | Synced | Renamed | Removed | Said


def record(home: Path, *, seed: int, mode: str) -> list[Step]:
    """Trace `power_writer` in `home`, which must not be there; paths are relative to it.

    Raises `CannotRun` if there is no `strace`, `RuntimeError` if the program or its trace failed.
    """
    if shutil.which("strace") is None:
        raise CannotRun("strace is not installed: without it nothing can be traced.")
    said, log = home.with_name(f"{home.name}.said"), home.with_name(f"{home.name}.trace")
    tracer = ["strace", "-f", "-y", "-xx", "-s", str(STRING), "-e", f"trace={CALLS}", "-o", log]
    program = [sys.executable, "-m", "tests.faults.power_writer", home, said, str(seed), mode]
    done = subprocess.run(
        [*map(str, tracer), *map(str, program)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"The traced writer ended with {done.returncode}: {done.stderr}")
    steps = read(log.read_text(encoding="ascii"), home, said)
    told = "".join(step.text for step in steps if isinstance(step, Said))
    if told != said.read_text(encoding="ascii") or not told:
        raise RuntimeError("The trace does not tell what callers were told.")
    return steps


def read(text: str, home: Path, said: Path) -> list[Step]:
    """The steps of a trace that concern `home` and `said`."""
    steps: list[Step] = []
    names: set[str] = set()
    open_calls: dict[str, tuple[str, str, int]] = {}
    for line in text.splitlines():
        found = LINE.match(line)
        if found is None:
            continue
        thread = found[1]
        if found["call"] is not None:
            began = (found["call"], found["arguments"], len(steps))
            if began[0] == "write" and _name(began[1]) == str(said):
                steps.append(Said(_unquote(began[1]).decode("ascii")))
            if found["answer"] is None:
                open_calls[thread] = began
                continue
            answer = int(found["answer"])
        else:
            call, arguments, before = open_calls.pop(thread)
            began = (call, arguments + found["more"], before)
            answer = int(found["late"])
        if answer >= 0:
            steps += _explain(*began, answer, home, names)
    return steps


def _explain(
    call: str, arguments: str, before: int, answer: int, home: Path, names: set[str]
) -> list[Step]:
    """The steps of one call that went well."""
    quoted = QUOTED.findall(arguments)
    if call in ("openat", "rename", "unlink"):
        paths = [_relative(_decode(each), home) for each in quoted]
        path = paths[0]
        if path is None or path.endswith(SHARED):
            return []
        if call == "unlink":
            names.discard(path)
            return [Removed(path)]
        if call == "rename":
            to = paths[1]
            assert to is not None, "nothing is moved out of the house"
            names.discard(path)
            names.add(to)
            return [Renamed(path, to)]
        steps: list[Step] = []
        if path not in names and "O_CREAT" in arguments:
            names.add(path)
            steps.append(Made(path))
        if "O_TRUNC" in arguments:
            steps.append(Cut(path, 0))
        return steps
    name = _name(arguments)
    path = None if name is None else _relative(name, home)
    if path is None or path.endswith(SHARED):
        return []
    if call in ("fsync", "fdatasync"):
        return [Synced(path, before)]
    if call == "ftruncate":
        return [Cut(path, int(arguments.rsplit(", ", 1)[1]))]
    data = _unquote(arguments)[:answer]
    offset = int(arguments.rsplit(", ", 1)[1]) if call == "pwrite64" else None
    return [Written(path, offset, data)]


def _name(arguments: str) -> str | None:
    """The path of the descriptor that a call begins with; None: it has no name any more."""
    found = FILE.match(arguments)
    return None if found is None or found[2] else _decode(found[1])


def _unquote(arguments: str) -> bytes:
    found = QUOTED.search(arguments)
    assert found is not None, arguments[:200]
    return bytes.fromhex(found[1].replace("\\x", ""))


def _decode(text: str) -> str:
    return bytes.fromhex(text.replace("\\x", "")).decode()


def _relative(path: str, home: Path) -> str | None:
    """A path within `home`, "." for itself; None: it is elsewhere."""
    whole = Path(path)
    return str(whole.relative_to(home)) if whole.is_relative_to(home) else None
