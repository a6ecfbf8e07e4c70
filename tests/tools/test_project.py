"""Which directories a project is, from the caller's to the top of its work tree, and no others."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from askd.tools import project as module
from askd.tools.project import Project, open_project
from askd.tools.workspace import open_workspace
from tests.fakes.workspaces import stand_in
from tests.tools.test_gitdirs import make_gitdir


@contextmanager
def found(directory: Path, *, home: Path | None = None) -> Iterator[Project | None]:
    site = stand_in(directory)
    if home is not None:
        site = replace(site, env={"HOME": str(home)})
    with open_workspace(site) as workspace, open_project(workspace) as project:
        yield project


def directories(directory: Path, *, home: Path | None = None) -> tuple[str, ...]:
    """From the top to the caller's, as absolute paths."""
    with found(directory, home=home) as project:
        if project is None:
            return ()
        assert os.path.samestat(os.fstat(project.fd), os.stat(project.path))
        return tuple(
            os.path.normpath(os.path.join(project.path, each)) for each in project.directories
        )


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A repository with directories in it."""
    make_gitdir(tmp_path / "top" / ".git")
    (tmp_path / "top" / "a" / "b").mkdir(parents=True)
    return tmp_path / "top"


def test_it_reaches_from_the_top_of_the_work_tree_to_where_one_stands(top: Path) -> None:
    assert directories(top / "a" / "b") == (str(top), str(top / "a"), str(top / "a" / "b"))
    assert directories(top) == (str(top),)


def test_without_a_repository_it_is_where_one_stands(tmp_path: Path) -> None:
    (tmp_path / "plain" / "in").mkdir(parents=True)
    assert directories(tmp_path / "plain" / "in") == (str(tmp_path / "plain" / "in"),)


def test_the_nearest_repository_counts(top: Path) -> None:
    make_gitdir(top / "a" / ".git")
    assert directories(top / "a" / "b") == (str(top / "a"), str(top / "a" / "b"))


def test_a_second_work_tree_is_one_too(top: Path) -> None:
    other = top / "a"
    (other / ".git").write_text("gitdir: ../.git/worktrees/a\n")
    assert directories(other / "b") == (str(other), str(other / "b"))


@pytest.mark.parametrize("what", ["empty directory", "other file", "pipe", "dangling link"])
def test_what_is_only_called_so_is_no_repository(top: Path, what: str) -> None:
    fake = top / "a" / ".git"
    match what:
        case "empty directory":
            fake.mkdir()
        case "other file":
            fake.write_text("hello\n")
        case "pipe":
            os.mkfifo(fake)
        case _:
            fake.symlink_to("nowhere")
    assert directories(top / "a" / "b")[0] == str(top)


def test_a_home_is_none_unless_it_is_a_repository(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "notes").mkdir(parents=True)
    assert directories(home, home=home) == ()
    assert directories(tmp_path, home=home) == ()
    assert directories(home / "notes", home=home) == (str(home / "notes"),)
    make_gitdir(home / ".git")
    assert directories(home, home=home) == (str(home),)


def test_who_may_only_pass_through_a_directory_still_finds_the_top(top: Path) -> None:
    (top / "a").chmod(0o311)
    assert directories(top / "a" / "b")[0] == str(top)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_repository_of_somebody_elses_is_none(top: Path) -> None:
    os.chown(top / ".git", 4711, 4711)
    assert directories(top / "a" / "b") == (str(top / "a" / "b"),)
    # Whoever stands in that person's own directory has chosen to be there.
    os.chown(top / "a" / "b", 4711, 4711)
    assert directories(top / "a" / "b")[0] == str(top)


def test_whose_files_count(top: Path) -> None:
    with found(top) as project:
        assert project is not None
        assert project.owners == {os.geteuid(), 0, top.stat().st_uid}


def test_nobodys_project_is_endlessly_deep(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DEPTH", 2)
    assert directories(top / "a")[0] == str(top)
    assert directories(top / "a" / "b") == (str(top / "a" / "b"),)


def test_everything_is_closed_again(top: Path) -> None:
    before = sorted(os.listdir("/proc/self/fd"))
    with found(top / "a" / "b"):
        pass
    assert sorted(os.listdir("/proc/self/fd")) == before


def test_a_directory_that_is_moved_meanwhile_has_none_or_its_own(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    with open_workspace(stand_in(tmp_path / "one")) as workspace:
        (tmp_path / "one").rename(tmp_path / "two")
        with open_project(workspace) as project:
            assert project is None
