"""GitHub Copilot: a GitHub sign-in, exchanged for a token that is good for half an hour.

The sign-in is our own (`copilot.json`, by `ask auth login copilot`), else the one
that an editor's plug-in has left in `github-copilot/apps.json` or `hosts.json`.
The exchange is undocumented by GitHub; it is done as its editors do it. The
short token lives in memory. This writes nothing but our own file.
"""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import trio

from askd.errors import NotConfigured, ProviderError, Unauthenticated
from askd.files import replace_file
from askd.providers.addresses import is_loopback, read_host
from askd.providers.credentials.key_file import read_private_json
from askd.providers.credentials.sign_in import Grant, Standing
from askd.providers.credentials.token_server import Answer, TokenServer, explain_failure
from askd.providers.known import ProviderConfig
from askd.providers.redact import KnownSecrets

API_URL = "https://api.github.com"
EXCHANGE_PATH = "/copilot_internal/v2/token"

CLIENT_ID = "Iv1.b507a08c87ecfe98"

HEADERS: Mapping[str, str] = {
    "copilot-integration-id": "vscode-chat",
    "editor-version": "vscode/1.95.0",
    "editor-plugin-version": "copilot-chat/0.26.7",
    "openai-intent": "conversation-panel",
    "x-github-api-version": "2025-04-01",
}
"""With the client id above, the identity of an editor: GitHub answers chats to nobody else.

There is no documented way for a program of its own. `client_id` and `headers` of
the provider's settings go first, should GitHub change it or give you your own.
The user agent stays ours.
"""

LIFE_S = 25 * 60.0
"""Of a token whose answer does not say how long it lives; those seen live 30 minutes."""

MARGIN_S = 2 * 60.0
"""Before its end, where the answer does not say when to renew it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GitHubToken:
    """Who is signed in at GitHub, and where that is written."""

    value: str = field(repr=False)
    path: Path
    account: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CopilotToken:
    """The short token; times are of this machine's clock, in unix seconds."""

    value: str = field(repr=False)
    renew_at: float
    valid_until_at: float
    base_url: str | None = None


class CopilotSignIn:
    """Our own sign-in in `path`, and those of editors behind it.

    Args:
        environ: the daemon's variables; XDG_CONFIG_HOME and HOME matter.
        api_url: GitHub's API; tests have their own.
    """

    def __init__(
        self,
        path: Path,
        *,
        environ: Mapping[str, str],
        api_url: str,
        secrets: KnownSecrets,
        now: Callable[[], float],
    ) -> None:
        self.path = path
        self._environ = environ
        self._api_url = api_url.rstrip("/")
        self._secrets = secrets
        self._now = now
        self._tokens: dict[str, CopilotToken] = {}  # by the GitHub token that they are for
        self._lock = trio.Lock()

    def look(self, config: ProviderConfig, env: Mapping[str, str]) -> Standing | None:
        """As `SignIn.look`; until when it is good is said of the short token, if there is one."""
        github = self._find(config, env)
        if github is None:
            return None
        token = self._tokens.get(github.value)
        return Standing(
            source=str(github.path),
            account=github.account,
            valid_until_at=token.valid_until_at if token else None,
        )

    def explain(self, provider: str) -> str:
        """As `SignIn.explain`."""
        return f"{provider}: nobody is signed in to GitHub: `ask auth login {provider}`."

    async def fetch(
        self, config: ProviderConfig, env: Mapping[str, str], server: TokenServer
    ) -> Grant:
        """As `SignIn.fetch`."""
        github = self._need(config, env)
        async with self._lock:
            token = self._tokens.get(github.value)
            if token is None or token.renew_at <= self._now():
                token = await self._renew(config, github, token, server)
        return _grant(github, token)

    async def renew(
        self, config: ProviderConfig, env: Mapping[str, str], server: TokenServer
    ) -> Grant | None:
        """As `SignIn.renew`."""
        github = self._need(config, env)
        refused = self._tokens.get(github.value)
        async with self._lock:
            token = self._tokens.get(github.value)
            if token is None or token is refused:  # else another was faster
                self._tokens.pop(github.value, None)
                token = await self._exchange(config, github, server)
        return _grant(github, token)

    async def keep(self, token: str, client_id: str) -> None:
        """Write our own sign-in. Raises `NotConfigured`."""
        self._secrets.add(token)
        content = {"oauth_token": token, "client_id": client_id}
        await self._write(content)

    async def log_out(self) -> bool:
        """Remove our own sign-in; False: there was none. Raises `NotConfigured`."""
        if read_private_json(self.path) is None:
            return False
        try:
            await trio.to_thread.run_sync(os.unlink, self.path)
        except OSError as error:
            raise NotConfigured(f"{self.path} cannot be removed: {error.strerror}") from None
        self._tokens.clear()
        return True

    async def _write(self, content: Mapping[str, str]) -> None:
        text = json.dumps(content, indent=2) + "\n"
        try:
            await trio.to_thread.run_sync(replace_file, self.path, text.encode())
        except OSError as error:
            raise NotConfigured(f"{self.path} cannot be written: {error.strerror}") from None

    def _need(self, config: ProviderConfig, env: Mapping[str, str]) -> GitHubToken:
        github = self._find(config, env)
        if github is None:
            raise NotConfigured(self.explain(config.name))
        return github

    def _find(self, config: ProviderConfig, env: Mapping[str, str]) -> GitHubToken | None:
        """The sign-in to use. Raises `NotConfigured` over a file that is refused."""
        found = self._read(self.path, "")
        if found is None:
            home = self._environ.get("HOME") or env.get("HOME") or "/"
            base = Path(self._environ.get("XDG_CONFIG_HOME") or Path(home, ".config"))
            for name in ("apps.json", "hosts.json"):
                path = base / "github-copilot" / name
                found = found or self._read(path, config.client_id or CLIENT_ID)
        if found is not None:
            self._secrets.add(found.value)
        return found

    def _read(self, path: Path, client_id: str) -> GitHubToken | None:
        """A file's sign-in at github.com, that of this client if there are several."""
        data = read_private_json(path)
        if data is None:
            return None
        entries = (
            [data]
            if path == self.path
            else [
                each
                for name, each in sorted(
                    data.items(), key=lambda item: not item[0].endswith(f":{client_id}")
                )
                if name.partition(":")[0] == "github.com"
            ]
        )
        for entry in entries:
            token = entry.get("oauth_token") if isinstance(entry, dict) else None
            if isinstance(token, str) and token:
                user = entry.get("user")
                return GitHubToken(
                    value=token,
                    path=path,
                    account=user if isinstance(user, str) and user.isprintable() else None,
                )
        return None

    async def _renew(
        self,
        config: ProviderConfig,
        github: GitHubToken,
        token: CopilotToken | None,
        server: TokenServer,
    ) -> CopilotToken:
        try:
            return await self._exchange(config, github, server)
        except ProviderError:
            if token is None or token.valid_until_at <= self._now():
                raise
            return token  # it is due, and not over

    async def _exchange(
        self, config: ProviderConfig, github: GitHubToken, server: TokenServer
    ) -> CopilotToken:
        url = self._api_url + EXCHANGE_PATH
        headers = {"authorization": f"token {github.value}", **HEADERS}
        answer = await server.get(url, headers | {k.lower(): v for k, v in config.headers.items()})
        value = answer.read_text("token")
        if not answer.is_ok or value is None:
            raise _explain(config.name, answer)
        self._secrets.add(value)
        # By our own clock, from now on: GitHub's time of the end is of a clock that may differ.
        due_s = answer.read_number("refresh_in")
        ends_at = answer.read_number("expires_at")
        now = self._now()
        life_s = ends_at - now if ends_at is not None and ends_at > now else LIFE_S
        if due_s is None or due_s <= 0:
            due_s = max(life_s - MARGIN_S, life_s / 2)
        token = CopilotToken(
            value=value,
            renew_at=now + due_s,
            valid_until_at=now + max(life_s, due_s),
            base_url=_read_base_url(answer),
        )
        self._tokens[github.value] = token
        return token


def _grant(github: GitHubToken, token: CopilotToken) -> Grant:
    return Grant(
        token=token.value, base_url=token.base_url, account=github.account, headers=HEADERS
    )


def _read_base_url(answer: Answer) -> str | None:
    """Where chats are answered for this account; a plain address elsewhere is not believed."""
    endpoints = answer.data.get("endpoints")
    address = endpoints.get("api") if isinstance(endpoints, dict) else None
    if not isinstance(address, str):
        return None
    host = read_host(address)
    if host is None or not (address.startswith("https://") or is_loopback(host)):
        return None
    return address.rstrip("/")


def _explain(provider: str, answer: Answer) -> ProviderError:
    words = answer.words or f"HTTP {answer.status}"
    if answer.status == 401:
        return Unauthenticated(
            f"{provider}: GitHub refuses the sign-in ({words}): `ask auth login {provider}`."
        )
    if answer.status in (403, 404):
        return Unauthenticated(f"{provider}: this GitHub account has no Copilot: {words}")
    return explain_failure(provider, "the exchange of the token failed", answer)
