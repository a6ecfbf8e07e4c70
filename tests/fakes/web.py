"""The public web in memory: names, addresses, and servers that say what a test wants.

A host has a list of answers to look-ups, the last of which is repeated: so a name can lead
elsewhere the second time. A connection is made only to an address that a look-up has given
for its host before, and to no other: what is not checked is not reached.
"""

import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import h11
import trio
import trio.testing

from askd.tools.addresses import is_public
from askd.tools.connections import Way

Site = Callable[[h11.Request], bytes]
"""The bytes of an answer, head and all."""


def answer(
    body: bytes = b"", *, status: int = 200, kind: str = "text/plain", **headers: str
) -> bytes:
    """One response with its length; `x_y="1"` is the header `x-y`."""
    lines = [f"HTTP/1.1 {status} Said", f"Content-Length: {len(body)}"]
    lines += [f"Content-Type: {kind}"] if kind else []
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def lead(location: str, status: int = 302) -> bytes:
    """A redirect."""
    return answer(status=status, location=location)


@dataclass
class Web:
    """The web; `way` is how it is reached.

    Attributes:
        sites: by host; what is asked of another one is an error of the test.
        names: by host, the answers of one look-up after the other.
        silent: addresses that never answer.
        requests: what was asked, as (host, target, headers).
        connected: where connections went.
        waits: whether servers say nothing and keep the line.
    """

    nursery: trio.Nursery
    sites: Mapping[str, Site] = field(default_factory=dict)
    names: dict[str, list[Sequence[str]]] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    requests: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    connected: list[tuple[str, int]] = field(default_factory=list)
    looked_up: list[str] = field(default_factory=list)
    waits: bool = False
    tls: ssl.SSLContext | None = None
    trusts: ssl.SSLContext | None = None

    @property
    def way(self) -> Way:
        """Into it."""
        return Way(resolve=self._resolve, connect=self._connect, trust=self._trust)

    async def _resolve(self, host: str, port: int) -> Sequence[str]:
        await trio.lowlevel.checkpoint()
        self.looked_up.append(host)
        answers = self.names.get(host)
        if answers is None:
            raise OSError(-2, "Name or service not known")
        return answers.pop(0) if len(answers) > 1 else answers[0]

    async def _connect(self, address: str, port: int) -> trio.abc.Stream:
        assert is_public(address), f"{address} was connected to"
        self.connected.append((address, port))
        if address in self.silent:
            await trio.sleep_forever()
        client, server = trio.testing.memory_stream_pair()
        self.nursery.start_soon(self._serve, server, port)
        return client

    def _trust(self) -> ssl.SSLContext:
        return self.trusts or ssl.create_default_context()

    async def _serve(self, stream: trio.abc.Stream, port: int) -> None:
        if port in (443, 8443) and self.tls is not None:
            stream = trio.SSLStream(stream, self.tls, server_side=True, https_compatible=True)
        try:
            async with stream:
                await self._answer(stream)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return

    async def _answer(self, stream: trio.abc.Stream) -> None:
        connection = h11.Connection(h11.SERVER)
        try:
            while (event := connection.next_event()) is h11.NEED_DATA:
                connection.receive_data(bytes(await stream.receive_some(4096)))
        except h11.RemoteProtocolError:
            await stream.send_all(answer(status=400))
            return
        if not isinstance(event, h11.Request):
            return
        headers = {name.decode(): value.decode() for name, value in event.headers}
        host = headers["host"]
        self.requests.append((host, event.target.decode(), headers))
        if self.waits:
            await trio.sleep_forever()
        await stream.send_all(self.sites[host](event))
