"""Credentials and sign-ins in memory, which insist on the rules.

A key is kept and never comes back; a sign-in is begun before it is waited for,
ends once, and is unknown after that.
"""

from dataclasses import dataclass, field

import trio

from askd.errors import NotConfigured, NotFound, RequestError
from askd.providers.base import Caller
from askd.providers.credentials.auth import Begun, Changed, CredentialState
from askd.providers.credentials.logins import SignedIn
from askd.providers.credentials.server_sign_ins import SignedOut

SECRET_WORD = "sk-canary"
"""What every key of a test begins with, so that one that gets out is seen."""


@dataclass
class FakeSignIns:
    """Two providers: `work` takes a key, `chatgpt` a sign-in whose address ends in `ok`.

    Attributes:
        keys: what is kept.
        callers: who asked how things are.
        waits: the time limit of each wait.
        confirmed: set it, and the person has said yes in the browser.
    """

    keys: dict[str, str] = field(default_factory=dict)
    callers: list[Caller] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    confirmed: trio.Event = field(default_factory=trio.Event)
    _logins: set[str] = field(default_factory=set)

    async def status(self, caller: Caller) -> list[CredentialState]:
        await trio.lowlevel.checkpoint()
        self.callers.append(caller)
        kept = CredentialState(provider="work", state="ready", source="keys.json")
        missing = CredentialState(
            provider="work", state="missing", note="Set one: ask auth set-key work"
        )
        return [
            kept if "work" in self.keys else missing,
            CredentialState(
                provider="chatgpt", state="expired", valid_until_at=5.0, account="me@here"
            ),
        ]

    async def set_key(self, provider: str, key: str) -> Changed:
        await trio.lowlevel.checkpoint()
        if provider != "work":
            raise RequestError(f"There is no provider {provider!r}.")
        if not key.strip() or key != key.strip():
            raise RequestError("The key is empty, or has blanks around it.")
        changed = self.keys.get(provider) != key
        self.keys[provider] = key
        return Changed(provider=provider, changed=changed, path="keys.json")

    async def log_out(self, provider: str) -> Changed:
        await trio.lowlevel.checkpoint()
        changed = self.keys.pop(provider, None) is not None
        return Changed(
            provider=provider, changed=changed, path="keys.json", note="At the vendor..."
        )

    async def begin(self, provider: str) -> Begun:
        await trio.lowlevel.checkpoint()
        if provider != "chatgpt":
            raise RequestError(f"The provider {provider!r} has no sign-in.")
        login_id = f"login-{len(self._logins)}"
        self._logins.add(login_id)
        return Begun(login_id=login_id, url="https://v/auth", can_paste=True, expires_at=900.0)

    def add(self, url: str) -> Begun:
        """A sign-in of another room, to be waited for here."""
        login_id = f"login-{len(self._logins)}"
        self._logins.add(login_id)
        return Begun(login_id=login_id, url=url, can_paste=True, expires_at=900.0)

    async def wait(self, login_id: str, *, pasted: str | None, timeout_s: float) -> SignedIn | None:
        self.waits.append(timeout_s)
        if login_id not in self._logins:
            raise NotFound("There is no such sign-in.", reason="login_not_found")
        if pasted is not None and "localhost" not in pasted:
            raise RequestError("That is not the address of this sign-in.")
        if pasted is not None and not pasted.endswith("ok"):
            self._logins.discard(login_id)
            raise NotConfigured("The sign-in failed.", reason="login_failed")
        if pasted is None:
            with trio.move_on_after(timeout_s):
                await self.confirmed.wait()
            if not self.confirmed.is_set():
                return None
        self._logins.discard(login_id)
        return SignedIn(account="me@here", path="auth.json")


@dataclass
class FakeServerSignIns:
    """One server of tools, `docs`; `sign_ins` is where its sign-in is waited for.

    Attributes:
        kept: whether somebody is signed in there.
    """

    sign_ins: FakeSignIns
    kept: bool = True

    async def begin(self, server: str) -> Begun:
        await self._check(server)
        return self.sign_ins.add(f"https://{server}/authorize")

    async def log_out(self, server: str) -> SignedOut:
        await self._check(server)
        changed, self.kept = self.kept, False
        return SignedOut(server=server, changed=changed, path=f"{server}.json")

    async def _check(self, server: str) -> None:
        await trio.lowlevel.checkpoint()
        if server != "docs":
            raise NotFound(
                f"There is no server of tools named {server!r}.", reason="server_not_found"
            )
