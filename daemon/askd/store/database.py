"""The database file: where it may lie, who may read it, how a connection behaves.

It opens connections that can only read. The one that can write is opened by
`writer`, and configured here.
"""

import os
import sqlite3
import stat
from pathlib import Path

from askd.errors import StorageFailed
from askd.files import PRIVATE_DIRECTORY, PRIVATE_FILE, make_private_directory, sync_directory
from askd.store.refusals import storage_failed

BUSY_TIMEOUT_MS = 5000
"""How long another program (a person with `sqlite3`) may hold the lock."""
MOUNTS = Path("/proc/self/mountinfo")
NETWORK_FILESYSTEMS = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "fuse.sshfs"}
"""WAL needs memory that all its users share, and locks that hold; these have not both."""

WRITER_PRAGMAS = (
    f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}",
    # FULL: a commit is on the disk when it returns. NORMAL loses acknowledged rows in a power cut.
    "PRAGMA synchronous = FULL",
    # The writer checkpoints itself, when nobody waits for it.
    "PRAGMA wal_autocheckpoint = 0",
    "PRAGMA cell_size_check = ON",
    "PRAGMA trusted_schema = OFF",
    # Savepoints keep what they would undo in memory: faster, and nothing lies in /tmp.
    "PRAGMA temp_store = MEMORY",
    # What was deleted is overwritten, not only forgotten.
    "PRAGMA secure_delete = ON",
)
READER_PRAGMAS = (
    f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}",
    "PRAGMA query_only = ON",
    "PRAGMA cell_size_check = ON",
    "PRAGMA trusted_schema = OFF",
)


def prepare_file(path: Path, *, mounts: Path = MOUNTS) -> None:
    """See that an empty or existing database is there, private, on a local disk.

    Raises `StorageFailed`. An existing file is not opened here: closing any
    descriptor of it would drop the locks of every connection in the process.
    """
    directory = path.parent
    try:
        refuse_network_filesystem(directory, mounts=mounts)
        make_private_directory(directory)
        _make_private(directory, PRIVATE_DIRECTORY)
        try:
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
            os.close(os.open(path, flags, PRIVATE_FILE))
        except FileExistsError:
            pass
        else:
            sync_directory(directory)
            sync_directory(directory.parent)
        _make_private(path, PRIVATE_FILE)
    except OSError as error:
        raise storage_failed(error, path) from None


def configure_writer(connection: sqlite3.Connection, path: Path) -> None:
    """Make a fresh connection the careful writer that it has to be."""
    for pragma in WRITER_PRAGMAS:
        connection.execute(pragma)
    # It reads events too: one bad record must not keep others from being written.
    connection.text_factory = read_text
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise StorageFailed(f"{path} cannot keep a write-ahead log: its disk does not allow one.")


def open_readonly(path: Path) -> sqlite3.Connection:
    """A connection that cannot write, nor checkpoint when it closes; raises `StorageFailed`."""
    try:
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
        )
    except sqlite3.Error as error:
        raise storage_failed(error, path) from None
    try:
        for pragma in READER_PRAGMAS:
            connection.execute(pragma)
    except sqlite3.Error as error:
        connection.close()
        raise storage_failed(error, path) from None
    connection.text_factory = read_text
    return connection


def read_text(data: bytes) -> str:
    """A column's text. A damaged byte in it must not make its whole row unreadable."""
    return data.decode("utf-8", "replace")


def refuse_network_filesystem(directory: Path, *, mounts: Path = MOUNTS) -> None:
    """Raise `StorageFailed` if the directory is on one of `NETWORK_FILESYSTEMS`."""
    try:
        table = mounts.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return  # no /proc: nothing to go by
    kind = find_filesystem(directory.resolve(), table)
    if kind in NETWORK_FILESYSTEMS:
        raise StorageFailed(
            f"{directory} is on a network file system ({kind}), where a database is not safe. "
            "Choose a directory on a local disk with ASK_HOME."
        )


def find_filesystem(path: Path, table: str) -> str | None:
    """The kind of file system that holds an absolute path, by the text of `mountinfo`."""
    best, kind = -1, None
    for line in table.splitlines():
        before, separator, after = line.partition(" - ")
        fields, rest = before.split(" "), after.split(" ")
        if not separator or len(fields) < 5:
            continue
        mount = Path(_unescape(fields[4]))
        depth = len(mount.parts)
        # Of two mounts on one point the later hides the earlier.
        if depth >= best and path.is_relative_to(mount):
            best, kind = depth, rest[0]
    return kind


def _unescape(field: str) -> str:
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        field = field.replace(code, character)
    return field


def _make_private(path: Path, mode: int) -> None:
    """Take away what others may do, if it is ours to take."""
    found = path.stat()
    if found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) & ~mode:
        path.chmod(mode)
