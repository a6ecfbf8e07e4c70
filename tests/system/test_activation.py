"""askd as systemd starts it: a passed socket, a watchdog, and a daemon by hand that makes way.

`systemd-socket-activate` is systemd's own program for this, and needs no systemd that runs.
"""

import shutil
import socket
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from tests.system.servers import DAEMON
from tests.system.world import LIMIT_S, Running, World

ACTIVATE = shutil.which("systemd-socket-activate")
pytestmark = pytest.mark.skipif(ACTIVATE is None, reason="systemd-socket-activate is not installed")
WEDGED_S = 0.6
"""Three of the watchdog's periods below."""


def listen(world: World, **env: str) -> Running:
    """Have systemd's program listen where clients look first; askd comes with the first."""
    place = world.ask_home / "run" / "askd.sock"
    place.parent.mkdir(mode=0o700, parents=True)
    passed = [f"--setenv={name}={value}" for name, value in {**world.env, **env}.items()]
    listening = world.start(
        f"--listen={place}", "--fdname=askd", *passed, *DAEMON, command=(ACTIVATE or "",)
    )
    listening.wait_for("Listening on", where="err")
    return listening


@contextmanager
def open_manager(path: Path) -> Iterator[socket.socket]:
    """The socket on which a service manager is told."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(path))
        manager.settimeout(LIMIT_S)
        yield manager


def test_the_first_client_starts_it_and_the_socket_outlives_it(world: World) -> None:
    daemon = listen(world)
    assert world.owner() is None, "nobody has come yet"
    assert world.ok("-s", "work", "ECHO:one").out == "one\n"
    assert world.daemon_pid() == daemon.process.pid, "it is the process that was started"
    world.ok("daemon", "stop")
    assert daemon.finish().code == 0
    assert (world.ask_home / "run" / "askd.sock").exists(), "it is the service manager's"


def test_a_daemon_by_hand_makes_way_and_loses_nothing(world: World) -> None:
    assert world.model is not None
    # Its own socket is elsewhere; what they share is the data.
    elsewhere = {"ASK_SOCKET": str(world.home / "s")}
    by_hand = world.start(command=DAEMON, env=elsewhere)
    by_hand.wait_for("Ready", where="err")
    running = world.start("-s", "work", "HOLD:2", env=elsewhere)
    running.wait_for("tok1")
    activated = listen(world)
    asking = world.start("-s", "work", "ECHO:for the next one", env={"ASK_TERMINAL": "b"})
    by_hand.wait_for("Draining", where="err")
    world.model.release()
    assert running.finish().code == 0
    assert by_hand.finish().code == 0
    asked = asking.finish()
    assert (asked.code, asked.out) == (0, "for the next one\n"), asked
    assert world.daemon_pid() == activated.process.pid
    ends = [e["outcome"] for e in world.events("work") if e["type"] == "turn_finished"]
    assert ends == ["completed", "completed"]


def test_the_manager_hears_that_it_is_ready_when_it_answers(world: World) -> None:
    notify = world.home / "notify"
    with open_manager(notify) as manager:
        listen(world, NOTIFY_SOCKET=str(notify))
        asking = world.start("ECHO:hello")
        assert manager.recv(100) == b"READY=1"
        assert asking.finish().code == 0
        world.ok("daemon", "stop", "--wait", "0")
        assert manager.recv(100) == b"STOPPING=1"
        assert manager.recv(100).startswith(b"EXTEND_TIMEOUT_USEC=")


def test_the_watchdog_is_fed_only_while_the_writer_answers(world: World) -> None:
    notify = world.home / "notify"
    with open_manager(notify) as manager:
        listen(world, NOTIFY_SOCKET=str(notify), WATCHDOG_USEC="200000")
        world.ok("-s", "work", "ECHO:before")
        assert b"WATCHDOG=1" in {manager.recv(100) for _ in range(3)}
        database = world.ask_home / "data" / "ask.db"
        with closing(sqlite3.connect(database, isolation_level=None)) as wedge:
            wedge.execute("BEGIN IMMEDIATE")  # a disk that hangs: no write comes to its end
            asking = world.start("-s", "work", "ECHO:behind it")
            wait_until_it_hangs(manager)
            assert asking.process.poll() is None
            wedge.execute("ROLLBACK")
        assert manager.recv(100) == b"WATCHDOG=1"
        assert asking.finish().out == "behind it\n"


def wait_until_it_hangs(manager: socket.socket) -> None:
    """Until nothing has been said for `WEDGED_S`."""
    until = time.monotonic() + LIMIT_S
    manager.settimeout(WEDGED_S)
    with suppress(TimeoutError):
        while time.monotonic() < until:
            manager.recv(100)
        raise AssertionError("it is fed though the writer hangs")
    manager.settimeout(LIMIT_S)
