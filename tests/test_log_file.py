"""The log file: put aside in time, bounded, and left alone where it is somebody else's."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from askd.log_file import KEPT, LogFile

LIMIT = 100


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "askd.log"


@pytest.fixture
def descriptor(path: Path) -> Iterator[int]:
    """What standard error is in a daemon that a client started."""
    opened = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    yield opened
    os.close(opened)


def names(path: Path) -> list[str]:
    return sorted(each.name for each in path.parent.iterdir())


def test_a_log_is_put_aside_and_what_is_kept_is_bounded(path: Path, descriptor: int) -> None:
    log = LogFile(path, limit_bytes=LIMIT, descriptor=descriptor)
    said = 0
    for _ in range(10 * (KEPT + 2)):
        os.write(descriptor, b"%014d\n" % said)
        said += 1
        log.look()
    assert names(path) == ["askd.log", *(f"askd.log.{number + 1}" for number in range(KEPT))]
    sizes = [each.stat().st_size for each in path.parent.iterdir()]
    assert max(sizes) < LIMIT + 15
    kept = [path.with_name(f"askd.log.{number}").read_text() for number in range(KEPT, 0, -1)]
    lines = "".join([*kept, path.read_text()]).splitlines()
    assert [int(line) for line in lines] == list(range(said - len(lines), said)), "in order"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_that_was_moved_or_removed_is_followed(path: Path, descriptor: int) -> None:
    log = LogFile(path, limit_bytes=LIMIT, descriptor=descriptor)
    path.rename(path.with_name("elsewhere"))
    log.look()
    os.write(descriptor, b"new\n")
    assert path.read_text() == "new\n"
    path.unlink()
    log.look()
    os.write(descriptor, b"newer\n")
    assert path.read_text() == "newer\n"


def test_of_two_that_write_to_it_one_moves_it(path: Path, descriptor: int) -> None:
    other = os.open(path, os.O_WRONLY | os.O_APPEND)
    logs = [LogFile(path, limit_bytes=LIMIT, descriptor=each) for each in (descriptor, other)]
    os.write(descriptor, b"x" * LIMIT)
    for log in logs:
        log.look()
    os.write(descriptor, b"one\n")
    os.write(other, b"two\n")
    os.close(other)
    assert names(path) == ["askd.log", "askd.log.1"]
    assert path.read_text() == "one\ntwo\n"


def test_what_is_no_file_of_ours_is_left_alone(path: Path) -> None:
    path.write_bytes(b"x" * 2 * LIMIT)
    reader, writer = os.pipe()
    LogFile(path, limit_bytes=LIMIT, descriptor=writer).look()
    os.close(reader)
    os.close(writer)
    assert names(path) == ["askd.log"]


def test_a_directory_that_takes_nothing_fails_nobody(tmp_path: Path) -> None:
    home = tmp_path / "state"
    home.mkdir()
    opened = os.open(home / "askd.log", os.O_WRONLY | os.O_CREAT, 0o600)
    log = LogFile(home / "askd.log", limit_bytes=LIMIT, descriptor=opened)
    (home / "askd.log").unlink()
    home.rmdir()
    log.look()
    assert os.write(opened, b"still\n") == 6
    os.close(opened)


@pytest.mark.parametrize("is_read", [True, False])
def test_a_pipe_in_its_place_holds_up_nobody(path: Path, descriptor: int, is_read: bool) -> None:
    log = LogFile(path, limit_bytes=LIMIT, descriptor=descriptor)
    path.unlink()
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK) if is_read else None
    log.look()
    os.write(descriptor, b"still\n")
    assert os.fstat(descriptor).st_size == 6, "it goes on where it was"
    if reader is not None:
        os.close(reader)
