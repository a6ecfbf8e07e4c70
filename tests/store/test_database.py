"""The database file is private, on a local disk, and readers cannot write it."""

import os
import shutil
import sqlite3
import stat
from pathlib import Path

import pytest

from askd.errors import StorageFailed
from askd.store.checkpoint import wal_size
from askd.store.database import (
    configure_writer,
    find_filesystem,
    open_readonly,
    prepare_file,
    refuse_network_filesystem,
)

MOUNTINFO = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:30 / /home rw,relatime - nfs4 server:/home rw,vers=4.2
31 30 0:31 / /home/me/local\\040disk rw - tmpfs tmpfs rw
32 22 0:32 / /mnt rw - ext4 /dev/vdb rw
33 32 0:33 / /mnt rw - cifs //server/share rw
malformed line
34 22 0:34 / /short
"""


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_files_are_private_whatever_the_umask(path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        prepare_file(path)
        connection = sqlite3.connect(path, isolation_level=None)
        configure_writer(connection, path)
        connection.execute("CREATE TABLE t (x)")
        assert mode_of(path.parent) == 0o700
        files = {each.name: mode_of(each) for each in path.parent.iterdir()}
        assert files == {"ask.db": 0o600, "ask.db-wal": 0o600, "ask.db-shm": 0o600}
        connection.close()
    finally:
        os.umask(before)


def test_an_open_directory_is_closed_to_others_and_the_file_kept(path: Path) -> None:
    path.parent.mkdir(mode=0o755)
    path.parent.chmod(0o755)
    path.write_bytes(b"as it was")
    path.chmod(0o644)
    prepare_file(path)
    assert (mode_of(path.parent), mode_of(path)) == (0o700, 0o600)
    assert path.read_bytes() == b"as it was"


def test_a_directory_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageFailed, match="cannot be written") as caught:
        prepare_file(tmp_path / "file" / "data" / "ask.db")
    assert caught.value.code == 74


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/lib/x", "ext4"),
        ("/home/me/data", "nfs4"),
        ("/homeless", "ext4"),
        ("/home/me/local disk/data", "tmpfs"),
        ("/mnt/x", "cifs"),
    ],
)
def test_the_nearest_and_latest_mount_counts(path: str, kind: str) -> None:
    assert find_filesystem(Path(path), MOUNTINFO) == kind


def test_a_network_file_system_is_refused(tmp_path: Path) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"1 0 0:1 / {tmp_path.resolve()} rw - nfs4 server:/x rw\n")
    with pytest.raises(StorageFailed, match=r"network file system \(nfs4\).*ASK_HOME"):
        prepare_file(tmp_path / "data" / "ask.db", mounts=mounts)
    assert not (tmp_path / "data").exists()


def test_the_disk_of_these_tests_is_not_refused(tmp_path: Path) -> None:
    refuse_network_filesystem(tmp_path)
    refuse_network_filesystem(tmp_path, mounts=tmp_path / "no-proc-here")


def test_the_writer_is_careful(connection: sqlite3.Connection) -> None:
    def value(name: str) -> object:
        return connection.execute(f"PRAGMA {name}").fetchone()[0]

    assert value("journal_mode") == "wal"
    assert value("synchronous") == 2  # FULL
    assert value("foreign_keys") == 1
    assert value("busy_timeout") == 5000
    assert value("wal_autocheckpoint") == 0
    assert value("cell_size_check") == 1
    assert value("trusted_schema") == 0
    assert value("secure_delete") == 1


def test_a_database_that_cannot_keep_a_wal_is_refused() -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    with pytest.raises(StorageFailed, match="write-ahead log"):
        configure_writer(connection, Path(":memory:"))
    connection.close()


def test_a_reader_cannot_write(connection: sqlite3.Connection, path: Path) -> None:
    reader = open_readonly(path)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        reader.execute("DELETE FROM conversations")
    reader.close()


def test_a_path_with_odd_characters_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "50%?#&mode=rw" / "ask.db"
    prepare_file(path)
    open_readonly(path).close()


def test_a_reader_without_a_database_is_a_sentence(path: Path) -> None:
    with pytest.raises(StorageFailed, match="cannot be opened"):
        open_readonly(path)


def test_the_last_reader_that_closes_leaves_the_log_alone(
    connection: sqlite3.Connection, path: Path, tmp_path: Path
) -> None:
    """A copy of a running database, as after a crash: nobody but the writer may touch it."""
    connection.execute("INSERT INTO keys VALUES ('k', 'd', 'c', 't', 1)")
    copy = tmp_path / "copy" / "ask.db"
    copy.parent.mkdir()
    for suffix in ("", "-wal"):
        shutil.copy(f"{path}{suffix}", f"{copy}{suffix}")
    before = copy.read_bytes(), Path(f"{copy}-wal").read_bytes()
    reader = open_readonly(copy)
    assert reader.execute("SELECT count(*) FROM keys").fetchone() == (1,)
    reader.close()
    assert (copy.read_bytes(), Path(f"{copy}-wal").read_bytes()) == before
    assert wal_size(copy) > 0
    # The same copy, closed by a connection that may write, is checkpointed: the test has teeth.
    writing = sqlite3.connect(copy)
    writing.execute("SELECT count(*) FROM keys").fetchone()
    writing.close()
    assert wal_size(copy) == 0
