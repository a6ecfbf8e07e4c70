"""What happened to a turn is heard in order, and a message that steers before all else."""

import trio
import trio.testing

from askd.core.items import Text, UserMessage
from askd.core.turn import Input, Interrupted, Resumed, Started, Steered
from askd.sessions.inbox import Inbox

STOP = Interrupted(1, "interrupted", "Stopped.")


def steer(id: str) -> Steered:
    return Steered(UserMessage(id, (Text("rather this"),)))


def take_all(inbox: Inbox) -> list[Input]:
    taken = []
    while inbox:
        taken.append(inbox.take())
    return taken


def test_messages_that_steer_come_first_and_all_in_order() -> None:
    inbox = Inbox()
    for each in (Started(1), steer("a"), STOP, steer("b"), Resumed()):
        inbox.post(each)
    assert take_all(inbox) == [steer("a"), steer("b"), Started(1), STOP, Resumed()]


def test_an_end_is_known_before_it_is_heard() -> None:
    inbox = Inbox()
    inbox.post(Started(1))
    assert not inbox.brings_end
    inbox.post(STOP)
    assert inbox.brings_end


async def test_a_call_is_heard_also_if_it_came_before(autojump_clock: object) -> None:
    inbox = Inbox()
    inbox.wake()
    await inbox.wait()
    with trio.move_on_after(1) as limit:
        await inbox.wait()
    assert limit.cancelled_caught
    async with trio.open_nursery() as nursery:
        nursery.start_soon(inbox.wait)
        await trio.testing.wait_all_tasks_blocked()
        inbox.post(Resumed())
