"""What was typed before: in a file of mode 0600, the latest first, never too large."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ask.chat import recall
from ask.chat.recall import FILE_LIMIT_BYTES, Recall, read_entry


@given(st.lists(st.text(min_size=1, max_size=20), max_size=6))
def test_everything_typed_is_found_again(typed: list[str]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "state" / "chat_history"
        for text in typed:
            Recall(path).store_string(text)
        assert list(Recall(path).load_history_strings()) == typed[::-1]
        if typed:
            assert path.stat().st_mode & 0o777 == 0o600


def test_an_ephemeral_chat_leaves_nothing(tmp_path: Path) -> None:
    kept = Recall(None)
    kept.append_string("secret")
    assert kept.get_strings() == ["secret"]
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_line_of_it_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "h"
    path.write_bytes(b'"one"\nnonsense\n\xff\n[1]\n""\n"two"\n')
    assert list(Recall(path).load_history_strings()) == ["two", "one"]
    assert read_entry(b"[" * 100_000) is None


def test_a_large_file_keeps_its_latest_half(tmp_path: Path) -> None:
    path = tmp_path / "h"
    lines = [json.dumps(f"{number} " + "x" * 1000) for number in range(1500)]
    path.write_text("\n".join(lines) + "\n")
    assert path.stat().st_size > FILE_LIMIT_BYTES
    found = list(Recall(path).load_history_strings())
    assert found[0].startswith("1499 ")
    assert path.stat().st_size < FILE_LIMIT_BYTES
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["h"]


def test_what_cannot_be_written_or_is_too_long_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    kept = Recall(tmp_path / "file" / "h")
    kept.store_string("one")
    assert list(kept.load_history_strings()) == []
    path = tmp_path / "h"
    Recall(path).store_string("x" * (recall.LINE_LIMIT_CHARACTERS + 1))
    assert not path.exists()


@pytest.mark.parametrize("kind", ["a pipe", "endless", "a directory", "a loop"])
def test_what_is_no_file_is_neither_waited_for_nor_read(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "h"
    match kind:
        case "a pipe":
            os.mkfifo(path)
        case "endless":
            path.symlink_to("/dev/zero")
        case "a directory":
            path.mkdir()
        case _:
            path.symlink_to(path)
    kept = Recall(path)
    assert list(kept.load_history_strings()) == []
    kept.store_string("one")
    assert [each.name for each in tmp_path.iterdir()] == ["h"]


def test_of_a_huge_file_only_the_end_is_read(tmp_path: Path) -> None:
    path = tmp_path / "h"
    with path.open("wb") as stream:
        stream.truncate(1 << 40)  # a terabyte of nothing
        stream.seek(0, 2)
        stream.write(b"\n" + b'"x"\n' * 400_000)
    assert set(Recall(path).load_history_strings()) == {"x"}
    assert path.stat().st_size < FILE_LIMIT_BYTES
