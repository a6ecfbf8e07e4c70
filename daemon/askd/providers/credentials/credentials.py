"""Whose credential goes to which server.

A caller's key wins over the daemon's, for that caller's turn. A key that the
daemon has is never sent to an address that a caller named. Where keys come from
is in `keys`, where sign-ins do in `chatgpt`, `claude` and `copilot_token`; this
joins them with addresses into endpoints. Credentials are not logged and not in
any sentence; `repr` hides them.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from askd.errors import NotConfigured, ProviderError, SecretsNeeded
from askd.providers.addresses import LOCAL_ONLY, OPENAI_URL, find_way, is_openai, read_address
from askd.providers.base import Auth, Caller, Endpoint
from askd.providers.credentials.chatgpt import ISSUER, ChatGPTSignIn
from askd.providers.credentials.claude import ClaudeSignIn
from askd.providers.credentials.codex import REFRESH_URL, CodexSignIn
from askd.providers.credentials.copilot_token import API_URL, CopilotSignIn
from askd.providers.credentials.keys import Key, Keys, check_key
from askd.providers.credentials.sign_in import Grant, SignIn, Standing
from askd.providers.credentials.token_server import Ask, TokenServer
from askd.providers.known import DIALECT_ADDRESSES, KNOWN, ProviderConfig, known_config
from askd.providers.redact import KnownSecrets

USUAL_ADDRESSES: Mapping[Auth, str] = {
    "chatgpt": OPENAI_URL,
    "copilot": DIALECT_ADDRESSES["copilot"],
    "claude-oauth": DIALECT_ADDRESSES["anthropic"],
}
"""What a sign-in may replace by an address of its own; one that the settings name stays."""


class Credentials:
    """Finds endpoints: of the configured providers, then of those that need no settings.

    Args:
        providers: those that are configured.
        environ: the daemon's own variables: keys, proxies, where sign-ins are.
        child_env: the environment of `api_key_cmd`.
        local_only: refuse every address that is not this machine's.
        directory: where keys and sign-ins of ours are kept, of mode 0700.
        ask: sends a call to a sign-in server.
        secrets: is told of every credential that is seen.
        now: unix seconds.

    Attributes:
        configs: by name, in the order of choice.
        keys, chatgpt, copilot: what `auth` changes.
    """

    def __init__(
        self,
        providers: Iterable[ProviderConfig],
        *,
        environ: Mapping[str, str],
        child_env: Mapping[str, str],
        local_only: bool,
        directory: Path,
        ask: Ask,
        secrets: KnownSecrets,
        now: Callable[[], float],
    ) -> None:
        self.environ = environ
        self.secrets = secrets
        self.now = now
        self._ask = ask
        self.keys = Keys(directory, environ=environ, child_env=child_env, secrets=secrets)
        codex = CodexSignIn(
            environ=environ,
            refresh_url=environ.get("CODEX_REFRESH_TOKEN_URL_OVERRIDE") or REFRESH_URL,
            secrets=secrets,
            now=now,
        )
        self.chatgpt = ChatGPTSignIn(
            directory / "chatgpt.json",
            codex=codex,
            issuer=environ.get("ASK_CHATGPT_ISSUER") or ISSUER,
            secrets=secrets,
            now=now,
        )
        self.copilot = CopilotSignIn(
            directory / "copilot.json",
            environ=environ,
            api_url=environ.get("ASK_GITHUB_API_URL") or API_URL,
            secrets=secrets,
            now=now,
        )
        self._sign_ins: Mapping[Auth, SignIn] = {
            "chatgpt": self.chatgpt,
            "copilot": self.copilot,
            "claude-oauth": ClaudeSignIn(environ=environ, secrets=secrets, now=now),
        }
        self.configure(providers, local_only=local_only)

    def configure(self, providers: Iterable[ProviderConfig], *, local_only: bool) -> None:
        """Take other settings; a key that a command gave is asked for again."""
        known = {name: known_config(each) for name, each in KNOWN.items()}
        configs = {each.name: each for each in providers}
        self.configs: Mapping[str, ProviderConfig] = {
            **configs,
            **{name: each for name, each in known.items() if name not in configs},
        }
        self._local_only = local_only
        for provider in self.configs:
            self.keys.forget(provider)

    def is_allowed(self, provider: str, caller: Caller) -> bool:
        """Whether `local_only` lets it be; what else is wrong is said when it is used."""
        if not self._local_only:
            return True
        try:
            self.find(provider, caller)
        except ProviderError as error:
            return error.reason != LOCAL_ONLY
        return True

    def has_credential(self, provider: str, caller: Caller) -> bool:
        """Whether there is something to ask it with; or somebody meant to, and will be told.

        A configured provider that wants no credential has what it needs; a known
        one of that sort has if a variable says where it is.
        """
        config = self._need(provider)
        variable = self._address_variable(config)
        if variable and (caller.env.get(variable) or self.environ.get(variable)):
            return True
        try:
            if config.auth is not None:
                return self.look(config, caller) is not None
            key = self.keys.find(config, caller.secrets)
        except NotConfigured:
            return config.is_configured
        return key is not None or bool(config.api_key_cmd) or not self._wants_key(config)

    def find(self, provider: str, caller: Caller) -> Endpoint:
        """A provider's endpoint; what a command or a sign-in gives is not in it yet.

        Raises:
            SecretsNeeded: nobody has the key; `data` holds its name.
            NotConfigured: the address is not one, `local_only` refuses it, nobody
                has signed in, or a file that holds the credential is refused.
        """
        config = self._need(provider)
        if config.auth is not None:
            endpoint = self.find_way(config, config.base_url, caller)
            if self.look(config, caller) is None:
                raise NotConfigured(self._sign_ins[config.auth].explain(config.name))
            return endpoint
        key = self.keys.find(config, caller.secrets)
        endpoint = self._join(config, caller, key)
        if key is None and config.api_key_env and not config.api_key_cmd:
            raise SecretsNeeded(
                f"{config.name} needs a key: set {config.api_key_env} where you run `ask`, "
                f"or keep one with `ask auth set-key {config.name}`.",
                data={"names": [config.api_key_env]},
            )
        return endpoint

    async def fetch(self, provider: str, caller: Caller) -> Endpoint:
        """The same with its credential: from a command, or a sign-in that is renewed in time.

        Raises:
            NotConfigured: the command gives no key, the sign-in has ended; and what `find` raises.
            ProviderError: the server that renews the sign-in failed.
        """
        config = self._need(provider)
        if config.auth is not None:
            self.find(provider, caller)  # what it refuses is refused before anybody is asked
            server = self.find_server(config, caller)
            grant = await self._sign_ins[config.auth].fetch(config, caller.env, server)
            return self._join_grant(config, caller, grant)
        endpoint = self.find(provider, caller)
        if endpoint.api_key is not None or not config.api_key_cmd:
            return endpoint
        return self._join(config, caller, await self.keys.fetch(config, caller.secrets))

    async def renew(self, provider: str, caller: Caller) -> Endpoint | None:
        """After a 401: the endpoint with another credential, or None if there is no other.

        Raises:
            ProviderError: as `fetch`; its sentence says what to do.
        """
        config = self._need(provider)
        if config.auth is not None:
            server = self.find_server(config, caller)
            grant = await self._sign_ins[config.auth].renew(config, caller.env, server)
            return None if grant is None else self._join_grant(config, caller, grant)
        refused = self.keys.forget(provider)
        if refused is None:
            return None
        endpoint = await self.fetch(provider, caller)
        return None if endpoint.api_key == refused else endpoint

    def forget(self, provider: str) -> None:
        """The server refused the key: ask the command again next time."""
        self.keys.forget(provider)

    def look(self, config: ProviderConfig, caller: Caller) -> Standing | None:
        """What sign-in there is for a provider that takes one. Raises `NotConfigured`."""
        return None if config.auth is None else self._sign_ins[config.auth].look(config, caller.env)

    def find_server(self, config: ProviderConfig, caller: Caller) -> TokenServer:
        """Sign-in servers, by this provider's way; `local_only` holds for them too."""
        return TokenServer(
            self._ask, lambda address: self.find_way(config, address, caller), self.secrets
        )

    def find_way(
        self, config: ProviderConfig, address: str, caller: Caller, *, is_callers: bool = False
    ) -> Endpoint:
        """The way to an address, without a credential. Raises `NotConfigured`.

        A proxy reads all that goes over plain http. So one that the caller names
        is on the way to https, or to what holds nothing but their own (`is_callers`).
        """
        environ = self.environ
        if is_callers or address.lower().startswith("https:"):
            theirs = {name.lower() for name in caller.secrets}  # in either spelling
            ours = {name: each for name, each in environ.items() if name.lower() not in theirs}
            environ = {**ours, **caller.secrets}
        way = find_way(config, address, environ=environ, local_only=self._local_only)
        self.secrets.add_url(way.proxy)
        return way

    # ---- joining -------------------------------------------------------------------

    def _need(self, provider: str) -> ProviderConfig:
        config = self.configs.get(provider)
        if config is None:
            raise NotConfigured(f"There is no provider {provider!r}.")
        return config

    def _wants_key(self, config: ProviderConfig) -> bool:
        return not config.is_configured or config.api_key_env is not None

    def _address_variable(self, config: ProviderConfig) -> str | None:
        """The variable that may name another address; an address in the settings stays."""
        known = KNOWN.get(config.name)
        if known is None or config.base_url != known.base_url or config.auth is not None:
            return None
        if config.headers:  # they may hold a secret, and are for the address of the settings
            return None
        return known.address_env

    def _join(self, config: ProviderConfig, caller: Caller, key: Key | None) -> Endpoint:
        """The endpoint with a key; a caller's address gets a caller's key or none."""
        variable = self._address_variable(config)
        theirs = caller.env.get(variable) if variable else None
        ours = self.environ.get(variable) if variable else None
        address = config.base_url
        if variable and theirs:
            address = read_address(variable, theirs)
            if key is None or not key.is_callers:
                if config.api_key_env is not None:
                    raise NotConfigured(
                        f"{variable} is set without {config.api_key_env}: another key is never "
                        "sent there. Set both; any word will do if the server wants no key."
                    )
                key = None
        elif variable and ours and not (key is not None and key.is_callers):
            address = read_address(variable, ours)
        has_secret = bool(config.headers) or "@" in config.base_url or "?" in config.base_url
        is_callers = not has_secret and (key is None or key.is_callers)
        endpoint = self.find_way(config, address, caller, is_callers=is_callers)
        dialect = endpoint.dialect
        if config.name == "openai" and dialect == "openai-responses":
            # Imitators of OpenAI's API know chats; few know responses.
            is_known = config.base_url == OPENAI_URL
            if is_known and not is_openai(endpoint):
                dialect = "openai-chat"
        return replace(
            endpoint,
            dialect=dialect,
            api_key=key.value if key is not None else None,
            auth="x-api-key" if config.dialect == "anthropic" else "bearer",
            headers=config.headers,
        )

    def _join_grant(self, config: ProviderConfig, caller: Caller, grant: Grant) -> Endpoint:
        address = config.base_url
        if grant.base_url and config.auth and address == USUAL_ADDRESSES[config.auth]:
            address = grant.base_url
        said = {name.lower() for name in config.headers}
        headers = {name: each for name, each in grant.headers.items() if name.lower() not in said}
        return replace(
            self.find_way(config, address, caller),
            api_key=check_key(config.name, grant.token),
            account=f"{config.auth}:{grant.account or ''}",
            headers={**headers, **config.headers},
        )
