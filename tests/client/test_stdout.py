"""What goes wrong with standard output, by its names."""

import io
import os
import sys
from collections.abc import Iterator

import pytest

from ask.fast.caller import StdoutClosed, StdoutFailed
from ask.stdout import Descriptor, name_failures


@pytest.fixture
def stdout() -> Iterator[None]:
    """Put standard output back after the test, the descriptor and the stream."""
    before, stream = os.dup(1), sys.stdout
    yield
    os.dup2(before, 1)
    os.close(before)
    sys.stdout = stream


def open_own() -> io.TextIOWrapper:
    """A stream such as the interpreter opens at its start."""
    return io.TextIOWrapper(io.FileIO(1, "wb", closefd=False))


@pytest.mark.parametrize(
    ("path", "flags", "kind"),
    [("/dev/full", os.O_WRONLY, StdoutFailed), ("/dev/null", os.O_RDONLY, StdoutClosed)],
)
def test_an_output_that_takes_nothing(
    stdout: None, path: str, flags: int, kind: type[Exception]
) -> None:
    sys.stdout = open_own()
    name_failures()
    assert sys.stdout.fileno() == 1
    print("kept for now")
    os.dup2(os.open(path, flags), 1)
    with pytest.raises(kind):
        sys.stdout.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.stdout.flush()


def test_what_is_printed_arrives(stdout: None) -> None:
    reader, writer = os.pipe()
    os.dup2(writer, 1)
    sys.stdout = open_own()
    name_failures()
    print("é", flush=True)
    assert os.read(reader, 10) == "é\n".encode()
    assert Descriptor().isatty() is False


def test_a_tests_own_stream_stays(capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.stdout
    name_failures()
    assert sys.stdout is before
