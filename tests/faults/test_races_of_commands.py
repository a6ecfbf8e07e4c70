"""Commands whose paths change their meaning under them: 10,000 times each, and never outside.

Inside of one confined command files are opened, made and changed through directories of the
workspace, while an unconfined process swaps each of them for a link: to a directory beside
the workspace, to ask's own, to `.git`. The same loop without a sandbox must lose, or the race was
none.
"""

import json
from pathlib import Path

import pytest

from askd.processes.confinement import Confiner
from askd.processes.supervise import Command
from tests.fakes.workspaces import Tree, read_tree
from tests.faults.escapes import (
    CONTENT,
    ESCAPED,
    PYTHON,
    SECRET,
    World,
    confined,
    make_world,
    run,
)
from tests.faults.swapping import swapped

ITERATIONS = 10_000
LOSING = 2_000
"""So many are far more than enough where nothing holds."""
TRIES = 10
"""On a busy machine the other one may not have had its turn; once is enough to lose."""
PATIENCE_S = 20.0

DOORS = {
    "change": ("outside", "file"),
    "make": ("outside", "new"),
    "read": ("own", "auth.json"),
    "git": ("work/.git", "config"),
    "hook": ("work/.git/hooks", "post-checkout"),
}
"""What is done behind each door: the directory to which the trap leads, and the file."""

LOOP = """
import json, os, sys, time
iterations, deadline = int(sys.argv[1]), time.monotonic() + float(sys.argv[2])
doors, lost = json.loads(sys.argv[3]), 0
for name, file in doors.items():
    path, done, refused, turn = f"race/{name}/door/{file}", 0, 0, 0
    # On a busy machine the other may not have had its turn yet.
    while turn < iterations or (time.monotonic() < deadline and not (done and refused)):
        turn += 1
        try:
            if name == "read":
                with open(path, "rb", 0) as stream:
                    if b"somebody" in stream.read():
                        print("ESCAPED", name, turn)
            else:
                with open(path, "wb", 0) as stream:
                    stream.write(b"changed")
            done += 1
        except OSError:
            refused += 1
    print(json.dumps([name, turn, done, refused]), flush=True)
"""


def lay_out(world: World) -> list[Path]:
    """A directory for each door, with what is behind it as long as nobody swaps it."""
    found = []
    for name, (leads_to, file) in DOORS.items():
        one = world.workspace / "race" / name
        (one / "door").mkdir(parents=True)
        (one / "door" / file).write_text(CONTENT)
        (one / "trap").symlink_to(world.home / leads_to)
        found.append(one)
    return found


def read_kept(world: World) -> list[Tree]:
    """All that nothing may change."""
    return [read_tree(each) for each in (world.outside, world.own, world.git)]


def argv(iterations: int, *, patience_s: float) -> list[str]:
    """The loop; it goes on for so long until it was let in and refused at each door."""
    files = json.dumps({name: file for name, (_, file) in DOORS.items()})
    return [PYTHON, "-I", "-S", "-c", LOOP, str(iterations), str(patience_s), files]


@pytest.mark.parametrize("confiner", ["bubblewrap", "landlock"])
async def test_a_command_loses_no_race_to_the_outside(confiner: Confiner) -> None:
    with make_world() as world:
        races = lay_out(world)
        before = read_kept(world)
        with swapped(*races):
            async with confined(
                world, confiner, argv(ITERATIONS, patience_s=PATIENCE_S)
            ) as command:
                ended = await run(command)
        assert read_kept(world) == before
    assert ended.status == 0, ended
    assert ESCAPED not in ended.output
    told = [json.loads(line) for line in ended.output.splitlines()]
    assert [name for name, *_ in told] == list(DOORS)
    for name, turns, done, refused in told:
        assert turns >= ITERATIONS
        assert done, f"{name}: nothing was ever opened"
        assert refused, f"{name}: nothing was ever swapped"


def has_lost_all(world: World, output: str) -> bool:
    """Whether at each door something got out, or in."""
    return (
        f"{ESCAPED} read" in output
        and (world.outside / "file").read_text() != CONTENT
        and (world.outside / "new").exists()
        and (world.git / "config").read_text() != CONTENT
        and (world.git / "hooks" / "post-checkout").exists()
    )


async def test_the_same_command_unconfined_loses_every_one() -> None:
    with make_world() as world:
        races = lay_out(world)
        command = Command(argv=argv(LOSING, patience_s=0), env=world.env, cwd=str(world.workspace))
        output, tries = "", 0
        with swapped(*races):
            while tries < TRIES and not has_lost_all(world, output):
                output += (await run(command)).output
                tries += 1
        assert has_lost_all(world, output), output
        assert SECRET in (world.own / "auth.json").read_text()
