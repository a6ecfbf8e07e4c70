"""Files are masked in place or written anew, and the database is not opened."""

import os
from pathlib import Path

import pytest

from askd.core.scrubbing import Scrub
from askd.store.scrub.files import (
    CHUNK_BYTES,
    count_in_file,
    find_files,
    find_logs,
    mask_file,
    rewrite_file,
)

SCRUB = Scrub(["hunter22", "longer-than-that"])


def test_a_log_keeps_its_length_and_its_place(tmp_path: Path) -> None:
    log = tmp_path / "askd.log"
    log.write_bytes(b"one hunter22\ntwo\nlonger-than-that!\n")
    before = log.stat()
    with log.open("ab") as appender:
        assert mask_file(log, SCRUB) == 2
        appender.write(b"three\n")
    assert log.read_bytes() == b"one ********\ntwo\n[scrubbed]******!\nthree\n"
    assert log.stat().st_ino == before.st_ino
    assert mask_file(log, SCRUB) == 0


@pytest.mark.parametrize("shift", range(-20, 3))
def test_where_two_pieces_meet_it_is_found_once(tmp_path: Path, shift: int) -> None:
    path = tmp_path / "file"
    start = CHUNK_BYTES + shift
    path.write_bytes(b"x" * start + b"hunter22hunter22" + b"y" * 5)
    assert count_in_file(path, SCRUB) == 2
    assert mask_file(path, SCRUB) == 2
    assert path.read_bytes() == b"x" * start + b"*" * 16 + b"y" * 5


def test_a_file_of_many_pieces(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes((b"z" * 99_992 + b"hunter22") * 35)
    assert count_in_file(path, SCRUB) == 35
    assert mask_file(path, SCRUB) == 35
    assert count_in_file(path, SCRUB) == 0


def test_a_rollout_is_written_anew_whole_and_private(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(b'{"type":"x","text":"hunter22"}\n{"torn')
    rewrite_file(path, SCRUB)
    assert path.read_bytes() == b'{"type":"x","text":"[scrubbed]"}\n{"torn'
    assert path.stat().st_mode & 0o777 == 0o600
    inode = path.stat().st_ino
    rewrite_file(path, SCRUB)
    assert path.stat().st_ino == inode, "what holds nothing is left alone"


def test_every_file_but_the_database_once(tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "deep").mkdir(parents=True)
    kept = ["ask.db", "ask.db-wal", "ask.db-shm", "ask.db-journal"]
    for name in (*kept, "ask.db.backup-4", "keys.json", "deep/x"):
        (data / name).write_text("hunter22")
    (data / "link").symlink_to(tmp_path)
    os.mkfifo(data / "pipe")
    found = find_files([data, data / "deep", tmp_path / "none"], database=data / "ask.db")
    assert sorted(str(each.relative_to(data)) for each in found) == [
        "ask.db.backup-4",
        "deep/x",
        "keys.json",
    ]


def test_logs_that_were_put_aside(tmp_path: Path) -> None:
    for name in ("askd.log", "askd.log.1", "askd.log.old", "other.log"):
        (tmp_path / name).write_text("x")
    names = [each.name for each in find_logs(tmp_path / "askd.log")]
    assert names == ["askd.log", "askd.log.1", "askd.log.old"]


def test_what_is_no_file_holds_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for each in ("pipe", "none", "."):
        assert count_in_file(tmp_path / each, SCRUB) == 0
