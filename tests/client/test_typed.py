"""Lines as a person types them."""

import os
import pty

from ask.typed import TypedLines


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
