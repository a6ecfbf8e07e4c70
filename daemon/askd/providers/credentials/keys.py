"""API keys: where they come from, in which order, and the file of those that were set.

The order, the first that has one:

1. the caller's own environment (`secrets`), under the provider's variable;
2. the daemon's environment, under the same;
3. `$CREDENTIALS_DIRECTORY` (systemd), a file named as the variable or the provider;
4. `keys.json`, written by `ask auth set-key`;
5. `api_key_file`;
6. `api_key_cmd`, whose answer is remembered until a server refuses it.

A provider whose settings name a file or a command, and no variable, has only
that and a kept key. Keys are not logged and are in no sentence; `repr` hides them.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import trio

from askd.errors import NotConfigured, RequestError
from askd.files import replace_file
from askd.processes.supervise import CannotStart, Child, Command, open_child
from askd.providers.credentials.key_file import (
    KEY_LIMIT_BYTES,
    read_private_file,
    read_private_json,
    read_service_file,
)
from askd.providers.known import ProviderConfig
from askd.providers.redact import KnownSecrets

KEY_COMMAND_S = 30.0
"""For `api_key_cmd`: long enough for a person to touch a security key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key and where it is from, in words."""

    value: str = field(repr=False)
    source: str
    is_callers: bool = False


class Keys:
    """The keys of all providers.

    Args:
        directory: where `keys.json` is, of mode 0700.
        environ: the daemon's own variables.
        child_env: the environment of `api_key_cmd`.
        secrets: is told of every key that is found.
    """

    def __init__(
        self,
        directory: Path,
        *,
        environ: Mapping[str, str],
        child_env: Mapping[str, str],
        secrets: KnownSecrets,
    ) -> None:
        self.path = directory / "keys.json"
        self._environ = environ
        self._child_env = child_env
        self._secrets = secrets
        # With the command that gave it: settings may change while one runs.
        self._fetched: dict[str, tuple[tuple[str, ...], str]] = {}
        self._locks: dict[str, trio.Lock] = {}
        self._file_lock = trio.Lock()

    def find(self, config: ProviderConfig, caller_secrets: Mapping[str, str]) -> Key | None:
        """The provider's key, without running a command; None: nobody has one.

        Raises:
            NotConfigured: a file that should hold it is refused, or holds none.
        """
        key = self._find(config, caller_secrets)
        if key is not None:
            self._secrets.add(key.value)
        return key

    async def fetch(self, config: ProviderConfig, caller_secrets: Mapping[str, str]) -> Key | None:
        """The same; the command is run if nothing else has a key, once.

        Raises:
            NotConfigured: the command gives no key; and what `find` raises.
        """
        key, argv = self.find(config, caller_secrets), config.api_key_cmd
        if key is not None or not argv:
            return key
        async with self._locks.setdefault(config.name, trio.Lock()):
            by, value = self._fetched.get(config.name, ((), ""))
            if by != argv:
                value = await run_key_command(config.name, argv, self._child_env)
                self._secrets.add(value)
                self._fetched[config.name] = (argv, value)
            return Key(value=value, source="api_key_cmd")

    def forget(self, provider: str) -> str | None:
        """Ask the command again next time; the key that it had given."""
        return self._fetched.pop(provider, ((), None))[1]

    async def keep(self, provider: str, key: str) -> bool:
        """Write a key to the file; False: it was there already.

        Raises:
            RequestError: it is no key.
            NotConfigured: the file is refused.
        """
        if key.endswith("\n"):  # an `echo` put it there
            key = key[:-1].removesuffix("\r")
        if not key:
            raise RequestError("The key is empty.")
        if len(key) > KEY_LIMIT_BYTES or not all("!" <= each <= "~" for each in key):
            raise RequestError("The key holds characters that no key has, or too many.")
        self._secrets.add(key)
        return await self._change(provider, key)

    async def drop(self, provider: str) -> bool:
        """Take a key out of the file; False: there was none. Raises `NotConfigured`."""
        return await self._change(provider, None)

    async def _change(self, provider: str, key: str | None) -> bool:
        async with self._file_lock:
            kept = read_private_json(self.path) or {}
            if kept.get(provider) == key:
                return False
            kept[provider] = key
            content = {name: value for name, value in kept.items() if value is not None}
            text = json.dumps(content, indent=2) + "\n"
            try:
                await trio.to_thread.run_sync(replace_file, self.path, text.encode())
            except OSError as error:
                raise NotConfigured(f"{self.path} cannot be written: {error.strerror}") from None
            return True

    def _find(self, config: ProviderConfig, caller_secrets: Mapping[str, str]) -> Key | None:
        variable = config.api_key_env
        if variable is not None:
            if theirs := caller_secrets.get(variable):
                value = check_key(config.name, theirs)
                return Key(value=value, source=f"{variable} in your environment", is_callers=True)
            if ours := self._environ.get(variable):
                return Key(
                    value=check_key(config.name, ours),
                    source=f"{variable} in the daemon's environment",
                )
        found = self._find_passed(config) or self._find_kept(config)
        if found is None and config.api_key_file:
            found = read_key_file(config.name, config.api_key_file)
        return found

    def _find_passed(self, config: ProviderConfig) -> Key | None:
        directory = self._environ.get("CREDENTIALS_DIRECTORY")
        names = [config.api_key_env] if config.api_key_env else []
        if not (config.api_key_file or config.api_key_cmd):
            names.append(config.name)
        for name in names if directory else ():
            data = read_service_file(Path(directory or ""), name)
            if data is not None:
                value = check_key(config.name, data.decode("utf-8", "replace"))
                return Key(value=value, source=f"{directory}/{name}")
        return None

    def _find_kept(self, config: ProviderConfig) -> Key | None:
        value = (read_private_json(self.path) or {}).get(config.name)
        if not isinstance(value, str):
            return None
        return Key(value=check_key(config.name, value), source=str(self.path))


def read_key_file(provider: str, name: str) -> Key:
    """The key in a file that the settings name, `~` and all. Raises `NotConfigured`."""
    try:
        path = Path(name).expanduser()
        data = read_private_file(path)
    except NotConfigured as error:
        raise NotConfigured(f"{provider}: {error.message}") from None
    except RuntimeError:  # `~name/` of nobody
        raise NotConfigured(
            f"{provider}: {name} cannot be read: nobody has that home directory"
        ) from None
    if data is None:
        raise NotConfigured(f"{provider}: {path} cannot be read: No such file")
    return Key(value=check_key(provider, data.decode("utf-8", "replace")), source=str(path))


async def run_key_command(provider: str, argv: tuple[str, ...], env: Mapping[str, str]) -> str:
    """The key that a command prints. Raises `NotConfigured`; what it said is not repeated."""
    status: int | None = None
    output = b""
    try:
        with trio.move_on_after(KEY_COMMAND_S):
            # An agent that it started on the way keeps what a person has typed: it may stay.
            command = Command(argv=argv, env=env, leaves_daemons=True)
            # In the nursery: what drains the complaints. It ends with the command.
            async with (
                open_child(command) as child,
                trio.open_nursery() as nursery,
            ):
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


def check_key(provider: str, key: str) -> str:
    """The key without white space around it; it must fit an HTTP header."""
    key = key.strip()
    if not key:
        raise NotConfigured(f"{provider}: the key is empty")
    if not (key.isascii() and key.isprintable()):
        raise NotConfigured(f"{provider}: the key holds characters that no key has")
    return key
