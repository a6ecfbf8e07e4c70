"""Starting a daemon: once, in a clean environment, and with a reason when it fails.

`askd` is a script of a few lines here, found on a path of its own: what a real
one does is the system tests' concern.
"""

import fcntl
import importlib.util
import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ask import spawn
from ask.connection import connect
from ask.listener import NoDaemon, find_listener
from ask.paths import Paths
from ask.protocol.names import SPAWN_ENVIRONMENT
from tests.fakes.daemon import FakeDaemon

LISTEN = """
import os, socket, sys
with open(os.environ["ASK_HOME"] + "/said", "a") as said:
    print(sorted(os.environ), os.getcwd(), os.getsid(0) == os.getpid(), sys.argv[1:], file=said)
path = os.environ["ASK_HOME"] + "/run/askd.sock"
os.makedirs(os.path.dirname(path), exist_ok=True)
listener = socket.socket(socket.AF_UNIX)
listener.bind(path)
listener.listen(64)
listener.settimeout(20)
import msgpack
streams = []
while True:
    stream, _ = listener.accept()
    streams.append(stream)
    unpacker = msgpack.Unpacker()
    while True:
        data = stream.recv(4096)
        if not data:
            break
        unpacker.feed(data)
        for _, id, method, params in unpacker:
            result = {"protocol": 1, "version": "0.1.0", "pid": os.getpid()}
            stream.sendall(msgpack.packb([1, id, None, result]))
            if method == "daemon/stop":
                sys.exit(0)
"""


@pytest.fixture
def askd(lone_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Make `python -m askd run` run this code."""
    room = tmp_path / "room"
    room.mkdir()
    real = subprocess.Popen

    def place(code: str) -> None:
        (room / "askd.py").write_text(code)

    def popen(command: list[str], **arguments: Any) -> "subprocess.Popen[bytes]":
        assert command == [sys.executable, "-P", "-m", "askd", "run"]
        return real([sys.executable, str(room / "askd.py"), "run"], **arguments)

    monkeypatch.setattr(subprocess, "Popen", popen)
    return place


def stop() -> None:
    with connect(start=False) as client:
        client.send("daemon/stop")


def test_a_daemon_is_started_in_a_clean_room(
    lone_home: Path, askd: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("ASK_MODEL", "work/m")
    askd(LISTEN)
    with connect() as client:
        assert client.hello["pid"] != os.getpid()
    stop()
    home = lone_home.parent.parent
    names, _, rest = (home / "said").read_text().strip().partition("]")
    said = {name.strip(" '[") for name in names.split(",")}
    assert said - {"LC_CTYPE"} <= set(SPAWN_ENVIRONMENT)  # Python sets LC_CTYPE itself
    assert rest == " / True ['run']"
    log = home / "state" / "askd.log"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert stat.S_IMODE(log.parent.stat().st_mode) == 0o700


def test_a_daemon_that_ends_before_its_client_leaves_nothing_behind(
    lone_home: Path, askd: Callable[[str], None]
) -> None:
    askd(LISTEN)
    with connect() as client:
        pid = client.hello["pid"]
        os.kill(pid, signal.SIGKILL)
        until = time.monotonic() + 20
        while Path(f"/proc/{pid}").exists():  # as long as it is a zombie, it is there
            assert time.monotonic() < until
            time.sleep(0.005)


def test_a_herd_starts_one(lone_home: Path, askd: Callable[[str], None]) -> None:
    askd(LISTEN)
    found: list[int] = []

    def ask() -> None:
        with connect() as client:
            found.append(client.hello["pid"])

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stop()
    assert len(found) == 6
    assert len(set(found)) == 1
    assert len((lone_home.parent.parent / "said").read_text().splitlines()) == 1


@pytest.mark.parametrize(
    ("code", "expected", "text"),
    [
        ("import sys; sys.exit('The data directory cannot be written.')", 69, "cannot be written"),
        ("import sys; print('full', file=sys.stderr); sys.exit(74)", 74, "start: full"),
        ("import sys; print('line 3: x', file=sys.stderr); sys.exit(2)", 2, "line 3"),
        ("raise RuntimeError('lost its way')", 69, "start: RuntimeError: lost its way"),
        ("import sys; sys.exit(5)", 69, "ended with code 5 and said nothing"),
    ],
)
def test_a_start_that_fails_is_explained(
    lone_home: Path, askd: Callable[[str], None], code: str, expected: int, text: str
) -> None:
    log = lone_home.parent.parent / "state" / "askd.log"
    log.parent.mkdir(parents=True)
    log.write_text("what an earlier one said\n")
    askd(code)
    with pytest.raises(NoDaemon, match=text) as caught:
        connect()
    assert caught.value.code == expected
    assert "earlier" not in caught.value.message
    assert caught.value.hint == f"Its log: {log}"


def test_an_owner_without_a_socket_is_waited_for(
    lone_home: Path, askd: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours finds the data directory taken and leaves; the owner binds its lost path again."""
    askd("pass")
    looks = []

    def look(paths: Paths, *, stale: str | None) -> object:
        looks.append(time.monotonic())
        if len(looks) == 20:  # some looks after the child's end
            owner.append(FakeDaemon(lone_home).__enter__())
        return find_listener(paths, stale=stale)

    owner: list[FakeDaemon] = []
    monkeypatch.setattr(spawn, "find_listener", look)
    monkeypatch.setattr(spawn, "LONGEST_PAUSE_S", 0.02)
    with connect() as client:
        assert client.hello["pid"] == 4711
    owner[0].__exit__(None, None, None)


@pytest.mark.parametrize(("said", "text"), [({"pid": 4711}, " (pid 4711)"), ({}, "")])
def test_an_owner_that_stays_out_of_reach_is_named(
    lone_home: Path,
    askd: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    said: dict[str, int],
    text: str,
) -> None:
    monkeypatch.setattr(spawn, "REBIND_LIMIT_S", 0.05)
    paths = Paths.of(os.environ)
    paths.data.mkdir(parents=True)
    paths.owner_file.write_text(json.dumps({"socket": str(lone_home), **said}))
    askd("pass")
    with pytest.raises(NoDaemon) as caught:
        connect()
    assert caught.value.message == (
        f"A daemon{text} owns the data directory {paths.data}, "
        f"but cannot be reached at {lone_home}."
    )
    assert caught.value.code == 69
    assert "ask daemon logs" in (caught.value.hint or "")


def test_a_start_that_takes_too_long(
    lone_home: Path, askd: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spawn, "START_LIMIT_S", 0.1)
    askd("import sys; sys.stdin.close(); import signal; signal.alarm(1); signal.pause()")
    with pytest.raises(NoDaemon, match="did not answer within 0 s"):
        connect()


def test_a_lock_that_is_held_too_long(
    lone_home: Path, askd: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spawn, "START_LIMIT_S", 0.05)
    lock = Paths.of(os.environ).start_lock
    lock.parent.mkdir(parents=True)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(NoDaemon, match="has been starting the daemon"):
            connect()


def test_a_state_directory_that_cannot_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NoDaemon, match="cannot be written: Not a directory") as caught:
        connect({"ASK_HOME": str(tmp_path / "file")})
    assert caught.value.code == 74


def test_a_log_that_cannot_be_written(lone_home: Path, askd: Callable[[str], None]) -> None:
    Paths.of(os.environ).log_file.mkdir(parents=True)
    with pytest.raises(NoDaemon, match="cannot be written: Is a directory") as caught:
        connect()
    assert caught.value.code == 74


def test_a_pipe_in_the_logs_place_is_not_waited_for(
    lone_home: Path, askd: Callable[[str], None]
) -> None:
    log = Paths.of(os.environ).log_file
    log.parent.mkdir(parents=True)
    os.mkfifo(log)
    with pytest.raises(NoDaemon, match="cannot be written: No such device"):
        connect()


def test_a_client_without_a_daemon_installed(
    lone_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(NoDaemon, match="askd is not installed") as caught:
        connect()
    assert "pip install" in (caught.value.hint or "")


def test_places_are_relative_to_the_caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    environ = {"ASK_HOME": "h", "ASK_SOCKET": "./s/askd.sock", "HOME": "as it is"}
    assert spawn.inherit(environ) == {
        "ASK_HOME": str(tmp_path / "h"),
        "ASK_SOCKET": str(tmp_path / "s" / "askd.sock"),
        "HOME": "as it is",
    }
    assert spawn.inherit({"ASK_HOME": ""}) == {"ASK_HOME": ""}
