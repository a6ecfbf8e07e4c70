"""Who listens before looking hears what happens in between."""

import trio
import trio.testing

from askd.jobs.bell import Bell


async def test_a_ring_between_listening_and_waiting_is_heard() -> None:
    bell = Bell()
    heard = bell.listen()
    bell.ring()
    with trio.fail_after(1):
        await heard.wait()
    assert not bell.listen().is_set(), "it is not heard twice"


async def test_all_who_listen_are_woken() -> None:
    bell = Bell()
    woken: list[int] = []

    async def wait(number: int) -> None:
        await bell.listen().wait()
        woken.append(number)

    async with trio.open_nursery() as nursery:
        for number in range(3):
            nursery.start_soon(wait, number)
        await trio.testing.wait_all_tasks_blocked()
        bell.ring()
    assert sorted(woken) == [0, 1, 2]


async def test_another_may_ring_with_it_and_not_the_other_way_round() -> None:
    both = Bell()
    one = Bell(also=both)
    heard = (one.listen(), both.listen())
    both.ring()
    assert [each.is_set() for each in heard] == [False, True]
    heard = (one.listen(), both.listen())
    one.ring()
    assert [each.is_set() for each in heard] == [True, True]
