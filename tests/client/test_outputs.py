"""Answers in files, and code blocks in answers."""

import os
import stat
import threading
from pathlib import Path

import pytest

from ask.exits import Failed
from ask.outputs import check_output, find_code_block, replace_output


@pytest.mark.parametrize(
    ("text", "block"),
    [
        ("Here:\n```python\nprint(1)\n```\nand\n```\nno\n```\n", "print(1)\n"),
        ("~~~\na\n```\nb\n~~~\n", "a\n```\nb\n"),
        ("````\n```\ninner\n```\n````", "```\ninner\n```\n"),
        ("1. like this:\n     ```sh\n     if x\n       ls\n  fi\n     ```\n", "if x\n  ls\nfi\n"),
        ("```\nnever closed", "never closed"),
        ("```\n```", ""),
        ("```inline``` is no block\n```text\nx\n```", "x\n"),
        ("none `here` at ``all``", None),
        ("", None),
    ],
)
def test_the_first_block(text: str, block: str | None) -> None:
    assert find_code_block(text) == block


def test_a_new_file_is_like_any_other(tmp_path: Path) -> None:
    path = tmp_path / "answer.txt"
    check_output(str(path))
    before = os.umask(0o027)
    try:
        replace_output(path, "yes")
    finally:
        os.umask(before)
    assert path.read_text() == "yes\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_replaced_keeps_its_mode_and_its_link(tmp_path: Path) -> None:
    path, link = tmp_path / "answer.txt", tmp_path / "link"
    path.write_text("old")
    path.chmod(0o600)
    link.symlink_to(path)
    check_output(str(link))
    replace_output(link, "new\n")
    assert link.is_symlink()
    assert path.read_text() == "new\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_pipe_is_written_into(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(path.read_text()))
    thread.start()
    check_output(str(path))
    replace_output(path, "")
    thread.join()
    assert found == [""]


def test_what_cannot_be_written_is_refused_before_it_costs_a_turn(tmp_path: Path) -> None:
    with pytest.raises(Failed, match="is a directory") as caught:
        check_output(str(tmp_path))
    assert caught.value.code == 2
    with pytest.raises(Failed, match="cannot be written"):
        check_output(str(tmp_path / "no" / "such" / "file"))
    check_output(None)


def test_a_write_that_fails_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "answer.txt"
    path.write_text("old")

    def fail(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(Failed, match="No space left") as caught:
        replace_output(path, "new")
    assert caught.value.code == 74
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
