"""How servers of tools are reached over HTTP: whose token, which proxy, by the settings of now.

Here tools, which know no credentials, meet the room that keeps them. A token is for the address
of its own settings; where the settings name a token or send an `Authorization`, no sign-in is
looked for.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from askd.errors import NotConfigured, ProviderError
from askd.providers.base import Caller
from askd.providers.credentials.credentials import Credentials
from askd.providers.credentials.key_file import read_service_file
from askd.providers.credentials.keys import check_key, read_key_file
from askd.providers.credentials.server_sign_ins import ServerSignIns
from askd.providers.credentials.token_server import TokenServer
from askd.providers.http.certificates import load_system_certificates
from askd.providers.known import ProviderConfig
from askd.providers.redact import KnownSecrets
from askd.providers.secret_words import learn_program
from askd.tools.base import CannotRun
from askd.tools.mcp.configs import ServerConfig
from askd.tools.mcp.ways import HttpWay, Token


class ServerTokens:
    """The tokens of all servers; keeps the promises of `tools.mcp.ways.Tokens`.

    Args:
        environ: the daemon's own variables.
        credentials: the way to sign-in servers, by the settings of now.
        secrets: is told of every token that is seen.
    """

    def __init__(
        self,
        sign_ins: ServerSignIns,
        *,
        environ: Mapping[str, str],
        credentials: Callable[[], Credentials],
        secrets: KnownSecrets,
    ) -> None:
        self._sign_ins = sign_ins
        self._environ = environ
        self._credentials = credentials
        self._secrets = secrets

    async def fetch(self, config: ServerConfig) -> Token | None:
        """As `Tokens.fetch`."""
        try:
            if config.has_own_token:
                return self._read(config)
            url = config.url or ""
            value = await self._sign_ins.fetch(config.name, url, self._find_server(config))
        except ProviderError as error:
            raise CannotRun(error.message) from None
        return None if value is None else Token(value, "sign-in")

    async def renew(self, config: ServerConfig, refused: Token) -> Token | None:
        """As `Tokens.renew`."""
        try:
            if config.has_own_token:
                token = self._read(config)  # a file's may have changed
                return None if token is None or token.value == refused.value else token
            way = self._find_server(config)
            value = await self._sign_ins.renew(
                config.name, config.url or "", way, refused=refused.value
            )
        except ProviderError as error:
            raise CannotRun(error.message) from None
        return None if value is None else Token(value, "sign-in")

    def _find_server(self, config: ServerConfig) -> TokenServer:
        return self._credentials().find_server(
            _as_provider(config.name, config.url or ""), Caller()
        )

    def _read(self, config: ServerConfig) -> Token | None:
        """What the settings name. Raises `NotConfigured`."""
        value = None
        if config.bearer_token_env is not None:
            value = self._read_variable(config, config.bearer_token_env)
        elif config.bearer_token_file is not None:
            value = read_key_file(config.name, config.bearer_token_file).value
        if value is None:
            return None
        self._secrets.add(value)
        return Token(value, "settings")

    def _read_variable(self, config: ServerConfig, variable: str) -> str:
        if value := self._environ.get(variable):
            return check_key(config.name, value)
        directory = self._environ.get("CREDENTIALS_DIRECTORY")
        passed = read_service_file(Path(directory), variable) if directory else None
        if passed is None:
            raise NotConfigured(
                f"{config.name}: {variable} (`bearer_token_env`) is not set for the daemon, which "
                "does not have a terminal's variables: start it with that one, or put the token "
                "into a file and name that in `bearer_token_file`."
            )
        return check_key(config.name, passed.decode("utf-8", "replace"))


def make_http_way(
    tokens: ServerTokens, *, credentials: Callable[[], Credentials], secrets: KnownSecrets
) -> HttpWay:
    """The way of this daemon."""

    def find_proxy(server: str, url: str) -> str | None:
        try:
            return credentials().find_way(_as_provider(server, url), url, Caller()).proxy
        except NotConfigured as error:
            raise CannotRun(error.message) from None

    def learn(config: ServerConfig) -> None:
        secrets.add_url(config.url)
        for name, value in config.headers.items():
            secrets.add_named(name, value)
        learn_program(secrets, env=config.env, args=config.args)

    return HttpWay(
        tokens=tokens,
        find_proxy=find_proxy,
        trust=load_system_certificates,
        learn=learn,
        hide=secrets.hide,
    )


def _as_provider(server: str, url: str) -> ProviderConfig:
    """A server as those see it who look for ways: a name and an address."""
    return ProviderConfig(name=server, dialect="openai-chat", base_url=url)
