"""Children under trio: they end with their block, and with the daemon, whatever ends it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import trio

from askd.processes.supervise import CannotStart, Command, open_child
from tests.processes.test_launcher import PATIENCE_S, STUBBORN, is_running

ENV = {"PATH": os.environ["PATH"]}

FAMILY = "sleep 600 & sleep 600 & echo $! $$; wait"
"""A shell with two children of its own."""

DAEMON = f"""
import os, trio
from askd.processes.supervise import Command, open_child

async def main():
    command = Command(argv=["sh", "-c", {FAMILY!r}], env={{"PATH": os.environ["PATH"]}})
    async with open_child(command) as child:
        print((await child.stdout.receive_some()).decode(), child._process.pid, "end", flush=True)
        await trio.sleep_forever()

trio.run(main)
"""
"""A daemon in small, which prints the pids of those that must not outlive it."""


def command(*argv: str) -> Command:
    """A command with a small environment."""
    return Command(argv=argv, env=ENV)


def open_descriptors() -> int:
    """How many descriptors this process has."""
    return len(os.listdir("/proc/self/fd"))


def zombies() -> list[str]:
    """This process's children that nobody has waited for."""
    path = Path(f"/proc/self/task/{os.getpid()}/children")
    return path.read_text().split() if path.exists() else []


async def test_streams_and_status() -> None:
    async with open_child(
        command("sh", "-c", "read x; echo got $x; echo bad >&2; exit 5")
    ) as child:
        await child.stdin.send_all(b"secret\n")
        assert await child.stdout.receive_some() == b"got secret\n"
        assert await child.stderr.receive_some() == b"bad\n"
        assert await child.wait() == 5
        assert await child.wait() == 5


@pytest.mark.parametrize("argv", [["true"], ["sleep", "600"], ["sh", "-c", "kill -9 $$"]])
async def test_nothing_is_left_behind(argv: list[str]) -> None:
    async with open_child(command("true")):
        pass  # whatever trio keeps open from its first child on is open now
    before, dead = open_descriptors(), zombies()
    async with open_child(command(*argv)) as child:
        pid = child.pid
    assert open_descriptors() == before
    assert not is_running(pid)
    assert zombies() == dead


async def test_error_in_the_block_comes_out_as_it_is() -> None:
    with pytest.raises(ZeroDivisionError):
        async with open_child(command("sleep", "600")) as child:
            raise ZeroDivisionError
    assert not is_running(child.pid)


async def test_cancelled_block_still_ends_its_child() -> None:
    with trio.CancelScope() as scope:
        async with open_child(command(sys.executable, "-c", STUBBORN)) as child:
            assert await child.stdout.receive_some() == b"ready\n"
            scope.cancel()
            await trio.sleep_forever()
    assert not is_running(child.pid)


@pytest.mark.parametrize("argv", [["no-such-program"], ["/"]])
async def test_what_cannot_start(argv: list[str]) -> None:
    before = open_descriptors()
    with pytest.raises(CannotStart, match=argv[0]):
        async with open_child(command(*argv)):
            raise AssertionError
    assert open_descriptors() <= before + 1


async def test_wait_can_be_cancelled_and_asked_again() -> None:
    async with open_child(command("sh", "-c", "read x; exit 4")) as child:
        with trio.move_on_after(0.01):
            await child.wait()
        await child.stdin.aclose()
        assert await child.wait() == 4


async def test_several_may_wait() -> None:
    found = []

    async def wait() -> None:
        found.append(await child.wait())

    shell = command("sh", "-c", "read x; exit 4")
    async with open_child(shell) as child, trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        nursery.start_soon(wait)
        await child.stdin.aclose()
    assert found == [4, 4]


async def test_killed_launcher_leaves_nobody() -> None:
    async with open_child(command("sh", "-c", FAMILY)) as child:
        pids = [int(each) for each in (await child.stdout.receive_some()).split()]
        watches = [os.pidfd_open(pid) for pid in pids]
        child._process.kill()
        assert await child.wait() == -signal.SIGKILL
        await _wait_until_gone(watches)
        assert not any(map(is_running, pids))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
async def test_daemon_that_dies_leaves_no_survivor(number: int) -> None:
    daemon = await trio.lowlevel.open_process(
        [sys.executable, "-c", DAEMON], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert daemon.stdout is not None
    async with daemon.stdout:
        printed = b""
        while b"end" not in printed:
            printed += await daemon.stdout.receive_some()
        pids = [int(each) for each in printed.split()[:-1]]
        assert len(pids) == 3
        watches = [os.pidfd_open(pid) for pid in pids]
        daemon.send_signal(number)
        await daemon.wait()
        await _wait_until_gone(watches)
        assert not any(map(is_running, pids))


async def _wait_until_gone(watches: list[int]) -> None:
    """A pidfd is readable once its process has ended; closes them."""
    with trio.fail_after(PATIENCE_S):
        for watch in watches:
            await trio.lowlevel.wait_readable(watch)
            os.close(watch)


def test_secrets_are_in_no_command_line() -> None:
    program = """
import json, os, trio
from askd.processes.supervise import Command, open_child

async def main():
    command = Command(argv=["cat"], env={"PATH": os.environ["PATH"], "KEY": "sk-secret"})
    assert "sk-secret" not in repr(command)
    async with open_child(command) as child:
        lines = []
        for pid in (child.pid, child._process.pid):
            with open(f"/proc/{pid}/cmdline") as file:
                lines.append(file.read())
        print(json.dumps(lines))

trio.run(main)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    lines = json.loads(done.stdout)
    assert len(lines) == 2
    assert not any("sk-secret" in line for line in lines)
