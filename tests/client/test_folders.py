"""What of a directory is listed: with git and without, and what never is."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ask import folders
from ask.folders import TooMany, list_files


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A directory with something of everything."""
    top = tmp_path / "top"
    for name in ("b.txt", "a.txt", "sub/c.txt", ".hidden", ".venv/lib.py", "out.log", "node/m.js"):
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (top / "link.txt").symlink_to(top / "a.txt")
    (top / "loop").symlink_to(top)
    os.mkfifo(top / "pipe")
    return top


def git(top: Path, *words: str) -> None:
    options = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *options, "-C", str(top), *words], check=True, capture_output=True)


ALL = ["a.txt", "b.txt", "node/m.js", "out.log", "sub/c.txt"]


def test_regular_files_that_are_not_hidden(tree: Path) -> None:
    assert list_files(str(tree)) == ALL
    assert list_files(f"{tree}/") == ALL


def test_a_hidden_directory_that_was_named_is_listed(tree: Path) -> None:
    assert list_files(str(tree / ".venv")) == ["lib.py"]


needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@needs_git
def test_what_git_ignores_is_left_out(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(tree, "init", "-q")
    (tree / ".gitignore").write_text("*.log\nnode/\n")
    git(tree, "add", "b.txt", "sub/c.txt")
    (tree / "sub" / "c.txt").unlink()
    assert list_files(str(tree)) == ["a.txt", "b.txt"]
    assert list_files(str(tree / "sub")) == []
    # One that is ignored as a whole was named all the same.
    assert list_files(str(tree / "node")) == ["m.js"]
    # In a hook git's variables name its own repository.
    monkeypatch.setenv("GIT_DIR", str(tree.parent / "elsewhere"))
    assert list_files(str(tree)) == ["a.txt", "b.txt"]


@needs_git
def test_nothing_that_a_repository_names_is_run(tree: Path) -> None:
    git(tree, "init", "-q")
    hook = tree / "hook"
    hook.write_text(f"#!/bin/sh\ntouch {tree}/ran\n")
    hook.chmod(0o755)
    git(tree, "config", "core.fsmonitor", str(hook))
    assert "a.txt" in list_files(str(tree))
    assert not (tree / "ran").exists()


def test_without_git_it_is_walked(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tree))
    assert list_files(str(tree)) == ALL


def test_a_disk_is_not_walked(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "ENTRIES_LIMIT", 8)
    assert list_files(str(tree)) == ALL  # and the three that are no files
    monkeypatch.setattr(folders, "ENTRIES_LIMIT", 7)
    with pytest.raises(TooMany):
        list_files(str(tree))


def test_one_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list_files(str(tmp_path / "nowhere"))


def test_what_is_removed_meanwhile_holds_nothing(tree: Path) -> None:
    assert list(folders._walk(str(tree), "gone")) == []
    assert not folders._is_wanted(str(tree), "gone/x")
