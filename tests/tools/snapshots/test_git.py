"""git is run without hooks, without anything of a work tree's, and never for longer than asked."""

import os
from pathlib import Path

import pytest

from askd.tools.snapshots.git import (
    CannotRecord,
    Git,
    GitFailed,
    find_path,
    split_nul,
)
from tests.fakes.snapshots import Repository

HERE = {"PATH": os.environ["PATH"]}


async def test_what_a_command_writes_and_what_it_refuses(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "w")
    git = Git(environment={**HERE, "HOME": str(tmp_path)})
    assert await git.run("hash-object", "--stdin", at=str(repository.top), data=b"x" * 100_000)
    with pytest.raises(GitFailed, match="git: Not a valid object name") as caught:
        await git.run("cat-file", "-p", "0123", at=str(repository.top))
    assert caught.value.status == 128


async def test_too_much_is_an_error_or_is_cut(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "w")
    repository.write("large", "x" * 500_000)
    repository.commit()
    git = Git(environment=HERE)
    top = str(repository.top)
    with pytest.raises(CannotRecord, match="more than 1000 bytes"):
        await git.run("show", "HEAD:large", at=top, limit=1000)
    assert await git.run("show", "HEAD:large", at=top, limit=1000, cut=True) == b"x" * 1001


async def test_without_git_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(CannotRecord, match="git is not installed"):
        await Git(environment={"PATH": str(tmp_path)}).run("version", at="/")


async def test_a_directory_that_is_gone_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(CannotRecord, match="could not be started"):
        await Git(environment=HERE).run("version", at=str(tmp_path / "gone"))


async def test_no_variable_of_the_environment_leads_git_elsewhere(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "w")
    wrong = {"GIT_DIR": "/nowhere", "GIT_INDEX_FILE": "/nowhere", "GIT_TRACE": "/dev/stderr"}
    said = await Git(environment={**HERE, **wrong}).run(
        "rev-parse", "--show-toplevel", at=str(repository.top)
    )
    assert said.decode().strip() == str(repository.top)


async def test_a_program_in_the_work_tree_is_not_taken_for_git(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "w")
    trap = repository.write("bin/git", "#!/bin/sh\ntouch trapped\n")
    trap.chmod(0o755)
    (tmp_path / "link").symlink_to(trap.parent)
    path = f"{trap.parent}:{tmp_path / 'link'}:bin::.:{os.environ['PATH']}"
    await Git(environment={"PATH": path}).run("status", at=str(repository.top))
    assert not (repository.top / "trapped").exists()


def test_a_search_path_is_of_absolute_directories_elsewhere(tmp_path: Path) -> None:
    inside, outside = tmp_path / "w" / "bin", tmp_path / "wide"
    path = f"{inside}:relative::{outside}:{tmp_path / 'w'}"
    assert find_path(path, outside=str(tmp_path / "w")) == str(outside)


def test_records_end_with_nul() -> None:
    assert split_nul(b"a\0b\0") == [b"a", b"b"]
    assert split_nul(b"") == []
