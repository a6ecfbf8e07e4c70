"""Connections: hello first, answers in any order, and an end to whatever does not behave."""

import random
import struct
from typing import Any

import msgpack
import pytest
import trio
import trio.testing

from ask.protocol.frames import encode_notification, encode_request
from ask.protocol.messages import HELLO_LIMIT_BYTES, MESSAGE_LIMIT_BYTES, Done
from askd.server import connection
from askd.server.connection import REQUESTS_LIMIT, Connection, receive_some
from askd.server.handlers import HANDLERS
from tests.fakes.house import HELLO, IDENTITY, PeerStream, Refused, open_server, prompt

GREETING = encode_request(1, "hello", HELLO)


async def refuse(peer: PeerStream, data: bytes, *, id: int = 0) -> str:
    """Send what must be answered with one error and the end; answer the sentence."""
    await peer.stream.send_all(data)
    *before, (kind, answered, error, result) = await peer.end()
    assert (kind, answered, result) == (1, id, None)
    assert error["data"]["reason"] in ("malformed", "hello_needed")
    assert error["code"] == 2
    assert all(message[2] is None for message in before)
    return str(error["message"])


async def test_hello_and_the_first_request_in_one_write() -> None:
    async with open_server() as server:
        peer = server.connect()
        await peer.stream.send_all(GREETING + encode_request(2, "daemon/status", {}))
        hello = await peer.next()
        assert hello[:3] == [1, 1, None]
        assert hello[3]["boot_id"] == IDENTITY.boot_id
        assert (await peer.answer(2))["pid"] == 42


async def test_hello_comes_first() -> None:
    async with open_server() as server:
        refused = await refuse(server.connect(), encode_request(7, "daemon/status", {}), id=7)
        assert refused == "The first request must be hello."


async def test_hello_may_be_said_better_but_soon(autojump_clock: trio.testing.MockClock) -> None:
    async with open_server() as server:
        peer = server.connect()
        with pytest.raises(Refused, match="'client' is missing"):
            await peer.call("hello", {"protocol": 1})
        assert (await peer.call("hello", HELLO))["protocol"] == 1
        assert (await peer.call("hello", HELLO))["protocol"] == 1


@pytest.mark.parametrize("beginning", [b"", GREETING[:10]])
async def test_hello_has_its_time(autojump_clock: trio.testing.MockClock, beginning: bytes) -> None:
    async with open_server() as server:
        peer = server.connect()
        began = trio.current_time()
        assert "in time" in await refuse(peer, beginning)
        assert trio.current_time() - began == connection.HELLO_LIMIT_S


async def test_a_foreign_client_may_only_ask_us_to_drain() -> None:
    async with open_server() as server:
        peer = server.connect()
        with pytest.raises(Refused) as caught:
            await peer.call("hello", {**HELLO, "protocol": 2})
        assert (caught.value.code, caught.value.reason) == (69, "wrong_protocol")
        assert caught.value.data["protocol"] == 1
        assert caught.value.data["pid"] == 42
        for method in ("daemon/status", "hello", "no/such"):
            with pytest.raises(Refused) as caught:
                await peer.call(method, {"client": "x", "version": "1", "protocol": 2})
            assert caught.value.reason == "wrong_protocol"
        assert await peer.call("daemon/drain", {"wait_s": 3.0}) == {"conversation_id": None}
        assert server.host.told == [("drain", 3.0)]


MALFORMED = {
    "garbage": b"\xc1\xff\x00garbage",
    "http": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "number": msgpack.packb(5),
    "nesting 33": msgpack.packb([0, 2, "x", [{"a": eval("[" * 30 + "]" * 30)}]]),
    "duplicate keys": b"\x94\x00\x02\xa1x\x91\x82\xa1a\x01\xa1a\x02",
    "ext": msgpack.packb([0, 2, "x", [{"a": msgpack.ExtType(1, b"")}]]),
    "nan": msgpack.packb([0, 2, "x", [{"a": float("nan")}]]),
    "4 GiB of list": struct.pack(">BI", 0xDD, 2**32 - 1),
    "bytes keys": msgpack.packb([0, 2, "x", [{b"a": 1}]]),
    "20,001 containers": msgpack.packb([0, 2, "x", [{"a": [[[]] * 1000] * 21}]]),
    "1 MiB + 1": msgpack.packb([0, 2, "x", [{"a": b"x" * MESSAGE_LIMIT_BYTES}]]),
    "an answer": msgpack.packb([1, 0, None, {}]),
}


@pytest.mark.parametrize("name", MALFORMED)
async def test_what_is_malformed_is_answered_and_the_connection_closed(name: str) -> None:
    async with open_server() as server:
        peer = server.connect()
        await refuse(peer, GREETING + MALFORMED[name])
        assert (await (await server.greet()).call("daemon/status"))["pid"] == 42


async def test_the_error_names_the_request_if_it_can() -> None:
    async with open_server() as server:
        data = GREETING + msgpack.packb([0, 77, "daemon/status", []])
        assert "exactly one map" in await refuse(server.connect(), data, id=77)


async def test_a_hello_over_its_limit_is_refused() -> None:
    async with open_server() as server:
        large = encode_request(1, "hello", {**HELLO, "x": "x" * HELLO_LIMIT_BYTES})
        assert "65536" in await refuse(server.connect(), large)


async def test_a_dripping_message_is_over_after_five_seconds_without_progress(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_server() as server:
        peer = await server.greet()
        frame = encode_request(5, "daemon/status", {})
        for byte in frame[:-1]:
            await peer.stream.send_all(bytes([byte]))
            await trio.sleep(2)
        began = trio.current_time()
        assert "in time" in await refuse(peer, b"")
        assert began + 2 < trio.current_time() <= began + connection.PROGRESS_LIMIT_S


async def test_a_message_has_a_minute_in_all(autojump_clock: trio.testing.MockClock) -> None:
    async with open_server() as server:
        peer = await server.greet()
        began = trio.current_time()

        async def drip() -> None:
            for byte in encode_request(5, "daemon/status", {"x": "x" * 100}):
                await peer.stream.send_all(bytes([byte]))
                await trio.sleep(4)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(drip)
            assert (await peer.next())[2]["data"]["reason"] == "malformed"
            assert trio.current_time() - began == connection.MESSAGE_LIMIT_S
            nursery.cancel_scope.cancel()


async def test_a_quiet_connection_lives_on(autojump_clock: trio.testing.MockClock) -> None:
    async with open_server() as server:
        peer = await server.greet()
        await trio.sleep(80_000)
        assert (await peer.call("daemon/status"))["pid"] == 42


async def test_half_a_message_and_the_end_ends_only_the_connection() -> None:
    async with open_server() as server:
        peer = await server.greet()
        await peer.stream.send_all(encode_request(5, "daemon/status", {})[:-3])
        await peer.stream.send_eof()
        assert await peer.end() == []
        await (await server.greet()).call("daemon/status")


async def test_a_client_that_has_said_its_last_is_still_answered() -> None:
    async with open_server() as server:
        peer = server.connect()
        start = encode_request(2, "turn/start", prompt("hi"))
        await peer.stream.send_all(GREETING + start + encode_request(3, "daemon/status", {}))
        await peer.stream.send_eof()
        answers = {message[1]: message[2] for message in await peer.end() if message[0] == 1}
        assert answers == {1: None, 2: None, 3: None}


async def test_what_a_client_said_before_it_left_is_heard_though_it_read_nothing() -> None:
    async with open_server() as server:
        server.models.script = lambda request: [trio.Event()]
        peer = await server.greet()
        started = await peer.call("turn/start", prompt("hi"))
        broken = trio.Event()

        class Gone(trio.abc.Stream):
            """Whoever writes to it finds nobody; what was said before is still to be read."""

            def __init__(self) -> None:
                self._said = [GREETING, encode_request(2, "turn/interrupt", only_ids(started))]

            async def send_all(self, data: bytes | bytearray | memoryview) -> None:
                broken.set()
                raise trio.BrokenResourceError

            async def wait_send_all_might_not_block(self) -> None:
                await trio.lowlevel.checkpoint()

            async def receive_some(self, max_bytes: int | None = None) -> bytes:
                if len(self._said) == 1:
                    await broken.wait()
                    await trio.testing.wait_all_tasks_blocked()
                return self._said.pop(0) if self._said else b""

            async def aclose(self) -> None:
                await trio.lowlevel.checkpoint()

        await Connection(Gone(), server.dispatch).run()
        state = await peer.call("turn/wait", only_ids(started))
        assert state["outcome"] == "interrupted"


async def test_a_request_in_flight_has_a_grace_when_its_client_is_gone(
    autojump_clock: trio.testing.MockClock,
) -> None:
    hold = trio.Event()
    async with open_server() as server:
        server.models.script = lambda request: [hold]
        peer = await server.greet()
        started = await peer.call("turn/start", prompt("hi"))
        await peer.send("turn/wait", only_ids(started))
        await peer.stream.send_eof()
        began = trio.current_time()
        assert await peer.end() == []
        assert trio.current_time() - began == connection.GRACE_S
        # Its turn goes on without it.
        other = await server.greet()
        hold.set()
        state = await other.call("turn/wait", only_ids(started))
        assert state["outcome"] == "completed"


def only_ids(started: dict[str, Any]) -> dict[str, Any]:
    return {name: started[name] for name in ("conversation_id", "turn_id")}


async def test_slow_requests_do_not_hold_up_others_and_only_so_many_run(
    autojump_clock: trio.testing.MockClock,
) -> None:
    hold = trio.Event()
    async with open_server() as server:
        server.models.script = lambda request: [hold]
        peer = await server.greet()
        started = await peer.call("turn/start", prompt("hi"))
        waits = [await peer.send("turn/wait", only_ids(started)) for _ in range(REQUESTS_LIMIT - 1)]
        assert (await peer.call("daemon/status"))["pid"] == 42
        waits.append(await peer.send("turn/wait", only_ids(started)))
        late = await peer.send("daemon/status", {})
        with trio.move_on_after(10):
            await peer.answer(late)
            raise AssertionError("one request too many was read")
        hold.set()
        for id in waits:
            assert (await peer.answer(id))["state"] == "finished"
        assert (await peer.answer(late))["pid"] == 42


async def test_between_two_requests_of_one_write_the_others_are_heard(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turns = 0
    seen: list[int] = []

    def count(*arguments: object) -> Done:
        seen.append(turns)
        return Done()

    async def be_another() -> None:
        nonlocal turns
        while True:
            await trio.lowlevel.checkpoint()
            turns += 1

    monkeypatch.setitem(HANDLERS, "config/read", count)
    async with open_server() as server, trio.open_nursery() as nursery:
        peer = await server.greet()
        nursery.start_soon(be_another)
        ids = range(100, 100 + 2 * REQUESTS_LIMIT)
        await peer.stream.send_all(b"".join(encode_request(n, "config/read", {}) for n in ids))
        for id in ids:
            assert await peer.answer(id) == {"conversation_id": None}
        nursery.cancel_scope.cancel()
    assert len(seen) == len(ids)
    # Who is first in a round of the loop is left to chance: in two rounds each has had its turn.
    assert all(before < after for before, after in zip(seen, seen[2:], strict=False))


async def test_a_socket_is_read_as_its_stream_reads_it() -> None:
    ours, theirs = map(trio.SocketStream, trio.socket.socketpair())
    async with ours, theirs:
        await theirs.send_all(b"one")
        assert await receive_some(ours) == b"one"
        await theirs.send_eof()
        assert await receive_some(ours) == b""
        await ours.send_all(b"never read")
        await theirs.aclose()
        with pytest.raises(trio.BrokenResourceError):
            await receive_some(ours)


async def test_notifications_from_a_client_are_passed_over() -> None:
    async with open_server() as server:
        peer = await server.greet()
        await peer.stream.send_all(encode_notification("anything", {"a": 1}))
        assert (await peer.call("daemon/status"))["pid"] == 42


async def test_an_answer_that_does_not_fit_is_an_error_and_the_connection_lives() -> None:
    async with open_server() as server:
        server.host.settings["large"] = "x" * MESSAGE_LIMIT_BYTES
        peer = await server.greet()
        for _ in range(REQUESTS_LIMIT + 1):  # none of them keeps its place
            with pytest.raises(Refused, match="does not fit") as caught:
                await peer.call("config/read")
        assert caught.value.reason == "internal"
        assert (await peer.call("daemon/status"))["pid"] == 42


async def test_a_broken_follow_up_is_logged_and_ends_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_server() as server:
        peer = await server.greet()
        started = await peer.call("turn/start", prompt("hi"))

        def fail(*arguments: object, **more: object) -> None:
            raise RuntimeError("planted")

        monkeypatch.setattr(type(peer.connection.peer), "subscribe", fail)  # type: ignore[union-attr]
        await peer.call("conversation/subscribe", {"conversation_id": started["conversation_id"]})
        assert (await peer.call("daemon/status"))["pid"] == 42
    assert "planted" in caplog.text


async def test_the_last_frames_are_written_when_the_daemon_ends() -> None:
    async with open_server() as server:
        peer = await server.greet()
        assert peer.connection is not None
        async with trio.open_nursery() as nursery:
            inner = server.connect()
            assert inner.connection is not None
            await inner.call("hello", HELLO)
            inner.connection.peer.outbox.post(encode_notification("gap", {"conversation_id": "c"}))
            server.nursery.cancel_scope.cancel()
            nursery.cancel_scope.shield = True
            assert await inner.end() == [[2, "gap", [{"conversation_id": "c"}]]]


async def test_one_that_never_reads_is_cut_off_and_all_others_get_everything(
    autojump_clock: trio.testing.MockClock,
) -> None:
    words = [f"word {number} " + "x" * 1000 for number in range(3000)]
    go = trio.Event()
    async with open_server() as server:
        server.models.script = lambda request: [go, *words]
        asker, reader = await server.greet(), await server.greet()
        # A write on this stream waits until it is read, as on a full socket.
        ours, theirs = trio.testing.lockstep_stream_pair()
        stuck = connection.Connection(theirs, server.dispatch)
        server.nursery.start_soon(stuck.run)
        deaf = PeerStream(ours, stuck)
        await deaf.call("hello", HELLO)
        started = await asker.call("turn/start", prompt("go"))
        for peer in (reader, deaf):
            await peer.call("conversation/subscribe", {"conversation_id": only_id(started)})
        go.set()
        began = trio.current_time()
        seen = await reader.follow("turn_finished")
        text = "".join(params["text"] for method, params in seen if method == "delta")
        assert text == "".join(words)
        assert trio.current_time() == began  # nobody waited for the deaf one
        await trio.sleep(10 + connection.FLUSH_S)
        left = await deaf.end()
        assert not any(message[1] == "event" for message in left)
        assert not stuck.peer.subscriptions


def only_id(started: dict[str, Any]) -> str:
    return str(started["conversation_id"])


async def test_damaged_messages_leave_the_daemon_well() -> None:
    chance = random.Random(7)
    whole = [
        encode_request(2, "turn/start", prompt("hi", follow=True)),
        encode_request(3, "conversation/list", {"limit": 3}),
        encode_request(4, "conversation/subscribe", {"conversation_id": "00000001-0000"}),
        encode_request(5, "blob/put", {"sha256": "x", "size": 3, "offset": 0, "bytes": b"x"}),
    ]
    answered = refused = 0

    async def attack(peer: PeerStream) -> None:
        nonlocal answered, refused
        damaged = [GREETING]
        for _ in range(20):
            frame = bytearray(chance.choice(whole))
            for _ in range(chance.choice([0, 0, 1, 2])):
                frame[chance.randrange(len(frame))] = chance.randrange(256)
            damaged.append(bytes(frame))
        await peer.stream.send_all(b"".join(damaged))
        await peer.stream.send_eof()
        for message in await peer.end():
            if message[0] == 1 and message[2] is not None:
                refused += 1
                assert message[2]["data"]["reason"] != "internal", message
            elif message[0] == 1:
                answered += 1

    async with open_server() as server:
        well = await server.greet()
        for _ in range(50):
            async with trio.open_nursery() as nursery:
                for _ in range(20):
                    nursery.start_soon(attack, server.connect())
            assert (await well.call("daemon/status"))["pid"] == 42
    assert answered > 1500  # the hellos are 1000 of them
    assert refused > 1000
