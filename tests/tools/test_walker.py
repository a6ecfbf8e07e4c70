"""The search of ours: what it finds, what it passes over, and that it is run as a program."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from askd.tools import walker
from askd.tools.search import WALKER


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with files of all kinds."""
    for name, text in {
        ".git/config": "hello",
        ".gitignore": "build/\n*.log\n!keep.log\n/top\n# none\n\ndocs/**/*.txt\n",
        ".hidden": "hello",
        "a.log": "hello",
        "keep.log": "hello",
        "build/x": "hello",
        "deep/build/x": "hello",
        "deep/top": "hello",
        "top": "hello",
        "docs/a/b.txt": "hello",
        "docs/c.txt": "hello",
        "docs/c.md": "hello\nHELLO there\nbye\n",
        "deep/.gitignore": "private\n",
        "deep/private": "hello",
        "private": "hello",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "binary").write_bytes(b"\0hello\n")
    (tmp_path / "odd").write_bytes(b"\xff hello\xfe\n")
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / "linked").symlink_to("/etc")
    os.mkfifo(tmp_path / "fifo")
    return tmp_path


def search(
    tree: Path, pattern: str, path: str = ".", glob: str | None = None, ignore_case: bool = False
) -> tuple[int, list[bytes], str]:
    """Status, lines and standard error of the program."""
    spec = {"pattern": pattern, "path": path, "glob": glob, "ignore_case": ignore_case}
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "utf8", str(WALKER), json.dumps(spec)],
        cwd=tree,
        capture_output=True,
        timeout=20,
        check=False,
    )
    return done.returncode, done.stdout.splitlines(), done.stderr.decode()


def found(lines: list[bytes]) -> list[str]:
    return [line.partition(b"\0")[0].decode() for line in lines]


def test_what_it_finds_and_what_it_passes_over(tree: Path) -> None:
    status, lines, said = search(tree, "^hel+o|. hello")
    assert (status, said) == (0, "")
    assert found(lines) == [".hidden", "deep/top", "docs/c.md", "keep.log", "odd", "private"]
    assert b"odd\x001:0:\xff hello\xfe" in lines


def test_without_a_repository_gitignore_is_a_file_like_others(tree: Path) -> None:
    (tree / ".git").rename(tree / "git")
    _, lines, _ = search(tree, "hello")
    assert "a.log" in found(lines)


def test_a_line_is_said_with_its_number_and_the_place_of_its_first_byte(tree: Path) -> None:
    _, lines, _ = search(tree, "there", "docs")
    assert lines == [b"docs/c.md\x002:6:HELLO there"]


@pytest.mark.parametrize(
    ("path", "glob", "names"),
    [
        ("docs", "*.md", ["docs/c.md"]),
        (".", "docs/*", ["docs/c.md"]),
        (".", "**/c.*", ["docs/c.md"]),
        ("docs/c.txt", None, ["docs/c.txt"]),
        ("deep", None, ["deep/top"]),
        (".", "[kp]*", ["keep.log", "private"]),
    ],
)
def test_a_part_of_the_tree(tree: Path, path: str, glob: str | None, names: list[str]) -> None:
    _, lines, _ = search(tree, "^hello$", path, glob)
    assert found(lines) == names


def test_upper_and_lower_case(tree: Path) -> None:
    assert search(tree, "hello", "docs/c.md", ignore_case=True)[1] == [
        b"docs/c.md\x001:0:hello",
        b"docs/c.md\x002:6:HELLO there",
    ]


def test_nothing_and_what_is_no_expression(tree: Path) -> None:
    assert search(tree, "nowhere to be found") == (1, [], "")
    status, lines, said = search(tree, "(")
    assert (status, lines) == (2, [])
    assert said.startswith("not a regular expression: missing )")
    assert search(tree, "x", glob="[z-a]")[2].startswith("not a pattern of paths")


def test_a_file_that_is_too_large_is_left(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tree)
    monkeypatch.setattr(walker, "SIZE_LIMIT_BYTES", 4)
    spec = {"pattern": "hello", "path": ".", "glob": None, "ignore_case": False}
    assert walker.main(json.dumps(spec)) == 1
    monkeypatch.undo()
    monkeypatch.chdir(tree)
    monkeypatch.setattr(walker, "FILES_LIMIT", 1)
    assert walker.main(json.dumps({**spec, "pattern": "log"})) == 0
    output = capfdbinary.readouterr()
    assert set(found(output.out.splitlines())) == {".gitignore"}
    assert b"only the first 1 files" in output.err


@pytest.mark.parametrize(
    ("glob", "path", "fits"),
    [
        ("*.py", "a.py", True),
        ("*.py", "a/b.py", False),
        ("**/*.py", "a.py", True),
        ("**/*.py", "a/b/c.py", True),
        ("a/**", "a/b/c", True),
        ("?.c", "x.c", True),
        ("?.c", "/.c", False),
        ("[!a]", "b", True),
        ("[!a]", "a", False),
        ("[", "[", True),
        ("a.b", "axb", False),
    ],
)
def test_patterns_of_paths(glob: str, path: str, fits: bool) -> None:
    assert (re.fullmatch(walker.translate(glob), path) is not None) == fits
