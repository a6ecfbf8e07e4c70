"""The way to servers over HTTP, with tokens that a test holds.

It insists on the rules: a token is asked for by its own server alone, and another one is given
for what was refused and for nothing else.
"""

import ssl
from dataclasses import dataclass, field

import trio

from askd.providers.redact import KnownSecrets
from askd.tools.base import CannotRun
from askd.tools.mcp.configs import ServerConfig
from askd.tools.mcp.ways import HttpWay, Token, is_loopback_url

TOKEN = "tok-canary-7"
"""What a token of a test begins with, so that one that gets out is seen."""


@dataclass
class FakeTokens:
    """One server's token, and those that come after it.

    Attributes:
        trouble: what `fetch` says in place of a token.
        refused: each token that another one was asked for.
    """

    token: Token | None = None
    later: list[Token] = field(default_factory=list)
    trouble: str | None = None
    refused: list[str] = field(default_factory=list)

    async def fetch(self, config: ServerConfig) -> Token | None:
        await trio.lowlevel.checkpoint()
        if self.trouble is not None:
            raise CannotRun(self.trouble)
        return self.token

    async def renew(self, config: ServerConfig, refused: Token) -> Token | None:
        await trio.lowlevel.checkpoint()
        self.refused.append(refused.value)
        if self.token != refused:
            return self.token
        if not self.later:
            return None
        self.token = self.later.pop(0)
        return self.token


def make_way(
    tokens: FakeTokens | None = None,
    *,
    secrets: KnownSecrets | None = None,
    proxy: str | None = None,
    local_only: bool = False,
) -> HttpWay:
    """A way without certificates; a proxy is on the way to what is not this machine."""
    known = secrets if secrets is not None else KnownSecrets()

    def find_proxy(server: str, url: str) -> str | None:
        if local_only and not is_loopback_url(url):
            raise CannotRun(f"{server} is not this machine, and `local_only` is set.")
        return None if is_loopback_url(url) else proxy

    def learn(config: ServerConfig) -> None:
        for name, value in config.headers.items():
            known.add_named(name, value)

    return HttpWay(
        tokens=tokens or FakeTokens(),
        find_proxy=find_proxy,
        trust=ssl.create_default_context,
        learn=learn,
        hide=known.hide,
    )
