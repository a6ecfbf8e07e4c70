"""Claude Code's sign-in: read before each use, never renewed, never written.

`.credentials.json` in `$CLAUDE_CONFIG_DIR` or `~/.claude`, as Claude Code writes it
on Linux: `{claudeAiOauth: {accessToken, refreshToken, expiresAt}}`, the last in
milliseconds. Renewing it here would use up the refresh token and so sign Claude
Code itself out. We say who we are: no prompt, no header and no user agent of
Claude Code goes with the token, and if Anthropic refuses it for that, its words
are shown as they are.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from askd.errors import NotConfigured
from askd.providers.credentials.key_file import read_private_json
from askd.providers.credentials.sign_in import Grant, Standing, explain_over, is_over
from askd.providers.credentials.token_server import TokenServer
from askd.providers.known import ProviderConfig
from askd.providers.redact import KnownSecrets

BETA = "oauth-2025-04-20"
"""What Anthropic's API wants in `anthropic-beta` to take a bearer token at all."""

ENDS_MAX_MS = 1e15
"""An end after this, in the year 33658, is none: JSON knows numbers that no clock can say."""

NOTE = (
    "Anthropic allows these tokens in Claude Code and Claude.ai only; it may refuse them here, and "
    "its refusal is shown as it is. An API key has no such limit."
)

REMEDY = "run `claude` once, which renews it; askd does not, since that would sign Claude Code out."


class ClaudeSignIn:
    """Reads Claude Code's file.

    Args:
        environ: the daemon's variables; CLAUDE_CONFIG_DIR and HOME matter.
    """

    def __init__(
        self, *, environ: Mapping[str, str], secrets: KnownSecrets, now: Callable[[], float]
    ) -> None:
        self._environ = environ
        self._secrets = secrets
        self._now = now

    def look(self, config: ProviderConfig, env: Mapping[str, str]) -> Standing | None:
        """As `SignIn.look`."""
        path = self.find_path(env)
        found = self._read(path)
        if found is None:
            return None
        return Standing(source=str(path), valid_until_at=found[1], renews=False, note=NOTE)

    def explain(self, provider: str) -> str:
        """As `SignIn.explain`."""
        return f"{provider}: Claude Code is not signed in: run `claude` and sign in there."

    async def fetch(
        self, config: ProviderConfig, env: Mapping[str, str], server: TokenServer
    ) -> Grant:
        """As `SignIn.fetch`; nobody is asked."""
        found = self._read(self.find_path(env))
        if found is None:
            raise NotConfigured(self.explain(config.name))
        token, valid_until_at = found
        if valid_until_at is not None and is_over(valid_until_at, self._now()):
            what = f"{config.name}: Claude Code's sign-in"
            raise explain_over(what, valid_until_at, self._now(), remedy=REMEDY)
        return Grant(token=token, headers={"anthropic-beta": BETA})

    async def renew(
        self, config: ProviderConfig, env: Mapping[str, str], server: TokenServer
    ) -> Grant | None:
        """None: the server's refusal is what the user should see."""
        return None

    def find_path(self, env: Mapping[str, str]) -> Path:
        """Where Claude Code keeps it."""
        directory = self._environ.get("CLAUDE_CONFIG_DIR")
        home = self._environ.get("HOME") or env.get("HOME") or "/"
        return Path(directory or Path(home, ".claude")) / ".credentials.json"

    def _read(self, path: Path) -> tuple[str, float | None] | None:
        """The token, and until when it is good in unix seconds. Raises `NotConfigured`."""
        data = read_private_json(path)
        inner = None if data is None else data.get("claudeAiOauth")
        if not isinstance(inner, dict):
            return None
        token, refresh, expires = (
            inner.get(name) for name in ("accessToken", "refreshToken", "expiresAt")
        )
        if isinstance(refresh, str):
            self._secrets.add(refresh)  # never used, and never shown either
        if not isinstance(token, str) or not token:
            return None
        self._secrets.add(token)
        if isinstance(expires, bool) or not isinstance(expires, int | float):
            return token, None
        return token, expires / 1000 if 0 < expires < ENDS_MAX_MS else None
