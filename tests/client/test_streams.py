"""A slow line: what is on its way is not silence, and every piece has its own time."""

import socket
import threading
import time

import pytest

from ask import connection, streams
from ask.connection import ConnectionLost
from ask.protocol.frames import encode_request, encode_response
from ask.protocol.limits import MESSAGE_LIMIT_BYTES
from ask.streams import find_travel, send_all, wait_readable


class SlowLine(socket.socket):
    """Takes 64 KiB in 20 s, and keeps to its limit as a socket does: for each call."""

    now = 1000.0
    sent = b""

    def send(self, data: bytes | memoryview, flags: int = 0, /) -> int:  # type: ignore[override]
        limit_s = self.gettimeout()
        assert limit_s is not None
        assert limit_s > 20.0
        self.now += 20.0
        self.sent += bytes(data[: 64 * 1024])
        return min(len(data), 64 * 1024)

    def sendall(self, data: object, flags: int = 0, /) -> None:
        raise AssertionError("it has one limit for all of it")


class Held:
    """A link as far as a connection knows one."""

    was_cut = False

    def cut(self) -> None:
        self.was_cut = True

    def hear(self, data: bytes) -> None:
        pass

    def close(self) -> None:
        pass


def test_each_piece_has_its_own_time() -> None:
    with SlowLine(socket.AF_UNIX) as line:
        line.settimeout(30.0)
        send_all(line, b"x" * 300_000)
        assert line.sent == b"x" * 300_000
        assert line.now == 1100.0


def test_who_is_gone_is_said() -> None:
    ours, theirs = socket.socketpair()
    theirs.close()
    with ours, pytest.raises(OSError, match="Broken pipe"):
        send_all(ours, b"x")


def test_everything_arrives() -> None:
    ours, theirs = socket.socketpair()
    frame = encode_request(1, "daemon/status", {"x": "y" * 900_000})
    found = bytearray()

    def read() -> None:
        while piece := theirs.recv(65536):
            found.extend(piece)

    reader = threading.Thread(target=read)
    reader.start()
    with theirs:
        with ours:
            send_all(ours, frame)
        reader.join(30)
    assert bytes(found) == frame


def test_a_message_may_be_on_its_way_as_long_as_a_daemon_waits_for_it() -> None:
    assert 60.0 <= find_travel(MESSAGE_LIMIT_BYTES) <= 70.0
    assert find_travel(0) == 0.0


def test_nothing_is_readable_of_none() -> None:
    assert wait_readable(0.0, None) == []


@pytest.mark.parametrize("is_far", [True, False])
def test_an_answer_that_comes_slowly_from_afar_is_not_silence(
    monkeypatch: pytest.MonkeyPatch, is_far: bool
) -> None:
    clock = [1000.0]
    ours, theirs = socket.socketpair()
    link = Held()
    frame = encode_response(1, None, {"text": "x" * 600})
    pieces = iter([frame[at : at + 100] for at in range(0, len(frame), 100)])

    def drip(limit_s: float, *descriptors: int | None) -> list[int]:
        if limit_s <= 20.0:
            clock[0] += max(limit_s, 0.0)
            return []
        clock[0] += 20.0
        theirs.sendall(next(pieces))
        return streams.wait_readable(30.0, *descriptors)

    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(connection, "wait_readable", drip)
    with theirs, connection.Client(ours, link if is_far else None) as client:  # type: ignore[arg-type]
        if is_far:
            assert client.call("daemon/status") == {"text": "x" * 600}
            assert clock[0] > 1100.0
            assert not link.was_cut
        else:
            with pytest.raises(ConnectionLost):
                client.call("daemon/status")


def test_a_way_from_afar_that_brings_nothing_is_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1000.0]

    def wait(limit_s: float, *descriptors: int | None) -> list[int]:
        clock[0] += max(limit_s, 0.0)
        return []

    ours, theirs = socket.socketpair()
    link = Held()
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(connection, "wait_readable", wait)
    with theirs, connection.Client(ours, link) as client:  # type: ignore[arg-type]
        with pytest.raises(ConnectionLost, match="does not answer"):
            client.call("daemon/status", limit_s=30.0)
        assert link.was_cut
    assert 1030.0 <= clock[0] < 1031.0
