"""The outbox: order kept, bounds kept, nobody waited for but the writer."""

import os

import pytest
import trio
import trio.testing

from askd.server import outbox
from askd.server.outbox import NOTIFICATIONS_LIMIT, NOTIFICATIONS_LIMIT_BYTES, WRITE_BYTES, Outbox


async def write_out(box: Outbox) -> bytes:
    """All that is queued, as the peer would read it."""
    ours, theirs = trio.testing.memory_stream_pair()
    box.finish()
    await box.write_all(ours)
    await ours.send_eof()
    return b"".join([bytes(data) async for data in theirs])


async def test_frames_leave_in_the_order_in_which_they_came() -> None:
    box = Outbox()
    box.post(b"1")
    assert box.offer(b"2", source="a", droppable=True)
    box.post(b"3")
    assert box.offer(b"4", source="a", droppable=False)
    assert await write_out(box) == b"1234"


async def test_the_writer_waits_for_more_until_it_is_finished() -> None:
    box = Outbox()
    ours, theirs = trio.testing.memory_stream_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(box.write_all, ours)
        for word in (b"one", b"two"):
            box.post(word)
            assert await theirs.receive_some() == word
            await trio.testing.wait_all_tasks_blocked()
        box.finish()


async def test_too_many_frames_have_no_room() -> None:
    box = Outbox()
    for _ in range(NOTIFICATIONS_LIMIT):
        assert box.offer(b"x", source="a", droppable=True)
    assert not box.offer(b"x", source="b", droppable=False)
    box.post(b"an answer is always taken")


async def test_too_many_bytes_have_no_room_but_one_large_frame_has() -> None:
    box = Outbox()
    assert box.offer(b"x" * NOTIFICATIONS_LIMIT_BYTES, source="a", droppable=False)
    assert not box.offer(b"x", source="a", droppable=True)
    box = Outbox()
    assert box.offer(b"x" * (NOTIFICATIONS_LIMIT_BYTES + 1), source="a", droppable=False)
    box = Outbox()
    assert box.offer(b"x", source="a", droppable=True)
    assert not box.offer(b"x" * NOTIFICATIONS_LIMIT_BYTES, source="a", droppable=False)


async def test_what_is_dropped_makes_room_and_what_must_stay_stays() -> None:
    box = Outbox()
    half = b"x" * (NOTIFICATIONS_LIMIT_BYTES // 2)
    assert box.offer(half, source="a", droppable=True)
    assert box.offer(b"event", source="a", droppable=False)
    assert box.offer(b"other", source="b", droppable=True)
    box.post(b"answer")
    assert not box.offer(half, source="a", droppable=True)
    box.drop_from("a")
    assert box.offer(half, source="b", droppable=True)
    assert await write_out(box) == b"eventotheranswer" + half


async def test_what_was_written_makes_room() -> None:
    box = Outbox()
    ours, theirs = trio.testing.memory_stream_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(box.write_all, ours)
        for _ in range(3):
            assert box.offer(b"x" * NOTIFICATIONS_LIMIT_BYTES, source="a", droppable=True)
            await trio.testing.wait_all_tasks_blocked()
        box.finish()
    del theirs


async def test_each_frame_says_when_it_has_been_written() -> None:
    box = Outbox()
    written: list[str] = []
    box.post(b"1", on_sent=lambda: written.append("1"))
    box.post(b"2" * (WRITE_BYTES + 1), on_sent=lambda: written.append("2"))
    assert written == []
    assert len(await write_out(box)) == WRITE_BYTES + 2
    assert written == ["1", "2"]


async def test_a_peer_that_does_not_read_is_given_up(
    autojump_clock: trio.testing.MockClock,
) -> None:
    class Stuck(trio.abc.SendStream):
        async def send_all(self, data: object) -> None:
            await trio.sleep_forever()

        async def wait_send_all_might_not_block(self) -> None:
            """Never asked."""

        async def aclose(self) -> None:
            """Never asked."""

    box = Outbox()
    box.post(b"x")
    began = trio.current_time()
    try:
        await box.write_all(Stuck())
    except trio.TooSlowError:
        assert trio.current_time() - began == outbox.WRITE_LIMIT_S
    else:
        raise AssertionError("the write was not stuck")


def open_sockets() -> tuple[trio.SocketStream, trio.SocketStream]:
    """Both ends of a real connection."""
    ours, theirs = trio.socket.socketpair()
    return trio.SocketStream(ours), trio.SocketStream(theirs)


async def test_while_the_writer_waits_all_goes_straight_into_the_socket() -> None:
    box = Outbox()
    ours, theirs = open_sockets()
    written: list[str] = []
    async with ours, theirs, trio.open_nursery() as nursery:
        nursery.start_soon(box.write_all, ours)
        await trio.testing.wait_all_tasks_blocked()
        assert box.offer(b"delta", source="a", droppable=True)
        assert box.offer(b"event", source="a", droppable=False)
        box.post(b"answer", on_sent=lambda: written.append("answer"))
        # No checkpoint until here, so that no task can have written it.
        assert read_now(theirs) == b"deltaeventanswer"
        assert written == ["answer"]
        box.finish()


async def test_what_is_taken_together_is_written_in_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    box, written = Outbox(), list[str]()
    writes: list[bytes] = []
    ours, theirs = open_sockets()
    write = os.write

    def note(fd: int, data: bytes) -> int:
        writes.append(data)
        return write(fd, data)

    monkeypatch.setattr(os, "write", note)
    async with ours, theirs, trio.open_nursery() as nursery:
        nursery.start_soon(box.write_all, ours)
        await trio.testing.wait_all_tasks_blocked()
        with box.together():
            box.post(b"answer", on_sent=lambda: written.append("answer"))
            assert box.offer(b"event", source="a", droppable=False)
            assert (read_now(theirs), written) == (b"", [])
        assert (read_now(theirs), written) == (b"answerevent", ["answer"])
        assert writes == [b"answerevent"]
        with box.together():
            pass
        assert len(writes) == 1
        box.finish()


async def test_of_what_is_taken_together_the_writer_writes_what_the_socket_does_not_take() -> None:
    box, written = Outbox(), list[str]()
    ours, theirs = open_sockets()
    large = b"x" * NOTIFICATIONS_LIMIT_BYTES
    async with ours, theirs, trio.open_nursery() as nursery:
        nursery.start_soon(box.write_all, ours)
        await trio.testing.wait_all_tasks_blocked()
        with box.together():
            box.post(large, on_sent=lambda: written.append("large"))
            box.post(b"1", on_sent=lambda: written.append("1"))
        assert written == []
        box.post(b"2", on_sent=lambda: written.append("2"))
        box.finish()
        received = b""
        while len(received) < len(large) + 2:
            received += await theirs.receive_some()
    assert received == large + b"12"
    assert written == ["large", "1", "2"]


async def test_what_is_taken_together_before_the_writer_comes_waits_for_it() -> None:
    box = Outbox()
    with box.together():
        box.post(b"1")
    assert await write_out(box) == b"1"


async def test_nothing_overtakes_what_waits() -> None:
    box = Outbox()
    ours, theirs = open_sockets()
    full = b"x" * NOTIFICATIONS_LIMIT_BYTES
    written: list[str] = []
    async with ours, theirs, trio.open_nursery() as nursery:
        nursery.start_soon(box.write_all, ours)
        await trio.testing.wait_all_tasks_blocked()
        box.post(full, on_sent=lambda: written.append("full"))
        await trio.testing.wait_all_tasks_blocked()
        assert written == []
        received = await theirs.receive_some()  # there is room again, and the writer is at it
        box.post(b"answer", on_sent=lambda: written.append("answer"))
        assert box.offer(b"event", source="a", droppable=False)
        box.finish()
        while len(received) < len(full) + len(b"answerevent"):
            received += await theirs.receive_some()
    assert received == full + b"answerevent"
    assert written == ["full", "answer"]


async def test_the_rest_of_a_delta_that_went_in_half_is_never_dropped() -> None:
    box = Outbox()
    ours, theirs = open_sockets()
    delta = b"x" * (NOTIFICATIONS_LIMIT_BYTES - 1)  # more than a socket takes at once
    async with ours, theirs, trio.open_nursery() as nursery:
        nursery.start_soon(box.write_all, ours)
        await trio.testing.wait_all_tasks_blocked()
        assert box.offer(delta, source="a", droppable=True)
        assert box.offer(b"dropped", source="a", droppable=True)
        box.drop_from("a")
        box.post(b"gap")
        box.finish()
        received = b""
        while len(received) < len(delta) + 3:
            received += await theirs.receive_some()
    assert received == delta + b"gap"


async def test_a_peer_that_is_gone_is_found_by_the_writer() -> None:
    box = Outbox()
    ours, theirs = open_sockets()
    await theirs.aclose()
    with pytest.RaisesGroup(trio.BrokenResourceError):
        async with ours, trio.open_nursery() as nursery:
            nursery.start_soon(box.write_all, ours)
            await trio.testing.wait_all_tasks_blocked()
            assert box.offer(b"delta", source="a", droppable=True)


def read_now(stream: trio.SocketStream) -> bytes:
    """What can be read without a wait."""
    try:
        return os.read(stream.socket.fileno(), WRITE_BYTES)
    except BlockingIOError:
        return b""
