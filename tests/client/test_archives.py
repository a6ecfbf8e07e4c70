"""Files from elsewhere are read whole, unpacked where it can be, and never changed."""

import os
import pty
import sys
from pathlib import Path

import pytest
import zstandard

from ask import archives
from ask.archives import read_archive
from ask.exits import USAGE, Failed


def refuse(path: str) -> Failed:
    with pytest.raises(Failed) as caught:
        read_archive(path)
    assert (caught.value.code, caught.value.data) == (USAGE, {"reason": "bad_input"})
    return caught.value


def test_a_file_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"{}\n\x00")
    path.chmod(0o400)
    before = path.stat()
    assert read_archive(str(path)) == b"{}\n\x00"
    after = path.stat()
    assert (after.st_mtime_ns, after.st_size) == (before.st_mtime_ns, before.st_size)


def test_a_compressed_file_is_unpacked_whatever_its_name(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    pack = zstandard.ZstdCompressor().compress
    path.write_bytes(pack(b"one\n") + pack(b"two\n"))
    assert read_archive(str(path)) == b"one\ntwo\n"
    path.write_bytes(pack(b"one\n" * 1000)[:-3])
    short = read_archive(str(path))  # what is torn off is the daemon's to notice
    assert short != b"one\n" * 1000
    path.write_bytes(archives.MAGIC + b"\xff" * 20)
    assert "cannot be unpacked" in refuse(str(path)).message


def test_without_the_library_there_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.jsonl.zst"
    path.write_bytes(zstandard.ZstdCompressor().compress(b"one\n"))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    error = refuse(str(path))
    assert error.message.endswith("is compressed, and the library for it is not installed.")
    assert error.hint is not None
    assert "pip install zstandard" in error.hint


def test_a_pipe_or_a_device_is_not_even_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")  # to open it would wait for a writer
    for path in (str(tmp_path / "pipe"), "/dev/null", "/dev/zero"):
        error = refuse(path)
        assert f"{path} is no regular file" in error.message
        assert "import - <" in str(error.hint)


def test_a_dash_is_standard_input(stdin: int) -> None:
    os.write(stdin, zstandard.ZstdCompressor().compress(b"one\n"))
    os.close(stdin)
    assert read_archive("-") == b"one\n"
    assert archives.name_archive("-") == "stdin"


def test_a_terminal_is_not_waited_for(stdin: int) -> None:
    os.close(stdin)
    ours, theirs = pty.openpty()
    os.dup2(theirs, 0)
    assert "that is a terminal" in refuse("-").message
    os.close(ours)
    os.close(theirs)


def test_a_file_is_bounded_also_when_it_is_packed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "IMPORT_LIMIT_BYTES", 1 << 20)
    path = tmp_path / "large"
    path.write_bytes(bytes(1 << 20))
    assert len(read_archive(str(path))) == 1 << 20
    for content in (bytes((1 << 20) + 1), zstandard.ZstdCompressor().compress(bytes(1 << 24))):
        path.write_bytes(content)
        assert refuse(str(path)).message.endswith("is larger than 1 MiB.")


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    assert "cannot be read: No such file" in refuse(str(tmp_path / "gone")).message
    assert "is a directory" in refuse(str(tmp_path)).message
    assert refuse("").message == "A file's name is empty."
    assert "cannot be read: embedded null byte" in refuse("a\0b").message
    secret = tmp_path / "secret"
    secret.write_bytes(b"x")
    secret.chmod(0)
    if os.geteuid() != 0:
        assert "Permission denied" in refuse(str(secret)).message
