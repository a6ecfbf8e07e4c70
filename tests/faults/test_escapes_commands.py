"""Commands that try to get out, under each sandbox; and that each of them would, without one."""

import pytest
import trio

from askd.processes.confinement import Confiner
from askd.processes.supervise import Command
from tests.faults import escapes_of_files, escapes_of_processes
from tests.faults.escapes import NOT_FOUND, Case, confined, has_escaped, make_world, run

CASES = {case.name: case for case in (*escapes_of_files.CASES, *escapes_of_processes.CASES)}

CONFINERS: tuple[Confiner, ...] = ("bubblewrap", "landlock")


def test_the_table_is_long_enough() -> None:
    assert len(CASES) >= 60
    assert len(CASES) == len(escapes_of_files.CASES) + len(escapes_of_processes.CASES)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_no_command_gets_out(case: Case) -> None:
    async def attempt(confiner: Confiner) -> None:
        with make_world() as world:
            async with confined(world, confiner, case.argv) as command:
                ended = await run(command)
            assert not has_escaped(case, world, ended), (confiner, ended)
            # Else it has not tried.
            assert not (case.python and ended.status == NOT_FOUND), (confiner, ended)

    async with trio.open_nursery() as nursery:  # in it: the case under each confiner
        for confiner in CONFINERS:
            nursery.start_soon(attempt, confiner)


@pytest.mark.parametrize(
    "case", [case for case in CASES.values() if case.control], ids=lambda case: case.name
)
async def test_unconfined_it_would(case: Case) -> None:
    """Else the case above would prove nothing."""
    with make_world() as world:
        command = Command(argv=case.argv, env=world.env, cwd=str(world.workspace))
        ended = await run(command)
        assert has_escaped(case, world, ended), ended
