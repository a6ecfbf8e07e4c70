"""What must not be in the daemon is not there, and would be found."""

import pytest

from tests.house import absences
from tests.house.floors import DAEMON, modules


def test_core_never_waits() -> None:
    found = [each for n, s in modules(DAEMON) for each in absences.find_waiting_core(n, s)]
    assert not found, "\n".join(found)


def test_children_start_in_one_room() -> None:
    found = [each for n, s in modules(DAEMON) for each in absences.find_child_starts(n, s)]
    assert not found, "\n".join(found)


def test_providers_are_reached_in_one_way() -> None:
    found = [each for n, s in modules(DAEMON) for each in absences.find_http(n, s)]
    assert not found, "\n".join(found)


def test_planted_wait_in_the_core_is_found() -> None:
    planted = "async def f():\n    await g()\n"
    assert len(absences.find_waiting_core("askd.core.turn", planted)) == 2
    assert not absences.find_waiting_core("askd.store.writer", planted)


@pytest.mark.parametrize(
    "planted",
    [
        "import subprocess\n",
        "from multiprocessing import Process\n",
        "import os\nos.posix_spawn('/bin/true', [], {})\n",
        "import trio\nawaitable = trio.run_process(['true'])\n",
        "import trio\nawaitable = trio.lowlevel.open_process(['true'])\n",
    ],
)
def test_planted_child_is_found(planted: str) -> None:
    assert absences.find_child_starts("askd.providers.local", planted)
    assert not absences.find_child_starts("askd.processes.supervise", planted)


def test_planted_second_way_to_a_provider_is_found() -> None:
    planted = "import httpx\nclient = httpx.AsyncClient()\n"
    assert len(absences.find_http("askd.sessions.turns", planted)) == 2
    assert len(absences.find_http("askd.providers.http.bodies", planted)) == 1
    assert len(absences.find_http("askd.providers.http.transport", planted)) == 1
    assert not absences.find_http("askd.providers.http.ways", planted)
