"""The models that a caller could talk to."""

import logging
from collections.abc import Mapping

from ask.protocol.messages import ModelList, ModelPage, ModelRecord
from askd.errors import ProviderError, UnknownModel
from askd.providers.base import Caller
from askd.providers.models.catalog import find_aliases, spell_out
from askd.server import wire
from askd.server.house import House
from askd.server.peer import Peer

log = logging.getLogger(__name__)

MOST_ROWS = 2_000
"""What one message can hold with room to spare; some providers list hundreds."""
MOST_RECALLED = 500
"""Of names that begin alike; more are no help to who types one."""


async def list_all(house: House, peer: Peer, params: ModelList) -> ModelPage:
    """Every provider's models, and a warning for each provider that could not be asked.

    With `begins` the names that are known already: what is asked at every Tab waits for nobody.
    """
    if params.begins is not None:
        return await _recall(house, params, params.begins)
    return await _list(house, params, refresh=False)


async def refresh_all(house: House, peer: Peer, params: ModelList) -> ModelPage:
    """The same, and no provider's earlier answer counts."""
    return await _list(house, params, refresh=True)


async def _list(house: House, params: ModelList, *, refresh: bool) -> ModelPage:
    caller = Caller(env=params.env or {}, secrets=params.secrets or {})
    models, warnings = await house.models.list_models(caller, refresh=refresh)
    # After the listing, for it is that which may decide.
    default, why = await house.models.explain_default(caller)
    aliases = spell_out(house.models.aliases, [each.name for each in models])
    shown = models[:MOST_ROWS]
    count = len(models) - len(shown)
    left_out = (
        f"{count:,} of {len(models):,} known models {'is' if count == 1 else 'are'} not shown: "
        "name one with -m"
    )
    return ModelPage(
        data=[wire.describe_model(each, default=default, aliases=aliases) for each in shown],
        warnings=[*warnings, *([left_out] if len(models) > len(shown) else [])],
        default=default,
        default_why=why,
    )


async def _recall(house: House, params: ModelList, begins: str) -> ModelPage:
    caller = Caller(env=params.env or {}, secrets=params.secrets or {})
    led = house.models.aliases
    # What an alias leads to can be used, whether its provider has listed it or not.
    names = [*await house.models.recall_names(caller), *(each for each in led.values())]
    records = [
        ModelRecord(
            name=name, provider=name.partition("/")[0], aliases=find_aliases(name, led) or None
        )
        for name in dict.fromkeys(names)
    ]
    found = [
        each
        for each in records
        if any(name.startswith(begins) for name in (each.name, *(each.aliases or ())))
    ]
    return ModelPage(data=found[:MOST_RECALLED], warnings=[])


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
