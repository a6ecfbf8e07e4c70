"""What a command leaves running: nothing, three seconds after its end, however it hides."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import trio

from askd.processes.confinement import Confiner
from askd.processes.supervise import Command, open_child
from askd.tools.sandbox import PROCESSES
from tests.fakes.ticks import counting, holds_within
from tests.faults.escapes import PYTHON, World, confined, make_world

CONFINERS: tuple[Confiner, ...] = ("bubblewrap", "landlock", "none")

LIMIT_S = 3.0
"""From the order to end until nothing is left, as `ticks` counts it. The grace is one of them."""

STUBBORN = "trap '' TERM HUP INT; "
LIVES_ON = {
    "in the background": "sleep 600 & echo ready; sleep 600",
    "background alone": "sleep 600 & echo ready",
    "session of its own": "setsid sleep 600 & echo ready; sleep 600",
    "forked twice": "(setsid sh -c 'sleep 600 & sleep 600 &' &); echo ready; sleep 600",
    "forked twice, its leader gone": "(setsid sh -c 'sleep 600 & sleep 600 &' &); echo ready",
    "deaf": f"{STUBBORN} echo ready; sleep 600; sleep 600",
    "deaf, in a session": f"(setsid sh -c \"{STUBBORN} sleep 9; sleep 99\" &); echo ready; sleep 9",
    "without pipes": "(setsid sh -c 'sleep 600' < /dev/null > /dev/null 2>&1 &); echo ready",
    "stopped": "sleep 600 & kill -STOP $!; echo ready; kill -STOP $$",
}  # fmt: skip

BOMB = """
import os, sys, time
generations, session = int(sys.argv[1]), sys.argv[2] == "own"
for _ in range(generations):
    try:
        if os.fork() == 0 and session:
            os.setsid()
    except OSError:
        time.sleep(0.01)
time.sleep(600)
"""
GENERATIONS = 11
"""Two to the power of it are the processes of a bomb: more than allowed, less than harmful."""


def find_marked(world: World) -> set[int]:
    """Every process that has the world's mark in its environment, however it is related."""
    found = set()
    mark = f"MARK={world.home.name}".encode()
    for path in Path("/proc").glob("[0-9]*"):
        try:
            state = (path / "stat").read_text().rpartition(")")[2].split()[0]
            if state not in "ZX" and mark in (path / "environ").read_bytes():
                found.add(int(path.name))
        except OSError:
            continue
    return found


def end_marked(world: World) -> None:
    """Leave none behind when a test has failed."""
    for _ in range(100):
        for pid in find_marked(world):
            os.kill(pid, signal.SIGKILL)


async def run_until_ready(command: Command) -> float:
    """Leave a command when it has said that it is; seconds that leaving took."""
    async with counting() as ticks:
        async with open_child(command) as child:
            said = b""
            with trio.fail_after(20):
                while b"ready" not in said:
                    said += await child.stdout.receive_some()
            ordered_s = ticks.passed_s
        return ticks.passed_s - ordered_s


@pytest.mark.parametrize("script", LIVES_ON.values(), ids=LIVES_ON)
async def test_nothing_survives(script: str) -> None:
    async with trio.open_nursery() as nursery:  # in it: the command under each confiner
        for confiner in CONFINERS:
            nursery.start_soon(check_survivors, script, confiner)


async def check_survivors(script: str, confiner: Confiner) -> None:
    """Run a script until it is ready; nothing of it is there after that."""
    with make_world() as world:
        async with confined(world, confiner, ["sh", "-c", script]) as command:
            took_s = await run_until_ready(command)
        left = find_marked(world)
        end_marked(world)
        assert not left, confiner
        assert took_s < LIMIT_S, confiner


@pytest.mark.parametrize("confiner", CONFINERS)
@pytest.mark.parametrize("sessions", ["one", "own"])
async def test_a_fork_bomb_is_ended_by_itself(sessions: str, confiner: Confiner) -> None:
    assert 2**GENERATIONS > PROCESSES
    argv = [PYTHON, "-c", BOMB, str(GENERATIONS), sessions]
    with make_world() as world:
        async with confined(world, confiner, argv) as command, open_child(command) as child:
            with trio.fail_after(20):
                assert await child.wait() in (-signal.SIGKILL, 128 + signal.SIGKILL)
        left = find_marked(world)
        end_marked(world)
        assert not left


@pytest.mark.parametrize("confiner", CONFINERS)
def test_nothing_survives_a_daemon_that_is_killed(confiner: Confiner) -> None:
    program = f"""
import sys, trio
from askd.processes.supervise import open_child
from tests.fakes.ticks import counting, holds_within
from tests.faults.escapes import World, confined
from tests.faults import test_survivors as here

class There:
    home = here.Path(sys.argv[1])
    workspace, own, env = home / "work", home / "own", {{"PATH": here.os.environ["PATH"]}}
    env["MARK"] = home.name

async def main():
    script = here.LIVES_ON["deaf, in a session"]
    async with confined(There, {confiner!r}, ["sh", "-c", script]) as command:
        async with open_child(command) as child:
            print((await child.stdout.receive_some()).decode(), flush=True)
            await trio.sleep_forever()

trio.run(main)
"""
    with make_world() as world:
        with subprocess.Popen(
            [sys.executable, "-c", program, str(world.home)], stdout=subprocess.PIPE
        ) as daemon:
            assert daemon.stdout is not None
            assert daemon.stdout.readline() == b"ready\n"
            assert len(find_marked(world)) >= 2
            daemon.kill()
        is_over = holds_within(LIMIT_S, lambda: not find_marked(world))
        end_marked(world)
        assert is_over
