"""Settings as the rooms take them: plain values, with what is known filled in.

The rooms know no settings and the settings know no rooms; this is where the two
meet, for `app` to hand down. It reads no file.
"""

from askd.core.approval import ApprovalRules
from askd.jobs.notifier import NotifyRules
from askd.providers.base import Manners, Price
from askd.providers.known import DIALECT_ADDRESSES, KNOWN, ProviderConfig
from askd.providers.local import LocalConfig
from askd.providers.models.limits import ModelConfig
from askd.providers.models.registry import Models
from askd.sessions.retention import Keep
from askd.sessions.rules import ContextRules, InstructionRules, Thresholds, ToolRules
from askd.settings import ModelSettings, ProviderSettings, Settings
from askd.tools.mcp.configs import ServerConfig
from askd.tools.shell import CommandRules


def configure_models(models: Models, settings: Settings, *, model: str | None) -> None:
    """Have them go by these settings; `model`: the environment's, which comes before theirs."""
    models.configure(
        providers=read_providers(settings),
        default_model=model or settings.default_model,
        local=read_local(settings),
        models=read_models(settings),
        aliases=settings.aliases,
        local_only=settings.local_only,
    )


def read_providers(settings: Settings) -> list[ProviderConfig]:
    """Every `[providers.NAME]`, in the order of the file."""
    return [_configure(name, each) for name, each in settings.providers.items()]


def _configure(name: str, each: ProviderSettings) -> ProviderConfig:
    """Settings with what is known of the name or the dialect where they say nothing."""
    known = KNOWN.get(name)
    dialect = each.dialect or (known.dialect if known else "openai-chat")
    is_usual = known is not None and known.dialect == dialect
    address = known.base_url if known and is_usual else DIALECT_ADDRESSES.get(dialect, "")
    has_key = bool(each.api_key_env or each.api_key_cmd or each.api_key_file or each.auth)
    return ProviderConfig(
        name=name,
        dialect=dialect,
        base_url=(each.base_url or address).rstrip("/"),
        api_key_env=known.key_env if known and not has_key else each.api_key_env,
        api_key_cmd=None if each.api_key_cmd is None else tuple(each.api_key_cmd),
        api_key_file=each.api_key_file,
        auth=known.auth if known and not has_key else each.auth,
        client_id=each.client_id,
        headers=each.headers,
        proxy=each.proxy,
        ca_file=each.ca_file,
        default_model=each.default_model or (known.default_model if known and is_usual else None),
    )


def read_models(settings: Settings) -> dict[str, ModelConfig]:
    """Every `[models."provider/model"]`."""
    return {name: _describe(each) for name, each in settings.models.items()}


def _describe(each: ModelSettings) -> ModelConfig:
    price = None
    if each.input_price is not None and each.output_price is not None:
        price = Price(input=each.input_price, output=each.output_price, cached=each.cached_price)
    return ModelConfig(
        context_window=each.context_window,
        max_output_tokens=each.max_output_tokens,
        price=price,
        tools=each.tools,
        manners=Manners(
            tools=True if each.tools is None else each.tools,
            images=each.images,
            schema=each.json_schema,
            system_as_user=each.system_role == "user",
            temperature=each.temperature,
            stop=tuple(each.stop),
            effort=each.effort,
        ),
    )


def read_local(settings: Settings) -> LocalConfig:
    """`[local]`."""
    return LocalConfig(
        model_path=settings.local.model_path,
        context_tokens=settings.local.context_window,
        idle_s=settings.local.idle_s,
        threads=settings.local.threads,
    )


def read_context(settings: Settings) -> ContextRules:
    """`[context]`, with the thresholds of single models."""
    context = settings.context
    return ContextRules(
        compaction=context.compaction,
        model=context.compaction_model,
        compaction_threshold=context.compaction_threshold,
        prune_threshold=context.prune_threshold,
        summary_tokens=context.summary_tokens,
        user_tokens=context.user_message_tokens,
        min_turns=context.min_retain_turns,
        max_messages=context.max_history_messages,
        by_model={
            name: Thresholds(compaction=each.compaction_threshold, prune=each.prune_threshold)
            for name, each in settings.models.items()
        },
    )


def read_instructions(settings: Settings) -> InstructionRules:
    """`[instructions]`."""
    return InstructionRules(
        enabled=settings.instructions.enabled, files=tuple(settings.instructions.files)
    )


def read_tools(settings: Settings) -> ToolRules:
    """`[tools]`, as far as turns are concerned."""
    tools = settings.tools
    return ToolRules(
        enabled=tuple(tools.enabled),
        max_completions=tools.max_completions,
        max_repeats=tools.max_repeats,
        output_bytes=tools.output_bytes,
        snapshots=tools.snapshots,
    )


def read_commands(settings: Settings) -> CommandRules:
    """`[tools]`, as far as commands are concerned."""
    tools = settings.tools
    return CommandRules(
        timeout_s=tools.command_timeout_s, network=tools.network, writable=tuple(tools.writable)
    )


def read_servers(settings: Settings) -> list[ServerConfig]:
    """Every `[mcpServers.NAME]`, in the order of the file."""
    return [
        ServerConfig(
            name=name,
            command=each.command,
            args=tuple(each.args),
            env=each.env,
            cwd=each.cwd,
            url=each.url,
            headers=each.headers,
            bearer_token_env=each.bearer_token_env,
            bearer_token_file=each.bearer_token_file,
            enabled=each.enabled,
            enabled_tools=None if each.enabled_tools is None else tuple(each.enabled_tools),
            disabled_tools=tuple(each.disabled_tools),
            startup_s=each.startup_timeout_s,
            call_s=each.tool_timeout_s,
        )
        for name, each in settings.mcpServers.items()
    ]


def read_approval(settings: Settings) -> ApprovalRules:
    """`[approval]`."""
    approval = settings.approval
    return ApprovalRules(policy=approval.policy, tools=approval.tools, commands=approval.commands)


def read_notify(settings: Settings) -> NotifyRules:
    """`[notify]`, as far as the command is concerned."""
    command = settings.notify.command
    return NotifyRules(command=None if command is None else tuple(command))


def read_keep(settings: Settings) -> Keep | None:
    """`[history]`: how long conversations are kept; None: for ever."""
    history = settings.history
    return None if history.keep_days is None else Keep(history.keep_days, history.archive)
