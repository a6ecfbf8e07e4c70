"""The whole of `config.toml`, and how it is shown."""

from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, NonNegativeInt, PositiveInt, field_validator

from askd.providers.secret_words import hide_words
from askd.settings.instructions import InstructionSettings
from askd.settings.mcp import McpServerSettings, ServerName
from askd.settings.notify import NotifySettings
from askd.settings.providers import LocalSettings, ModelSettings, ProviderSettings
from askd.settings.section import Name, Section, Share
from askd.settings.tools import ApprovalSettings, ToolSettings


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
    instructions: InstructionSettings = Field(
        default=InstructionSettings(), description="What a project tells every model."
    )
    tools: ToolSettings = Field(
        default=ToolSettings(), description="What a model may use, and how it is confined."
    )
    approval: ApprovalSettings = Field(
        default=ApprovalSettings(), description="Which calls of tools run without asking you."
    )
    mcpServers: dict[ServerName, McpServerSettings] = Field(
        default_factory=dict, description="Servers of tools, by the name before their tools'."
    )
    history: HistorySettings = Field(
        default=HistorySettings(), description="What is kept, and for how long."
    )
    notify: NotifySettings = Field(
        default=NotifySettings(), description="How you hear of turns that end or ask elsewhere."
    )
    rollouts: RolloutSettings = Field(
        default=RolloutSettings(), description="Files that mirror conversations."
    )
    log: LogSettings = Field(default=LogSettings(), description="The daemon's log.")


def show_settings(settings: Settings) -> dict[str, Any]:
    """Every setting as plain values, for people: what may hold a secret is `***`.

    That is the value of each header, of each variable for a server of tools, of its arguments what
    is named as one, and of its address the query; in an address and a proxy's, the name and the
    password.
    """
    shown = settings.model_dump()
    for server in shown["mcpServers"].values():
        for hidden in ("headers", "env"):
            server[hidden] = dict.fromkeys(server[hidden], "***")
        server["args"] = hide_words(server["args"])
        server["url"] = _hide_in_address(server["url"])
    for provider in shown["providers"].values():
        provider["headers"] = dict.fromkeys(provider["headers"], "***")
        proxy = provider["proxy"]
        if proxy and "@" in proxy:
            scheme, _, rest = proxy.partition("://")
            provider["proxy"] = f"{scheme}://***@{rest.rpartition('@')[2]}"
    return shown


def _hide_in_address(url: str | None) -> str | None:
    """An address without a password, and without what is asked for there, often a key."""
    if url is None:
        return None
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")
    netloc = f"***@{host[2]}" if host[1] else parts.netloc
    return parts._replace(netloc=netloc, query="***" if parts.query else "").geturl()
