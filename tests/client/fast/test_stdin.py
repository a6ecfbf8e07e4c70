"""Standard input on the short way: to its end, to a limit, and with patience."""

import os
import signal
import threading

import pytest

from ask.fast import stdin as stdin_module
from ask.fast.stdin import EMPTY_INPUT, SILENCE, read_input


def test_input_is_read_to_its_end(stdin: int, capfd: pytest.CaptureFixture[str]) -> None:
    os.write(stdin, b"some ")
    os.write(stdin, b"text")
    os.close(stdin)
    assert read_input() == (b"some text", False)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(("quiet", "said"), [(False, EMPTY_INPUT), (True, "")])
def test_an_empty_input_is_said(
    stdin: int, capfd: pytest.CaptureFixture[str], quiet: bool, said: str
) -> None:
    os.close(stdin)
    assert read_input(quiet=quiet) == (b"", False)
    assert capfd.readouterr().err == said


def test_more_than_the_limit_is_left_for_the_long_way(stdin: int) -> None:
    os.write(stdin, b"x" * 100)
    os.close(stdin)
    content, more = read_input(50)
    assert more
    rest, _ = read_input(1000, quiet=True)
    assert content + rest == b"x" * 100


def test_a_silent_input_is_said(
    stdin: int, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stdin_module, "SILENCE_S", 0.01)
    handler = signal.getsignal(signal.SIGALRM)
    # It closes once the silence has been said: the test ends by that event, not by a time.
    said, ready = threading.Event(), os.dup(stdin)

    def say(text: str) -> None:
        os.write(2, text.encode())
        said.set()

    monkeypatch.setattr(stdin_module, "say", say)

    def close_later() -> None:
        assert said.wait(10)
        os.write(ready, b"late")
        os.close(ready)

    thread = threading.Thread(target=close_later)
    thread.start()
    os.close(stdin)
    assert read_input() == (b"late", False)
    thread.join()
    assert capfd.readouterr().err == SILENCE
    assert signal.getsignal(signal.SIGALRM) == handler
