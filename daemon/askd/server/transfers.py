"""Files on their way: an export that is written as it is read, an import that is collected.

One of each for a connection, gone with it. Memory holds the events of what is
exported and the bytes of what is imported; neither touches the disk here.
"""

import hashlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Protocol

import trio

from ask.protocol.messages import BLOB_CHUNK_BYTES, IMPORT_LIMIT_BYTES
from askd.core.blob_parts import find_blobs
from askd.core.events import Event
from askd.core.rollout_items import Contents
from askd.errors import NotFound, RequestError

BREATH_EVENTS = 64
"""Events that are written down in a row: a millisecond or two, then others have their turn."""


class Exporter(Protocol):
    """Writes a file from events."""

    def begin(self) -> bytes:
        """What stands before the first event."""
        ...

    def feed(self, event: Event, contents: Contents) -> bytes:
        """What the next event brings; `contents`: of the blobs that it names."""
        ...

    def end(self) -> bytes:
        """What stands behind the last event."""
        ...


class Export:
    """A file that is read from its beginning to its end, once."""

    def __init__(
        self,
        conversation_id: str,
        events: Sequence[Event],
        *,
        exporter: Exporter,
        read_blob: Callable[[str], Awaitable[bytes]],
    ) -> None:
        self.conversation_id = conversation_id
        self._events: Iterator[Event] = iter(events)
        self._exporter = exporter
        self._read_blob = read_blob
        self._ready = bytearray(exporter.begin())
        self._offset = 0
        self._is_whole = False

    async def read(self, offset: int) -> tuple[bytes, int | None]:
        """The next chunk, and the offset of the one after it; None: that was the last."""
        if offset != self._offset:
            raise RequestError(
                f"conversation/export: chunks come in order; the next one's offset is "
                f"{self._offset}."
            )
        written = 0
        while not self._is_whole and len(self._ready) <= BLOB_CHUNK_BYTES:
            await self._write_next()
            written += 1
            if written % BREATH_EVENTS == 0:
                await trio.lowlevel.checkpoint()
        chunk = bytes(self._ready[:BLOB_CHUNK_BYTES])
        del self._ready[:BLOB_CHUNK_BYTES]
        self._offset += len(chunk)
        return chunk, self._offset if self._ready or not self._is_whole else None

    async def _write_next(self) -> None:
        event = next(self._events, None)
        if event is None:
            self._ready += self._exporter.end()
            self._is_whole = True
            return
        contents = {}
        for sha256 in find_blobs([event.body]):
            try:
                contents[sha256] = await self._read_blob(sha256)
            except NotFound:
                continue  # its name and size are in the event
        self._ready += self._exporter.feed(event, contents)


class Incoming:
    """A file that comes in chunks, in order."""

    def __init__(self, size: int) -> None:
        if not 0 <= size <= IMPORT_LIMIT_BYTES:
            raise RequestError(
                f"conversation/import: a file has {IMPORT_LIMIT_BYTES >> 20} MiB at the most."
            )
        self.size = size
        self.content = bytearray()
        self._digest = hashlib.sha256()

    def take(self, size: int, offset: int, chunk: bytes) -> bool:
        """The next chunk; whether the file is whole now."""
        if size != self.size or offset != len(self.content):
            raise RequestError(
                "conversation/import: chunks come in order; the next one's offset is "
                f"{len(self.content)}."
            )
        if len(chunk) > BLOB_CHUNK_BYTES or len(chunk) > size - offset or (size and not chunk):
            raise RequestError(
                f"conversation/import: a chunk has 1 to {BLOB_CHUNK_BYTES} bytes, and none beyond "
                "the size."
            )
        self.content += chunk
        self._digest.update(chunk)
        return len(self.content) == size

    @property
    def sha256(self) -> str:
        """The digest of what has come, in hex."""
        return self._digest.hexdigest()
