"""The gate of a provider: pure transitions first, then tasks that wait at it."""

import math

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

from askd.errors import RateLimited
from askd.providers.base import Endpoint
from askd.providers.http.limiter import FEWEST, MOST, Enter, Gate, Limiter, Refuse, Wait

WORK = Endpoint(provider="work", base_url="http://host/v1")
OTHER = Endpoint(provider="other", base_url="http://other/v1")
MOVED = Endpoint(provider="work", base_url="http://elsewhere/v1")


def enter(gate: Gate, now: float = 0.0) -> Enter:
    """Go in, which must be possible."""
    entry = gate.plan_entry(now)
    assert isinstance(entry, Enter)
    return entry


def shut_gate(wait_s: float) -> Gate:
    """A gate that was shut at 0."""
    gate = Gate()
    gate.shut(enter(gate), 0.0, wait_s)
    return gate


# ---- the theory -----------------------------------------------------------------


def test_open_gate_takes_everyone() -> None:
    gate = Gate()
    for _ in range(1000):
        enter(gate)


def test_shut_gate_names_the_moment() -> None:
    gate = shut_gate(20)
    assert gate.plan_entry(0) == Wait(20)
    assert gate.plan_entry(19.9) == Wait(20)
    enter(gate, 20)


def test_a_few_at_first_and_more_with_every_success() -> None:
    gate = shut_gate(1)
    inside = [enter(gate, 1) for _ in range(FEWEST)]
    assert gate.plan_entry(1) == Wait(math.inf)
    gate.leave(inside.pop(), succeeded=True)
    inside += [enter(gate, 1) for _ in range(2)]  # its own place, and one more
    assert gate.plan_entry(1) == Wait(math.inf)


def test_a_round_of_answers_doubles_those_inside() -> None:
    gate, now = shut_gate(1), 1.0
    rounds = []
    for _ in range(4):
        inside: list[Enter] = []
        while isinstance(planned := gate.plan_entry(now), Enter):
            inside.append(planned)
        rounds.append(len(inside))
        for entry in inside:
            gate.leave(entry, succeeded=True)
    assert rounds == [FEWEST, 2 * FEWEST, 4 * FEWEST, 8 * FEWEST]


def test_place_is_for_the_first_while_it_is_narrow() -> None:
    gate = shut_gate(1)
    assert gate.plan_entry(0, is_first=False) == Wait(1)
    assert gate.plan_entry(1, is_first=False) == Wait(math.inf)
    enter(gate, 1)
    assert isinstance(Gate().plan_entry(0, is_first=False), Enter)


def test_successes_open_it_at_last() -> None:
    gate = shut_gate(1)
    for _ in range(MOST):
        gate.leave(enter(gate, 1), succeeded=True)
    for _ in range(10 * MOST):
        enter(gate, 1)


def test_leaving_without_a_verdict_gives_the_place_back_and_no_more() -> None:
    gate = shut_gate(1)
    for _ in range(10):
        gate.leave(enter(gate, 1), succeeded=False)
    for _ in range(FEWEST):
        enter(gate, 1)
    assert gate.plan_entry(1) == Wait(math.inf)


def test_probe_that_is_limited_shuts_it_again() -> None:
    gate = shut_gate(1)
    probe = enter(gate, 1)
    gate.leave(probe, succeeded=False)
    gate.shut(probe, 1, 5)
    assert gate.plan_entry(1) == Wait(6)


def test_one_wave_shuts_it_once_for_the_longest() -> None:
    gate = Gate()
    wave = [enter(gate) for _ in range(5)]
    for wait_s, entry in zip((3, 9, 1, 2, 4), wave, strict=True):
        gate.shut(entry, 0, wait_s)
    assert gate.plan_entry(0) == Wait(9)
    assert [type(gate.plan_entry(9)) for _ in range(3)] == [Enter, Enter, Wait]


def test_success_of_those_before_says_nothing_of_now() -> None:
    gate = Gate()
    before, limited = enter(gate), enter(gate)
    gate.shut(limited, 0, 1)
    for _ in range(FEWEST):
        enter(gate, 1)
    gate.leave(before, succeeded=True)
    assert gate.plan_entry(1) == Wait(math.inf)


def test_too_long_a_wait_is_refused_and_asked_again_after_a_minute() -> None:
    gate = shut_gate(3600)
    assert gate.plan_entry(0) == Refuse(3600)
    assert gate.plan_entry(59.9) == Refuse(3600)
    probe = enter(gate, 60)  # the plan may be another by now
    gate.leave(probe, succeeded=False)
    gate.shut(probe, 60, 2)
    assert gate.plan_entry(60) == Wait(62)  # what was said an hour ago is forgotten


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(0, 100)), max_size=60))
def test_it_never_stays_shut(steps: list[tuple[int, float]]) -> None:
    """Whatever happens, it lets somebody in again a minute after everybody left."""
    gate, now = Gate(), 0.0
    inside: list[Enter] = []
    for what, amount in steps:
        now += amount
        planned = gate.plan_entry(now)
        if isinstance(planned, Enter):
            inside.append(planned)
        if not inside or what == 3:
            continue
        entry = inside.pop(0)
        gate.leave(entry, succeeded=what == 0)
        if what == 2:
            gate.shut(entry, now, amount)
    for entry in inside:
        gate.leave(entry, succeeded=False)
    assert isinstance(gate.plan_entry(now + 60.0), Enter)


# ---- tasks ----------------------------------------------------------------------


class Crowd:
    """Tasks that want in; each notes when it got there and how many were there then."""

    def __init__(self, limiter: Limiter) -> None:
        self.limiter = limiter
        self.entered: list[float] = []
        self.told: list[str] = []
        self.refused: list[RateLimited] = []

    async def ask(self, seconds: float = 1.0, endpoint: Endpoint = WORK) -> None:
        """Enter, take this long, succeed."""
        try:
            place = await self.limiter.enter(endpoint, self.limiter.take_turn(self.told.append))
        except RateLimited as error:
            self.refused.append(error)
            return
        self.entered.append(trio.current_time())
        try:
            await trio.sleep(seconds)
            place.leave(succeeded=True)
        finally:
            place.leave()


async def limit(limiter: Limiter, wait_s: float) -> None:
    """Somebody hears "too many"."""
    (await limiter.enter(WORK)).limit(wait_s)


@pytest.fixture
def crowd() -> Crowd:
    return Crowd(Limiter(now=lambda: 1000.0 + trio.current_time()))


async def test_one_limit_slows_everyone_and_they_come_back_a_few_at_a_time(
    crowd: Crowd, autojump_clock: MockClock
) -> None:
    await limit(crowd.limiter, 7)
    async with trio.open_nursery() as nursery:  # the askers; each ends by itself
        for _ in range(40):
            nursery.start_soon(crowd.ask)
    assert crowd.entered == pytest.approx([7] * 2 + [8] * 4 + [9] * 8 + [10] * 16 + [11] * 10)
    assert crowd.told[0] == "work had too many requests; waiting 7 s as it asks"
    assert len(crowd.told) <= 2 * 40


async def test_other_providers_and_addresses_are_not_slowed(
    crowd: Crowd, autojump_clock: MockClock
) -> None:
    await limit(crowd.limiter, 30)
    await crowd.ask(0, OTHER)
    await crowd.ask(0, MOVED)
    assert crowd.entered == [0, 0]
    assert crowd.told == []


async def test_too_long_a_wait_is_an_error_at_once(crowd: Crowd, autojump_clock: MockClock) -> None:
    await limit(crowd.limiter, 3600)
    await crowd.ask()
    (error,) = crowd.refused
    assert error.data == {"retry_at": 4600.0, "final": True}
    assert error.message == "work takes no more requests for now. Try again in 60 minutes."
    assert trio.current_time() == 0


@pytest.mark.parametrize("when", [3, 7.5])
async def test_cancelled_waiters_and_probes_do_not_wedge_it(
    crowd: Crowd, when: float, autojump_clock: MockClock
) -> None:
    await limit(crowd.limiter, 7)
    with trio.move_on_after(when):
        async with trio.open_nursery() as nursery:  # the askers; the time limit ends them
            for _ in range(5):
                nursery.start_soon(crowd.ask)
    crowd.entered.clear()
    async with trio.open_nursery() as nursery:  # each ends by itself
        for _ in range(4):
            nursery.start_soon(crowd.ask)
    start = max(when, 7)
    assert crowd.entered == pytest.approx([start, start, start + 1, start + 1])


async def test_probe_that_fails_hands_its_place_on(crowd: Crowd, autojump_clock: MockClock) -> None:
    await limit(crowd.limiter, 1)
    await trio.sleep(1)
    probes = [await crowd.limiter.enter(WORK) for _ in range(FEWEST)]
    async with trio.open_nursery() as nursery:  # one asker, who ends by itself
        nursery.start_soon(crowd.ask)
        await wait_all_tasks_blocked()
        assert crowd.entered == []
        probes[0].leave()
        probes[0].leave()  # a second time means nothing
        await wait_all_tasks_blocked()
        assert crowd.entered == [1]
    assert crowd.told == [
        "work had too many requests; waiting for the first of them to be answered"
    ]


async def test_limit_inside_an_answer_counts_too(crowd: Crowd, autojump_clock: MockClock) -> None:
    place = await crowd.limiter.enter(WORK)
    place.leave(succeeded=True)
    place.limit(5)
    await crowd.ask(0)
    assert crowd.entered == [5]


async def test_nobody_needs_to_be_told(crowd: Crowd, autojump_clock: MockClock) -> None:
    await limit(crowd.limiter, 5)
    (await crowd.limiter.enter(WORK, crowd.limiter.take_turn())).leave()
    assert trio.current_time() == 5


async def test_who_has_asked_for_the_longest_goes_in_first(
    crowd: Crowd, autojump_clock: MockClock
) -> None:
    turns = [crowd.limiter.take_turn() for _ in range(20)]
    await limit(crowd.limiter, 2)
    order: list[int] = []

    async def ask(number: int) -> None:
        place = await crowd.limiter.enter(WORK, turns[number])
        order.append(number)
        await trio.sleep(1)
        place.leave(succeeded=True)

    async with trio.open_nursery() as nursery:  # the askers; each ends by itself
        for number in (*range(10, 20), *range(10)):  # those sent away come back last
            nursery.start_soon(ask, number)
            await wait_all_tasks_blocked()
    assert [sorted(order[:2]), sorted(order[2:6]), sorted(order[6:14])] == [
        [0, 1], [2, 3, 4, 5], [6, 7, 8, 9, 10, 11, 12, 13]
    ]  # fmt: skip


async def test_first_who_leaves_lets_the_next_one_look(
    crowd: Crowd, autojump_clock: MockClock
) -> None:
    await limit(crowd.limiter, 1)
    await trio.sleep(1)
    probes = [await crowd.limiter.enter(WORK) for _ in range(FEWEST)]
    async with trio.open_nursery() as nursery:  # two in line, of whom one is cancelled
        first = trio.CancelScope()

        async def wait() -> None:
            with first:
                await crowd.ask()

        nursery.start_soon(wait)
        await wait_all_tasks_blocked()
        nursery.start_soon(crowd.ask)
        await wait_all_tasks_blocked()
        first.cancel()
        probes[0].leave()
    assert crowd.entered == [1]


async def test_wait_that_is_told_already_is_not_told_again(
    crowd: Crowd, autojump_clock: MockClock
) -> None:
    await limit(crowd.limiter, 5)
    turn = crowd.limiter.take_turn(crowd.told.append)
    turn.told_until = 4.9
    (await crowd.limiter.enter(WORK, turn)).limit(5)
    assert crowd.told == []
    (await crowd.limiter.enter(WORK, turn)).leave()
    assert crowd.told == ["work had too many requests; waiting 5 s as it asks"]
