"""One GET of one place: its answer, bounded in every direction.

It sends no cookie and no credential, reads no environment, follows no redirect, keeps no
connection, and unpacks no more than it keeps. Time is the caller's to limit.
"""

import functools
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import h11
import trio

from askd.tools.addresses import Place
from askd.tools.base import CannotRun
from askd.tools.connections import Way, open_connection

BODY_BYTES = 5 << 20
"""Of a body, as it comes and unpacked; text of this length is more than any model reads."""
HEAD_BYTES = 64 * 1024
READ_BYTES = 64 * 1024
PACKED = {"gzip": 31, "x-gzip": 31, "deflate": 47}
"""What is unpacked, and zlib's `wbits` for it; nothing else was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Downloaded:
    """An answer, whole or up to the bound. `headers`: names in lower case, the last one counts."""

    status: int
    headers: dict[str, str]
    body: bytes
    is_cut: bool


async def download(place: Place, way: Way, *, headers: dict[str, str]) -> Downloaded:
    """Ask for a place.

    Args:
        headers: to be sent; nothing else is, but `Host`.

    Raises:
        CannotRun: with a sentence: it is not to be fetched, or could not be.
    """
    stream = await open_connection(place, way)
    try:
        return await _exchange(stream, place, headers)
    except trio.BrokenResourceError:
        raise CannotRun(f"{place.host} broke the connection.") from None
    except h11.RemoteProtocolError as error:
        raise CannotRun(f"{place.host} sent no whole answer: {error}.") from None
    finally:
        await trio.aclose_forcefully(stream)


async def _exchange(stream: trio.abc.Stream, place: Place, headers: dict[str, str]) -> Downloaded:
    connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_BYTES)
    request = h11.Request(
        method="GET",
        target=place.target,
        headers=[("Host", place.authority), *headers.items(), ("Connection", "close")],
    )
    await stream.send_all(connection.send(request) + connection.send(h11.EndOfMessage()))
    advance = functools.partial(_advance, connection, stream)
    event = await advance()
    while isinstance(event, h11.InformationalResponse):
        event = await advance()
    if not isinstance(event, h11.Response):
        raise CannotRun(f"{place.host} closed the connection without an answer.")
    found = {name.decode("latin-1"): value.decode("latin-1") for name, value in event.headers}
    packing = found.get("content-encoding", "identity").strip().lower()
    unpack = _make_unpacking(packing)
    body, taken = bytearray(), 0
    while isinstance(piece := await advance(), h11.Data):
        taken += len(piece.data)
        try:
            body += unpack(bytes(piece.data), BODY_BYTES + 1 - len(body))
        except zlib.error:
            raise CannotRun(f"{place.host} sent something that is not {packing}.") from None
        if len(body) > BODY_BYTES or taken > BODY_BYTES:
            break
    is_cut = len(body) > BODY_BYTES or taken > BODY_BYTES
    return Downloaded(
        status=event.status_code, headers=found, body=bytes(body[:BODY_BYTES]), is_cut=is_cut
    )


async def _advance(connection: h11.Connection, stream: trio.abc.Stream) -> object:
    while (event := connection.next_event()) is h11.NEED_DATA:
        connection.receive_data(bytes(await stream.receive_some(READ_BYTES)))
    return event


def _make_unpacking(packing: str) -> Callable[[bytes, int], bytes]:
    """What unpacks a body's pieces, each to at most so many bytes; the rest of them is dropped."""
    if packing in ("identity", "", "utf-8"):
        return lambda data, limit: data[:limit]
    if packing not in PACKED:
        raise CannotRun(f"The answer is packed ({packing}), which nobody asked for.")
    unpacker = zlib.decompressobj(PACKED[packing])
    # A small piece can be a thousand times as large: only so much of it is ever made.
    return lambda data, limit: unpacker.decompress(data, limit)
