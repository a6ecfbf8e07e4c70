"""Asking the holder to leave: it agrees, refuses, is gone, or says nothing."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import trio

from ask.protocol.frames import FrameReader, Request, encode_response
from askd.server.takeover import ask_to_drain


async def ask_holder(
    tmp_path: Path, answer: Callable[[trio.SocketStream], Awaitable[None]]
) -> bool:
    path = tmp_path / "s"
    listening = trio.socket.socket(trio.socket.AF_UNIX)
    await listening.bind(str(path))
    listening.listen()
    (tmp_path / "owner.json").write_text(json.dumps({"socket": str(path)}))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, answer, [trio.SocketListener(listening)])
        agreed = await ask_to_drain(tmp_path / "owner.json", wait_s=7)
        nursery.cancel_scope.cancel()
    return agreed


def holder(error: dict[str, object] | None) -> Callable[[trio.SocketStream], Awaitable[None]]:
    async def serve(stream: trio.SocketStream) -> None:
        reader = FrameReader()
        async for data in stream:
            for message in reader.feed(data):
                assert isinstance(message, Request)
                if message.method == "hello":
                    await stream.send_all(encode_response(message.id, None, {}))
                else:
                    assert message.method == "daemon/drain"
                    assert message.params == {"wait_s": 7}
                    await stream.send_all(encode_response(message.id, error, None))

    return serve


async def test_it_agrees(tmp_path: Path) -> None:
    assert await ask_holder(tmp_path, holder(None))


async def test_it_refuses(tmp_path: Path) -> None:
    error: dict[str, object] = {"code": 1, "message": "no", "data": {}}
    assert not await ask_holder(tmp_path, holder(error))


async def test_it_leaves_before_it_answers(tmp_path: Path) -> None:
    async def leave(stream: trio.SocketStream) -> None:
        await stream.receive_some(1)
        await stream.aclose()

    assert await ask_holder(tmp_path, leave)


async def test_it_says_nothing(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async def keep_silent(stream: trio.SocketStream) -> None:
        await trio.sleep_forever()

    assert not await ask_holder(tmp_path, keep_silent)


async def test_nobody_is_there(tmp_path: Path) -> None:
    assert not await ask_to_drain(tmp_path / "owner.json", wait_s=1)
    (tmp_path / "owner.json").write_text("{")
    assert not await ask_to_drain(tmp_path / "owner.json", wait_s=1)
    (tmp_path / "owner.json").write_text(json.dumps({"socket": str(tmp_path / "gone")}))
    assert not await ask_to_drain(tmp_path / "owner.json", wait_s=1)
