"""Requests: what a model will see and what a prompt asked for, as one value for any dialect.

Pure. What neither says is left to the provider.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast, get_args

from askd.core.context import Context, build_context
from askd.core.conversation import Conversation, TurnRecord
from askd.core.events import TurnOptions
from askd.core.items import Item
from askd.core.outcome import Usage
from askd.providers.base import Effort, Model, ModelRequest
from askd.sessions.contents import Contents
from askd.sessions.schemas import describe_wish


def find_context(
    conversation: Conversation,
    turn_id: str | None,
    *,
    system: str | None,
    options: TurnOptions,
    model: Model | None,
) -> Context:
    """What the next completion of a turn sees, healed; model None: nobody knows which it will be.

    Args:
        turn_id: None: a turn to come.
        system: the system prompt that holds for the turn.
    """
    told = system if model is None else find_system(system, options, model)
    return build_context(conversation, turn_id, system=told)


def find_asked(record: TurnRecord) -> frozenset[str]:
    """The ids of what people said in a turn: its prompt, and what was said while it ran."""
    said = [*record.prompt.items, *(item for each in record.steered for item in each.items)]
    return frozenset(item.id for item in said)


def find_system(system: str | None, options: TurnOptions, model: Model) -> str | None:
    """The system prompt with what the model is to be told of a schema."""
    if options.answer_schema is None:
        return system
    wish = describe_wish(options.answer_schema, is_sent=model.manners.schema)
    return f"{system}\n\n{wish}" if system else wish


def build_request(
    items: Sequence[Item],
    *,
    contents: Contents,
    system: str | None,
    model: Model,
    options: TurnOptions,
    tools: Sequence[Mapping[str, Any]],
) -> ModelRequest:
    """The request for one completion.

    Args:
        items: those of `contents`, healed.
        system: as `find_system` answers it.
        tools: those that there are; a model that takes none gets none.
    """
    manners = model.manners
    return ModelRequest(
        model=model.bare_name,
        items=items,
        system=system,
        images=contents.images,
        tools=tools if manners.tools else (),
        temperature=manners.temperature if options.temperature is None else options.temperature,
        max_output_tokens=options.max_output_tokens,
        stop=manners.stop if options.stop is None else options.stop,
        effort=_read_effort(options.effort) or manners.effort,
        schema=options.answer_schema if manners.schema else None,
        context_window=model.limits.context_window,
        system_as_user=manners.system_as_user,
    )


def add_cost(usage: Usage | None, model: Model) -> Usage | None:
    """The usage with what it cost: as the provider said, else by the model's price."""
    if usage is None or usage.cost_usd is not None or model.price is None:
        return usage
    return replace(usage, cost_usd=model.price.cost_of(usage))


def explain_guess(model: Model) -> str:
    """The sentence for a person whose model has a window that nobody knows."""
    return (
        f"Nobody says how much {model.name} can read; {model.limits.context_window} tokens are "
        f"assumed. If that is wrong, set context_window under {model.table}."
    )


def _read_effort(effort: str | None) -> Effort | None:
    """An effort from the log; one that a later version has written is none."""
    return cast("Effort", effort) if effort in get_args(Effort) else None
