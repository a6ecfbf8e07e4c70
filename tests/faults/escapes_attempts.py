"""Every attempt to get out of a workspace, as one table: what is tried, under what, and the judge.

The attempts themselves stand in `escapes_of_files`, `escapes_of_processes` (commands),
`escapes_files` (paths given to the file tools), `test_survivors` (commands that will not end) and
`test_races_of_commands` (doors that are swapped).
"""

import json
import os
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from askd.core.items import join_text
from askd.processes.confinement import Confiner
from askd.processes.supervise import Command
from askd.tools import beneath
from askd.tools.files import make_file_tools
from askd.tools.registry import Registry
from tests.fakes import workspaces
from tests.fakes.workspaces import read_tree, stand_in
from tests.faults import escapes_files, escapes_of_files, escapes_of_processes
from tests.faults.escapes import (
    CONTENT,
    ESCAPED,
    NOT_FOUND,
    Case,
    World,
    confined,
    has_escaped,
    make_world,
    run,
)
from tests.faults.escapes_files import ESCAPES, OLD, TOOLS, WRITE, Ground, make_ground
from tests.faults.swapping import swapped
from tests.faults.test_escapes_files import make_arguments
from tests.faults.test_races_of_commands import (
    DOORS,
    argv,
    has_lost_all,
    lay_out,
    read_kept,
)
from tests.faults.test_survivors import LIVES_ON, end_marked, find_marked, run_until_ready

CONFINERS: tuple[Confiner, ...] = ("bubblewrap", "landlock")
COMMANDS = (*escapes_of_files.CASES, *escapes_of_processes.CASES)
WAYS = ("openat2", "walk")
"""How a file tool opens a path: by the kernel's rule, or name by name."""

ROUND, ROUND_S = 500, 10.0
"""Turns of a race in one command, and how long it goes on until it was let in and refused: each
writes a file anew, which a busy disk makes slow, and no command is waited for without an end."""
ROUNDS_MORE = 6
"""On a busy machine the other side may not have had its turn: so many rounds it is given."""
LOSING = 100
"""So many turns lose a door where nothing holds, as soon as both sides run."""

Attempt = Callable[[], Awaitable[str | None]]
"""Answers the harm; None: it got nowhere."""


def list_commands() -> list[Attempt]:
    """Every command under each sandbox."""
    found: list[Attempt] = []
    for confiner in CONFINERS:
        found += [_bind(try_command, case, confiner) for case in COMMANDS]
        found += [_bind(try_to_survive, name, confiner) for name in LIVES_ON]
    return found


def list_paths() -> list[Attempt]:
    """Every path, opened in each way; one after the other, for the way is the process's."""
    return [_bind(try_path, name, way) for name in ESCAPES for way in WAYS]


def list_unconfined() -> list[Attempt]:
    """The same commands where nothing confines them."""
    return [_bind(try_command, case, None) for case in COMMANDS if case.control]


def _bind(attempt: Callable[..., Awaitable[str | None]], *arguments: Any) -> Attempt:
    return lambda: attempt(*arguments)


async def try_command(case: Case, confiner: Confiner | None) -> str | None:
    """One command in a world of its own; None for a confiner: nothing confines it."""
    with make_world() as world:
        if confiner is None:
            command = Command(argv=case.argv, env=world.env, cwd=str(world.workspace))
            ended = await run(command)
        else:
            async with confined(world, confiner, case.argv) as command:
                ended = await run(command)
            assert not (case.python and ended.status == NOT_FOUND), (case.name, ended)
        if has_escaped(case, world, ended):
            return f"{case.name}, confined by {confiner}: {ended}"
    return None


async def try_to_survive(name: str, confiner: Confiner) -> str | None:
    """A command that will not end is left; what of it is there then."""
    with make_world() as world:
        async with confined(world, confiner, ["sh", "-c", LIVES_ON[name]]) as command:
            await run_until_ready(command)
        left = find_marked(world)
        end_marked(world)
    return f"{name}, confined by {confiner}: survived by {len(left)}" if left else None


@contextmanager
def opening(way: str) -> Iterator[None]:
    """File tools open in this way."""
    assert beneath.has_openat2(), "this kernel cannot show what it is to show"
    with patch.object(beneath, "has_openat2", lambda: way == "openat2"):
        yield


@contextmanager
def make_place() -> Iterator[Ground]:
    """A workspace for the file tools, with a secret file open in this process."""
    with tempfile.TemporaryDirectory(prefix="ask-escape-") as top:
        hidden = Path(top, "hidden.txt")
        hidden.write_text(f"{OLD} {escapes_files.SECRET}\n")
        secret = os.open(hidden, os.O_RDWR)
        try:
            yield make_ground(Path(top, "ground"), secret)
        finally:
            os.close(secret)


async def try_path(name: str, way: str) -> str | None:
    """One path, given to every file tool."""
    escape = ESCAPES[name]
    with opening(way), make_place() as ground:
        escape.prepare(ground)
        path = escape.path.replace("{ws}", str(ground.inside)).replace("{out}", str(ground.outside))
        path = path.replace("{fd}", str(ground.secret))
        registry = Registry(make_file_tools(own=[str(ground.inside / "ours")]))
        site = stand_in(ground.inside)
        works = escape.works if way == "openat2" or escape.walking is None else escape.walking
        outside = read_tree(ground.outside)
        for tool in sorted(TOOLS, key=lambda each: each == WRITE):
            output = await workspaces.run(registry, site, tool, **make_arguments(tool, path))
            text = join_text(output.parts)
            if escapes_files.SECRET in text or (not output.is_error and tool not in works):
                return f"{name}, {tool} by {way}: {text[:100]!r}"
        if read_tree(ground.outside) != outside:
            return f"{name}, by {way}: what is outside was changed"
        if OLD not in os.pread(ground.secret, 100, 0).decode():
            return f"{name}, by {way}: an open file was changed"
    return None


async def race(confiner: Confiner, iterations: int) -> tuple[int, list[str]]:
    """Race at every door, so many times each: how many times in all, and what got out or in."""
    harms: list[str] = []
    turns: Counter[str] = Counter()
    let_in: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    with make_world() as world:
        doors = lay_out(world)
        before = read_kept(world)
        with swapped(*doors):
            rounds = 0
            while rounds * ROUND < iterations or (
                rounds < ROUNDS_MORE and not all(let_in[each] and refused[each] for each in DOORS)
            ):
                loop = argv(min(ROUND, iterations), patience_s=ROUND_S)
                rounds += 1
                async with confined(world, confiner, loop) as command:
                    ended = await run(command)
                assert ended.status == 0, ended
                for line in ended.output.splitlines():
                    if ESCAPED in line:
                        harms.append(f"race, {confiner}: {line}")
                    else:
                        name, count, done, failed = json.loads(line)
                        turns[name] += count
                        let_in[name] += done
                        refused[name] += failed
        if read_kept(world) != before:
            harms.append(f"race, {confiner}: what nothing may change was changed")
    for name in DOORS:
        # Else there was no race.
        assert let_in[name], f"{name}: nothing was ever opened"
        assert refused[name], f"{name}: nothing was ever swapped"
    return turns.total(), harms


async def lose_race(tries: int) -> list[str]:
    """The same race where nothing confines, until all is lost: which doors were."""
    with make_world() as world:
        doors = lay_out(world)
        command = Command(argv=argv(LOSING, patience_s=0), env=world.env, cwd=str(world.workspace))
        output = ""
        with swapped(*doors):
            while tries and not has_lost_all(world, output):
                output += (await run(command)).output
                tries -= 1
        lost = {
            "read": f"{ESCAPED} read" in output,
            "change": (world.outside / "file").read_text() != CONTENT,
            "make": (world.outside / "new").exists(),
            "git": (world.git / "config").read_text() != CONTENT,
            "hook": (world.git / "hooks" / "post-checkout").exists(),
        }
    return [f"race, unconfined: lost at the door {name!r}" for name, each in lost.items() if each]


def lose_by_names(world: World, tries: int) -> list[str]:
    """Paths compared as `realpath` tells them, and opened afterwards: what was read."""
    doors = lay_out(world)
    root = os.path.realpath(world.workspace)
    with swapped(*doors):
        for number in range(tries):
            try:
                path = os.path.realpath(os.path.join(root, "race/read/door/auth.json"))
                if path.startswith(root + os.sep) and "somebody" in Path(path).read_text():
                    return [f"comparing names: the secret was read at try {number}"]
            except OSError:
                continue
    return []
