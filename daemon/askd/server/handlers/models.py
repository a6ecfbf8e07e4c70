"""The models that a caller could talk to."""

import logging
from collections.abc import Mapping

from ask.protocol.messages import ModelList, ModelPage
from askd.errors import AskdError, ProviderError, UnknownModel
from askd.providers.registry import Caller
from askd.server import wire
from askd.server.house import House
from askd.server.peer import Peer

log = logging.getLogger(__name__)


async def list_all(house: House, peer: Peer, params: ModelList) -> ModelPage:
    """Every provider's models, and a warning for each provider that could not be asked."""
    caller = Caller(env=params.env or {}, secrets=params.secrets or {})
    models, warnings = await house.models.list_models(caller)
    default = await _find_default(house, caller)
    return ModelPage(
        data=[wire.describe_model(model, default=default) for model in models],
        warnings=list(warnings),
    )


async def _find_default(house: House, caller: Caller) -> str | None:
    """The name of the model that would answer; without one the listing is still a listing."""
    try:
        return (await house.models.resolve(None, caller)).name
    except AskdError:
        return None


async def check_model(
    house: House,
    name: str,
    *,
    env: Mapping[str, str] | None,
    secrets: Mapping[str, str] | None,
) -> None:
    """Raise `UnknownModel` for a name that nobody has.

    A key that is missing now may be there when the model is used, and a server that does not
    answer may then: neither says that the name is wrong.
    """
    caller = Caller(env=env or {}, secrets=secrets or {})
    try:
        await house.sessions.means.models.resolve(name, caller)
    except UnknownModel:
        raise
    except ProviderError as error:
        log.debug("The model %s cannot be checked: %s", name, error.message)
