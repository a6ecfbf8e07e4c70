"""Lines as a person types them."""

import io
import os
import pty
import sys

import pytest

from ask.exits import Failed
from ask.typed import TypedLines, read_line


def test_a_line_is_read_when_it_is_complete() -> None:
    reader, writer = os.pipe()
    try:
        typed = TypedLines(reader)
        assert typed.read() == []
        os.write(writer, b"one\r\ntw")
        assert typed.read() == ["one"]
        assert typed.read() == []
        os.write(writer, "o \u00fc\n\nthree\nrest".encode())
        assert typed.read() == ["two \u00fc", "", "three"]
        os.close(writer)
        assert typed.read() == []
        assert typed.ended
        assert typed.read() == []
    finally:
        os.close(reader)


def test_what_was_typed_before_is_forgotten() -> None:
    ours, theirs = pty.openpty()
    try:
        typed = TypedLines(theirs)
        os.write(ours, b"1\n")
        typed.forget()
        os.write(ours, b"2\n")
        assert typed.read() == ["2"]
    finally:
        os.close(ours)
        os.close(theirs)


def test_a_terminal_that_is_gone_is_the_end() -> None:
    ours, theirs = pty.openpty()
    typed = TypedLines(theirs)
    os.close(ours)
    assert typed.read() == []
    assert typed.ended
    os.close(theirs)


def test_what_is_no_terminal_has_nothing_to_forget_but_its_rest() -> None:
    reader, writer = os.pipe()
    typed = TypedLines(reader)
    os.write(writer, b"half")
    assert typed.read() == []
    typed.forget()
    os.write(writer, b"2\n")
    assert typed.read() == ["2"]
    os.close(reader)
    os.close(writer)


def test_the_next_line_of_a_script_and_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("one\n\nlast"))
    assert [read_line("> ", by_hand=False) for _ in range(4)] == ["one\n", "\n", "last", None]


def test_a_line_that_is_no_text_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff\n"), "utf-8"))
    with pytest.raises(Failed, match="not valid UTF-8"):
        read_line("", by_hand=False)


def test_a_person_sees_a_mark_and_leaves_with_ctrl_d(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", io.StringIO("hi\n"))
    assert read_line("> ", by_hand=True) == "hi"
    assert read_line("> ", by_hand=True) is None
    assert capsys.readouterr().out == "> > \n"
