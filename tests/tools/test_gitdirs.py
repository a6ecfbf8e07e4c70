"""What git keeps is found by its name, by its look, and by what points to it."""

import os
import subprocess
from pathlib import Path

import pytest

from askd.tools import gitdirs
from askd.tools.gitdirs import (
    find_gitdirs,
    find_repository_owner,
    is_git_name,
    is_gitdir,
    lies_in_gitdir,
)


def make_gitdir(path: Path) -> Path:
    for name in ("objects", "refs"):
        (path / name).mkdir(parents=True)
    (path / "HEAD").write_text("ref: refs/heads/main\n")
    return path


def find(top: Path) -> list[str]:
    descriptor = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    try:
        found, is_cut = find_gitdirs(descriptor, str(top))
    finally:
        os.close(descriptor)
    assert not is_cut
    return sorted(os.path.relpath(each, top) for each in set(found))


def lies(top: Path, relative: str) -> bool:
    descriptor = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return lies_in_gitdir(descriptor, relative)
    finally:
        os.close(descriptor)


@pytest.mark.parametrize(
    "name", [".git", ".GIT", ".Git", ".git.", ".git ", ".git . ", "git~1", ".g\u200cit", ".git:x"]
)
def test_names_that_some_file_system_takes_for_it(name: str) -> None:
    assert is_git_name(name)


@pytest.mark.parametrize("name", ["git", ".gitignore", ".github", ".gi", "x.git", ".git-x", ""])
def test_names_that_none_does(name: str) -> None:
    assert not is_git_name(name)


def test_a_repository_is_known_by_its_look(tmp_path: Path) -> None:
    make_gitdir(tmp_path / "store")
    (tmp_path / "store" / "hooks").mkdir()
    (tmp_path / "half" / "objects").mkdir(parents=True)
    (tmp_path / "half" / "HEAD").write_text("x")
    assert lies(tmp_path, "store/config")
    assert lies(tmp_path, "store/hooks/pre-commit")
    assert lies(tmp_path, "store/none/deeper/x")
    assert not lies(tmp_path, "half/config")
    assert not lies(tmp_path, "store")  # itself, from outside: no file of it
    assert lies(tmp_path / "store", "config")


def test_repositories_are_found_where_they_are(tmp_path: Path) -> None:
    make_gitdir(tmp_path / ".git")
    make_gitdir(tmp_path / "a" / "b" / ".git")
    make_gitdir(tmp_path / "bare.git")
    make_gitdir(tmp_path / "1" / "2" / "3" / "4" / ".git")
    make_gitdir(tmp_path / "1" / "2" / "3" / "4" / "5" / ".git")
    (tmp_path / "plain" / "sub").mkdir(parents=True)
    (tmp_path / "loop").symlink_to(".")
    assert find(tmp_path) == [
        ".git",
        "1/2/3/4/.git",
        "1/2/3/4/5/.git",
        "a/b/.git",
        "bare.git",
    ]


def test_what_a_file_named_git_points_to_is_found(tmp_path: Path) -> None:
    store = make_gitdir(tmp_path / "ws" / "1" / "2" / "3" / "4" / "5" / "store")
    beside = make_gitdir(tmp_path / "beside")
    worktree = beside / "worktrees" / "wt"
    worktree.mkdir(parents=True)
    (worktree / "HEAD").write_text("x")
    (worktree / "commondir").write_text("../..\n")
    for name in ("one", "two", "three"):
        (tmp_path / "ws" / name).mkdir()
    (tmp_path / "ws" / "one" / ".git").write_text(f"gitdir: {store}\n")
    (tmp_path / "ws" / "two" / ".git").write_text("gitdir: ../../beside/worktrees/wt\n")
    (tmp_path / "ws" / "three" / ".git").symlink_to(store)
    assert find(tmp_path / "ws") == [
        "../beside",
        "../beside/worktrees/wt",
        "1/2/3/4/5/store",
        "one/.git",
        "three/.git",
        "two/.git",
    ]


@pytest.mark.parametrize(
    "content", ["gitdir: /", "gitdir: ..", "gitdir: none", "gitdir: ", "x", "", "gitdir: a\0b"]
)
def test_a_file_that_points_to_no_repository_protects_nothing_else(
    content: str, tmp_path: Path
) -> None:
    make_gitdir(tmp_path)  # even if what holds the workspace were one
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws" / ".git").write_text(content)
    assert find(tmp_path / "ws") == [".git"]


def test_a_pipe_named_git_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".git")
    assert find(tmp_path) == [".git"]


def test_a_large_tree_is_looked_at_in_part_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gitdirs, "SCAN_DIRECTORIES", 3)
    for name in "abcd":
        (tmp_path / name).mkdir()
    make_gitdir(tmp_path / ".git")
    descriptor = os.open(tmp_path, os.O_RDONLY)
    try:
        assert find_gitdirs(descriptor, str(tmp_path)) == ([str(tmp_path / ".git")], True)
    finally:
        os.close(descriptor)


def test_what_git_itself_makes_is_known(tmp_path: Path) -> None:
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (
        ["init", "-q", "main"],
        ["init", "-q", "--bare", "bare"],
        ["init", "-q", "--separate-git-dir", "store", "apart"],
        ["-C", "main", "commit", "-q", "--allow-empty", "-m", "x"],
        ["-C", "main", "worktree", "add", "-q", "../tree"],
    ):
        subprocess.run([*git, *words], check=True, capture_output=True)
    assert find(tmp_path) == [
        "apart/.git",
        "bare",
        "main/.git",
        "main/.git/worktrees/tree",
        "store",
        "tree/.git",
    ]
    descriptor = os.open(tmp_path / "main", os.O_RDONLY)
    assert not is_gitdir(descriptor)
    os.close(descriptor)


def owner(directory: Path) -> int | None:
    descriptor = os.open(directory, os.O_PATH | os.O_DIRECTORY)
    try:
        return find_repository_owner(descriptor)
    finally:
        os.close(descriptor)


def test_the_top_of_a_work_tree_is_known_by_what_it_holds(tmp_path: Path) -> None:
    assert owner(tmp_path) is None
    (tmp_path / ".git").mkdir()
    assert owner(tmp_path) is None
    make_gitdir(tmp_path / ".git")
    assert owner(tmp_path) == os.geteuid()
    assert owner(tmp_path / ".git") is None
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / ".git").write_text("gitdir: /elsewhere\n")
    assert owner(tmp_path / "other") == os.geteuid()
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / ".git").symlink_to("../.git")
    assert owner(tmp_path / "linked") == os.geteuid()


@pytest.mark.parametrize("kind", ["pipe", "text", "nothing"])
def test_what_is_only_called_so_is_no_repository(tmp_path: Path, kind: str) -> None:
    path = tmp_path / ".git"
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "text":
            path.write_text("some words\n")
        case _:
            path.symlink_to("gone")
    assert owner(tmp_path) is None
