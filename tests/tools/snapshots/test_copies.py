"""Files are copied before they are written, within bounds, and only those of the workspace."""

import os
from pathlib import Path

import pytest

from askd.core.items import Blob, Copy
from askd.tools.snapshots import copies
from askd.tools.snapshots.copies import copy_files, read_file


def copy(top: Path, *paths: str, known: tuple[str, ...] = (), **more: int) -> copies.Copies:
    return copy_files(str(top), paths, known=known, **more)


def test_a_file_and_one_that_is_not_there_yet(tmp_path: Path) -> None:
    place = tmp_path / "d" / "f"
    place.parent.mkdir()
    place.write_bytes(b"\xffold\0")
    place.chmod(0o640)
    found = copy(tmp_path, "d/f", "made/new")
    (there, new) = found.files
    assert isinstance(there.part, Blob)
    assert found.blobs == {there.part.sha256: b"\xffold\0"}
    assert (there.path, there.part.bytes, there.mode) == ("d/f", 5, 0o640)
    assert new == Copy("made/new")
    assert found.left_out == []


def test_a_path_is_known_however_it_is_spelled(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x")
    (tmp_path / "link").symlink_to("f")
    found = copy(tmp_path, "f", "./f", "d/../f", "link", str(tmp_path / "f"))
    assert [each.path for each in found.files] == ["f"]
    assert copy(tmp_path, "link", known=("f",)).files == []


@pytest.mark.parametrize("path", ["../f", "/etc/passwd", "out", "", ".", "a\0b"])
def test_what_leads_out_of_the_workspace_is_passed_over(tmp_path: Path, path: str) -> None:
    (tmp_path / "f").write_text("x")
    top = tmp_path / "w"
    top.mkdir()
    (top / "out").symlink_to(tmp_path / "f")
    found = copy(top, path)
    assert (found.files, found.left_out) == ([], [])


def test_what_is_too_large_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "FILE_BYTES", 10)
    for name, size in (("a", 10), ("b", 11), ("c", 6), ("d", 5)):
        (tmp_path / name).write_text("x" * size)
    found = copy(tmp_path, "a", "b", "c", "d", room=15)
    assert [each.path for each in found.files] == ["a", "d"]
    assert found.left_out == ["b", "c"]


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "d").mkdir()
    assert copy(tmp_path, "pipe", "d", ".git/config").left_out == ["pipe", "d", ".git/config"]
    with pytest.raises(IsADirectoryError):
        read_file(str(tmp_path), "pipe", limit=10)
