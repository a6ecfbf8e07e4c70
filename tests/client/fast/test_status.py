"""`daemon status` the short way: what the long way prints, or nothing at all."""

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ask.commands.root import main
from ask.fast.status import encode_status, lay_out_status, run_status
from tests.fakes.daemon import STATUS, FakeDaemon, Refusal


@pytest.mark.parametrize("as_json", [False, True])
def test_it_prints_what_the_long_way_prints(
    lone_home: Path, capfd: pytest.CaptureFixture[str], as_json: bool
) -> None:
    with FakeDaemon(lone_home):
        assert run_status(os.environ, as_json=as_json) == 0
        short = capfd.readouterr()
        assert main(["daemon", "status", *(["--json"] if as_json else [])]) == 0
    assert capfd.readouterr() == short
    assert "4711" in short.out


def test_no_daemon(lone_home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_status(os.environ, as_json=False) is None
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "make",
    [
        lambda path: FakeDaemon(path, protocol=2),
        lambda path: FakeDaemon(path, refuse={"daemon/status": [Refusal(1, "internal", "x")]}),
        lambda path: FakeDaemon(path, results={"daemon/status": {"data": "/h/\x1b[31m"}}),
    ],
)
def test_whatever_is_unusual_is_left_to_the_long_way(
    lone_home: Path, make: Callable[[Path], FakeDaemon]
) -> None:
    with make(lone_home):
        assert run_status(os.environ, as_json=False) is None


@pytest.mark.parametrize("sent", [b"", b"\xc1", b"\x90\x90"])
def test_a_daemon_that_makes_no_sense(lone_home: Path, sent: bytes) -> None:
    lone_home.parent.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(lone_home))
        listener.listen()
        first, second = socket.socketpair()
        with first, second:
            second.close()
        # The answer waits in the listener's queue: the client reads it without our help.
        import threading

        def serve() -> None:
            stream, _ = listener.accept()
            with stream:
                stream.recv(4096)
                stream.sendall(sent)

        thread = threading.Thread(target=serve)
        thread.start()
        assert run_status(os.environ, as_json=True) is None
        thread.join()


@pytest.mark.parametrize("value", ['"', "\\", "é", "\n", [1], {"a": 1}])
def test_what_needs_escaping_is_declined(value: Any) -> None:
    assert encode_status({**STATUS, "data": value}) is None


def test_none_and_flags() -> None:
    assert encode_status({"a": None, "b": True, "c": 1.5}) == '{"a": null, "b": true, "c": 1.5}\n'


def test_people_read_words_and_round_numbers() -> None:
    status = {"a": None, "draining": True, "b": False, "rss_bytes": 45_300_000, "uptime_s": 12.51}
    said = "a: unknown\ndraining: yes\nb: no\nrss: 45 MB\nuptime: 13 s\n"
    assert lay_out_status(status) == said
    assert (
        lay_out_status({"pid": 7, "data": "/h", "odd_bytes": "?"})
        == "pid: 7\ndata: /h\nodd_bytes: ?\n"
    )


def test_a_closed_pipe(lone_home: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    before = os.dup(1)
    os.dup2(writer, 1)
    try:
        with FakeDaemon(lone_home):
            assert run_status(os.environ, as_json=False) == 141
    finally:
        os.dup2(before, 1)
        os.close(before)
        os.close(writer)
