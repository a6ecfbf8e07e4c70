"""One file: gone on with line by line, mended at its end, copied, removed, archived."""

import os
from pathlib import Path

import pytest

from askd.core.rollout_lines import encode_line
from askd.files import sync_directory
from askd.store.rollouts import files as rollout_files
from askd.store.rollouts.files import Diverged, Overtaken, RolloutFile, is_ours

OURS = [encode_line({"type": "ask_event", "payload": {"seq": seq}}) for seq in range(4)]
THEIRS = b'{"type":"theirs"}\n'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "2026" / "01" / "02" / "rollout-c.jsonl"


def write(path: Path, *lines: bytes, offset: int = 0, fresh: bool = False) -> int:
    rollout_files.make_folder(path)
    with RolloutFile(path, offset, fresh=fresh) as file:
        for line in lines:
            file.put(line)
        return file.finish()


def test_lines_are_appended_and_a_fresh_file_begins_empty(path: Path) -> None:
    assert write(path, *OURS[:2], fresh=True) == len(b"".join(OURS[:2]))
    assert path.read_bytes() == b"".join(OURS[:2])
    assert path.stat().st_mode & 0o777 == 0o600
    write(path, OURS[3], fresh=True)
    assert path.read_bytes() == OURS[3]


@pytest.mark.parametrize(
    ("tail", "expected"),
    [
        (b"", b"".join(OURS[1:3])),
        (OURS[1], b"".join(OURS[1:3])),
        (OURS[1][:-1], b"".join(OURS[1:3])),
        (OURS[1] + OURS[2][:5], b"".join(OURS[1:3])),
        (THEIRS, THEIRS + b"".join(OURS[1:3])),
        (THEIRS[:-1], THEIRS + b"".join(OURS[1:3])),
        (THEIRS[:-3], b"".join(OURS[1:3])),
        (b"\0\0\0", b"".join(OURS[1:3])),
        (b"\n", b"\n" + b"".join(OURS[1:3])),
        (OURS[1][:9] + THEIRS, OURS[1][:9] + THEIRS + b"".join(OURS[1:3])),
        (OURS[1] + THEIRS + OURS[2], OURS[1] + THEIRS + OURS[2]),
        (OURS[1] + THEIRS + OURS[2][:4], OURS[1] + THEIRS + OURS[2]),
    ],
)
def test_what_is_there_is_not_written_twice(path: Path, tail: bytes, expected: bytes) -> None:
    start = write(path, OURS[0], fresh=True)
    with path.open("ab") as stream:
        stream.write(tail)
    end = write(path, OURS[1], OURS[2], offset=start)
    assert path.read_bytes() == OURS[0] + expected
    assert end == len(OURS[0] + expected)


def test_what_stands_beyond_our_lines_is_left_for_the_next_time(path: Path) -> None:
    start = write(path, OURS[0], fresh=True)
    with path.open("ab") as stream:
        stream.write(OURS[1] + THEIRS + b'{"torn')
    end = write(path, OURS[1], offset=start)
    assert end == len(OURS[0] + OURS[1])
    assert path.read_bytes() == OURS[0] + OURS[1] + THEIRS + b'{"torn'
    write(path, OURS[2], offset=end)
    assert path.read_bytes() == OURS[0] + OURS[1] + THEIRS + OURS[2]


def test_another_line_of_ours_is_no_line_to_go_on_from(path: Path) -> None:
    start = write(path, OURS[0], fresh=True)
    with path.open("ab") as stream:
        stream.write(OURS[3])
    with pytest.raises(Diverged):
        write(path, OURS[1], offset=start)
    assert path.read_bytes() == OURS[0] + OURS[3]


@pytest.mark.parametrize("tail", [bytes(600) + OURS[1], OURS[1][:9] + bytes(9) + b"}\n" + OURS[2]])
def test_a_hole_that_a_power_cut_has_left_is_no_file_to_go_on_with(path: Path, tail: bytes) -> None:
    start = write(path, OURS[0], fresh=True)
    with path.open("ab") as stream:
        stream.write(tail)
    with pytest.raises(Diverged):
        write(path, OURS[1], offset=start)


def test_somebody_who_writes_meanwhile_is_noticed(path: Path) -> None:
    start = write(path, OURS[0], fresh=True)
    with RolloutFile(path, start) as file:
        with path.open("ab") as stream:
            stream.write(THEIRS)
        file.put(OURS[1])
        with pytest.raises(Overtaken):
            file.finish()
    assert path.read_bytes() == OURS[0] + THEIRS + OURS[1]


def test_a_large_line_of_somebody_is_passed_over_in_pieces(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rollout_files, "LINE_BYTES", 16)
    monkeypatch.setattr(rollout_files, "WRITE_BYTES", 8)
    small = [b'{"ask":{}}\n', b'{"ask":{} }\n']
    large = b'{"theirs":"' + b"x" * 100 + b'"}\n'
    start = write(path, small[0], fresh=True)
    with path.open("ab") as stream:
        stream.write(large)
    write(path, small[1], offset=start)
    assert path.read_bytes() == small[0] + large + small[1]


@pytest.mark.parametrize(
    ("line", "ours"),
    [
        (OURS[0], True),
        (b'{"type":"ask_blob","payload":{}}', True),
        (b'{"type":"response_item","ask":{"seq":1}}', True),
        (b'{"type":"response_item","payload":"ask_event"}', False),
        (b'{"type":"response_item","ask":1}', False),
        (b'{"ask":{"seq":1}', False),
        (b'["ask"]', False),
        (THEIRS, False),
    ],
)
def test_our_lines_are_told_from_others(line: bytes, ours: bool) -> None:
    assert is_ours(line) is ours


def test_what_is_no_file_is_not_followed_nor_waited_for(path: Path) -> None:
    rollout_files.make_folder(path)
    other = path.with_name("other")
    other.write_bytes(OURS[0])
    path.symlink_to(other)
    for work in (lambda: RolloutFile(path, 0), lambda: rollout_files.measure(path)):
        with pytest.raises(OSError, match=r"symbolic|no file"):
            work()
    path.unlink()
    os.mkfifo(path)
    for work in (lambda: RolloutFile(path, 0), lambda: rollout_files.measure(path)):
        with pytest.raises(OSError, match="no file"):
            work()
    assert rollout_files.measure(path.with_name("nothing")) is None
    assert rollout_files.measure(other / "below") is None
    assert rollout_files.measure(other) == len(OURS[0])


def test_a_copy_is_whole_and_private(path: Path, tmp_path: Path) -> None:
    write(path, *OURS, fresh=True)
    new = tmp_path / "new" / path.name
    rollout_files.copy_file(path, new)
    assert new.read_bytes() == path.read_bytes()
    assert [each.name for each in new.parent.iterdir()] == [path.name]
    assert new.stat().st_mode & 0o777 == 0o600


def test_removal_takes_draft_and_empty_folders_and_nothing_else(path: Path, tmp_path: Path) -> None:
    write(path, *OURS, fresh=True)
    rollout_files.draft_of(path).write_bytes(b"half")
    neighbour = tmp_path / "2026" / "02"
    neighbour.mkdir()
    rollout_files.remove_file(path)
    assert list(tmp_path.rglob("*")) == [tmp_path / "2026", neighbour]
    rollout_files.remove_file(path)  # it is gone: fine
    path.mkdir(parents=True)
    rollout_files.remove_file(path)
    assert path.is_dir()  # none of ours


def test_what_was_removed_stays_removed_after_a_power_cut(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(path, *OURS, fresh=True)
    neighbour = path.with_name("rollout-d.jsonl")
    neighbour.write_bytes(b"")
    synced: list[tuple[Path, bool]] = []
    sync = sync_directory

    def fail(folder: Path) -> None:
        raise OSError(5, "Input/output error")

    def note(folder: Path) -> None:
        synced.append((folder, path.exists()))
        sync(folder)

    monkeypatch.setattr(rollout_files, "sync_directory", fail)
    with pytest.raises(OSError, match="Input/output"):
        rollout_files.remove_file(path)
    monkeypatch.setattr(rollout_files, "sync_directory", note)
    rollout_files.remove_file(path)  # again: what the first try removed is not safe yet
    assert synced == [(path.parent, False)]


def test_the_archive_keeps_the_file_under_its_name(path: Path, tmp_path: Path) -> None:
    write(path, *OURS, fresh=True)
    archive = tmp_path / "archive"
    rollout_files.archive_file(path, archive)
    assert (archive / path.name).read_bytes() == b"".join(OURS)
    assert not (tmp_path / "2026").exists()
    rollout_files.archive_file(path, archive)
    assert (archive / path.name).exists()


def test_sync_says_which_file_is_not_there(path: Path) -> None:
    write(path, *OURS, fresh=True)
    missing = path.with_name("missing")
    failed = rollout_files.sync([path, missing])
    assert list(failed) == [missing]
    assert isinstance(failed[missing], FileNotFoundError)
