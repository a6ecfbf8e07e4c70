"""Where a daemon is looked for, and whose it must be."""

import os
import socket
import threading
import time
from pathlib import Path

import pytest

from ask import listener
from ask.connection import connect
from ask.listener import NoDaemon, find_listener
from ask.paths import Paths
from tests.fakes.daemon import FakeDaemon


@pytest.mark.parametrize(
    "text", ['{"socket": "/x\\u0000"}', '{"socket": "/\\ud800"}', "[" * 100_000]
)
def test_a_note_of_nonsense_leads_nowhere(lone_home: Path, text: str) -> None:
    paths = Paths.of(os.environ)
    paths.data.mkdir(parents=True)
    paths.owner_file.write_text(text)
    assert find_listener(paths) is None
    with FakeDaemon(lone_home):
        found = find_listener(paths)
        assert found is not None
        assert found.place == str(lone_home)
        found.stream.close()


def test_another_users_daemon_is_not_talked_to(
    lone_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeDaemon(lone_home) as daemon:
        monkeypatch.setattr(os, "getuid", lambda: os.geteuid() + 1)
        with pytest.raises(NoDaemon, match="another user"):
            connect(start=False)
    assert daemon.requests == []


def test_a_path_that_no_socket_can_have() -> None:
    with pytest.raises(NoDaemon, match="too long"):
        connect({"ASK_SOCKET": "/tmp/" + "x" * 200}, start=False)


def test_a_full_queue_is_waited_for(lone_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lone_home.parent.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as theirs:
        theirs.bind(str(lone_home))
        theirs.listen(0)
        first = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        first.connect(str(lone_home))
        full, real_sleep = threading.Event(), time.sleep

        def sleep(seconds: float) -> None:
            full.set()
            real_sleep(seconds)

        monkeypatch.setattr(time, "sleep", sleep)

        def accept() -> None:
            assert full.wait(10)
            for _ in range(2):
                theirs.accept()[0].close()

        thread = threading.Thread(target=accept)
        thread.start()
        found = listener.find_listener(Paths.of(os.environ))
        assert found is not None
        found.stream.close()
        thread.join()
        first.close()


def test_a_queue_that_stays_full_is_given_up(
    lone_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "CONNECT_LIMIT_S", 0.02)
    lone_home.parent.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as theirs:
        theirs.bind(str(lone_home))
        theirs.listen(0)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as first:
            first.connect(str(lone_home))
            with pytest.raises(NoDaemon, match="accepts no connections"):
                connect(start=False)
