"""Counts: how many tokens a request has, asked of a server that counts without answering.

Who refuses once is not asked again for a while: most servers that imitate a vendor
imitate this last. Nothing is sent here that the request itself would not send, nor to
anybody else.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from askd.errors import ProviderError
from askd.providers.base import Counting, Endpoint, ModelRequest
from askd.providers.codecs.counting import read_count
from askd.providers.models.dialects import codec_for, prepare_endpoint
from askd.providers.origins import find_origin, keep_own_thoughts

if TYPE_CHECKING:
    from askd.providers.http.transport import Transport

RETRY_S = 3600.0
"""A server that does not count may be replaced by one that does, but not often."""


class Counts:
    """Counts, and who gives none. `now`: unix seconds."""

    def __init__(self, *, now: Callable[[], float]) -> None:
        self._now = now
        self._refused_at: dict[str, float] = {}

    async def count(
        self, transport: "Transport", endpoint: Endpoint, request: ModelRequest
    ) -> int | None:
        """The server's count; None: it offers none. The caller limits the time.

        Raises:
            ProviderError: it was asked and gave none.
        """
        codec = codec_for(endpoint)
        place = endpoint.base_url
        refused_at = self._refused_at.get(place)
        has_refused = refused_at is not None and self._now() - refused_at < RETRY_S
        if has_refused or not isinstance(codec, Counting):
            return None
        call = codec.encode_count(keep_own_thoughts(request, find_origin(endpoint)))
        if call is None:
            return None
        try:
            answer = await transport.fetch_json(
                prepare_endpoint(endpoint), call.path, codec=codec, body=call.body
            )
            return read_count(endpoint.provider, answer)
        except ProviderError:
            self._refused_at[place] = self._now()
            raise
