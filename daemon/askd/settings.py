"""Settings: what `config.toml` may hold, each with its default and a sentence.

Shapes and nothing else: `config` reads the file, `app` hands the values on.
"""

from typing import Annotated, Any, Literal, get_args
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveInt,
    field_validator,
    model_validator,
)

from askd.providers.base import Auth, Effort

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


def _check_name(name: str) -> str:
    if not name.strip():
        raise ValueError("is empty")
    return name


Url = Annotated[str, AfterValidator(_check_url)]
BaseUrl = Annotated[Url, AfterValidator(_check_base)]
Name = Annotated[str, AfterValidator(_check_name)]
Share = Annotated[float, Field(gt=0, le=1)]
"""A part of a model's window."""


class Section(BaseModel):
    """A table of the file: nothing unknown, nothing coerced."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


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
    tools: bool | None = Field(
        default=None,
        description="It can call tools; if not set, its provider is asked or believed to.",
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


class ContextSettings(Section):
    """`[context]`: what is done before a conversation fills its model's window."""

    compaction: bool = Field(
        default=True, description="Summarise old turns in the background, by a model."
    )
    compaction_threshold: Share = Field(
        default=0.8,
        description="The part of the context window from which on that is done; never more than "
        "what the answer leaves free.",
    )
    compaction_model: Name | None = Field(
        default=None, description="The model that summarises; the conversation's own if not set."
    )
    summary_tokens: PositiveInt = Field(
        default=500, description="How long a summary may be, in tokens."
    )
    user_message_tokens: PositiveInt = Field(
        default=20_000,
        description="How much of your own latest messages stays word for word, in tokens; a "
        "quarter of what a request may hold at the most.",
    )
    prune_threshold: Share = Field(
        default=0.9,
        description="The part of the window from which on old tool outputs and turns leave without "
        "a summary, where there is no compaction, or it did not help.",
    )
    min_retain_turns: NonNegativeInt = Field(
        default=2, description="How many of the last turns pruning never touches."
    )
    max_history_messages: Annotated[int, Field(ge=4)] | None = Field(
        default=None,
        description="The most messages that a request holds, prompt and answer among them; older "
        "turns leave. If not set, tokens alone count.",
    )
    overflow: Literal["compact", "reset", "continue", "ask"] | None = Field(
        default=None,
        description="What to do when all that does not help: ask you, summarise at once, empty the "
        "view, or send it as it is. If not set, it asks on a terminal and summarises without one.",
    )


class HistorySettings(Section):
    """`[history]`: what is kept, and for how long."""

    keep_days: PositiveInt | None = Field(
        default=None,
        description="Remove conversations that nothing was said in for so many days; those with a "
        "name and pinned ones stay. If not set, everything stays.",
    )
    archive: bool = Field(
        default=False,
        description="Move the rollouts of conversations that `keep_days` removes to `archive` in "
        "the data directory, in place of deleting them.",
    )
    redact_keys: bool = Field(
        default=False,
        description="Hide the credentials that the daemon knows from what is stored.",
    )


class RolloutSettings(Section):
    """`[rollouts]`: the files that mirror conversations, as Codex reads them."""

    enabled: bool = Field(default=True, description="Write them.")
    directory: Name | None = Field(
        default=None,
        description="Where to write them, an absolute path; `rollouts` in the data directory if "
        "not set.",
    )

    @field_validator("directory")
    @classmethod
    def _check_directory(cls, directory: str | None) -> str | None:
        if directory is not None and not directory.startswith("/"):
            raise ValueError("is no absolute path")
        return directory


class LogSettings(Section):
    """`[log]`: what the daemon writes about itself."""

    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="The least important message to write."
    )


class Settings(Section):
    """The whole of `config.toml`."""

    default_model: Name | None = Field(
        default=None, description="The model for new conversations; found by looking if not set."
    )
    local_only: bool = Field(
        default=False, description="Refuse every endpoint that is not on this machine's loopback."
    )
    persist_special_commands: bool = Field(
        default=True, description="Keep `/commands` of `ask chat` and their results as notices."
    )
    title: Literal["first-words", "model", "off"] = Field(
        default="first-words", description="How a conversation gets its title."
    )
    providers: dict[str, ProviderSettings] = Field(
        default_factory=dict, description="Servers, by the name that goes before the `/`."
    )
    models: dict[str, ModelSettings] = Field(
        default_factory=dict, description="Limits, prices and manners of single models."
    )
    aliases: dict[str, Name] = Field(
        default_factory=dict, description='Short names for `-m`: `fast = "openai/gpt-5-mini"`.'
    )
    local: LocalSettings = Field(default=LocalSettings(), description="The embedded model.")
    context: ContextSettings = Field(
        default=ContextSettings(), description="What is done before a window is full."
    )
    history: HistorySettings = Field(
        default=HistorySettings(), description="What is kept, and for how long."
    )
    rollouts: RolloutSettings = Field(
        default=RolloutSettings(), description="Files that mirror conversations."
    )
    log: LogSettings = Field(default=LogSettings(), description="The daemon's log.")


def show_settings(settings: Settings) -> dict[str, Any]:
    """Every setting as plain values, for people: what may hold a secret is `***`.

    That is the value of each header, and the name and password in a proxy's address.
    """
    shown = settings.model_dump()
    for provider in shown["providers"].values():
        provider["headers"] = dict.fromkeys(provider["headers"], "***")
        proxy = provider["proxy"]
        if proxy and "@" in proxy:
            scheme, _, rest = proxy.partition("://")
            provider["proxy"] = f"{scheme}://***@{rest.rpartition('@')[2]}"
    return shown
