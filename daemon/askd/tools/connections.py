"""Connections to the public web: a host looked up once, judged, and reached by what was found.

There is no second look that could find another address: the connection goes to one of those
that were checked. It refuses a peer that is this machine, whatever its address is called, and
certificates that are not for the host that was asked for.
"""

import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import trio

from askd.tools.addresses import Place, check_addresses
from askd.tools.base import CannotRun

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a host; raise `OSError`."""
Connect = Callable[[str, int], Awaitable[trio.abc.Stream]]
"""A connection to an address that is allowed; raise `OSError`."""
Trust = Callable[[], ssl.SSLContext]
"""Makes what servers' certificates are held to; reads files."""

CONNECT_S = 4.0
"""For one address; the others of a host are to be tried, too."""
MOST_ADDRESSES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How the web is reached; tests have their own.

    Attributes:
        resolve: finds the addresses of a host; each is checked before `connect` sees one.
    """

    resolve: Resolve
    connect: Connect
    trust: Trust


async def look_up(host: str, port: int) -> Sequence[str]:
    """The addresses of a host as the system finds them."""
    found = await trio.socket.getaddrinfo(host, port, type=trio.socket.SOCK_STREAM)
    return [str(each[4][0]) for each in found]


async def connect_outside(address: str, port: int) -> trio.abc.Stream:
    """Connect, and see that the one who answers is not this machine under a name of the world."""
    stream = await trio.open_tcp_stream(address, port)
    if stream.socket.getsockname()[0] == stream.socket.getpeername()[0]:
        await stream.aclose()
        raise CannotRun(f"{address} is this machine; only the public web is fetched.")
    return stream


OUTSIDE = Way(resolve=look_up, connect=connect_outside, trust=ssl.create_default_context)
"""Names as the system finds them, certificates as it trusts them."""


async def open_connection(place: Place, way: Way) -> trio.abc.Stream:
    """A connection to the host of a place, encrypted if its scheme says so.

    Raises:
        CannotRun: with a sentence: it is not to be reached, or could not be.
    """
    try:
        addresses = await way.resolve(place.host, place.port)
    except OSError as error:
        raise CannotRun(f"{place.host} was not found: {error.strerror or error}.") from None
    stream = await _reach(place, check_addresses(place.host, addresses), way.connect)
    if place.scheme != "https":
        return stream
    try:
        return await _encrypt(stream, place, way.trust)
    except BaseException:
        await trio.aclose_forcefully(stream)
        raise


async def _encrypt(stream: trio.abc.Stream, place: Place, trust: Trust) -> trio.abc.Stream:
    context = await trio.to_thread.run_sync(trust)
    secure = trio.SSLStream(stream, context, server_hostname=place.host, https_compatible=True)
    try:
        await secure.do_handshake()
    except trio.BrokenResourceError as error:
        cause = error.__cause__
        why = _name(cause) if isinstance(cause, ssl.SSLError) else "the connection broke"
        raise CannotRun(f"{place.host} has no TLS that can be trusted: {why}.") from None
    return secure


async def _reach(place: Place, addresses: Sequence[str], connect: Connect) -> trio.abc.Stream:
    """A connection to the first address that answers."""
    trouble = "it did not answer"
    for address in addresses[:MOST_ADDRESSES]:
        with trio.move_on_after(CONNECT_S):
            try:
                return await connect(address, place.port)
            except OSError as error:
                trouble = (error.strerror or str(error)).rstrip(".")
    raise CannotRun(f"{place.host} could not be reached: {trouble}.")


def _name(error: ssl.SSLError) -> str:
    """What is wrong, in OpenSSL's words without its numbers."""
    return str(getattr(error, "verify_message", "") or error.reason or "it was refused")
