"""Lines come whole however they are cut, and whoever does not read holds up who speaks."""

import msgpack
import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from askd.errors import RequestError
from askd.server.mcp.channel import LINE_BYTES, PIECE_BYTES, Channel, TooLong
from askd.server.outbox import Outbox


async def collect(channel: Channel, into: list[bytes | TooLong]) -> None:
    async for line in channel.lines:
        into.append(line)


async def send_all(pieces: list[tuple[bytes, bool]]) -> list[bytes | TooLong]:
    """What comes out of these pieces, `(bytes, more)`."""
    channel, found = Channel(Outbox()), list[bytes | TooLong]()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(collect, channel, found)
        for piece, more in pieces:
            await channel.take(piece, more=more)
        channel.close()
    return found


@given(lines=st.lists(st.lists(st.binary(max_size=5), min_size=1, max_size=4), max_size=4))
def test_lines_are_put_together_from_any_pieces(lines: list[list[bytes]]) -> None:
    pieces = [(piece, place < len(line) - 1) for line in lines for place, piece in enumerate(line)]
    assert trio.run(send_all, pieces) == [b"".join(line) for line in lines]


async def test_a_line_that_is_too_long_is_passed_over_and_not_kept() -> None:
    half = b"x" * (LINE_BYTES // 2 + 1)
    too_long, whole, longest = await send_all(
        [(half, True), (half, True), (half, False), (b"next", False), (b"y" * LINE_BYTES, False)]
    )
    assert isinstance(too_long, TooLong)
    assert (whole, longest) == (b"next", b"y" * LINE_BYTES)


async def test_the_next_piece_waits_for_the_line_before() -> None:
    channel = Channel(Outbox())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: channel.take(b"one", more=False))
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(RequestError, match="one at a time"):
            await channel.take(b"two", more=False)
        nursery.start_soon(collect, channel, [])
        await trio.testing.wait_all_tasks_blocked()
        await channel.take(b"two", more=False)
        channel.close()


async def test_nothing_is_taken_once_it_is_closed_or_its_face_has_ended() -> None:
    closed, ended = Channel(Outbox()), Channel(Outbox())
    closed.close()
    with pytest.raises(RequestError) as caught:
        await closed.take(b"x", more=False)
    assert caught.value.reason == "no_face"
    async with trio.open_nursery() as nursery:

        async def take() -> None:
            with pytest.raises(RequestError, match="has ended"):
                await ended.take(b"x", more=False)

        nursery.start_soon(take)
        await trio.testing.wait_all_tasks_blocked()
        ended.end(None)
    assert ended.ended.is_set()


async def test_one_piece_waits_at_a_time_for_who_does_not_read() -> None:
    outbox = Outbox()
    channel = Channel(outbox)
    ours, theirs = trio.testing.lockstep_stream_pair()
    line = bytes(range(256)) * (PIECE_BYTES // 256) + b"end"
    async with trio.open_nursery() as nursery:
        nursery.start_soon(channel.say, line)
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(channel.say, b"second")
        nursery.start_soon(outbox.write_all, ours)
        await trio.testing.wait_all_tasks_blocked()
        unpacker = msgpack.Unpacker()
        unpacker.feed(await theirs.receive_some(PIECE_BYTES * 9))
        found = list(unpacker)
        assert len(found) <= 1  # the rest is not even queued
        while len(found) < 3:
            unpacker.feed(await theirs.receive_some(PIECE_BYTES * 9))
            found += list(unpacker)
        nursery.cancel_scope.cancel()
    told = [params for _, method, (params,) in found if method == "mcp/message"]
    assert [each["more"] for each in told] == [True, False, False]
    assert told[0]["bytes"] + told[1]["bytes"] == line
    assert told[2]["bytes"] == b"second"


async def test_a_face_that_ended_by_itself_says_why() -> None:
    outbox = Outbox()
    Channel(outbox).end("It broke.")
    outbox.finish()
    ours, theirs = trio.testing.memory_stream_pair()
    await outbox.write_all(ours)
    assert msgpack.unpackb(await theirs.receive_some()) == [
        2,
        "mcp/closed",
        [{"message": "It broke."}],
    ]
