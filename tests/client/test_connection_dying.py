"""A connection to a daemon that dies before its first word."""

import socket
import threading
from pathlib import Path

import pytest

from ask import connection
from ask.connection import ConnectionLost, connect
from ask.listener import NoDaemon


def hang_up(place: Path, times: int) -> tuple[threading.Thread, list[int]]:
    """Somebody at this place who takes so many connections, ends each, and is gone then."""
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(place))
    listener.listen(1)
    taken: list[int] = []

    def run() -> None:
        with listener:
            for number in range(times):
                stream, _ = listener.accept()
                taken.append(number)
                stream.close()
        place.unlink()

    thread = threading.Thread(target=run)
    thread.start()
    return thread, taken


def test_one_that_dies_before_its_first_word_is_asked_for_again(lone_home: Path) -> None:
    thread, taken = hang_up(lone_home, 2)
    with pytest.raises(NoDaemon, match="No daemon is running"):
        connect(start=False)
    thread.join()
    assert taken == [0, 1]


def test_one_that_always_hangs_up_is_given_up(
    lone_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "DYING_LIMIT_S", 0.0)
    thread, taken = hang_up(lone_home, 1)
    with pytest.raises(ConnectionLost):
        connect(start=False)
    thread.join()
    assert taken == [0]
