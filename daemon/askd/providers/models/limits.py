"""How much a model can read and write, in tokens.

What a person configured wins; then what the provider's listing says; then a
small table of models whose limits are published; then a guess that says that it
is one. It asks no server.
"""

import functools
from dataclasses import dataclass, field, replace

from askd.providers.base import Calling, Dialect, Limits, Manners, Price
from askd.providers.models.listings import Listed

GUESS = Limits(context_window=32_768, reserved_output=4_096, known=False)
"""For a model that nothing is known of. Most served today have at least this window;
`[models."provider/model"]` corrects it in either direction."""

MOST_RESERVED = 4_096
"""Reserved for the answer when only the window is known, or a quarter of it if less."""

MOST_LOCAL = 2_048
"""What the embedded model may say at most when nobody set a limit: small models ramble."""

OLLAMA_WINDOW = 8_192
"""The window that Ollama is told to use when nobody set one. A model of 8 billion parameters
needs about 1 GiB of memory for it; its own largest window may need more than there is."""

_PUBLISHED: tuple[tuple[str, int, int], ...] = (
    # prefix, context window, most output: as the vendors document them; the longest prefix counts
    ("gpt-5", 400_000, 128_000),
    ("gpt-5-chat", 128_000, 16_384),
    ("gpt-4.1", 1_047_576, 32_768),
    ("gpt-4o", 128_000, 16_384),
    ("gpt-4-turbo", 128_000, 4_096),
    ("gpt-4", 8_192, 2_048),
    ("gpt-3.5-turbo", 16_385, 4_096),
    ("o1", 200_000, 32_768),
    ("o3", 200_000, 32_768),
    ("o4-mini", 200_000, 32_768),
    ("claude-", 200_000, 8_192),
    ("claude-3-", 200_000, 4_096),
    ("claude-3-5-", 200_000, 8_192),
    ("claude-3-7-", 200_000, 64_000),
    ("claude-opus-4", 200_000, 32_000),
    ("claude-sonnet-4", 200_000, 64_000),
    ("claude-haiku-4", 200_000, 64_000),
    ("gemini-", 1_048_576, 8_192),
    ("gemini-2.5-", 1_048_576, 65_536),
    ("gemini-3", 1_048_576, 65_536),
    ("deepseek-chat", 131_072, 8_192),
    ("deepseek-reasoner", 131_072, 32_768),
    ("mistral-large", 131_072, 16_384),
    ("mistral-medium", 131_072, 16_384),
    ("mistral-small", 131_072, 16_384),
    ("magistral-", 131_072, 32_768),
    ("ministral-", 131_072, 16_384),
    ("codestral-", 262_144, 16_384),
    ("devstral-", 131_072, 16_384),
    ("grok-3", 131_072, 16_384),
    ("grok-4", 256_000, 32_768),
    ("grok-code-fast", 256_000, 10_000),
)

_SELLERS = (
    "openai", "chatgpt", "anthropic", "openrouter", "gemini", "mistral", "deepseek", "xai",
    "copilot",
)  # fmt: skip
"""Where a vendor's name stands for the vendor's model; elsewhere it proves nothing."""


OPENAI_NAMES: tuple[str, ...] = ("gpt-5", "gpt-5-mini", "gpt-5-nano", "gpt-4.1", "gpt-4o")
"""Names that a bare `-m` may use without a server being asked first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """`[models."provider/model"]`: limits in tokens, and the rest; None: not said.

    Attributes:
        tools: whether and how it calls tools; it is taken before what `manners` says of them.
    """

    context_window: int | None = None
    max_output_tokens: int | None = None
    price: Price | None = None
    tools: Calling | None = None
    manners: Manners = field(default_factory=Manners)


def find_limits(
    provider: str,
    model: str,
    config: ModelConfig | None,
    *,
    listed: Listed | None = None,
    dialect: Dialect = "openai-chat",
) -> Limits:
    """The limits of `provider/model`; `listed` is what the provider says of it."""
    base = GUESS
    published = find_published(provider, model, dialect)
    if listed is not None and listed.context_window is not None:
        most = listed.max_output_tokens or (published.reserved_output if published else None)
        base = _limit(listed.context_window, most)
    elif published is not None:
        base = published
    if dialect == "ollama":
        base = _bound_ollama(base, listed)
    return base if config is None else override(base, config)


def find_local_limits(context_tokens: int, config: ModelConfig | None) -> Limits:
    """The limits of the embedded model in a context of this size."""
    base = Limits(
        context_window=context_tokens, reserved_output=min(MOST_LOCAL, context_tokens // 4)
    )
    return base if config is None else override(base, config)


def override(base: Limits, config: ModelConfig) -> Limits:
    """Limits with what was configured in place; the reserve never fills the window."""
    if config.context_window is None and config.max_output_tokens is None:
        return base
    window = config.context_window or base.context_window
    reserved = config.max_output_tokens
    if reserved is None:
        reserved = min(MOST_RESERVED, window // 4)
    known = base.known or config.context_window is not None
    return Limits(context_window=window, reserved_output=min(reserved, window // 2), known=known)


def merge_manners(config: ModelConfig | None, listed: Listed | None) -> Manners:
    """What the settings say of a model's manners, and its provider where they say nothing."""
    config = config or ModelConfig()
    tools, images = config.tools, config.manners.images
    if tools is None:
        said = True if listed is None or listed.tools is None else listed.tools
        tools = config.manners.tools and said
    if images is None and listed is not None:
        images = listed.images
    return replace(config.manners, tools=tools, images=images)


def _limit(window: int, most_output: int | None) -> Limits:
    """A model that may fill more than half of its window with its answer has no limit of its
    own: then as much is reserved as if nobody had said anything.
    """
    if most_output is None or most_output > window // 2:
        most_output = min(MOST_RESERVED, window // 4)
    return Limits(context_window=window, reserved_output=most_output)


def _bound_ollama(base: Limits, listed: Listed | None) -> Limits:
    """What Ollama will be told: not all that a model could hold, if this machine holds it."""
    if listed is not None and (listed.is_remote or listed.is_fixed):
        return base
    window = min(OLLAMA_WINDOW, base.context_window)
    return replace(_limit(window, None), known=base.known)


NAMES_KEPT = 256
"""Every prompt looks its model up, several times, in a table of some thirty prefixes."""


def find_published(provider: str, model: str, dialect: Dialect) -> Limits | None:
    """The table's limits of a model, where its name is its vendor's own."""
    if provider not in _SELLERS and dialect not in ("anthropic", "copilot"):
        return None
    return _look_up(model.rpartition("/")[2])  # resellers put the vendor before it


@functools.lru_cache(maxsize=NAMES_KEPT)
def _look_up(name: str) -> Limits | None:
    fitting = [row for row in _PUBLISHED if name.startswith(row[0])]
    if not fitting:
        return None
    _, window, reserved = max(fitting, key=lambda row: len(row[0]))
    return Limits(context_window=window, reserved_output=reserved)
