"""What a session knows of its compactions: who waits, who lent a key, whether one may begin."""

import pytest
import trio
import trio.testing

from askd.core.events import Event, ViewChanged
from askd.providers.base import Caller
from askd.sessions.compactions import BEGIN_S, COOL_DOWN_S, Compactions, Settled

DONE = Settled(state="finished", text="Compacted.")


def is_due(state: Compactions) -> bool:
    """Asked anew each time."""
    return state.is_due


def changed(kind: str, at: float) -> Event:
    return Event("c", 2, at, ViewChanged("v", kind))  # type: ignore[arg-type]


async def test_one_that_is_due_runs_and_ends() -> None:
    state = Compactions()
    heard: list[Settled] = []
    assert not is_due(state)
    state.expect()
    assert is_due(state)
    ending = state.listen()

    async def wait() -> None:
        heard.append(await ending.wait())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        state.begin()
        state.pause()
        assert heard == []
        assert is_due(state), "it is to be tried again"
        state.begin()
        state.settle(DONE, at=5.0)
        assert is_due(state), "it is being wound up"
        state.pause()
    assert heard == [DONE]
    assert not is_due(state)
    assert state.listen() is not ending


async def test_a_job_that_never_begins_is_not_waited_for_long(
    autojump_clock: trio.testing.MockClock,
) -> None:
    state = Compactions()
    state.expect()
    await trio.sleep(BEGIN_S - 1)
    assert is_due(state)
    await trio.sleep(1)
    assert not is_due(state)
    state.expect()
    state.give_up()
    assert not is_due(state)


@pytest.mark.parametrize(
    ("since", "may"),
    [(0.0, False), (COOL_DOWN_S - 1, False), (COOL_DOWN_S, True), (-10.0, True)],
)
async def test_none_begins_by_itself_just_after_another(since: float, may: bool) -> None:
    after_one_that_helped, after_one_that_failed = Compactions(), Compactions()
    after_one_that_helped.observe(changed("compact", 1000.0))
    after_one_that_failed.settle(Settled(state="failed", text="no"), at=1000.0)
    for state in (after_one_that_helped, after_one_that_failed):
        assert state.may_begin("t2", 1000.0 + since) is may


async def test_each_turn_causes_one_at_most() -> None:
    state = Compactions()
    state.observe(changed("prune", 1000.0))
    assert state.may_begin("t1", 1000.0)
    state.spend("t1")
    assert not state.may_begin("t1", 5000.0)
    assert state.may_begin("t2", 5000.0)


async def test_what_the_last_caller_lent_is_kept_and_replaced() -> None:
    state = Compactions()
    one, two = Caller(secrets={"K": "1"}), Caller(secrets={"K": "2"})
    state.keep_caller(one)
    state.keep_caller(None)
    assert state.last_caller is one
    state.keep_caller(two)
    assert state.last_caller is two
