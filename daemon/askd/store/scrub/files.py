"""A secret in files beside the database: found, masked where it stands, or rewritten.

A file that others write to keeps its length, so that nothing of theirs is lost. It
never opens the database or what belongs to it: to close any descriptor of it
would drop the locks of every connection in the process.
"""

import contextlib
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from askd.core.rewritten_lines import scrub_lines
from askd.core.scrubbing import Scrub, mask
from askd.files import replace_file
from askd.store.backups import BESIDE

CHUNK_BYTES = 1024 * 1024
"""What is looked at in one piece; two pieces overlap by the longest spelling."""

_FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


def count_in_file(path: Path, scrub: Scrub) -> int:
    """How often a file holds it; one that cannot be read, or is none, holds nothing."""
    with contextlib.suppress(OSError), _open(path, os.O_RDONLY) as descriptor:
        return sum(1 for _ in _find(descriptor, scrub))
    return 0


def mask_file(path: Path, scrub: Scrub) -> int:
    """Overwrite it in place, byte for byte; how often. Raises `OSError`.

    What is appended meanwhile stays, and is looked at too.
    """
    with _open(path, os.O_RDWR) as descriptor:
        count = 0
        for start, end in _find(descriptor, scrub):
            os.pwrite(descriptor, mask(end - start), start)
            count += 1
        if count:
            os.fdatasync(descriptor)
        return count


def rewrite_file(path: Path, scrub: Scrub) -> None:
    """Write a rollout anew without it, whole or not at all; raises `OSError`."""
    before = path.read_bytes()
    after = scrub_lines(before, scrub)
    if after != before:
        replace_file(path, after)


def find_files(directories: Sequence[Path], *, database: Path) -> list[Path]:
    """Every file below, each once, but for the database itself; links are not followed."""
    without = {database.with_name(f"{database.name}{suffix}") for suffix in ("", *BESIDE)}
    found: dict[Path, None] = {}
    for directory in directories:
        for folder, _, names in os.walk(directory):
            paths = (Path(folder) / name for name in names)
            found.update({path: None for path in paths if _is_file(path) and path not in without})
    return list(found)


def find_logs(log_file: Path) -> list[Path]:
    """The daemon's log and those that were put aside under names that go on from its own."""
    return sorted(each for each in log_file.parent.glob(f"{log_file.name}*") if _is_file(each))


def _find(descriptor: int, scrub: Scrub) -> Iterator[tuple[int, int]]:
    """Where a file holds it, each place once, up to its end as it is then."""
    overlap = scrub.longest_bytes
    offset = covered = 0
    while True:
        data = os.pread(descriptor, CHUNK_BYTES + overlap, offset)
        is_last = len(data) <= overlap
        for start, end in scrub.find_bytes(data):
            # What begins in the overlap may go on behind it: the next piece has it whole.
            if offset + start >= covered and (is_last or start < len(data) - overlap):
                covered = offset + end
                yield offset + start, offset + end
        if is_last:
            return
        offset += len(data) - overlap


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


@contextlib.contextmanager
def _open(path: Path, flags: int) -> Iterator[int]:
    descriptor = os.open(path, flags | _FLAGS)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
