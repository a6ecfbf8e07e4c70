"""A path becomes an open place, or a sentence that says why not."""

import errno
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.tools.base import CannotRun
from askd.tools.files.places import (
    describe_kind,
    explain,
    name_inside,
    open_content,
    open_place,
    open_spot,
    say_number,
    show_path,
)
from tests.fakes.workspaces import opened


def test_a_place_says_where_it_really_is(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_text("x")
    (tmp_path / "link").symlink_to("a/../a/file")
    with opened(tmp_path) as workspace:
        for path in ("a/file", "link", "./a//file", f"{tmp_path}/a/file", "a/../link"):
            with open_place(workspace, path) as found:
                assert found.relative == "a/file"
                descriptor = open_content(found)
                assert os.read(descriptor, 9) == b"x"
                os.close(descriptor)
        with open_place(workspace, ".") as found:
            assert found.relative == "."
        with open_place(workspace, str(tmp_path)) as found:
            assert found.relative == "."


def test_a_spot_is_found_before_anything_is_made(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to("a")
    with opened(tmp_path) as workspace:
        with open_spot(workspace, "link/b/c/new.txt") as spot:
            assert (spot.missing, spot.name) == (("b", "c"), "new.txt")
            assert spot.relative == "a/b/c/new.txt"
            assert spot.found is None
            assert os.path.samestat(os.fstat(spot.directory), (tmp_path / "a").stat())
        with open_spot(workspace, "new.txt") as spot:
            assert (spot.missing, spot.relative) == ((), "new.txt")
    assert os.listdir(tmp_path / "a") == []


@pytest.mark.parametrize("path", ["none/../x", "a/none/../../x"])
def test_no_way_leads_up_from_what_is_not_there(path: str, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with (
        opened(tmp_path) as workspace,
        pytest.raises(CannotRun, match="There is no"),
        open_spot(workspace, path),
    ):
        pass


def test_what_was_removed_or_moved_away_in_between_is_not_written_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = tmp_path / "ws"
    (inside / "a").mkdir(parents=True)
    (inside / "a" / "file").write_text("x")
    (inside / "b").mkdir()
    (inside / "b" / "file").write_text("another")
    real = os.readlink

    def move(path: str, *, dir_fd: int | None = None) -> str:
        found = real(path, dir_fd=dir_fd)
        if found.endswith("/a/file"):
            (inside / "a").rename(tmp_path / "gone")
            (inside / "b").rename(inside / "a")
        return found

    with opened(inside) as workspace:
        monkeypatch.setattr(os, "readlink", move)
        with pytest.raises(CannotRun, match="try again"), open_spot(workspace, "a/file"):
            pass


def test_an_absolute_path_is_taken_for_what_it_is_inside(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with opened(tmp_path / "link") as workspace:
        assert name_inside(workspace, f"{tmp_path}/real/x") == "x"
        assert name_inside(workspace, f"{tmp_path}/link/x") == "x"
        assert name_inside(workspace, f"{tmp_path}/link//x/") == "x/"
        assert name_inside(workspace, f"{tmp_path}/link/") == "."
        for path in (f"{tmp_path}", f"{tmp_path}/linkx", "/", "/etc"):
            with pytest.raises(CannotRun, match="is not in the workspace"):
                name_inside(workspace, path)
    with opened(Path("/")) as workspace:
        assert name_inside(workspace, "/etc/hosts") == "etc/hosts"
        assert name_inside(workspace, "/") == "."


def test_the_sentence_says_where_the_workspace_is(tmp_path: Path) -> None:
    with (
        opened(tmp_path) as workspace,
        pytest.raises(CannotRun) as caught,
        open_place(workspace, "../x"),
    ):
        pass
    assert str(caught.value).startswith(f"../x is not in the workspace, {tmp_path}, and nothing")


def test_a_workspace_that_goes_while_it_is_open_is_said(tmp_path: Path) -> None:
    place = tmp_path / "ws"
    place.mkdir()
    with opened(place) as workspace:
        place.rmdir()
        for opening in (open_place, open_spot):
            with (
                pytest.raises(CannotRun, match=r"you stood in \(.*\) is gone"),
                opening(workspace, "x"),
            ):
                pass


@pytest.mark.parametrize(
    "number", [errno.EACCES, errno.ENOSPC, errno.EROFS, errno.EIO, errno.EBUSY]
)
def test_other_errors_keep_the_systems_words(number: int, tmp_path: Path) -> None:
    with opened(tmp_path) as workspace:
        said = str(explain(OSError(number, "x"), workspace, "a"))
        assert said == f"a: {os.strerror(number)}."
        assert str(explain(OSError("odd"), workspace, "a")) == "a: odd."


@given(st.text())
def test_a_path_is_shown_on_one_line_that_can_be_printed(path: str) -> None:
    assert show_path(path).isprintable()


def test_plain_paths_are_shown_as_they_are() -> None:
    assert show_path("a b/ü/你.txt") == "a b/ü/你.txt"
    assert show_path("a\x1b[31m\n\u202eb") == "a\\x1b[31m\\n\\u202eb"
    assert show_path(os.fsdecode(b"\xff")) == "\\xff"


def test_kinds_and_numbers_in_words() -> None:
    kinds = [stat.S_IFREG, stat.S_IFDIR, stat.S_IFIFO, stat.S_IFSOCK, stat.S_IFLNK, stat.S_IFCHR]
    assert [describe_kind(each) for each in kinds] == [
        "a file",
        "a directory",
        "a named pipe",
        "a socket",
        "a link",
        "a device",
    ]
    assert say_number(1, "line") == "1 line"
    assert say_number(2_000, "line") == "2,000 lines"
