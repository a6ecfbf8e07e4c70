"""The relay between standard streams and a daemon: byte for byte, at the pace of both."""

import os
import random
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ask.fast.dial import PIECE_BYTES, run_dial
from tests.client.fast.test_guards import HEAVY, environment, list_modules
from tests.fakes.daemon import FakeDaemon

LIMIT_S = 30.0
COMMAND = [sys.executable, "-c", "from ask.__main__ import main; main()", "dial-stdio"]
NOISE = random.Random(7).randbytes(3 * 1024 * 1024)


class Listener:
    """Somebody who listens where a daemon would, and hands out what it accepts."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self._listener.settimeout(LIMIT_S)

        self._accepted: list[socket.socket] = []

    def accept(self, limit_s: float = LIMIT_S) -> socket.socket:
        """Whoever comes next."""
        self._listener.settimeout(limit_s)
        stream, _ = self._listener.accept()
        self._accepted.append(stream)
        stream.settimeout(LIMIT_S)
        return stream

    def close(self) -> None:
        for each in (self._listener, *self._accepted):
            each.close()


@pytest.fixture
def listener(lone_home: Path) -> Iterator[Listener]:
    opened = Listener(lone_home)
    yield opened
    opened.close()


@contextmanager
def dialled() -> Iterator["subprocess.Popen[bytes]"]:
    """The relay as a process, between two pipes."""
    pipe = subprocess.PIPE
    with subprocess.Popen(COMMAND, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0) as process:
        try:
            yield process
        finally:
            process.kill()


def write(process: "subprocess.Popen[bytes]", data: bytes) -> None:
    assert process.stdin is not None
    view = memoryview(data)
    while view:
        view = view[process.stdin.write(view) :]


def read(process: "subprocess.Popen[bytes]", size: int) -> bytes:
    assert process.stdout is not None
    found = b""
    while len(found) < size:
        data = process.stdout.read(size - len(found))
        if not data:
            break
        found += data
    return found


def receive(stream: socket.socket, size: int) -> bytes:
    found = bytearray()
    while len(found) < size and (data := stream.recv(min(65536, size - len(found)))):
        found += data
    return bytes(found)


def test_what_goes_in_comes_out(listener: Listener) -> None:
    with dialled() as process:
        write(process, b"hello\0\xff")
        daemon = listener.accept()
        assert receive(daemon, 7) == b"hello\0\xff"
        daemon.sendall(b"\0and back\n")
        assert read(process, 10) == b"\0and back\n"
        daemon.close()
        assert process.wait(LIMIT_S) == 0


def test_nobody_is_bothered_before_something_is_said(listener: Listener) -> None:
    with dialled() as process:
        with pytest.raises(TimeoutError):
            listener.accept(0.3)
        write(process, b"x")
        listener.accept().close()
        assert process.wait(LIMIT_S) == 0


def test_megabytes_in_both_directions_at_once(listener: Listener) -> None:
    """Each side writes all of it before it reads: a relay that blocked would stand still."""
    with dialled() as process:
        write(process, NOISE[:1])
        daemon = listener.accept()
        heard: list[bytes] = []
        ears = [
            threading.Thread(target=lambda: heard.append(read(process, len(NOISE)))),
            threading.Thread(target=write, args=(process, NOISE[1:])),
            threading.Thread(target=daemon.sendall, args=(NOISE[::-1],)),
        ]
        for each in ears:
            each.start()
        assert receive(daemon, len(NOISE)) == NOISE
        for each in ears:
            each.join(LIMIT_S)
        assert heard == [NOISE[::-1]]
        daemon.close()
        assert process.wait(LIMIT_S) == 0


def test_who_does_not_read_stops_the_daemon_and_not_the_other_way(listener: Listener) -> None:
    with dialled() as process:
        write(process, b"x")
        daemon = listener.accept()
        daemon.setblocking(False)
        sent = 0
        try:
            while sent < 64 * PIECE_BYTES:
                sent += daemon.send(NOISE[:PIECE_BYTES])
                daemon.setblocking(True)
                daemon.settimeout(0.3)
        except (BlockingIOError, TimeoutError):
            pass
        assert sent < 32 * PIECE_BYTES  # it was not swallowed into memory
        daemon.settimeout(LIMIT_S)
        write(process, b"still heard")
        assert receive(daemon, 12) == b"xstill heard"


def test_the_end_of_the_input_is_passed_on_and_the_answer_still_comes(listener: Listener) -> None:
    with dialled() as process:
        write(process, b"last words")
        assert process.stdin is not None
        process.stdin.close()
        daemon = listener.accept()
        assert receive(daemon, 100) == b"last words"
        daemon.sendall(b"heard")
        daemon.close()
        assert read(process, 100) == b"heard"
        assert process.wait(LIMIT_S) == 0


def test_an_output_that_nobody_reads_ends_it(listener: Listener) -> None:
    with dialled() as process:
        write(process, b"x")
        daemon = listener.accept()
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait(LIMIT_S) == 0
        assert receive(daemon, 100) == b"x"  # and then its end


def test_a_daemon_that_hangs_up_is_still_heard(listener: Listener) -> None:
    with dialled() as process:
        write(process, b"x")
        daemon = listener.accept()
        daemon.sendall(b"You are refused.")
        daemon.close()  # with something unread: a reset, and not only an end
        assert read(process, 100) == b"You are refused."
        assert process.wait(LIMIT_S) == 0


def test_pipes_are_left_as_they_were(listener: Listener, tmp_path: Path) -> None:
    """They may be a shell's own, which would not expect them to change."""
    reader, writer = os.pipe()
    process = subprocess.Popen(COMMAND, stdin=reader, stdout=subprocess.DEVNULL)
    os.write(writer, b"x")
    daemon = listener.accept()
    assert receive(daemon, 1) == b"x"
    assert not os.get_blocking(reader)
    daemon.close()
    assert process.wait(LIMIT_S) == 0
    assert os.get_blocking(reader)
    os.close(reader)
    os.close(writer)


def test_it_gives_up_where_it_is_not_sure(lone_home: Path) -> None:
    assert run_dial(["dial-stdio", "--help"], {}) is None
    assert run_dial(["dial-stdio", "--no-start", "x"], {}) is None


def test_another_machine_is_not_meant_by_it(
    lone_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASK_HOST", "ssh://far")  # of a shell over there that sets it for prompts
    with FakeDaemon(lone_home) as daemon, dialled() as process:
        write(
            process, b"\x94\x00\x01\xa5hello\x91\x83\xa6client\xa1x\xa7version\xa11\xa8protocol\x01"
        )
        assert read(process, 4)[:3] == b"\x94\x01\x01"
        assert [method for method, _ in daemon.requests] == ["hello"]


def test_it_is_light(lone_home: Path) -> None:
    environ = environment(lone_home)
    with FakeDaemon(lone_home):
        loaded = list_modules(COMMAND[2], "dial-stdio", environ=environ)
    more = loaded - list_modules("os._exit(0)", environ=environ)
    assert "ask.fast.dial" in more
    assert not more & {*HEAVY, "subprocess", "signal", "threading", "ask.protocol"}
    assert len(more) <= 9, sorted(more)
