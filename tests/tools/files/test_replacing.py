"""New content takes a file's place whole, or the old one stays."""

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from askd.tools.base import CannotRun
from askd.tools.files import replacing
from askd.tools.files.places import open_spot
from askd.tools.files.replacing import (
    Desk,
    Sight,
    read_content,
    refuse_changed,
    replace_content,
    see,
)
from tests.fakes.tools import SITE
from tests.fakes.workspaces import opened, read_tree


def write(top: Path, path: str, content: bytes) -> None:
    with opened(top) as workspace, open_spot(workspace, path) as spot:
        replace_content(spot, content, path)


def test_other_names_of_a_file_keep_what_it_held(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("old")
    os.link(tmp_path / "f", tmp_path / "same")
    write(tmp_path, "f", b"new")
    assert (tmp_path / "same").read_text() == "old"
    assert (tmp_path / "f").read_text() == "new"


def test_bits_that_give_power_are_not_kept(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("old")
    (tmp_path / "f").chmod(0o6755)
    write(tmp_path, "f", b"new")
    assert (tmp_path / "f").stat().st_mode & 0o7777 == 0o755


def test_the_owner_stays_where_that_can_be(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("old")
    with suppress(PermissionError):
        os.chown(tmp_path / "f", 65534, 65534)
    before = (tmp_path / "f").stat()
    write(tmp_path, "f", b"new")
    after = (tmp_path / "f").stat()
    assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)
    assert after.st_ino != before.st_ino


@pytest.mark.parametrize("change", ["write", "remove", "link"])
def test_what_changes_at_the_last_moment_is_left(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "f"
    place.write_text("old")

    def meddle(descriptor: int) -> None:
        if change == "write":
            place.write_text("meanwhile")
            return
        place.unlink(missing_ok=True)
        if change == "link":
            place.symlink_to("/etc/passwd")

    monkeypatch.setattr(os, "fsync", meddle)
    with pytest.raises(CannotRun, match="was changed in this moment"):
        write(tmp_path, "f", b"new")
    assert not any(".ask-" in name for name in read_tree(tmp_path))
    assert change != "write" or place.read_text() == "meanwhile"
    assert change != "link" or place.is_symlink()


def test_a_directory_that_comes_to_be_in_between_is_used_and_a_link_is_not(
    tmp_path: Path,
) -> None:
    with opened(tmp_path) as workspace:
        with open_spot(workspace, "a/f") as spot:
            (tmp_path / "a").mkdir()
            (tmp_path / "a").chmod(0o711)
            replace_content(spot, b"new", "a/f")
        assert (tmp_path / "a" / "f").read_bytes() == b"new"
        assert (tmp_path / "a").stat().st_mode & 0o777 == 0o711
        with open_spot(workspace, "b/f") as spot:
            (tmp_path / "b").symlink_to("a")
            with pytest.raises(NotADirectoryError):
                replace_content(spot, b"out", "b/f")
    assert (tmp_path / "a" / "f").read_bytes() == b"new"


def test_no_more_is_read_than_is_wanted(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("12345")
    with opened(tmp_path) as workspace, open_spot(workspace, "f") as spot:
        assert read_content(spot, 5) == b"12345"
        assert read_content(spot, 4) is None
        # A file that grows while it is read: its size had promised less.
        assert spot.found is not None
        with (tmp_path / "f").open("a") as stream:
            stream.write("6")
        assert read_content(spot, 5) is None
    with opened(tmp_path) as workspace, open_spot(workspace, "none") as spot:
        assert read_content(spot, 5) == b""
        assert see(spot) == Sight("none")


def test_a_desk_forgets_what_was_shown_long_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replacing, "SIGHTS", 2)
    desk = Desk()
    sites = [replace(SITE, call_id=str(number)) for number in range(3)]
    for site in sites:
        desk.note_sight(site, Sight("f"))
        desk.note_sight(site, Sight("f", (1, 1, 1, 1, 1)))
    assert [desk.take_sight(site) for site in sites] == [None, Sight("f"), Sight("f")]
    assert desk.take_sight(sites[2]) is None, "it is asked for once"


def test_one_writer_at_a_time_a_workspace() -> None:
    desk = Desk()
    here, there = replace(SITE, cwd="/here"), replace(SITE, cwd="/there")
    lock = desk.find_lock(here)
    assert desk.find_lock(here) is lock
    assert desk.find_lock(there) is not lock


def test_only_what_was_shown_and_is_so_no_more_is_refused() -> None:
    now = Sight("f", (1, 2, 3, 4, 5))
    refuse_changed(None, now)
    refuse_changed(Sight("f", (1, 2, 3, 4, 5)), now)
    for shown in (Sight("g", (1, 2, 3, 4, 5)), Sight("f"), Sight("f", (1, 2, 3, 4, 6))):
        with pytest.raises(CannotRun, match="f has changed since that was decided"):
            refuse_changed(shown, now)
