"""Credentials as a person deals with them: how things stand, keep a key, sign in, log out.

No answer here holds a credential. It removes what was kept by us and nothing
else: the files of Codex, Claude Code and GitHub's editors are theirs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import trio

from askd.errors import NotConfigured, ProviderError, RequestError, SecretsNeeded, Unavailable
from askd.providers.base import Caller
from askd.providers.credentials.credentials import Credentials
from askd.providers.credentials.device_flow import GITHUB_URL
from askd.providers.credentials.login_flows import begin_browser, begin_code
from askd.providers.credentials.logins import Login, Logins, SignedIn
from askd.providers.known import ProviderConfig

BEGIN_S = 60.0
"""To begin a sign-in: two questions to its server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialState:
    """How one provider would be asked; it never holds a credential.

    Attributes:
        state: `expired`: it is renewed at the next use, if it can be.
        valid_until_at: unix seconds; None: as long as the provider takes it.
    """

    provider: str
    state: Literal["ready", "expired", "missing", "unusable"]
    source: str | None = None
    valid_until_at: float | None = None
    account: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """What became of a kept credential, and the file that holds it or held it."""

    provider: str
    changed: bool
    path: str
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A sign-in that waits for a person."""

    login_id: str
    url: str
    expires_at: float
    user_code: str | None = None
    can_paste: bool = False


class Auth:
    """The face of the credentials. `run` must be running for `begin` to work.

    Args:
        credentials: those of the moment; they change with the settings.
        new_id: the id of a sign-in.

    Attributes:
        credentials: those of the moment.
    """

    def __init__(
        self, credentials: Callable[[], Credentials], *, new_id: Callable[[], str]
    ) -> None:
        self.credentials = credentials
        self._logins = Logins(new_id=new_id)

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Own the sign-ins that are under way, until cancelled."""
        await self._logins.run(task_status=task_status)

    async def status(self, caller: Caller) -> list[CredentialState]:
        """Each configured provider, and each known one that has a credential."""
        credentials = self.credentials()
        states = []
        for config in credentials.configs.values():
            await trio.lowlevel.checkpoint()
            state = _describe(credentials, config, caller)
            if config.is_configured or state.state != "missing":
                states.append(state)
        return states

    async def set_key(self, provider: str, key: str) -> Changed:
        """Keep a key.

        Raises:
            RequestError: there is no such provider, it takes no key, or this is none.
            NotConfigured: the file cannot be written, or is refused.
        """
        credentials = self.credentials()
        config = _need(credentials, provider)
        if config.auth is not None:
            raise RequestError(
                f"{provider} takes a sign-in in place of a key: `ask auth login {provider}`."
            )
        changed = await credentials.keys.keep(provider, key)
        note = None
        if config.api_key_env and credentials.environ.get(config.api_key_env):
            note = f"{config.api_key_env} is set for the daemon too, and goes first."
        return Changed(
            provider=provider, changed=changed, path=str(credentials.keys.path), note=note
        )

    async def log_out(self, provider: str) -> Changed:
        """Remove the kept key and our own sign-in. Raises as `set_key`."""
        credentials = self.credentials()
        config = _need(credentials, provider)
        changed = await credentials.keys.drop(provider)
        path = str(credentials.keys.path)
        match config.auth:
            case None:
                pass
            case "chatgpt":
                changed = await credentials.chatgpt.log_out() or changed
                path = str(credentials.chatgpt.path)
            case "copilot":
                changed = await credentials.copilot.log_out() or changed
                path = str(credentials.copilot.path)
            case "claude-oauth":
                pass
        return Changed(
            provider=provider,
            changed=changed,
            path=path,
            note=_explain_rest(credentials, config),
        )

    async def begin(self, provider: str) -> Begun:
        """Begin to sign in.

        Raises:
            RequestError: there is no such provider, or one does not sign in to it here.
            NotConfigured: the sign-in failed (`login_failed`), or `local_only` forbids it.
            ProviderError: its server failed.
        """
        credentials = self.credentials()
        config = _need(credentials, provider)
        server = credentials.find_server(config, Caller())
        login: Login | None = None
        with trio.move_on_after(BEGIN_S):
            match config.auth:
                case "chatgpt":
                    login = await begin_browser(config, credentials.chatgpt, server)
                case "copilot":
                    github_url = credentials.environ.get("ASK_GITHUB_URL") or GITHUB_URL
                    login = await begin_code(
                        config, credentials.copilot, server, github_url=github_url.rstrip("/")
                    )
                case "claude-oauth":
                    raise RequestError(
                        f"{provider} uses Claude Code's sign-in: run `claude` and sign in there."
                    )
                case None if config.dialect == "ollama":
                    raise RequestError(f"{provider} needs no sign-in.")
                case None:
                    raise RequestError(
                        f"{provider} takes a key, not a sign-in: `ask auth set-key {provider}`."
                    )
        if login is None:
            raise Unavailable(f"{provider}: the sign-in server took too long")
        return Begun(
            login_id=self._logins.add(login),
            url=login.url,
            user_code=login.user_code,
            can_paste=login.can_paste,
            expires_at=credentials.now() + login.life_s,
        )

    def add(self, login: Login) -> str:
        """See another room's sign-in through, from now on; its id, for `wait`."""
        return self._logins.add(login)

    async def wait(self, login_id: str, *, pasted: str | None, timeout_s: float) -> SignedIn | None:
        """What came of a sign-in; None: it is not over yet. Raises as `Logins.wait`."""
        return await self._logins.wait(login_id, pasted=pasted, timeout_s=timeout_s)


def _need(credentials: Credentials, provider: str) -> ProviderConfig:
    config = credentials.configs.get(provider)
    if config is None:
        names = ", ".join(credentials.configs)
        raise RequestError(f"There is no provider {provider!r}; there are {names}.")
    return config


def _describe(credentials: Credentials, config: ProviderConfig, caller: Caller) -> CredentialState:
    """How things stand with one provider; nobody is asked, no command is run."""
    name = config.name
    try:
        standing = credentials.look(config, caller)
        key = None if config.auth else credentials.keys.find(config, caller.secrets)
        if standing is None and config.auth is None and key is None and not config.is_configured:
            return CredentialState(provider=name, state="missing")
        credentials.find(name, caller)
    except SecretsNeeded as error:
        return CredentialState(provider=name, state="missing", note=error.message)
    except ProviderError as error:
        is_missing = config.auth is not None and _is_absent(credentials, config, caller)
        return CredentialState(
            provider=name, state="missing" if is_missing else "unusable", note=error.message
        )
    if standing is not None:
        ends_at = standing.valid_until_at
        is_old = ends_at is not None and ends_at <= credentials.now()
        return CredentialState(
            provider=name,
            state="expired" if is_old else "ready",
            source=standing.source,
            valid_until_at=standing.valid_until_at,
            account=standing.account,
            note=standing.note,
        )
    if key is not None:
        return CredentialState(provider=name, state="ready", source=key.source)
    if config.api_key_cmd:
        note = "The command is run when a key is needed."
        return CredentialState(provider=name, state="ready", source="api_key_cmd", note=note)
    return CredentialState(provider=name, state="ready", note="No key is set, and none is sent.")


def _is_absent(credentials: Credentials, config: ProviderConfig, caller: Caller) -> bool:
    try:
        return credentials.look(config, caller) is None
    except NotConfigured:
        return False


def _explain_rest(credentials: Credentials, config: ProviderConfig) -> str | None:
    """What is still there when ours is gone, and whose it is."""
    match config.auth:
        case "chatgpt":
            return (
                "Only our own sign-in is removed here. Codex's is left alone: `codex logout` ends "
                "it. ChatGPT's settings list the apps that you let in."
            )
        case "copilot":
            return (
                "Only our own sign-in is removed here. Those of editors are left alone; GitHub's "
                "settings list the apps that you let in."
            )
        case "claude-oauth":
            return "Claude Code's sign-in is left alone: `claude` and `/logout` end it."
        case None:
            pass
    try:
        key = credentials.keys.find(config, {})
    except NotConfigured:
        return None
    return None if key is None else f"There is still a key: {key.source}."
