"""A call is heard once, also when it comes before the wait."""

import trio
import trio.testing

from askd.sessions.mailbox import Mailbox


async def test_a_call_that_comes_before_the_wait_counts_once() -> None:
    mailbox = Mailbox()
    mailbox.wake()
    mailbox.wake()
    await mailbox.wait()
    with trio.move_on_after(0) as scope:
        await mailbox.wait()
    assert scope.cancelled_caught


async def test_a_call_ends_the_wait() -> None:
    mailbox = Mailbox()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(mailbox.wait)
        await trio.testing.wait_all_tasks_blocked()
        mailbox.wake()


async def test_who_listens_hears_the_next_call_and_takes_it_from_nobody() -> None:
    mailbox = Mailbox()
    mailbox.wake()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(mailbox.wait_next)
        nursery.start_soon(mailbox.wait_next)
        await trio.testing.wait_all_tasks_blocked()
        assert len(nursery.child_tasks) == 2, "a call of before is no news"
        mailbox.wake()
    await mailbox.wait()
