"""A disk that forgets what was not synced: the states in which a power cut may leave it.

Bytes that no sync covers are lost, kept out of order, or torn at sectors. Names change in the
order in which they were changed, and the last changes may be lost until their directory is
synced. A file grows before its bytes are there: what is missing in it reads as zeros. The table
of files is a journal's, so a shorter length is kept if anything later in the file is.
"""

import itertools
import random
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.power_trace import Cut, Made, Removed, Renamed, Said, Step, Synced, Written

SECTOR = 512


@dataclass
class _File:
    """`safe`: the bytes that a cut leaves; `pending`: (step, offset, data), or a length."""

    safe: bytearray = field(default_factory=bytearray)
    size: int = 0
    pending: list[tuple[int, int, bytes | None]] = field(default_factory=list)


@dataclass(frozen=True)
class State:
    """What is on the disk after a cut, and what callers had been told before it."""

    files: dict[str, bytes]
    told: str

    def put(self, directory: Path) -> None:
        """Write it to an empty directory."""
        for name, content in self.files.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.write_bytes(content)


class Disk:
    """It takes a trace's steps, one by one, and can be cut off after each."""

    def __init__(self) -> None:
        self._names: dict[str, _File] = {}
        self._safe_names: dict[str, _File] = {}
        self._changes: list[tuple[int, Step, _File]] = []
        self._told: list[str] = []
        self._steps = 0

    def take(self, step: Step) -> None:
        """The next step."""
        number = self._steps
        self._steps += 1
        match step:
            case Said(text):
                self._told.append(text)
            case Made(path):
                self._change(number, step, _File())
            case Renamed(path) | Removed(path):
                if path in self._names:
                    self._change(number, step, self._names[path])
            case Written(path, offset, data):
                file = self._names[path]
                at = file.size if offset is None else offset
                file.pending.append((number, at, data))
                file.size = max(file.size, at + len(data))
            case Cut(path, size):
                file = self._names[path]
                file.pending.append((number, size, None))
                file.size = size
            case Synced(path, before):
                self._sync(path, before)

    def _change(self, number: int, step: Step, file: _File) -> None:
        self._changes.append((number, step, file))
        _rename(self._names, step, file)

    def _sync(self, path: str, before: int) -> None:
        file = self._names.get(path)
        if file is not None:
            covered = [each for each in file.pending if each[0] < before]
            for _, at, data in covered:
                _apply(file.safe, at, data)
            file.pending = [each for each in file.pending if each[0] >= before]
            return
        # A directory: the journal writes all that came before its last change, too.
        last = max(
            (
                index
                for index, (number, step, _) in enumerate(self._changes)
                if number < before and path in _folders(step)
            ),
            default=-1,
        )
        for _, step, changed in self._changes[: last + 1]:
            _rename(self._safe_names, step, changed)
        del self._changes[: last + 1]

    def cut(self, dice: random.Random) -> State:
        """The power fails now."""
        names = dict(self._safe_names)
        for _, step, file in self._changes[: dice.randint(0, len(self._changes))]:
            _rename(names, step, file)
        luck = dice.choice((0.0, 1.0, dice.random()))
        return State(
            {name: _survive(file, luck, dice) for name, file in names.items()}, "".join(self._told)
        )


def _survive(file: _File, luck: float, dice: random.Random) -> bytes:
    """What is left of a file; `luck`: how likely it is that a write has come to the disk."""
    left = bytearray(file.safe)
    keep = [dice.random() < luck for _ in file.pending]
    last = max((index for index, kept in enumerate(keep) if kept), default=-1)
    for index, (_, at, data) in enumerate(file.pending[: last + 1]):
        if data is None:
            _apply(left, at, None)
        elif keep[index]:
            torn = index == last and luck < 1.0 and dice.random() < 0.5
            for start, part in _sectors(at, data):
                if not torn or dice.random() < 0.5:
                    _apply(left, start, part)
            # The length is in the table of files, and may be there before the bytes.
            if len(left) < at + len(data) and dice.random() < 0.5:
                _apply(left, at + len(data), None)
    return bytes(left)


def _sectors(at: int, data: bytes) -> list[tuple[int, bytes]]:
    """A write in the parts in which a disk takes it."""
    edges = [at, *range((at // SECTOR + 1) * SECTOR, at + len(data), SECTOR), at + len(data)]
    return [(a, data[a - at : b - at]) for a, b in itertools.pairwise(edges) if b > a]


def _apply(content: bytearray, at: int, data: bytes | None) -> None:
    """Write `data` at a place, or with None set the length."""
    if data is None:
        del content[at:]
    if len(content) < at:
        content.extend(bytes(at - len(content)))
    if data is not None:
        content[at : at + len(data)] = data


def _rename(names: dict[str, _File], step: Step, file: _File) -> None:
    match step:
        case Made(path):
            names[path] = file
        case Removed(path):
            names.pop(path, None)
        case Renamed(path, to):
            names.pop(path, None)
            names[to] = file
        case _:
            raise TypeError(f"{step} changes no name")


def _folders(step: Step) -> set[str]:
    """The directories in which a change changes names."""
    match step:
        case Made(path) | Removed(path):
            return {str(Path(path).parent)}
        case Renamed(path, to):
            return {str(Path(path).parent), str(Path(to).parent)}
        case _:
            raise TypeError(f"{step} changes no name")
