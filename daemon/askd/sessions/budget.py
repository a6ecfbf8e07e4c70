"""Whether a request fits into its model's window: by the estimate, and near the limit by a count.

The provider is asked to count only where it could change the answer, only where it
offers that, and not for long: an estimate in time is better than a count too late.
"""

import logging

import trio

from askd.core.tokens import Size, encode_size, measure_request
from askd.errors import ProviderError, TooLarge
from askd.providers.base import Caller, Model, ModelRequest
from askd.sessions.needs import ModelSource
from askd.sessions.rates import KnownRates

log = logging.getLogger(__name__)

WAYS_OUT = "Empty its view with `ask clear`, or begin another conversation with `ask new`."

NEAR = 0.15
"""An estimate this near to the budget, as a share of it, may be on the wrong side: it is rarely
further off once a model has answered three times."""

COUNT_S = 3.0
"""How long a count may take; servers that count need a tenth of a second, and a turn waits."""


def size_request(request: ModelRequest) -> Size:
    """How large a request is, all that travels with it included."""
    return measure_request(request.items, system=request.system, tools=request.tools)


def is_near(tokens: int, model: Model) -> bool:
    """Whether an estimate leaves open on which side of the budget the truth is."""
    budget = model.limits.budget
    return abs(tokens - budget) <= NEAR * budget


async def count_request(
    request: ModelRequest,
    size: Size,
    *,
    model: Model,
    caller: Caller,
    models: ModelSource,
    rates: KnownRates,
) -> int:
    """The request's tokens: as the provider counts them where that matters, else estimated."""
    estimated = rates.estimate(model.name, size)
    if not is_near(estimated, model):
        return estimated
    counted = None
    with trio.move_on_after(COUNT_S) as patience:
        try:
            counted = await models.count(model, request, caller)
        except ProviderError as error:
            log.debug("%s does not count: %s", model.name, error.message)
    if patience.cancelled_caught:
        log.debug("%s did not count in %g s", model.name, COUNT_S)
    log.debug(
        "%s: about %d tokens, counted %s, %s", model.name, estimated, counted, encode_size(size)
    )
    return estimated if counted is None else counted


def check_budget(tokens: int, model: Model) -> None:
    """Raise `TooLarge`, with tokens, window and ways out, if a request would not fit."""
    if tokens > model.limits.budget:
        raise TooLarge(f"{describe_excess('The conversation', tokens, model)}. {WAYS_OUT}")


def describe_excess(what: str, tokens: int, model: Model) -> str:
    """How large it is beside the window; the sentence is open, for what can be done about it."""
    limits = model.limits
    return (
        f"{what} has about {tokens} tokens; {model.name} has a window of "
        f"{limits.context_window}, {limits.reserved_output} of it for the answer"
    )
