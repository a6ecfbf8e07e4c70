"""The log's lines: the last ones, each new one once, and records made of them."""

from collections.abc import Generator, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ask import log_lines
from ask.log_lines import follow_log, read_records, read_tail

HEAD = "2026-11-22T08:00:00.123+01:00"


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log that is followed without pauses."""
    monkeypatch.setattr(log_lines, "FOLLOW_PAUSE_S", 0)
    path = tmp_path / "askd.log"
    path.write_text("one\ntwo\nthree\nhal")
    return path


def take(lines: Generator[str | None, None, None], count: int) -> list[str]:
    """The next lines, however long they take."""
    found: list[str] = []
    while len(found) < count:
        line = next(lines)
        if line is not None:
            found.append(line)
    return found


def test_a_followed_log_goes_on_with_every_line_once(log: Path) -> None:
    with closing(follow_log(log, 2)) as lines:
        assert take(lines, 2) == ["two", "three"]
        with log.open("a") as stream:
            stream.write("f a line\nfive\n")
        assert take(lines, 2) == ["half a line", "five"]
        # Moved away and begun anew, as a rotation does; then cut in place.
        log.rename(log.with_suffix(".1"))
        log.write_text("new\n")
        assert take(lines, 1) == ["new"]
        log.write_text("n\n")
        assert take(lines, 1) == ["n"]


def test_what_came_just_before_a_rotation_is_not_lost(log: Path) -> None:
    with closing(follow_log(log, 0)) as lines:
        assert next(lines) is None
        with log.open("a") as stream:
            stream.write("f\nthe last of the old one\n")
        log.rename(log.with_suffix(".1"))
        log.write_text("new\n")
        assert take(lines, 3) == ["half", "the last of the old one", "new"]


def test_last_words_without_an_end_are_not_lost(log: Path) -> None:
    with closing(follow_log(log, 0)) as lines:
        assert next(lines) is None
        log.rename(log.with_suffix(".1"))
        log.write_text("new\n")
        assert take(lines, 2) == ["hal", "new"]


def test_between_an_old_log_and_a_new_one_there_is_none(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rotation moves the file away before it makes another."""
    monkeypatch.setattr(Path, "exists", lambda path: True)  # it was, a moment ago
    log.unlink()
    with closing(follow_log(log, 0)) as lines:
        assert next(lines) is None
        log.write_text("new\n")
        assert take(lines, 1) == ["new"]


def test_a_log_that_comes_later_is_followed_from_its_beginning(log: Path) -> None:
    log.unlink()
    with closing(follow_log(log, 0)) as lines:
        assert next(lines) is None
        log.write_text("first\n")
        assert take(lines, 1) == ["first"]


def test_the_end_reaches_into_the_log_before(tmp_path: Path) -> None:
    path = tmp_path / "askd.log"
    path.with_name("askd.log.1").write_text("a\nb\n")
    path.write_text("c\n")
    assert read_tail(path, 2) == ["b", "c"]
    assert read_tail(path, 1) == ["c"]
    assert read_tail(path, 9) == ["a", "b", "c"]


def test_a_record_has_its_lines_and_nobody_elses() -> None:
    lines = [f"{HEAD} ERROR askd: Bad.", "    Traceback", f"{HEAD} INFO askd.x: a: b", "Killed"]
    messages = [(each["level"], each["message"]) for each in read_records(lines)]
    assert messages == [("error", "Bad.\nTraceback"), ("info", "a: b"), (None, "Killed")]


def test_a_record_is_whole_when_nothing_follows() -> None:
    def come() -> Iterator[str | None]:
        yield f"{HEAD} INFO askd: one"
        yield None
        raise AssertionError("asked for more before the record was given")

    assert next(read_records(come()))["message"] == "one"
