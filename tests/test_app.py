"""`askd run` as a service manager sees it: real processes, signals, passed sockets."""

import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.system.world import LIMIT_S, ROOT, Running, World, open_world

RUN = (sys.executable, "-m", "askd", "run")
ACTIVATED = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execv(sys.executable, [sys.executable, "-m", "askd", "run"])
"""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with open_world(tmp_path) as opened:
        yield opened


def start(world: World, **env: str) -> Running:
    daemon = world.start(command=RUN, env=env)
    daemon.wait_for("Ready", where="err")
    return daemon


def test_a_second_daemon_has_nothing_to_do(world: World) -> None:
    daemon = start(world)
    second = world.ask(command=RUN)
    assert second.code == 0, second
    assert "Nothing to do" in second.err
    daemon.signal(signal.SIGTERM)
    assert daemon.finish().code == 0
    assert not (world.ask_home / "run" / "askd.sock").exists()


def test_other_data_on_the_same_socket_is_refused(world: World) -> None:
    start(world)
    socket_path = str(world.ask_home / "run" / "askd.sock")
    other = world.ask(
        command=RUN, env={"ASK_HOME": str(world.home / "other"), "ASK_SOCKET": socket_path}
    )
    assert other.code == 69, other
    assert "Another daemon answers" in other.err
    assert len(other.err.strip().splitlines()) == 1


def test_a_bad_configuration_is_one_sentence(world: World) -> None:
    config = world.ask_home / "config" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[log]\nlevel = 'loud'\n")
    for command in (RUN, (sys.executable, "-m", "askd", "check-config")):
        result = world.ask(command=command)
        assert result.code == 2, result
        assert "line 2" in result.err
        assert len(result.err.strip().splitlines()) == 1
    config.write_text("")
    assert world.ask(command=(sys.executable, "-m", "askd", "check-config")).code == 0


def test_a_newer_database_is_left_alone(world: World) -> None:
    world.ok("ECHO:x")
    world.ok("daemon", "stop")
    database = world.ask_home / "data" / "ask.db"
    with sqlite3.connect(database) as connection:
        connection.execute("INSERT INTO migrations VALUES (999, 'later', 0)")
    connection.close()
    before = database.read_bytes()
    result = world.ask(command=RUN)
    assert result.code == 74, result
    assert "newer" in result.err
    assert database.read_bytes() == before


def test_the_second_signal_does_not_wait(world: World) -> None:
    daemon = start(world)
    asking = world.start("-s", "work", "HOLD:2")
    asking.wait_for("tok1")
    daemon.signal(signal.SIGTERM)
    daemon.wait_for("Draining", where="err")
    daemon.signal(signal.SIGTERM)
    assert daemon.finish().code == 0
    assert asking.finish().code == 1


def test_hup_reads_the_settings(world: World) -> None:
    daemon = start(world)
    config = world.ask_home / "config" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("title = 'off'\n")
    daemon.signal(signal.SIGHUP)
    daemon.wait_for("Settings read", where="err")
    shown = json.loads(world.ok("api", "config/read", "{}").out)
    assert shown["settings"]["title"] == "off"


def test_an_activated_daemon_serves_the_passed_socket_and_takes_over(world: World) -> None:
    first = start(world)
    world.ok("-s", "work", "ECHO:one")
    path = world.home / "passed.sock"
    with socket.socket(socket.AF_UNIX) as passed:
        passed.bind(str(path))
        passed.listen()
        process = subprocess.Popen(
            [sys.executable, "-c", ACTIVATED, str(passed.fileno())],
            env=world.env,
            cwd=ROOT,
            pass_fds=[passed.fileno()],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    activated = Running(process)
    activated.wait_for("Ready", where="err")
    assert first.finish().code == 0
    result = world.ask("-s", "work", "ECHO:two", env={"ASK_SOCKET": str(path)})
    assert result.code == 0, result
    assert world.daemon_pid() == process.pid
    activated.signal(signal.SIGTERM)
    assert activated.finish().code == 0
    assert path.exists()  # it is the service manager's
    for stream in (process.stdout, process.stderr):
        assert stream is not None
        stream.close()


def test_an_upgraded_daemon_leaves_when_nobody_needs_it(world: World) -> None:
    packages = world.home / "packages"
    for source in ("daemon/askd", "client/ask"):
        shutil.copytree(ROOT / source, packages / source.rpartition("/")[2])
    daemon = start(world, PYTHONPATH=str(packages))
    world.ok("ECHO:served by the old one")
    version = packages / "askd" / "__init__.py"
    version.write_text(re.sub('__version__ = ".*"', '__version__ = "99.0"', version.read_text()))
    result = daemon.finish()
    assert result.code == 0, result
    assert "99.0" in result.err


def test_the_service_manager_hears_how_it_is(world: World) -> None:
    path = str(world.home / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(path)
        manager.settimeout(LIMIT_S)
        daemon = start(world, NOTIFY_SOCKET=path, WATCHDOG_USEC="200000")
        said = [manager.recv(4096).decode() for _ in range(3)]
        assert said[0] == "READY=1"
        assert said[1:] == ["WATCHDOG=1", "WATCHDOG=1"]
        # A child of ours must not speak in our name.
        assert b"NOTIFY_SOCKET" not in child_environments(daemon.process.pid)
        daemon.signal(signal.SIGTERM)
        while said[-1] != "STOPPING=1":
            said.append(manager.recv(4096).decode())
        assert daemon.finish().code == 0


def child_environments(pid: int) -> bytes:
    """What every process below this one has in its environment."""
    found = b""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                found += (entry / "environ").read_bytes() if parent == pid else b""
            except OSError:
                continue
    return found


def test_words_it_does_not_know_are_refused() -> None:
    for words, code in ((["fly"], 2), ([], 2), (["--help"], 0), (["version"], 0)):
        done = subprocess.run(
            [sys.executable, "-m", "askd", *words], capture_output=True, text=True, check=False,
            env={"PATH": os.environ["PATH"]},
        )  # fmt: skip
        assert done.returncode == code, done
        assert done.stdout or done.stderr
