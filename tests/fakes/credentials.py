"""Credentials in a directory of the test's own, with a clock that the test sets."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from askd.providers.base import Endpoint, HttpCall
from askd.providers.credentials.credentials import Credentials
from askd.providers.known import ProviderConfig
from askd.providers.redact import KnownSecrets
from tests.fakes.sign_in_servers import Said, Server


@dataclass
class Clock:
    """Unix seconds, as the machine under test believes them."""

    at: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.at


@dataclass
class Desk:
    """A home directory and what credentials are made of."""

    home: Path
    clock: Clock = field(default_factory=Clock)
    secrets: KnownSecrets = field(default_factory=KnownSecrets)
    environ: dict[str, str] = field(default_factory=dict)
    server: Server | None = None

    @property
    def directory(self) -> Path:
        """Where our own files are."""
        return self.home / "ask"

    @property
    def codex_file(self) -> Path:
        return self.home / ".codex" / "auth.json"

    @property
    def claude_file(self) -> Path:
        return self.home / ".claude" / ".credentials.json"

    @property
    def plugin_file(self) -> Path:
        return self.home / ".config" / "github-copilot" / "apps.json"

    def make(
        self,
        *providers: ProviderConfig,
        local_only: bool = False,
        environ: Mapping[str, str] | None = None,
    ) -> Credentials:
        """Credentials of a daemon that starts now."""
        return Credentials(
            providers,
            environ={"HOME": str(self.home), **self.environ, **(environ or {})},
            child_env={"PATH": "/usr/bin:/bin"},
            local_only=local_only,
            directory=self.directory,
            ask=self.server or refuse_to_ask,
            secrets=self.secrets,
            now=self.clock,
        )


async def refuse_to_ask(endpoint: Endpoint, call: HttpCall) -> Said:
    """Where nobody is to be asked."""
    raise AssertionError(f"{call.method} {endpoint.base_url}{call.path}")


def write_private(path: Path, content: Any, mode: int = 0o600) -> Path:
    """A file that is this user's alone; what is no text becomes JSON."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=2))
    path.chmod(mode)
    return path


def make_config(name: str = "work", **settings: Any) -> ProviderConfig:
    """A configured provider."""
    usual: dict[str, Any] = {"dialect": "openai-chat", "base_url": "http://127.0.0.1:1/v1"}
    return ProviderConfig(name=name, **{**usual, **settings})
