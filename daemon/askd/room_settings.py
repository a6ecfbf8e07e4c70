"""Settings as the rooms take them: plain values, with what is known filled in.

The rooms know no settings and the settings know no rooms; this is where the two
meet, for `app` to hand down. It reads no file.
"""

from askd.providers.base import Manners, Price
from askd.providers.known import DIALECT_ADDRESSES, KNOWN, ProviderConfig
from askd.providers.local import LocalConfig
from askd.providers.models.limits import ModelConfig
from askd.sessions.retention import Keep
from askd.sessions.rules import ContextRules, Thresholds
from askd.settings import ModelSettings, ProviderSettings, Settings


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
            tools=each.tools is not False,
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


def read_keep(settings: Settings) -> Keep | None:
    """`[history]`: how long conversations are kept; None: for ever."""
    history = settings.history
    return None if history.keep_days is None else Keep(history.keep_days, history.archive)
