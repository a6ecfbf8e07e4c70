"""`[providers]`, `[models]` and `[local]`: who answers, and how it is asked.

Shapes and nothing else.
"""

from typing import Annotated, Literal, get_args
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    Field,
    NonNegativeFloat,
    PositiveInt,
    model_validator,
)

from askd.providers.base import Auth, Effort
from askd.settings.section import Name, Section, Share

ServedDialect = Literal["openai-responses", "openai-chat", "anthropic", "ollama", "copilot"]
"""What `[providers.NAME]` may speak; the embedded model is under `[local]`."""
SUPPORTED_DIALECTS: tuple[ServedDialect, ...] = get_args(ServedDialect)

CALLS = ("/chat/completions", "/responses", "/messages", "/api/chat")
"""What a dialect adds to an address itself, and vendors' pages show with it."""


def _check_url(url: str) -> str:
    # First, for `urlsplit` leaves out what of these it meets, and httpx does not.
    if " " in url or not url.isprintable():
        raise ValueError("holds a space or an invisible character")
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        is_address = False
    if not is_address:
        raise ValueError("is no address such as http://127.0.0.1:8000/v1")
    try:
        port = parts.port
    except ValueError:
        port = 0
    if port == 0:
        raise ValueError("has a port that is no number from 1 to 65535")
    return url


def _check_base(url: str) -> str:
    path = urlsplit(url).path.rstrip("/")
    for call in CALLS:
        if path.endswith(call):
            raise ValueError(f"goes too far: leave {call} out")
    return url


Url = Annotated[str, AfterValidator(_check_url)]
BaseUrl = Annotated[Url, AfterValidator(_check_base)]


class ProviderSettings(Section):
    """`[providers.NAME]`: a server that answers."""

    dialect: ServedDialect | None = Field(
        default=None,
        description="The wire format that the server speaks; known for well-known names.",
    )
    base_url: BaseUrl | None = Field(
        default=None,
        description="Where it listens, up to and without `/chat/completions`; known for "
        "well-known names and for the dialects of one vendor.",
    )
    api_key_env: str | None = Field(
        default=None, description="The variable that holds its key, the caller's or the daemon's."
    )
    api_key_cmd: list[str] | None = Field(
        default=None, description="A command that prints its key; run without a shell."
    )
    api_key_file: str | None = Field(
        default=None, description="A file that holds its key; others must not be able to read it."
    )
    auth: Auth | None = Field(
        default=None,
        description="A sign-in in place of a key: ChatGPT's, Claude Code's or Copilot's.",
    )
    client_id: Name | None = Field(
        default=None, description="The OAuth client to sign in as, in place of the usual one."
    )
    headers: dict[str, str] = Field(
        default_factory=dict, description="Headers to send too, or in place of the usual ones."
    )
    proxy: Url | None = Field(
        default=None,
        description="An HTTP proxy on the way there, in place of the one that HTTPS_PROXY names.",
    )
    ca_file: str | None = Field(
        default=None, description="Certificates (PEM) to trust in place of the system's."
    )
    default_model: Name | None = Field(
        default=None, description="The model to use when only the provider is named or found."
    )


class ModelSettings(Section):
    """`[models."provider/model"]`: what the provider does not say of a model."""

    context_window: PositiveInt | None = Field(default=None, description="Its window in tokens.")
    max_output_tokens: PositiveInt | None = Field(
        default=None, description="What is kept free of the window for its answer, in tokens."
    )
    temperature: NonNegativeFloat | None = Field(
        default=None, description="How freely it chooses its words, where a prompt says nothing."
    )
    stop: list[str] = Field(default_factory=list, description="Texts at which it stops.")
    effort: Effort | None = Field(
        default=None, description="How much it thinks before it answers, if it does."
    )
    tools: bool | Literal["schema"] | None = Field(
        default=None,
        description="It can call tools; if not set, its provider is asked or believed to. With "
        "`schema` it is told of them in words and calls them in JSON that it is held to, where "
        "a prompt or its conversation asks for tools.",
    )
    images: bool | None = Field(
        default=None, description="It can see; if not set, its provider is asked or believed to."
    )
    json_schema: bool = Field(
        default=True,
        description="Its provider can hold it to a JSON schema; else it is told to keep to one.",
    )
    system_role: Literal["system", "user"] = Field(
        default="system",
        description="Where its template takes a system prompt: `user` puts it ahead of the first "
        "message.",
    )
    compaction_threshold: Share | None = Field(
        default=None, description="As under `[context]`, for this model."
    )
    prune_threshold: Share | None = Field(
        default=None, description="As under `[context]`, for this model."
    )
    input_price: NonNegativeFloat | None = Field(
        default=None, description="US dollars for a million tokens that it reads."
    )
    cached_price: NonNegativeFloat | None = Field(
        default=None, description="The same for those that its provider had in its cache."
    )
    output_price: NonNegativeFloat | None = Field(
        default=None, description="US dollars for a million tokens that it writes."
    )

    @model_validator(mode="after")
    def _check_price(self) -> "ModelSettings":
        if (self.input_price is None) != (self.output_price is None):
            raise ValueError("input_price and output_price come together")
        return self


class LocalSettings(Section):
    """`[local]`: the embedded model."""

    model_path: str | None = Field(
        default=None, description="A GGUF file to use in place of the small model that is shipped."
    )
    context_window: PositiveInt = Field(default=8192, description="Its window in tokens.")
    idle_s: float = Field(
        default=600.0, gt=0, description="Stop it after this long without a prompt."
    )
    threads: PositiveInt | None = Field(
        default=None, description="Threads to compute with; all processors but one if not set."
    )
