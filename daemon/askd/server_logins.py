"""Sign-ins at servers of tools, begun by a person: `ask mcp login` and `ask mcp logout`.

The SDK's way through a sign-in meets the house's: a door on the loopback for the browser, a list
of sign-ins that wait, a file for what comes of it. What a token is sent with is not decided here.
"""

import functools
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import trio

from askd.errors import NotFound, RequestError, Unavailable
from askd.providers.credentials.auth import Auth, Begun
from askd.providers.credentials.login_flows import BROWSER_S, PAGE_S, Arrival, listen
from askd.providers.credentials.logins import SignedIn
from askd.providers.credentials.oauth import Attempt
from askd.providers.credentials.server_sign_ins import ServerSignIn, ServerSignIns, SignedOut
from askd.providers.credentials.sign_in import fail_login
from askd.providers.redact import KnownSecrets
from askd.server_ways import ServerTokens, make_http_way
from askd.tools.base import CannotRun
from askd.tools.mcp.base import McpServers
from askd.tools.mcp.configs import ServerConfig
from askd.tools.mcp.http import open_http
from askd.tools.mcp.sign_in import Back, Issued, sign_in
from askd.tools.mcp.transports import OpenTransport
from askd.tools.mcp.ways import HttpWay

BEGIN_S = 60.0
"""Until there is an address to open: half a dozen questions to servers."""
END_S = 1.0
"""For a sign-in that has failed to say so."""

Keep = Callable[[Issued], Awaitable[str]]
"""Keeps what a sign-in brought; the file that holds it."""


class ServerLogins:
    """Made once for a daemon.

    Args:
        configs: the servers of the settings of now.
        auth: sees sign-ins through.
        signed_in: is told of a server that one has signed in to.
        now: unix seconds.
    """

    def __init__(
        self,
        configs: Callable[[], Sequence[ServerConfig]],
        sign_ins: ServerSignIns,
        *,
        auth: Auth,
        way: HttpWay,
        secrets: KnownSecrets,
        signed_in: Callable[[str], Awaitable[None]],
        now: Callable[[], float],
    ) -> None:
        self._configs = configs
        self._sign_ins = sign_ins
        self._auth = auth
        self._way = way
        self._secrets = secrets
        self._signed_in = signed_in
        self._now = now

    async def begin(self, server: str) -> Begun:
        """Begin to sign in; `Auth.wait` sees it through.

        Raises:
            NotFound: there is no such server.
            RequestError: one does not sign in to it.
            NotConfigured: the sign-in failed (`login_failed`).
        """
        config = self._need(server)
        if config.url is None:
            raise RequestError(f"{server} is a program on this machine: there is no sign-in to it.")
        if config.has_own_token:
            raise RequestError(
                f"{server} is sent the token that its settings name; to sign in in place of that, "
                f"take it out of [mcpServers.{server}]."
            )

        async def keep(issued: Issued) -> str:
            path = await self._sign_ins.keep(server, self._make(config, issued))
            await self._signed_in(server)
            return str(path)

        login = ServerLogin(config, self._way, learn=self._secrets.add, keep=keep)
        login_id = self._auth.add(login)
        with trio.move_on_after(BEGIN_S):
            await login.is_shown.wait()
        if not login.url:
            login.give_up()
            await self._auth.wait(login_id, pasted=None, timeout_s=END_S)  # says why it failed
            raise Unavailable(f"{server}: the sign-in server took too long")
        return Begun(
            login_id=login_id,
            url=login.url,
            can_paste=True,
            expires_at=self._now() + login.life_s,
        )

    async def log_out(self, server: str) -> SignedOut:
        """Forget our sign-in at a server.

        Raises:
            NotFound: there is no such server, and nothing is kept for one.
            NotConfigured: the file cannot be removed.
        """
        is_known = any(each.name == server for each in self._configs())
        path = self._sign_ins.find_path(server) if _is_name(server) else None
        changed = path is not None and await self._sign_ins.drop(server)
        if path is None or not (is_known or changed):
            self._need(server)
        return SignedOut(server=server, changed=changed, path=str(path))

    def _need(self, server: str) -> ServerConfig:
        for each in self._configs():
            if each.name == server:
                return each
        raise NotFound(
            f"There is no server of tools named {server!r}; see `ask mcp list`.",
            reason="server_not_found",
        )

    def _make(self, config: ServerConfig, issued: Issued) -> ServerSignIn:
        life_s = issued.life_s
        return ServerSignIn(
            url=config.url or "",
            token_url=issued.token_url,
            client_id=issued.client_id,
            client_secret=issued.client_secret,
            auth_method=issued.auth_method,
            access_token=issued.access_token,
            refresh_token=issued.refresh_token,
            valid_until_at=self._now() + life_s if life_s and life_s > 0 else None,
            resource=issued.resource,
            scope=issued.scope,
        )


class FarServers:
    """What servers at an address need, put together once for a daemon.

    Args:
        directory: where sign-ins are kept.
        auth: sees sign-ins through, and knows the way to the servers of such.

    Attributes:
        open: opens the way to one.
        way: whose token goes where, and what is secret of a server's settings.
    """

    def __init__(self, directory: Path, auth: Auth) -> None:
        credentials = auth.credentials
        self._auth = auth
        self._secrets = secrets = credentials().secrets
        self._sign_ins = ServerSignIns(directory, secrets=secrets, now=time.time)
        tokens = ServerTokens(
            self._sign_ins, environ=credentials().environ, credentials=credentials, secrets=secrets
        )
        self.way = make_http_way(tokens, credentials=credentials, secrets=secrets)
        self.open: OpenTransport = functools.partial(open_http, way=self.way)

    def make_logins(
        self, configs: Callable[[], Sequence[ServerConfig]], servers: McpServers
    ) -> ServerLogins:
        """Sign-ins at these servers; one that failed for want of one is tried again at once."""

        async def try_again(server: str) -> None:
            failed = [each.name for each in servers.states() if each.state == "failed"]
            if server in failed:
                with suppress(CannotRun):
                    await servers.check(server)

        return ServerLogins(
            configs,
            self._sign_ins,
            auth=self._auth,
            way=self.way,
            secrets=self._secrets,
            signed_in=try_again,
            now=time.time,
        )


@dataclass(slots=True)
class ServerLogin:
    """One sign-in under way; keeps the promises of `credentials.logins.Login`.

    Attributes:
        is_shown: there is an address to open, or there will be none.
    """

    config: ServerConfig
    way: HttpWay = field(repr=False)
    learn: Callable[[str], None] = field(repr=False)
    keep: Keep = field(repr=False)
    url: str = field(default="", repr=False)
    user_code: str | None = None
    can_paste: bool = True
    life_s: float = BROWSER_S
    is_shown: trio.Event = field(default_factory=trio.Event)
    _attempt: Attempt | None = field(default=None, repr=False)
    _arrival: Arrival = field(default_factory=Arrival, repr=False)
    _scope: trio.CancelScope = field(default_factory=trio.CancelScope)

    def take(self, pasted: str) -> bool:
        """As `Login.take`; whether it is a sign-in. The first that comes holds."""
        if self._attempt is None:
            raise RequestError("Nothing is waited for yet.")
        returned = self._arrival.take(pasted, self._attempt)
        if returned is not None:
            self.learn(returned.code)
        return returned is not None

    async def finish(self) -> SignedIn:
        """As `Login.finish`."""
        try:
            with self._scope:
                issued = await self._ask()
                return SignedIn(account=None, path=await self.keep(issued))
        finally:
            self.is_shown.set()
        raise fail_login(f"{self.config.name}: the sign-in was given up.")

    def give_up(self) -> None:
        """Nobody waits for it."""
        self._scope.cancel()

    async def _ask(self) -> Issued:
        async with listen(self.config.name) as callback, trio.open_nursery() as nursery:
            # In it: the browser's visits, until there is an answer.
            nursery.start_soon(callback.serve, self.take)
            try:
                issued = await sign_in(
                    self.config,
                    self.way,
                    redirect_uri=callback.redirect_uri,
                    show=self._show,
                    wait=self._wait,
                )
            except CannotRun as error:
                raise fail_login(str(error)) from None
            finally:
                if self._arrival.is_here.is_set():
                    with trio.CancelScope(shield=True):
                        await trio.sleep(PAGE_S)  # for the browser to be sent its page
            nursery.cancel_scope.cancel()
        return issued

    def _show(self, url: str) -> None:
        state = parse_qs(urlsplit(url).query).get("state", [""])[0]
        self._attempt = Attempt(verifier="", state=state, nonce="")
        self.url = url
        self.is_shown.set()

    async def _wait(self) -> Back:
        returned = await self._arrival.wait()
        assert self._attempt is not None
        return Back(code=returned.code, state=self._attempt.state, issuer=returned.issuer)


def _is_name(server: str) -> bool:
    return bool(server) and all(
        each.isascii() and (each.isalnum() or each in "-_") for each in server
    )
