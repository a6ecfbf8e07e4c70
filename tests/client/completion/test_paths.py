"""Paths that begin with what was typed, as they would be typed."""

from pathlib import Path

import pytest

from ask.completion.paths import LIMIT, list_paths


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "src" / "deep").mkdir(parents=True)
    for name in ("src/one.py", "src/a b.py", "read me", ".hidden", "src/bad\x1bname"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("", ["read me", "src/"]),
        ("s", ["src/"]),
        ("src/", ["src/a b.py", "src/deep/", "src/one.py"]),
        ("src/o", ["src/one.py"]),
        ("./r", ["./read me"]),
        (".h", [".hidden"]),
        ("~/re", ["~/read me"]),
        ("nope/", []),
        ("read me/", []),
        ("S", []),
        ("[s]rc", []),
    ],
)
def test_names_of_a_directory(place: Path, typed: str, found: list[str]) -> None:
    assert [path for path, _ in list_paths(typed)] == found


def test_directories_alone_and_what_is_in_one(place: Path) -> None:
    assert list_paths("", directories_only=True) == [("src/", True)]
    assert [path for path, _ in list_paths("sr", descend=True)] == [
        "src/",
        "src/a b.py",
        "src/deep/",
        "src/one.py",
    ]
    assert list_paths("src/o", descend=True) == [("src/one.py", False)]


def test_a_large_directory_is_cut(place: Path) -> None:
    for number in range(LIMIT + 5):
        (place / f"x{number:04}").touch()
    assert len(list_paths("x")) == LIMIT
