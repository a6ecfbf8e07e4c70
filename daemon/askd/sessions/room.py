"""Room for a request: what is done, in order, before a completion that would not fit is sent.

One that fits is sent. Else a compaction that is under way is waited for, for a while
and visibly; then the view is pruned; then the overflow policy decides, or a person:
to summarise at once, to empty the view, or to send it as it is. Each is tried once
for a completion. It asks no model for the answer.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from askd.core.tokens import Size
from askd.providers.base import ModelRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A request that is ready to be sent; `tokens`: of all of it, about."""

    request: ModelRequest
    size: Size
    tokens: int


Prepare = Callable[[], Awaitable[Prepared]]
"""The request as the view is now."""
