"""Blobs over the wire: put in chunks, read in chunks, wherever they are kept."""

import hashlib
from typing import Any

import pytest

from ask.protocol.messages import BLOB_CHUNK_BYTES
from tests.fakes.house import PeerStream, Refused, open_server, prompt

CONTENT = bytes(range(256)) * 3000


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


async def put(peer: PeerStream, content: bytes) -> None:
    for offset in range(0, len(content), BLOB_CHUNK_BYTES):
        chunk = content[offset : offset + BLOB_CHUNK_BYTES]
        params = {"sha256": sha(content), "size": len(content), "offset": offset, "bytes": chunk}
        answer = await peer.call("blob/put", params)
        assert answer["received"] == offset + len(chunk)
    assert answer["complete"]


async def read(peer: PeerStream, sha256: str, limit: int) -> bytes:
    content = b""
    while True:
        params = {"sha256": sha256, "offset": len(content), "limit": limit}
        answer = await peer.call("blob/read", params)
        content += bytes(answer["bytes"])
        if len(content) >= answer["size"]:
            return content


async def test_what_a_connection_has_put_it_can_read() -> None:
    async with open_server() as server:
        peer, other = await server.greet(), await server.greet()
        await put(peer, CONTENT)
        assert await read(peer, sha(CONTENT), 100_000) == CONTENT
        with pytest.raises(Refused) as caught:
            await read(other, sha(CONTENT), 100_000)
        assert (caught.value.code, caught.value.reason) == (3, "blob_not_found")


@pytest.mark.parametrize("ephemeral", [False, True])
async def test_what_is_stored_is_read_and_not_kept_in_memory(ephemeral: bool) -> None:
    text = ("é" * 200_000).encode()
    blob = {"type": "blob", "sha256": sha(text), "bytes": len(text), "media_type": "text/plain"}
    async with open_server() as server:
        server.models.window = 10_000_000
        peer, other = await server.greet(), await server.greet()
        await put(peer, text)
        await peer.call("turn/start", prompt("x", parts=[blob], ephemeral=ephemeral))
        assert await read(other, sha(text), BLOB_CHUNK_BYTES) == text
        assert other.connection is not None
        assert other.connection.peer.read_blob is None


async def test_chunks_are_read_from_one_load() -> None:
    text = b"x" * 300_000
    blob = {"type": "blob", "sha256": sha(text), "bytes": len(text), "media_type": "text/plain"}
    async with open_server() as server:
        server.models.window = 10_000_000
        peer = await server.greet()
        await put(peer, text)
        await peer.call("turn/start", prompt("x", parts=[blob]))
        loads = 0
        load = server.store.read_blob

        async def count(sha256: str) -> bytes:
            nonlocal loads
            loads += 1
            return await load(sha256)

        server.store.read_blob = count  # type: ignore[method-assign]
        assert await read(peer, sha(text), 1000) == text
        assert loads == 1


@pytest.mark.parametrize(
    "params",
    [{"limit": 0}, {"limit": BLOB_CHUNK_BYTES + 1}, {"offset": -1}],
)
async def test_a_chunk_that_makes_no_sense_is_refused(params: dict[str, Any]) -> None:
    async with open_server() as server:
        peer = await server.greet()
        with pytest.raises(Refused) as caught:
            await peer.call("blob/read", {"sha256": sha(b""), **params})
        assert caught.value.reason == "bad_params"


async def test_beyond_the_end_there_is_nothing() -> None:
    async with open_server() as server:
        peer = await server.greet()
        await put(peer, b"abc")
        answer = await peer.call("blob/read", {"sha256": sha(b"abc"), "offset": 99})
        assert answer == {"bytes": b"", "size": 3}


async def test_a_lie_about_the_content_is_refused() -> None:
    async with open_server() as server:
        peer = await server.greet()
        with pytest.raises(Refused) as caught:
            await peer.call(
                "blob/put", {"sha256": sha(b"abc"), "size": 3, "offset": 0, "bytes": b"abd"}
            )
        assert (caught.value.code, caught.value.reason) == (2, "bad_blob")
