"""The listening socket: private from its first moment, and there as long as we are."""

import os
import socket
import stat
from pathlib import Path

import pytest
import trio

from askd.server import listener
from askd.server.listener import BadSocket, adopt_door, is_answered, open_door, serve_door


async def admit() -> None:
    """Everyone."""


async def echo(stream: trio.SocketStream) -> None:
    async with stream:
        async for data in stream:
            await stream.send_all(data)


async def say(path: Path, word: bytes) -> bytes:
    async with await trio.open_unix_socket(path) as stream:
        await stream.send_all(word)
        return bytes(await stream.receive_some())


async def test_nobody_else_can_enter_at_any_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ask" / "askd.sock"
    seen: list[tuple[int, int]] = []
    rename = os.rename

    def look(old: str, new: str) -> None:
        seen.append((stat.S_IMODE(os.stat(old).st_mode), stat.S_IMODE(path.parent.stat().st_mode)))
        assert not path.exists()
        assert is_answered(Path(old))  # whoever finds the path finds somebody listening
        rename(old, new)

    monkeypatch.setattr(os, "rename", look)
    before = os.umask(0)
    try:
        door = open_door(path)
        assert os.umask(0) == 0
    finally:
        os.umask(before)
    assert seen == [(0o600, 0o700)]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(path.parent) == ["askd.sock"]
    assert door.address == str(path)
    door.close()
    assert os.listdir(path.parent) == []


async def test_a_dead_socket_is_replaced_and_a_live_one_is_not(tmp_path: Path) -> None:
    path = tmp_path / "ask" / "askd.sock"
    path.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
        dead.bind(str(path))
    assert not is_answered(path)
    first = open_door(path)
    with pytest.raises(BadSocket, match="Another daemon answers"):
        open_door(path)
    first.close()
    open_door(path).close()


@pytest.mark.parametrize("mode", [0o755, 0o710, 0o701, 0o750])
async def test_a_directory_that_others_can_enter_is_refused(tmp_path: Path, mode: int) -> None:
    (tmp_path / "ask").mkdir()
    (tmp_path / "ask").chmod(mode)
    with pytest.raises(BadSocket, match="chmod 700"):
        open_door(tmp_path / "ask" / "askd.sock")


async def test_a_directory_that_is_a_link_or_another_users_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(BadSocket, match="not a directory"):
        open_door(tmp_path / "link" / "askd.sock")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(BadSocket, match="somebody else"):
        open_door(tmp_path / "real" / "askd.sock")


async def test_what_cannot_be_bound_is_one_sentence(tmp_path: Path) -> None:
    long = tmp_path / ("x" * (108 - len(str(tmp_path)) - 1))
    assert len(str(long)) == 108
    with pytest.raises(BadSocket, match="longer than 107"):
        open_door(long)
    (tmp_path / "file").write_text("")
    with pytest.raises(BadSocket):
        open_door(tmp_path / "file" / "askd.sock")
    (tmp_path / "dir").mkdir(mode=0o700)
    (tmp_path / "dir" / "askd.sock").mkdir()
    with pytest.raises(BadSocket, match="cannot be made"):
        open_door(tmp_path / "dir" / "askd.sock")
    assert os.listdir(tmp_path / "dir") == ["askd.sock"]


async def test_the_longest_path_works(tmp_path: Path) -> None:
    directory = tmp_path / "d"
    path = directory / ("x" * (107 - len(str(directory)) - 1))
    open_door(path).close()


async def test_a_full_backlog_is_somebody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "PROBE_S", 0.01)
    path = tmp_path / "askd.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as busy:
        busy.bind(str(path))
        busy.listen(0)
        waiting = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        waiting.connect(str(path))
        assert is_answered(path)
        waiting.close()
    assert not is_answered(tmp_path / "nothing")


async def test_everyone_is_served(tmp_path: Path) -> None:
    door = open_door(tmp_path / "ask" / "askd.sock")
    assert door.path is not None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: serve_door(door, echo, admit=admit))
        assert await say(door.path, b"one") == b"one"
        assert await say(door.path, b"two") == b"two"
        nursery.cancel_scope.cancel()
    door.close()


@pytest.mark.parametrize("loss", ["unlinked", "replaced", "directory"])
async def test_a_lost_path_is_bound_again(
    tmp_path: Path, loss: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "WATCH_INTERVAL_S", 0.01)
    monkeypatch.setattr(listener, "FAREWELL_S", 0.05)
    path = tmp_path / "ask" / "askd.sock"
    door = open_door(path)
    first = door.identity
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: serve_door(door, echo, admit=admit))
        early = await trio.open_unix_socket(path)
        path.unlink()
        if loss == "replaced":
            path.write_text("a stranger's file")
        elif loss == "directory":
            path.parent.rmdir()
        with trio.fail_after(10):
            while door.identity == first:
                await trio.lowlevel.checkpoint()
        assert await say(path, b"again") == b"again"
        # A connection that was there before is none the worse for it.
        await early.send_all(b"still")
        assert await early.receive_some() == b"still"
        await early.aclose()
        await trio.sleep(0.1)
        nursery.cancel_scope.cancel()
    door.close()
    assert not path.exists()


async def test_a_path_that_somebody_else_answers_at_is_left_to_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(listener, "WATCH_INTERVAL_S", 0.01)
    path = tmp_path / "ask" / "askd.sock"
    door = open_door(path)
    path.unlink()
    other = open_door(path)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: serve_door(door, echo, admit=admit))
        with trio.fail_after(10):
            while "cannot be bound again" not in caplog.text:
                await trio.lowlevel.checkpoint()
        assert listener.identify(path) == other.identity
        other.close()
        with trio.fail_after(10):
            while listener.identify(path) is None:
                await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    assert caplog.text.count("cannot be bound again") == 1
    door.close()


async def test_a_path_that_is_no_longer_ours_is_not_unlinked(tmp_path: Path) -> None:
    path = tmp_path / "ask" / "askd.sock"
    door = open_door(path)
    path.unlink()
    other = open_door(path)
    door.close()
    door.close()
    assert is_answered(path)
    other.close()


async def test_a_closed_door_is_not_opened_again(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    door = open_door(tmp_path / "ask" / "askd.sock")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: serve_door(door, echo, admit=admit))
        await trio.testing.wait_all_tasks_blocked()
        door.close()
        await trio.sleep(60)
        assert os.listdir(tmp_path / "ask") == []
        nursery.cancel_scope.cancel()


async def test_a_passed_socket_is_served_and_its_path_is_not_ours(tmp_path: Path) -> None:
    path = tmp_path / "passed.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as passed:
        passed.bind(str(path))
        passed.listen()
        passed.setblocking(False)
        door = adopt_door(passed)
        assert door.address == str(path)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: serve_door(door, echo, admit=admit))
            assert await say(path, b"x") == b"x"
            nursery.cancel_scope.cancel()
        door.close()
    assert path.exists()


async def test_running_out_of_descriptors_only_takes_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(listener, "ACCEPT_PAUSE_S", 0.0)
    door = open_door(tmp_path / "ask" / "askd.sock")
    assert door.path is not None
    accept = trio.SocketListener.accept
    failures = [OSError(24, "Too many open files"), OSError(103, "Connection aborted")]

    async def fail_first(self: trio.SocketListener) -> trio.SocketStream:
        if failures:
            raise failures.pop()
        return await accept(self)

    monkeypatch.setattr(trio.SocketListener, "accept", fail_first)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: serve_door(door, echo, admit=admit))
        assert await say(door.path, b"x") == b"x"
        nursery.cancel_scope.cancel()
    door.close()
    assert caplog.text.count("could not be accepted") == 2


async def test_the_peers_process_and_user_come_from_the_kernel(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []

    async def note(stream: trio.SocketStream) -> None:
        seen.append(listener.read_peer(stream))
        await stream.aclose()

    door = open_door(tmp_path / "ask" / "askd.sock")
    assert door.path is not None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: serve_door(door, note, admit=admit))
        async with await trio.open_unix_socket(door.path) as stream:
            assert await stream.receive_some() == b""
        nursery.cancel_scope.cancel()
    door.close()
    assert seen == [(os.getpid(), os.getuid())]
