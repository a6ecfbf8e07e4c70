"""Files on their way: written as they are read, collected as they come, in order or not at all."""

from collections.abc import Callable

import pytest

from ask.protocol.messages import BLOB_CHUNK_BYTES, IMPORT_LIMIT_BYTES
from askd.core.events import Event, ItemAdded
from askd.core.items import Blob, UserMessage
from askd.core.rollout_items import Contents
from askd.errors import NotFound, RequestError
from askd.server.transfers import Export, Incoming


class Numbers:
    """Writes each event's seq and the blobs that came with it."""

    def __init__(self, width: int) -> None:
        self.width = width

    def begin(self) -> bytes:
        return b"<"

    def feed(self, event: Event, contents: Contents) -> bytes:
        return b"".join(contents.values()) + b"%0*d" % (self.width, event.seq)

    def end(self) -> bytes:
        return b">"


async def read_blob(sha256: str) -> bytes:
    if sha256 == "gone":
        raise NotFound("gone")
    return sha256.encode()


def make(count: int, width: int, *digests: str) -> Export:
    parts = tuple(Blob(each, 1, "text/plain") for each in digests)
    events = [
        Event("c", seq, 1.0, ItemAdded(None, UserMessage("u", parts)))
        for seq in range(1, count + 1)
    ]
    return Export("c", events, exporter=Numbers(width), read_blob=read_blob)


async def test_chunks_are_the_whole_file() -> None:
    export = make(300, 2000)
    chunks, offset = [], 0
    while True:
        chunk, next_offset = await export.read(offset)
        chunks.append(chunk)
        assert len(chunk) <= BLOB_CHUNK_BYTES
        if next_offset is None:
            break
        assert next_offset == offset + len(chunk)
        offset = next_offset
    whole = b"".join(chunks)
    assert whole == b"<" + b"".join(b"%02000d" % seq for seq in range(1, 301)) + b">"
    assert len(chunks) == -(-len(whole) // BLOB_CHUNK_BYTES)


async def test_an_export_gets_the_blobs_that_are_there() -> None:
    assert await make(1, 1, "one", "gone", "two").read(0) == (b"<onetwo1>", None)


async def test_an_export_is_read_in_order() -> None:
    export = make(1, BLOB_CHUNK_BYTES)
    _, offset = await export.read(0)
    assert offset == BLOB_CHUNK_BYTES
    with pytest.raises(RequestError, match=f"the next one's offset is {BLOB_CHUNK_BYTES}"):
        await export.read(0)
    assert await export.read(offset) == (b"1>", None)


def test_a_file_is_collected_in_order() -> None:
    incoming = Incoming(5)
    assert not incoming.take(5, 0, b"he")
    assert incoming.take(5, 2, b"llo")
    assert bytes(incoming.content) == b"hello"
    assert incoming.sha256.startswith("2cf24dba")
    assert Incoming(0).take(0, 0, b"")


@pytest.mark.parametrize(
    "send",
    [
        lambda incoming: incoming.take(5, 1, b"h"),
        lambda incoming: incoming.take(6, 0, b"h"),
        lambda incoming: incoming.take(5, 0, b""),
        lambda incoming: incoming.take(5, 0, b"hello!"),
        lambda incoming: Incoming(IMPORT_LIMIT_BYTES + 1),
        lambda incoming: Incoming(-1),
        lambda incoming: Incoming(10**6).take(10**6, 0, bytes(BLOB_CHUNK_BYTES + 1)),
    ],
)
def test_what_does_not_fit_is_refused(send: Callable[[Incoming], object]) -> None:
    with pytest.raises(RequestError, match="conversation/import"):
        send(Incoming(5))
