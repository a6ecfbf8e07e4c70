"""Sign-ins at servers of tools: one file of mode 0600 a server, kept, renewed, removed.

What a file holds is good for the address that it was issued for and is never given out for
another one, whatever a server of that name is configured as later. Renewing is OAuth's own
(RFC 6749, section 6) at the token endpoint that the sign-in found; it discovers nothing, asks
no person and starts no sign-in.
"""

import base64
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import trio

from askd.errors import NotConfigured
from askd.files import make_private_directory, replace_file
from askd.providers.credentials.key_file import read_private_json
from askd.providers.credentials.renewal import Renewals
from askd.providers.credentials.sign_in import is_ending
from askd.providers.credentials.token_server import Answer, TokenServer, explain_unrenewed
from askd.providers.redact import KnownSecrets

log = logging.getLogger(__name__)

BASIC = "client_secret_basic"
"""RFC 7591: the client's secret goes in a header; `client_secret_post`: in the form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSignIn:
    """What one file holds.

    Attributes:
        url: of the server of tools that it is for.
        token_url: where it is renewed.
        auth_method: how the client says who it is there (RFC 7591); None: by its id alone.
        resource: what tokens are for (RFC 8707); None: the server was not told.
        valid_until_at: of the access token, in unix seconds of this machine's clock; None:
            nobody said.
    """

    url: str
    token_url: str
    client_id: str
    access_token: str = field(repr=False)
    client_secret: str | None = field(default=None, repr=False)
    auth_method: str | None = None
    refresh_token: str | None = field(default=None, repr=False)
    valid_until_at: float | None = None
    resource: str | None = None
    scope: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedOut:
    """What became of a sign-in, and the file that held it."""

    server: str
    changed: bool
    path: str


class ServerSignIns:
    """The sign-ins of all servers of tools.

    Args:
        directory: where the files are; it is made when the first is kept.
        secrets: is told of every token that is seen.
        now: unix seconds.
    """

    def __init__(self, directory: Path, *, secrets: KnownSecrets, now: Callable[[], float]) -> None:
        self._directory = directory
        self._secrets = secrets
        self._now = now
        self._renewals = Renewals(now)
        # What the disk would not take, with the refresh token that it cost; by server.
        self._unsaved: dict[str, tuple[str, ServerSignIn]] = {}

    def find_path(self, server: str) -> Path:
        """The file of a server; its name is one that settings allow: no path can hide in it."""
        assert server
        assert all(each.isalnum() or each in "-_" for each in server), server
        return self._directory / f"{server}.json"

    def read(self, server: str, url: str) -> ServerSignIn | None:
        """The sign-in for a server at this address; None: nobody has signed in there.

        Raises:
            NotConfigured: the file is refused.
        """
        data = read_private_json(self.find_path(server))
        kept = None if data is None else _read(data)
        if kept is None or kept.url != url:
            return None
        spent, renewed = self._unsaved.get(server, (None, None))
        if renewed is not None and kept.refresh_token == spent:
            kept = renewed
        self.hide(kept)
        return kept

    async def fetch(self, server: str, url: str, way: TokenServer) -> str | None:
        """The token to send now, renewed if it is about to end; None: nobody has signed in.

        Raises:
            NotConfigured: it has ended for good; the sentence says what to do.
            ProviderError: the server that renews it failed.
        """
        path, kept = self.find_path(server), self.read(server, url)
        if kept is None:
            return None
        await self._save_late(server, kept)
        if not self._renewals.is_fresh(path, kept) and is_ending(kept.valid_until_at, self._now()):
            kept = await self._renew(server, kept, way, is_refused=False)
        return kept.access_token

    async def renew(self, server: str, url: str, way: TokenServer, *, refused: str) -> str | None:
        """After a refusal: another token; None: there is none to be had. Raises as `fetch`."""
        path, kept = self.find_path(server), self.read(server, url)
        if kept is None:
            return None
        if kept.access_token != refused:
            return kept.access_token  # somebody else has renewed it meanwhile
        if kept.refresh_token is None or self._renewals.is_fresh(path, kept):
            return None
        return (await self._renew(server, kept, way, is_refused=True)).access_token

    async def keep(self, server: str, sign_in: ServerSignIn) -> Path:
        """Write a new sign-in over what was there; its file. Raises `NotConfigured`."""
        self.hide(sign_in)
        path = self.find_path(server)
        await self._write(path, sign_in)
        self._unsaved.pop(server, None)
        self._renewals.note(path, sign_in)
        return path

    async def drop(self, server: str) -> bool:
        """Remove a server's sign-in, whatever address it is for; False: there was none.

        Raises:
            NotConfigured: it cannot be removed.
        """
        path = self.find_path(server)
        try:
            path.unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise NotConfigured(f"{path} cannot be removed: {error.strerror}") from None
        self._unsaved.pop(server, None)
        return True

    def hide(self, sign_in: ServerSignIn) -> None:
        """Nobody may see what is secret of it from now on."""
        for value in (sign_in.access_token, sign_in.refresh_token, sign_in.client_secret):
            self._secrets.add(value)

    # ---- renewing ------------------------------------------------------------------

    async def _renew(
        self, server: str, seen: ServerSignIn, way: TokenServer, *, is_refused: bool
    ) -> ServerSignIn:
        return await self._renewals.renew(
            self.find_path(server),
            seen,
            what=f"{server}: the sign-in",
            is_refused=is_refused,
            look=lambda: self._need(server, seen.url),
            exchange=lambda kept: self._exchange(server, kept, way),
        )

    def _need(self, server: str, url: str) -> ServerSignIn:
        kept = self.read(server, url)
        if kept is None:
            raise NotConfigured(f"{server}: nobody is signed in: {explain(server)}")
        return kept

    async def _exchange(self, server: str, kept: ServerSignIn, way: TokenServer) -> ServerSignIn:
        if kept.refresh_token is None:
            raise NotConfigured(
                f"{server}: the sign-in has ended, and is none that can be renewed: "
                f"{explain(server)}"
            )
        fields, headers = _identify(kept)
        fields |= {"grant_type": "refresh_token", "refresh_token": kept.refresh_token}
        # Nobody may cancel between the question and the disk: it may use up the refresh token.
        # The question has its own limit.
        with trio.CancelScope(shield=True):
            answer = await way.post_form(kept.token_url, fields, headers)
            renewed = self._take(kept, answer)
            if renewed is not None:
                await self._save(server, renewed, spent=kept.refresh_token)
                return renewed
        raise explain_unrenewed(server, "the sign-in", answer, remedy=explain(server))

    def _take(self, kept: ServerSignIn, answer: Answer) -> ServerSignIn | None:
        access = answer.read_text("access_token")
        if not answer.is_ok or access is None:
            return None
        life_s = answer.read_number("expires_in")
        renewed = replace(
            kept,
            access_token=access,
            refresh_token=answer.read_text("refresh_token") or kept.refresh_token,
            valid_until_at=self._now() + life_s if life_s and life_s > 0 else None,
            scope=answer.read_text("scope") or kept.scope,
        )
        self.hide(renewed)
        return renewed

    async def _save(self, server: str, renewed: ServerSignIn, *, spent: str) -> None:
        """On the disk if it will have it; else memory must do until the next renewal."""
        path = self.find_path(server)
        # The file has what was spent first, however often it was renewed since.
        spent = self._unsaved.get(server, (spent, renewed))[0]
        self._unsaved[server] = (spent, renewed)
        await self._save_late(server, renewed)
        self._renewals.note(path, renewed)

    async def _save_late(self, server: str, found: ServerSignIn) -> None:
        """Write what is not written yet, unless somebody has signed in anew meanwhile."""
        if server not in self._unsaved or self._unsaved[server][1] is not found:
            return
        try:
            await self._write(self.find_path(server), found)
        except NotConfigured as error:
            log.error("%s", error.message)
        else:
            self._unsaved.pop(server, None)

    async def _write(self, path: Path, sign_in: ServerSignIn) -> None:
        content = {name: each for name, each in asdict(sign_in).items() if each is not None}
        text = json.dumps(content, indent=2) + "\n"
        try:
            make_private_directory(path.parent)
            await trio.to_thread.run_sync(replace_file, path, text.encode())
        except OSError as error:
            raise NotConfigured(f"{path} cannot be written: {error.strerror}") from None


def explain(server: str) -> str:
    """What to do, to put at the end of a sentence."""
    return f"sign in again with `ask mcp login {server}`."


def _identify(kept: ServerSignIn) -> tuple[dict[str, str], dict[str, str]]:
    """Fields and headers that say who asks, and for what."""
    fields, headers = {"client_id": kept.client_id}, {}
    if kept.client_secret is not None and kept.auth_method == BASIC:
        # RFC 6749, section 2.3.1: each is encoded before they are joined.
        pair = f"{quote(kept.client_id, safe='')}:{quote(kept.client_secret, safe='')}"
        headers["authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    elif kept.client_secret is not None:
        fields["client_secret"] = kept.client_secret
    if kept.resource is not None:
        fields["resource"] = kept.resource
    return fields, headers


def _read(data: Mapping[str, Any]) -> ServerSignIn | None:
    """What a file says; None: it says too little to be one."""

    def read_text(name: str) -> str | None:
        value = data.get(name)
        return value if isinstance(value, str) and value else None

    url, token_url = read_text("url"), read_text("token_url")
    client_id, access_token = read_text("client_id"), read_text("access_token")
    if url is None or token_url is None or client_id is None or access_token is None:
        return None
    ends_at = data.get("valid_until_at")
    is_number = isinstance(ends_at, int | float) and not isinstance(ends_at, bool)
    return ServerSignIn(
        url=url,
        token_url=token_url,
        client_id=client_id,
        access_token=access_token,
        client_secret=read_text("client_secret"),
        auth_method=read_text("auth_method"),
        refresh_token=read_text("refresh_token"),
        valid_until_at=ends_at if is_number else None,
        resource=read_text("resource"),
        scope=read_text("scope"),
    )
