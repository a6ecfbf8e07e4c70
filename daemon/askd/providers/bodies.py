"""Response bodies: read up to a bound, left without a trace, their breaks put in words.

What every use of httpx's streams needs and httpx does not give. It knows no
dialect and decides nothing about trying again.
"""

from collections.abc import AsyncIterator

import httpx
import trio

from askd.errors import Unavailable
from askd.providers.base import Endpoint


def describe_trouble(endpoint: Endpoint, error: httpx.HTTPError) -> Unavailable:
    """A sentence for what went wrong on the way."""
    where = endpoint.unix_socket or httpx.URL(endpoint.base_url).copy_with(userinfo=b"")
    match error:
        case httpx.ConnectTimeout():
            return Unavailable(f"{endpoint.provider} does not answer at {where}")
        case httpx.ConnectError():
            return Unavailable(f"{endpoint.provider} cannot be reached at {where}: {error}")
        case httpx.UnsupportedProtocol() | httpx.LocalProtocolError():
            return Unavailable(
                f"{endpoint.provider}: {where} cannot be asked: {error}", data={"final": True}
            )
        case _:
            reason = str(error) or type(error).__name__
            return Unavailable(f"{endpoint.provider}: the connection broke: {reason}")


async def read_body(response: httpx.Response, limit: int) -> bytes:
    """At most `limit` bytes of the body."""
    body = bytearray()
    chunks = response.aiter_raw()
    try:
        while len(body) < limit:
            body += await anext(chunks)
    except StopAsyncIteration:
        pass
    await abandon(chunks, patience_s=0)
    return bytes(body[:limit])


async def abandon(chunks: AsyncIterator[bytes], *, patience_s: float) -> None:
    """Read what comes within this time, then stop reading.

    Closing an httpx generator that waits at a `yield` leaves its inner generators
    to the garbage collector; cancelling its read unwinds all of them, here and now.
    """
    with trio.move_on_after(patience_s):
        try:
            while True:
                await anext(chunks)
        except (StopAsyncIteration, httpx.HTTPError):
            pass
