"""From a method's name to its answer: parameters checked, handler called, faults turned to errors.

A handler's exception never gets further than this: what is meant for people is
answered as it is, anything else is logged with its traceback and answered as
`internal`. It touches no stream.
"""

import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from types import CoroutineType
from typing import Any

from ask.protocol import PROTOCOL
from ask.protocol.messages import METHODS, Map
from askd.errors import AskdError
from askd.server import wire
from askd.server.attached import ATTACHED, clean_name
from askd.server.handlers import HANDLERS
from askd.server.house import House
from askd.server.params import read_params
from askd.server.peer import Answer, Peer

FROZEN = frozenset({"daemon/drain"})
"""What a client of any protocol may ask, so that it can replace us."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Outcome:
    """An answer as it will be encoded: an error, or a result and what follows from it."""

    error: Map | None
    result: Map | None = None
    then: Callable[[], None] | None = None


class Dispatch:
    """Answers requests with the means of one house."""

    def __init__(self, house: House) -> None:
        self._house = house

    def greet(self, peer: Peer, params: Map) -> tuple[Map | None, Map | None]:
        """The error and result of a connection's first request, `hello`."""
        theirs = params.get("protocol")
        ours = wire.encode_result(self._house.identity)
        if isinstance(theirs, int) and theirs != PROTOCOL:
            peer.foreign = True
            refusal = wire.Refusal(
                "wrong_protocol", f"This daemon speaks protocol {PROTOCOL}, not {theirs}."
            )
            refusal.data |= ours
            return wire.encode_error(refusal), None
        try:
            hello = read_params("hello", params)
            if hello.data is not None and not self._house.host.serves(hello.data):
                raise wire.Refusal(
                    "other_data",
                    f"The daemon at this socket serves another data directory than {hello.data}. "
                    "Set ASK_HOME, or XDG_RUNTIME_DIR, so that each has a socket of its own.",
                )
        except AskdError as error:
            return wire.encode_error(error), None
        peer.client = clean_name(hello.client)
        peer.hears = ATTACHED in (hello.capabilities or ())
        return None, ours

    def answer(
        self, peer: Peer, method: str, params: Map
    ) -> Outcome | Coroutine[Any, Any, Outcome]:
        """The answer to any request after that, or what waits for it.

        Neither raises anything but cancellation.
        """
        try:
            found = self._call(peer, method, params)
            return _wait(method, found) if isinstance(found, CoroutineType) else _conclude(found)
        except Exception as error:
            return _explain(method, error)

    def _call(self, peer: Peer, method: str, params: Map) -> Any:
        if peer.foreign and method not in FROZEN:
            raise wire.Refusal("wrong_protocol", f"This daemon speaks protocol {PROTOCOL}.")
        if method == "hello":
            return Outcome(*self.greet(peer, params))
        handle = HANDLERS.get(method)
        if handle is None:
            raise wire.Refusal("unknown_method", f"There is no method {method[:40]!r}.")
        self._house.host.refresh()
        return handle(self._house, peer, read_params(method, params))


async def _wait(method: str, found: Coroutine[Any, Any, Any]) -> Outcome:
    try:
        return _conclude(await found)
    except Exception as error:
        return _explain(method, error)


def _conclude(found: Any) -> Outcome:
    """A handler's result as it will be encoded."""
    if isinstance(found, Outcome):
        return found
    if isinstance(found, Answer):
        return Outcome(None, wire.encode_result(found.result), found.then)
    return Outcome(None, wire.encode_result(found))


def _explain(method: str, error: Exception) -> Outcome:
    """What went wrong, as it will be encoded."""
    known = _find_known(error)
    if known is None:
        log.error("A request failed: %.40s", method, exc_info=error)
        known = AskdError("The daemon failed at this request; its log says why: ask daemon logs")
    return Outcome(wire.encode_error(known))


def _find_known(error: BaseException) -> AskdError | None:
    """The error to report: itself, or the first of a group that holds nothing else."""
    if isinstance(error, AskdError):
        return error
    if isinstance(error, ExceptionGroup) and error.split(AskdError)[1] is None:
        return _find_known(error.exceptions[0])
    return None


assert set(HANDLERS) | {"hello"} == set(METHODS)
