"""systemd from the inside, against real descriptors and a real datagram socket."""

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from askd.systemd import (
    FIRST_DESCRIPTOR,
    VARIABLES,
    BadActivation,
    Notifier,
    feed_watchdog,
    find_activated_socket,
    find_notifier,
    is_journal,
)


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(str(tmp_path / "notify"))
        receiver.settimeout(5)
        yield receiver


def test_every_state_is_told_in_order(manager: socket.socket) -> None:
    notifier = find_notifier({"NOTIFY_SOCKET": manager.getsockname()}, pid=1)
    notifier.ready()
    notifier.status("3 conversations\nNOT=ours")
    notifier.watchdog()
    notifier.extend(2.5)
    notifier.stopping()
    assert [manager.recv(1000).decode() for _ in range(5)] == [
        "READY=1",
        "STATUS=3 conversations NOT=ours",
        "WATCHDOG=1",
        "EXTEND_TIMEOUT_USEC=2500000",
        "STOPPING=1",
    ]


def test_an_abstract_address_is_told() -> None:
    name = f"askd-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(f"\0{name}")
        receiver.settimeout(5)
        find_notifier({"NOTIFY_SOCKET": f"@{name}"}, pid=1).ready()
        assert receiver.recv(100) == b"READY=1"


def test_nobody_to_tell_fails_nobody(tmp_path: Path) -> None:
    Notifier().ready()
    Notifier(str(tmp_path / "gone")).ready()
    assert find_notifier({}, pid=1) == Notifier()
    assert find_notifier({"NOTIFY_SOCKET": "vsock:2:1234"}, pid=1) == Notifier()


@pytest.mark.parametrize(
    ("environ", "period"),
    [
        ({"WATCHDOG_USEC": "3000000"}, 3.0),
        ({"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "7"}, 3.0),
        ({"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "8"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "often"}, None),
        ({"WATCHDOG_USEC": "-1"}, None),
        ({"WATCHDOG_USEC": "1"}, None),
        ({"WATCHDOG_USEC": "1000"}, 0.001),
        ({"WATCHDOG_USEC": str(2**64 - 1)}, None),
        ({"WATCHDOG_USEC": "9" * 400}, None),
        ({"WATCHDOG_USEC": "9" * 5000}, None),
        ({}, None),
    ],
)
def test_the_watchdog_is_ours_or_not(environ: dict[str, str], period: float | None) -> None:
    found = find_notifier({"NOTIFY_SOCKET": "/n", **environ}, pid=7)
    assert found.watchdog_s == period


def test_without_activation_there_is_no_socket() -> None:
    assert find_activated_socket({}, pid=7) is None
    assert find_activated_socket({"LISTEN_PID": "8", "LISTEN_FDS": "1"}, pid=7) is None
    assert find_activated_socket({"LISTEN_PID": "7", "LISTEN_FDS": "0"}, pid=7) is None


def test_nonsense_is_refused() -> None:
    with pytest.raises(BadActivation, match="number"):
        find_activated_socket({"LISTEN_PID": "7", "LISTEN_FDS": "some"}, pid=7)
    with pytest.raises(BadActivation, match="not open"):
        find_activated_socket({"LISTEN_PID": "7", "LISTEN_FDS": "5000"}, pid=7)


def test_the_journal_is_known_by_device_and_inode(tmp_path: Path) -> None:
    with (tmp_path / "stream").open("w") as stream:
        status = os.fstat(stream.fileno())
        said = {"JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}"}
        assert is_journal(said, stream.fileno())
        assert not is_journal({"JOURNAL_STREAM": f"{status.st_dev}:1"}, stream.fileno())
        assert not is_journal({}, stream.fileno())
    assert not is_journal(said, 5000)


# Descriptor 3 cannot be chosen in a process that has it already, so a fresh one does this part.
CHILD = """
import os, sys
from askd.systemd import BadActivation, find_activated_socket
environ = dict(os.environ, LISTEN_PID=str(os.getpid()))
try:
    found = find_activated_socket(environ, pid=os.getpid())
except BadActivation as error:
    print("refused:", error)
else:
    print(found.fileno(), os.get_inheritable(found.fileno()), found.getblocking())
"""


def pass_to_child(passed: list[int], **environ: str) -> str:
    def place() -> None:
        # Out of the way first: a source may stand where another has to go.
        held = [os.dup2(fd, 100 + n, inheritable=False) for n, fd in enumerate(passed)]
        for n, fd in enumerate(held):
            os.dup2(fd, FIRST_DESCRIPTOR + n, inheritable=True)

    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        preexec_fn=place,
        close_fds=False,
        env={**os.environ, "LISTEN_FDS": str(len(passed)), **environ},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout.strip()


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(tmp_path / "askd.sock"))
        listener.listen()
        yield listener


def test_a_listening_socket_is_taken_and_children_do_not_get_it(listening: socket.socket) -> None:
    assert pass_to_child([listening.fileno()]) == "3 False False"
    assert pass_to_child([listening.fileno()], LISTEN_FDNAMES="connection") == "3 False False"


def test_ours_is_found_by_its_name(listening: socket.socket) -> None:
    other = os.open("/dev/null", os.O_RDONLY)
    try:
        found = pass_to_child([other, listening.fileno()], LISTEN_FDNAMES="log:askd")
        assert found == "4 False False"
        unnamed = pass_to_child([other, listening.fileno()], LISTEN_FDNAMES="a:b")
        assert unnamed.startswith("refused: systemd passed 2 sockets")
    finally:
        os.close(other)


def test_what_cannot_be_served_is_refused(tmp_path: Path) -> None:
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as silent,
        socket.socket(socket.AF_INET, socket.SOCK_STREAM) as internet,
        open(tmp_path / "file", "w", encoding="utf-8") as file,
    ):
        internet.bind(("127.0.0.1", 0))
        internet.listen()
        assert "not a listening Unix" in pass_to_child([silent.fileno()])
        assert "not a listening Unix" in pass_to_child([internet.fileno()])
        assert "not a socket" in pass_to_child([file.fileno()])


def test_every_variable_of_the_protocol_is_to_be_unset() -> None:
    assert set(VARIABLES) >= {"LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "NOTIFY_SOCKET"}
    assert "JOURNAL_STREAM" in VARIABLES, "a child writes to no journal of ours"


async def test_the_watchdog_is_fed_as_long_as_the_disk_answers(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    address = tmp_path / "notify"
    answers = True

    async def ping() -> None:
        if not answers:
            await trio.sleep_forever()
        await trio.lowlevel.checkpoint()

    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(address))
        manager.setblocking(False)

        def count_heard() -> int:
            heard = 0
            with contextlib.suppress(BlockingIOError):
                while manager.recv(100) == b"WATCHDOG=1":
                    heard += 1
            return heard

        async with trio.open_nursery() as nursery:
            nursery.start_soon(feed_watchdog, Notifier(str(address), 10.0), ping)
            await trio.sleep(22.0)
            assert count_heard() == 5
            answers = False
            await trio.sleep(100.0)
            assert count_heard() == 0
            answers = True
            await trio.sleep(22.0)
            assert count_heard() >= 4
            nursery.cancel_scope.cancel()
    await feed_watchdog(Notifier(str(address)), ping)  # nobody wants to hear it: it returns
