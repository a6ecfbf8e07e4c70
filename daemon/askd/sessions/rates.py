"""What is known of each model's counting, in memory: loaded once, taught by each answer.

The same reports are in the log, and what they come to is in the database
(`store.token_rates`), written with the answers themselves: this is its copy, so that
an estimate waits for nothing. Conversations that are kept nowhere teach it too. It
asks nobody, and forgets with the daemon what no log holds.
"""

import logging
from collections.abc import Mapping
from typing import Any, Protocol

from askd.core.calibration import UNKNOWN, Rates, estimate, learn
from askd.core.outcome import Usage
from askd.core.tokens import Size, decode_size
from askd.errors import AskdError

log = logging.getLogger(__name__)


class RatesReader(Protocol):
    """Where rates are kept."""

    async def token_rates(self) -> Mapping[str, Rates]:
        """All that are known, by the model's name; raise `StorageFailed`."""
        ...


class KnownRates:
    """Rates by `provider/model`."""

    def __init__(self) -> None:
        self._rates: dict[str, Rates] = {}

    async def load(self, reader: RatesReader) -> None:
        """Take those that were kept; if they cannot be read, estimates are rougher for a while."""
        try:
            kept = await reader.token_rates()
        except AskdError as error:
            log.warning("What is known of models' tokens cannot be read: %s", error.message)
            return
        self._rates = {**kept, **self._rates}

    def find(self, model: str) -> Rates:
        """What is known of a model."""
        return self._rates.get(model, UNKNOWN)

    def estimate(self, model: str | None, size: Size) -> int:
        """About how many tokens this is for a model; None: for none that is known."""
        return estimate(size, UNKNOWN if model is None else self.find(model))

    def learn(self, model: str, measured: Mapping[str, Any], usage: Usage | None) -> None:
        """An answer's usage came in, for a request that was measured so."""
        if usage is not None:
            size = decode_size(measured)
            self._rates[model] = learn(self.find(model), size, usage.counted_input)
