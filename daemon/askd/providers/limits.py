"""How much a model can read and write, in tokens.

What a person configured wins; then a small table of models whose limits are
published; then a guess that says that it is one. It asks no server.
"""

from dataclasses import dataclass, field

from askd.providers.base import Limits, Manners, Price

GUESS = Limits(context_window=32_768, reserved_output=4_096, known=False)
"""For a model that nothing is known of. Most served today have at least this window;
`[models."provider/model"]` corrects it in either direction."""

MOST_RESERVED = 4_096
"""Reserved for the answer when only the window is configured, or a quarter of it if less."""

MOST_LOCAL = 2_048
"""What the embedded model may say at most when nobody set a limit: small models ramble."""

_OPENAI: tuple[tuple[str, int, int], ...] = (
    # prefix, context window, reserved output; the longest prefix counts
    ("gpt-5", 400_000, 128_000),
    ("gpt-4.1", 1_047_576, 32_768),
    ("gpt-4o", 128_000, 16_384),
    ("gpt-4-turbo", 128_000, 4_096),
    ("gpt-4", 8_192, 2_048),
    ("gpt-3.5-turbo", 16_385, 4_096),
    ("o1", 200_000, 32_768),
    ("o3", 200_000, 32_768),
    ("o4-mini", 200_000, 32_768),
)

OPENAI_DEFAULT = "gpt-5-mini"
"""What answers when there is a key and nobody named a model: good, fast and cheap."""

OPENAI_NAMES: tuple[str, ...] = ("gpt-5", "gpt-5-mini", "gpt-5-nano", "gpt-4.1", "gpt-4o")
"""Names that a bare `-m` may use without a server being asked first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """`[models."provider/model"]`: limits in tokens, and the rest; None: not said."""

    context_window: int | None = None
    max_output_tokens: int | None = None
    price: Price | None = None
    manners: Manners = field(default_factory=Manners)


def find_limits(provider: str, model: str, config: ModelConfig | None) -> Limits:
    """The limits of `provider/model`."""
    base = GUESS
    if provider == "openai":
        fitting = [row for row in _OPENAI if model.startswith(row[0])]
        if fitting:
            _, window, reserved = max(fitting, key=lambda row: len(row[0]))
            base = Limits(context_window=window, reserved_output=reserved)
    if config is None or (config.context_window is None and config.max_output_tokens is None):
        return base
    return override(base, config)


def find_local_limits(context_tokens: int, config: ModelConfig | None) -> Limits:
    """The limits of the embedded model in a context of this size."""
    base = Limits(
        context_window=context_tokens, reserved_output=min(MOST_LOCAL, context_tokens // 4)
    )
    return base if config is None else override(base, config)


def override(base: Limits, config: ModelConfig) -> Limits:
    """Limits with what was configured in place; the reserve never fills the window."""
    window = config.context_window or base.context_window
    reserved = config.max_output_tokens
    if reserved is None:
        reserved = min(MOST_RESERVED, window // 4) if config.context_window else 0
        reserved = reserved or base.reserved_output
    known = base.known or config.context_window is not None
    return Limits(context_window=window, reserved_output=min(reserved, window // 2), known=known)
