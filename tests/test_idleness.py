"""When the daemon leaves by itself, and when it does not."""

from functools import partial

import pytest
import trio
from trio.testing import MockClock

from askd import __version__, idleness
from askd.idleness import IDLE_EXIT_S, IDLE_LOOK_S, is_needed, leave_when_idle


class Daemon:
    """Somebody to be asked, and to be told to stop."""

    def __init__(self, *, is_needed: bool = False) -> None:
        self.is_needed = is_needed
        self.stopped: list[float] = []

    async def ask(self) -> bool:
        await trio.lowlevel.checkpoint()
        return self.is_needed

    def stop(self, wait_s: float) -> None:
        self.stopped.append(wait_s)


async def watch(daemon: Daemon, *, is_activated: bool, for_s: float) -> float | None:
    """After how long it was told to stop; None: it was not."""
    began = trio.current_time()
    with trio.move_on_after(for_s):
        await leave_when_idle(daemon.ask, daemon.stop, is_activated=is_activated)
    return trio.current_time() - began if daemon.stopped else None


async def test_an_activated_daemon_leaves_when_nobody_has_needed_it_for_long(
    autojump_clock: MockClock,
) -> None:
    daemon = Daemon()
    after = await watch(daemon, is_activated=True, for_s=2 * IDLE_EXIT_S)
    assert after is not None
    assert IDLE_EXIT_S <= after <= IDLE_EXIT_S + IDLE_LOOK_S
    assert daemon.stopped == [0.0]


async def test_whoever_needs_it_begins_the_wait_anew(autojump_clock: MockClock) -> None:
    daemon = Daemon(is_needed=True)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(leave_when_idle, daemon.ask, daemon.stop, is_activated=True))
        await trio.sleep(3 * IDLE_EXIT_S)
        assert not daemon.stopped
        daemon.is_needed = False
        await trio.sleep(IDLE_EXIT_S - 2 * IDLE_LOOK_S)
        assert not daemon.stopped
        await trio.sleep(3 * IDLE_LOOK_S)
        assert daemon.stopped == [0.0]


async def test_one_that_was_started_by_a_client_stays(autojump_clock: MockClock) -> None:
    assert await watch(Daemon(), is_activated=False, for_s=5 * IDLE_EXIT_S) is None


@pytest.mark.parametrize(("installed", "leaves"), [("99.0", True), (__version__, False)])
async def test_it_makes_way_for_another_version(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch, installed: str, leaves: bool
) -> None:
    monkeypatch.setattr(idleness, "find_installed_version", lambda: installed)
    after = await watch(Daemon(), is_activated=False, for_s=60.0)
    assert (after is not None) is leaves


class Talk:
    """A conversation in memory."""

    def __init__(self, *, idle: bool) -> None:
        self.idle = idle

    def is_idle(self) -> bool:
        return self.idle


@pytest.mark.parametrize(
    ("clients", "talks", "jobs", "schedules", "needed"),
    [
        (0, [], 0, 0, False),
        (0, [True, True], 0, 0, False),
        (1, [], 0, 0, True),
        (0, [True, False], 0, 0, True),
        (0, [], 1, 0, True),
        (0, [], 0, 1, True),
    ],
)
async def test_a_client_a_turn_a_job_and_a_schedule_each_need_it(
    clients: int, talks: list[bool], jobs: int, schedules: int, needed: bool
) -> None:
    async def count(number: int) -> int:
        await trio.lowlevel.checkpoint()
        return number

    live = [Talk(idle=each) for each in talks]
    work = [partial(count, jobs), partial(count, schedules)]
    assert await is_needed(lambda: clients, lambda: live, work) is needed
