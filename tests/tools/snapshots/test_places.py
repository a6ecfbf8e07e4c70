"""Files get to their places and nowhere else, whatever stands on the way."""

import ctypes
import io
import os
import threading
from pathlib import Path

import pytest

from askd.tools.snapshots.places import (
    BadPath,
    copy_out,
    is_there,
    open_parent,
    put_file,
    put_link,
    split_path,
    take_out,
)

AT_FDCWD, RENAME_EXCHANGE = -100, 2
"""Of linux/fcntl.h and linux/fs.h: two names change places at once."""


def put(top: Path, path: str, content: bytes = b"new", *, mode: int | None = None) -> None:
    put_file(str(top), path, io.BytesIO(content), mode=mode, runs=False)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/a",
        "a/",
        "a//b",
        "..",
        "../a",
        "a/../b",
        ".",
        "./a",
        "a\0b",
        ".git/x",
        "a/.GIT/hooks",
        "git~1/x",
        ".git./x",
        ".g\u200cit/x",
    ],
)
def test_paths_that_are_none(tmp_path: Path, path: str) -> None:
    with pytest.raises(BadPath):
        split_path(path)
    with pytest.raises(BadPath):
        put(tmp_path, path)
    with pytest.raises(BadPath):
        take_out(str(tmp_path), path, folders_too=True)


def test_a_file_is_made_with_the_directories_above_it(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    os.umask(before := os.umask(0o077))
    os.umask(0o077)
    try:
        put(tmp_path, "a/b/c")
    finally:
        os.umask(before)
    assert (tmp_path / "a/b/c").read_bytes() == b"new"
    assert (tmp_path / "a/b").stat().st_mode & 0o777 == 0o755, "the daemon's own mask is stricter"
    assert (tmp_path / "a/b/c").stat().st_mode & 0o777 == 0o644
    assert [each.name for each in (tmp_path / "a/b").iterdir()] == ["c"]


def test_a_file_keeps_who_may_read_it(tmp_path: Path) -> None:
    place = tmp_path / "f"
    place.write_bytes(b"old")
    place.chmod(0o640)
    put(tmp_path, "f")
    assert place.stat().st_mode & 0o777 == 0o640
    put_file(str(tmp_path), "f", io.BytesIO(b""), mode=None, runs=True)
    assert place.stat().st_mode & 0o777 == 0o750
    put(tmp_path, "f", mode=0o600)
    assert place.stat().st_mode & 0o777 == 0o600


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    outside, top = tmp_path / "outside", tmp_path / "w"
    outside.write_bytes(b"mine")
    top.mkdir()
    (top / "f").symlink_to(outside)
    put(top, "f")
    assert outside.read_bytes() == b"mine"
    assert not (top / "f").is_symlink()
    put_link(str(top), "f", "elsewhere")
    assert os.readlink(top / "f") == "elsewhere"


def test_a_hard_link_elsewhere_keeps_its_content(tmp_path: Path) -> None:
    (tmp_path / "outside").write_bytes(b"mine")
    (tmp_path / "w").mkdir()
    os.link(tmp_path / "outside", tmp_path / "w" / "f")
    put(tmp_path / "w", "f")
    assert (tmp_path / "outside").read_bytes() == b"mine"


def test_a_directory_that_is_a_link_is_not_entered(tmp_path: Path) -> None:
    outside, top = tmp_path / "outside", tmp_path / "w"
    outside.mkdir()
    (outside / "f").write_bytes(b"mine")
    top.mkdir()
    (top / "d").symlink_to(outside)
    for act in (
        lambda: put(top, "d/f"),
        lambda: put(top, "d/made"),
        lambda: put_link(str(top), "d/made", "x"),
        lambda: take_out(str(top), "d/f", folders_too=True),
        lambda: is_there(str(top), "d/f"),
    ):
        with pytest.raises(NotADirectoryError):
            act()
    assert [each.name for each in outside.iterdir()] == ["f"]
    assert (outside / "f").read_bytes() == b"mine"


def test_a_directory_in_the_place_of_a_file_stays(tmp_path: Path) -> None:
    (tmp_path / "f" / "within").mkdir(parents=True)
    with pytest.raises(IsADirectoryError):
        put(tmp_path, "f")
    with pytest.raises(IsADirectoryError):
        put_link(str(tmp_path), "f", "x")
    assert [each.name for each in tmp_path.iterdir()] == ["f"], "no draft is left"


def test_what_is_taken_out_leaves_no_empty_directories(tmp_path: Path) -> None:
    put(tmp_path, "a/b/c")
    put(tmp_path, "a/other")
    take_out(str(tmp_path), "a/b/c", folders_too=True)
    assert [each.name for each in (tmp_path / "a").iterdir()] == ["other"]
    take_out(str(tmp_path), "a/other", folders_too=False)
    assert (tmp_path / "a").is_dir()
    take_out(str(tmp_path), "a/gone/already", folders_too=True)
    assert not (tmp_path / "a").exists()
    assert tmp_path.is_dir()


def test_a_draft_that_could_not_be_written_goes(tmp_path: Path) -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        put_file(str(tmp_path), "f", Broken(), mode=None, runs=False)
    assert list(tmp_path.iterdir()) == []


def test_what_a_checkout_made_is_put_in_its_place(tmp_path: Path) -> None:
    made, top = tmp_path / "made", tmp_path / "w"
    made.mkdir()
    top.mkdir()
    (made / "d").mkdir()
    (made / "d/f").write_bytes(b"content")
    (made / "d/l").symlink_to("f")
    copy_out(str(top), "d/f", made, is_link=False, runs=True)
    copy_out(str(top), "d/l", made, is_link=True, runs=False)
    assert (top / "d/f").read_bytes() == b"content"
    assert os.access(top / "d/f", os.X_OK)
    assert os.readlink(top / "d/l") == "f"


def test_what_a_filter_made_of_a_checkout_is_not_followed(tmp_path: Path) -> None:
    """It runs confined, and we do not: through a link of its own we would read for it."""
    made, top, secret = tmp_path / "made", tmp_path / "w", tmp_path / "secret"
    secret.mkdir()
    (secret / "f").write_bytes(b"secret")
    made.mkdir()
    top.mkdir()
    (made / "f").symlink_to(secret / "f")
    (made / "d").symlink_to(secret)
    (made / "o").mkdir()
    os.mkfifo(made / "o/f")
    for path in ("f", "d/f", "o/f"):
        with pytest.raises((OSError, BadPath)):
            copy_out(str(top), path, made, is_link=False, runs=False)
    assert not list(top.rglob("*f"))


def test_nothing_is_written_elsewhere_while_a_directory_is_swapped(tmp_path: Path) -> None:
    """The race that comparing names before opening loses: 2,000 tries, and not one outside."""
    outside, top = tmp_path / "outside", tmp_path / "w"
    outside.mkdir()
    (top / "d").mkdir(parents=True)
    (top / "link").symlink_to(outside)
    done = threading.Event()

    rename = ctypes.CDLL(None, use_errno=True).renameat2
    names = os.fsencode(top / "d"), os.fsencode(top / "link")

    def swap() -> None:
        while not done.is_set():
            assert rename(AT_FDCWD, names[0], AT_FDCWD, names[1], RENAME_EXCHANGE) == 0

    swapper = threading.Thread(target=swap)
    swapper.start()
    refused = 0
    try:
        for _ in range(2000):
            try:
                put(top, "d/f", b"secret")
            except OSError:
                refused += 1
    finally:
        done.set()
        swapper.join()
    assert list(outside.iterdir()) == []
    assert 0 < refused < 2000, "both were there often"


def test_the_top_itself_may_be_no_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "top").symlink_to("real")
    with pytest.raises(NotADirectoryError), open_parent(str(tmp_path / "top"), []):
        pass
