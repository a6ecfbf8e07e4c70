"""Providers as they are configured, and those that need no configuration.

Values and a table; it asks nobody. The table says where well-known providers
are, what they speak and whose key they take. The addresses are those that the
vendors document for their API (or its OpenAI-compatible form). `[providers.NAME]`
with one of these names overrides what it says and keeps the rest.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from askd.providers.base import Auth, Dialect


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownProvider:
    """One provider.

    Attributes:
        key_env: the variable that holds its key, the caller's or the daemon's.
        address_env: the variable that may name another address for it.
        default_model: what answers when only the provider is named; None: the first it lists.
        auth: how one signs in where there is no key.
    """

    name: str
    dialect: Dialect
    base_url: str
    key_env: str | None = None
    address_env: str | None = None
    default_model: str | None = None
    auth: Auth | None = None


_ALL = (
    # The order is that of choice: with several keys set and nothing configured the first answers.
    KnownProvider(
        name="openai",
        dialect="openai-responses",  # at another address than OpenAI's: openai-chat
        base_url="https://api.openai.com/v1",
        key_env="OPENAI_API_KEY",
        address_env="OPENAI_BASE_URL",
        default_model="gpt-5-mini",  # good, fast and cheap
    ),
    KnownProvider(
        name="anthropic",
        dialect="anthropic",
        base_url="https://api.anthropic.com/v1",
        key_env="ANTHROPIC_API_KEY",
        address_env="ANTHROPIC_BASE_URL",
    ),
    KnownProvider(
        name="openrouter",
        dialect="openai-chat",
        base_url="https://openrouter.ai/api/v1",
        key_env="OPENROUTER_API_KEY",
        default_model="openrouter/auto",
    ),
    KnownProvider(
        name="gemini",
        dialect="openai-chat",
        base_url="https://generativelanguage.googleapis.com/v1beta/openai",
        key_env="GEMINI_API_KEY",
    ),
    KnownProvider(
        name="groq",
        dialect="openai-chat",
        base_url="https://api.groq.com/openai/v1",
        key_env="GROQ_API_KEY",
    ),
    KnownProvider(
        name="mistral",
        dialect="openai-chat",
        base_url="https://api.mistral.ai/v1",
        key_env="MISTRAL_API_KEY",
    ),
    KnownProvider(
        name="deepseek",
        dialect="openai-chat",
        base_url="https://api.deepseek.com/v1",
        key_env="DEEPSEEK_API_KEY",
        default_model="deepseek-chat",
    ),
    KnownProvider(
        name="xai",
        dialect="openai-chat",
        base_url="https://api.x.ai/v1",
        key_env="XAI_API_KEY",
    ),
    KnownProvider(
        name="together",
        dialect="openai-chat",
        base_url="https://api.together.xyz/v1",
        key_env="TOGETHER_API_KEY",
    ),
    KnownProvider(
        name="chatgpt",
        dialect="openai-responses",
        base_url="https://api.openai.com/v1",  # Codex's own sign-in goes to its own backend
        default_model="gpt-5",  # that backend lists its models only for Codex itself
        auth="chatgpt",
    ),
    KnownProvider(
        name="copilot",
        dialect="copilot",
        base_url="https://api.githubcopilot.com",  # the token's own `endpoints.api` goes first
        auth="copilot",
    ),
    KnownProvider(
        name="ollama",
        dialect="ollama",
        base_url="http://127.0.0.1:11434",
        address_env="OLLAMA_HOST",
    ),
)

KNOWN: Mapping[str, KnownProvider] = {each.name: each for each in _ALL}
"""By name, in the order of choice."""

DIALECT_ADDRESSES: Mapping[Dialect, str] = {
    "anthropic": "https://api.anthropic.com/v1",
    "ollama": "http://127.0.0.1:11434",
    "copilot": "https://api.githubcopilot.com",
}
"""Where a provider of this dialect is when its settings do not say; the others must say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderConfig:
    """One provider as it will be asked: its settings, and what is known where they say nothing.

    Attributes:
        base_url: http, https, or `unix:/path/to/socket`; without a slash at its end.
        api_key_env: the variable that holds its key.
        headers: sent too, or in place of the usual ones.
        proxy, ca_file: as in `base.Endpoint`; None: the environment's proxy, the system's CAs.
        is_configured: it stands in the settings; a known one is used only where it can answer.
    """

    name: str
    dialect: Dialect
    base_url: str
    api_key_env: str | None = None
    api_key_cmd: tuple[str, ...] | None = field(default=None, repr=False)
    api_key_file: str | None = None
    auth: Auth | None = None
    client_id: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    proxy: str | None = field(default=None, repr=False)
    ca_file: str | None = None
    default_model: str | None = None
    is_configured: bool = True


def known_config(known: KnownProvider) -> ProviderConfig:
    """A known provider that nobody configured."""
    return ProviderConfig(
        name=known.name,
        dialect=known.dialect,
        base_url=known.base_url,
        api_key_env=known.key_env,
        auth=known.auth,
        default_model=known.default_model,
        is_configured=False,
    )
