"""The file of a rollout: gone on with, written from its beginning, copied, removed, archived.

What others have appended stays: whole lines are never touched, and only a last
line without an end that can be no record is cut. Lines that are there already are
not written twice. It knows what a line of ours looks like and not what it says;
what is on the disk for certain is the caller's to ask for (`sync`).
"""

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO

from askd.core.rollout import BLOB_LINE, EVENT_LINE, MARK
from askd.core.rollout_lines import read_json
from askd.files import PRIVATE_FILE, make_private_directory, sync_directory

WRITE_BYTES = 1024 * 1024
"""What is gathered for one write; a line is never parted over two but for its size."""
LINE_BYTES = 64 * 1024 * 1024
"""No line of ours is longer: the largest blob is 32 MiB, a third more in base64."""
DATE_FOLDERS = 3
"""Year, month, day: removed with the last file in them."""


class Diverged(Exception):
    """The file holds lines of ours that say something else than the log, or a hole."""


class Overtaken(Exception):
    """Somebody else wrote into the file at the same moment: where our lines are is not known."""


class RolloutFile:
    """A file that is open to go on from `offset`; up to there it is known to be right.

    Lines that are put and stand there already, in this order, are not written again; lines
    between them that are not ours are passed over. Raises `OSError`; a link is not followed.
    """

    def __init__(self, path: Path, offset: int, *, fresh: bool = False) -> None:
        flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        if fresh:
            flags |= os.O_CREAT | os.O_TRUNC
        self._stream = _open(path, flags)
        self._descriptor = self._stream.fileno()
        self._size = os.fstat(self._descriptor).st_size
        self._offset = offset
        self._buffer = bytearray()
        self._at_end = self._size <= offset
        self._stream.seek(offset)

    def __enter__(self) -> "RolloutFile":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stream.close()

    def put(self, line: bytes) -> None:
        """The next line; raises `Diverged` if the file has another one of ours in its place."""
        if not self._at_end and self._find(line):
            return
        self._buffer += line
        if len(self._buffer) > WRITE_BYTES:
            self._write()

    def finish(self) -> int:
        """Write what is left; the offset up to which the file is right. Raises `Overtaken`."""
        self._write()
        if self._at_end and os.fstat(self._descriptor).st_size != self._size:
            raise Overtaken
        return self._size if self._at_end else self._offset

    def _find(self, line: bytes) -> bool:
        """Look for a line in what is there; False: the end was reached without it."""
        while True:
            found = self._stream.readline(LINE_BYTES)
            if not found.endswith(b"\n") and len(found) < LINE_BYTES:
                self._mend_end(found, line)
                return False
            self._offset += len(found)
            if found == line:
                return True
            # Nobody writes zeros: a power cut has left the length of lines without their bytes.
            if b"\0" in found or is_ours(found):
                raise Diverged

    def _mend_end(self, rest: bytes, line: bytes) -> None:
        """See that the file ends with a whole line; `rest` is what stands behind the last one."""
        self._at_end = True
        self._size = self._offset + len(rest)
        if not rest:
            return
        if not line.startswith(rest) and _is_record(rest):
            self._buffer += b"\n"  # somebody's record; only its end is missing
            return
        os.ftruncate(self._descriptor, self._offset)
        self._size = self._offset

    def _write(self) -> None:
        view = memoryview(bytes(self._buffer))
        self._buffer.clear()
        while view:
            written = os.write(self._descriptor, view)
            self._size += written
            view = view[written:]


def is_ours(line: bytes) -> bool:
    """Whether a line is one that the mirror writes."""
    if b'"ask' not in line:
        return False
    try:
        record = read_json(line)
    except ValueError:
        return False
    return isinstance(record, dict) and (
        record.get("type") in (EVENT_LINE, BLOB_LINE) or isinstance(record.get(MARK), dict)
    )


def _is_record(content: bytes) -> bool:
    try:
        return isinstance(read_json(content), dict)
    except ValueError:
        return False


def _open(path: Path, flags: int) -> IO[bytes]:
    # Without waiting: a pipe in the place of a file would have us wait for its reader.
    descriptor = os.open(path, flags | os.O_NONBLOCK, PRIVATE_FILE)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "It is no file", str(path))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        with contextlib.suppress(OSError):
            os.close(descriptor)
        raise


def measure(path: Path) -> int | None:
    """Bytes of the file at `path`; None: it is not there. Raises `OSError` for what is no file."""
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "It is no file", str(path))
    return found.st_size


def draft_of(path: Path) -> Path:
    """Where a file is written before it takes its place."""
    return path.with_name(f".{path.name}.partial")


def make_folder(path: Path) -> None:
    """See that files can be made beside `path`; raises `OSError`."""
    make_private_directory(path.parent)
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path.parent))


def put_in_place(path: Path) -> None:
    """Let the draft take the file's place."""
    os.replace(draft_of(path), path)


def sync(paths: Sequence[Path]) -> dict[Path, OSError]:
    """See that files, and their names, are on the disk; what went wrong with which."""
    failed: dict[Path, OSError] = {}
    for path in paths:
        try:
            with _open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW) as stream:
                os.fdatasync(stream.fileno())
        except OSError as error:
            failed[path] = error
    for folder in {path.parent for path in paths if path not in failed}:
        try:
            sync_directory(folder)
        except OSError as error:
            failed |= dict.fromkeys([path for path in paths if path.parent == folder], error)
    return failed


def copy_file(old: Path, new: Path) -> None:
    """Copy a file to another directory, whole or not at all, and on the disk."""
    make_folder(new)
    draft = draft_of(new)
    with (
        _open(old, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW) as source,
        _open(draft, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW) as target,
        open(os.dup(target.fileno()), "wb") as sink,
    ):
        shutil.copyfileobj(source, sink, WRITE_BYTES)
        sink.flush()
        os.fdatasync(sink.fileno())
    put_in_place(new)
    sync_directory(new.parent)


def remove_file(path: Path) -> None:
    """Remove a rollout, its draft, and the folders of its date that are empty then.

    They stay removed: who forgets that a file is to go must not find it again after a power cut.
    """
    for each in (path, draft_of(path)):
        # A folder in its place is none of ours.
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
            each.unlink()
    # Also when nothing was there: an earlier try may have failed between the two.
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        sync_directory(path.parent)
    for folder in list(path.parents)[:DATE_FOLDERS]:
        if not folder.name.isdecimal():
            return
        try:
            folder.rmdir()
        except OSError:
            return  # others are in it, or it is gone, or it is not ours to remove


def archive_file(path: Path, archive: Path) -> None:
    """Move a rollout to the archive, under its name."""
    if measure(path) is not None:
        copy_file(path, archive / path.name)
    remove_file(path)
