"""Whose key goes to which server.

A caller's key wins over the daemon's, for that caller's turn. A key that the
daemon has is never sent to an address that a caller named. Keys live in memory:
they are not written, not logged and not in any sentence; `repr` hides them.
"""

import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import trio

from askd.errors import NotConfigured, ProviderError, SecretsNeeded
from askd.processes.supervise import CannotStart, Child, Command, open_child
from askd.providers.addresses import OPENAI_URL, is_loopback, read_host
from askd.providers.base import Endpoint
from askd.providers.known import ProviderConfig

LOCAL_ONLY = "local_only"
"""The reason of the error for an address that `local_only` refuses."""

KEY_COMMAND_S = 30.0
"""For `api_key_cmd`: long enough for a person to touch a security key."""

KEY_LIMIT_BYTES = 16 * 1024


SECRET_CHARACTERS = 8
"""A shorter key is a placeholder for a server that wants none; it may be part of any word."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: an allow-listed environment, and keys that live for one turn."""

    env: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)


class Credentials:
    """Finds endpoints. "openai" is there without being configured.

    Args:
        providers: those that are configured.
        environ_keys: the daemon's own keys, and its OPENAI_BASE_URL.
        child_env: the environment of `api_key_cmd`.
        local_only: refuse every address that is not this machine's.
    """

    def __init__(
        self,
        providers: Iterable[ProviderConfig],
        *,
        environ_keys: Mapping[str, str],
        child_env: Mapping[str, str],
        local_only: bool,
    ) -> None:
        self._providers = {each.name: each for each in providers}
        self._environ_keys = environ_keys
        self._child_env = child_env
        self._local_only = local_only
        self._fetched: dict[str, str] = {}

    def has_openai_key(self, caller: Caller) -> bool:
        """Whether somebody has set OPENAI_API_KEY, or meant to by setting its address."""
        name = "OPENAI_API_KEY"
        own = bool(self._environ_keys.get(name))
        return own or bool(caller.secrets.get(name) or caller.env.get("OPENAI_BASE_URL"))

    def is_allowed(self, provider: str, caller: Caller) -> bool:
        """Whether `local_only` lets it be; what else is wrong is said when it is used."""
        try:
            self.find(provider, caller)
        except ProviderError as error:
            return error.reason != LOCAL_ONLY
        return True

    def find(self, provider: str, caller: Caller) -> Endpoint:
        """A provider's endpoint; a key that a file or a command gives is not in it yet.

        Raises:
            SecretsNeeded: nobody has the key; `data` holds its name.
            NotConfigured: the address is not one, or `local_only` refuses it.
        """
        config = self._providers.get(provider)
        return self._find_openai(caller) if config is None else self._find(config, caller)

    async def fetch(self, provider: str, caller: Caller) -> Endpoint:
        """The same with the key of `api_key_cmd` or `api_key_file`, asked for once.

        Raises:
            NotConfigured: the command or the file gives no key; and what `find` raises.
        """
        endpoint = self.find(provider, caller)
        config = self._providers.get(provider)
        if config is None or endpoint.api_key is not None:
            return endpoint
        if not (config.api_key_cmd or config.api_key_file):
            return endpoint
        key = self._fetched.get(config.name)
        if key is None:
            if config.api_key_cmd:
                key = await self._run_command(config.name, config.api_key_cmd)
            else:
                key = await _read_file(config.name, config.api_key_file or "")
            self._fetched[config.name] = key
        return self._make(config.name, config.base_url, api_key=key)

    def forget(self, provider: str) -> None:
        """The server refused the key: ask the command or the file again next time."""
        self._fetched.pop(provider, None)

    def _find_openai(self, caller: Caller) -> Endpoint:
        """OpenAI, or whoever OPENAI_BASE_URL names, with the key of the same side."""
        name = "OPENAI_API_KEY"
        theirs, ours = caller.secrets.get(name), self._environ_keys.get(name)
        address = caller.env.get("OPENAI_BASE_URL")
        if theirs:
            return self._make("openai", address or OPENAI_URL, api_key=theirs)
        if address:
            raise NotConfigured(
                "OPENAI_BASE_URL is set without OPENAI_API_KEY: another key is never sent there. "
                "Set both; any word will do if the server wants no key."
            )
        if ours:
            return self._make(
                "openai", self._environ_keys.get("OPENAI_BASE_URL") or OPENAI_URL, api_key=ours
            )
        raise SecretsNeeded(
            "openai needs a key: set OPENAI_API_KEY where you run `ask`.", data={"names": [name]}
        )

    def _find(self, config: ProviderConfig, caller: Caller) -> Endpoint:
        name = config.api_key_env
        key = None
        if name is not None:
            key = caller.secrets.get(name) or self._environ_keys.get(name)
        if name is not None and not key and not (config.api_key_cmd or config.api_key_file):
            raise SecretsNeeded(
                f"{config.name} needs a key: set {name} where you run `ask`.",
                data={"names": [name]},
            )
        return self._make(config.name, config.base_url, api_key=key or None)

    def _make(self, provider: str, address: str, *, api_key: str | None) -> Endpoint:
        unix_socket = None
        if address.startswith("unix:"):
            unix_socket, address = address.removeprefix("unix:"), "http://localhost/v1"
        host = read_host(address)
        if host is None:
            raise NotConfigured(
                f"{provider}: {address!r} is not an address: it starts with http:// or https:// "
                "and names a host (or is unix:/path/to/socket)."
            )
        if self._local_only and unix_socket is None and not is_loopback(host):
            raise NotConfigured(
                f"{provider} is at {host}, which is not this machine, and `local_only` is set.",
                reason=LOCAL_ONLY,
            )
        if api_key is not None:
            api_key = check_key(provider, api_key)
        return Endpoint(
            provider=provider, base_url=address, api_key=api_key, unix_socket=unix_socket
        )

    async def _run_command(self, provider: str, argv: tuple[str, ...]) -> str:
        command = Command(argv=argv, env=self._child_env)
        status: int | None = None
        output = b""
        try:
            with trio.move_on_after(KEY_COMMAND_S):
                # In the nursery: what drains the complaints. It ends with the command.
                async with open_child(command) as child, trio.open_nursery() as nursery:
                    nursery.start_soon(_drain, child)
                    await child.stdin.aclose()
                    while len(output) <= KEY_LIMIT_BYTES:
                        data = await child.stdout.receive_some()
                        if not data:
                            status = await child.wait()
                            break
                        output += data
                    nursery.cancel_scope.cancel()
        except CannotStart as error:
            raise NotConfigured(f"{provider}: api_key_cmd: {error}") from None
        if status is None:
            raise NotConfigured(
                f"{provider}: api_key_cmd gave no key within {KEY_COMMAND_S:g} seconds "
                f"and {KEY_LIMIT_BYTES} bytes"
            )
        if status != 0:
            raise NotConfigured(f"{provider}: api_key_cmd ended with status {status}")
        return check_key(provider, output.decode("utf-8", "replace"))


async def _drain(child: Child) -> None:
    """Read a command's complaints and drop them: they may hold what must not be logged."""
    async for _ in child.stderr:
        pass


async def _read_file(provider: str, path: str) -> str:
    file = await trio.Path(path).expanduser()
    try:
        mode = (await file.stat()).st_mode
        if stat.S_IMODE(mode) & (stat.S_IRWXG | stat.S_IRWXO):
            raise NotConfigured(
                f"{provider}: {path} can be read by others; make it yours alone: chmod 600 {path}"
            )
        data = await file.read_bytes()
    except OSError as error:
        raise NotConfigured(f"{provider}: {path} cannot be read: {error.strerror}") from None
    return check_key(provider, data[:KEY_LIMIT_BYTES].decode("utf-8", "replace"))


def check_key(provider: str, key: str) -> str:
    """The key without white space around it; it must fit an HTTP header."""
    key = key.strip()
    if not key:
        raise NotConfigured(f"{provider}: the key is empty")
    if not (key.isascii() and key.isprintable()):
        raise NotConfigured(f"{provider}: the key holds characters that no key has")
    return key


def hide_key(text: str, api_key: str | None) -> str:
    """The text without the key: servers repeat it in their errors."""
    if api_key is None or len(api_key) < SECRET_CHARACTERS:
        return text
    return text.replace(api_key, "***")
