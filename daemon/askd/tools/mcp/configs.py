"""What is known of a server before it is started; a value, made from the settings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """One `[mcpServers.NAME]`; either `command` or `url` is set.

    Attributes:
        env: added to the daemon's own child environment.
        headers: of every request; the bearer token is added where it is sent.
        startup_s, call_s: limits, in seconds.
    """

    name: str
    command: str | None = None
    args: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | None = None
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    bearer_token_env: str | None = None
    bearer_token_file: str | None = None
    enabled: bool = True
    enabled_tools: Sequence[str] | None = None
    disabled_tools: Sequence[str] = ()
    startup_s: float = 30.0
    call_s: float = 120.0

    @property
    def has_own_token(self) -> bool:
        """Whether the settings say what is sent, so that no sign-in is."""
        return bool(
            self.bearer_token_env
            or self.bearer_token_file
            or any(each.lower() == "authorization" for each in self.headers)
        )

    def offers(self, tool: str) -> bool:
        """Whether a tool of this name, as the server says it, is to be had."""
        if any(fnmatchcase(tool, each) for each in self.disabled_tools):
            return False
        wanted = self.enabled_tools
        return wanted is None or any(fnmatchcase(tool, each) for each in wanted)
