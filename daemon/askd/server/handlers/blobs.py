"""Content that is too large for a message: sent and read in chunks."""

from ask.protocol.messages import (
    BLOB_CHUNK_BYTES,
    BlobPut,
    BlobPutResult,
    BlobRead,
    BlobReadResult,
)
from askd.errors import NotFound, RequestError
from askd.server.house import House
from askd.server.peer import Peer


def put(house: House, peer: Peer, params: BlobPut) -> BlobPutResult:
    """Take the next chunk of a blob; it waits with the connection for its prompt."""
    upload = peer.uploads.put(
        params.sha256, size=params.size, offset=params.offset, chunk=params.bytes
    )
    return BlobPutResult(received=upload.received, complete=upload.is_complete)


async def read(house: House, peer: Peer, params: BlobRead) -> BlobReadResult:
    """A chunk of a stored blob, or of one that this connection has sent."""
    if not 1 <= params.limit <= BLOB_CHUNK_BYTES:
        raise RequestError(f"blob/read: limit is between 1 and {BLOB_CHUNK_BYTES} bytes.")
    if params.offset < 0:
        raise RequestError("blob/read: offset is 0 or more.")
    content = await _load(house, peer, params.sha256)
    end = params.offset + params.limit
    if end >= len(content):
        peer.read_blob = None
    return BlobReadResult(bytes=content[params.offset : end], size=len(content))


async def _load(house: House, peer: Peer, sha256: str) -> bytes:
    """The whole blob; kept with the peer while it is read, since it is read in order."""
    if peer.read_blob is not None and peer.read_blob[0] == sha256:
        return peer.read_blob[1]
    if peer.uploads.has(sha256):
        return peer.uploads.read(sha256)
    content = await read_stored(house, sha256)
    peer.read_blob = (sha256, content)
    return content


async def read_stored(house: House, sha256: str) -> bytes:
    """A blob that some conversation holds; raise `NotFound`."""
    try:
        return await house.reader.read_blob(sha256)
    except NotFound:
        return await house.sessions.memory.read_blob(sha256)  # of an ephemeral conversation
