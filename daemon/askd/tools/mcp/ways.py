"""What it takes to reach a server at an address, handed in by the application.

Values and protocols: whose token is sent, which proxy is on the way, whom to believe over TLS.
Nothing here opens a connection, reads a file or knows where tokens are kept.
"""

import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Literal, Protocol
from urllib.parse import urlsplit

from askd.tools.mcp.configs import ServerConfig


@dataclass(frozen=True, slots=True)
class Token:
    """What is sent as `Authorization: Bearer`; `source`: who gave it to us."""

    value: str = field(repr=False)
    source: Literal["settings", "sign-in"]


class Tokens(Protocol):
    """The tokens of all servers. A server's token is for its own address alone."""

    async def fetch(self, config: ServerConfig) -> Token | None:
        """The token to send now; None: there is none. `CannotRun` says what is wrong with it."""
        ...

    async def renew(self, config: ServerConfig, refused: Token) -> Token | None:
        """Another one, after a refusal; None: there is none. Raises as `fetch`."""
        ...


class Discretion(Protocol):
    """Who knows what of a server's settings nobody may see."""

    @property
    def learn(self) -> Callable[[ServerConfig], None]:
        """Remembers what is secret of a server's settings."""
        ...

    @property
    def hide(self) -> Callable[[str], str]:
        """A text without any known secret."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpWay:
    """How this daemon reaches servers over HTTP, by the settings of now.

    Attributes:
        find_proxy: the proxy on the way to a URL of a server, or None; `CannotRun` where
            `local_only` forbids the way.
        trust: makes what servers' certificates are held to; reads files.
        learn: remembers what is secret of a server's settings.
        hide: a text without any known secret.
    """

    tokens: Tokens
    find_proxy: Callable[[str, str], str | None]
    trust: Callable[[], ssl.SSLContext]
    learn: Callable[[ServerConfig], None]
    hide: Callable[[str], str]


def find_origin(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port of a URL: what must be the same for a token to be sent there.

    Of what is none, a server's words for instance, an origin without a host.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "", "", None
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, (parts.hostname or "").rstrip("."), port or usual


def may_lead(server: str, url: str) -> bool:
    """Whether a server at one address may send us to another: over TLS, and never deeper into this
    machine than it is itself."""
    is_here = is_loopback_url(url)
    return is_loopback_url(server) if is_here else url.startswith("https://")


def is_loopback_url(url: str) -> bool:
    """Whether it is this machine's by its very form; nothing is looked up."""
    host = find_origin(url)[1]
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
