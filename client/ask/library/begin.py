"""How a turn begins: a prompt is sent until the daemon has said that it is stored.

Whatever is lost on the way, the same key is sent again: it is one turn. It reads
nothing of what comes of it.
"""

import time
from collections.abc import Callable
from typing import Any, TypeVar

from ask.connection import ANSWER_LIMIT_S, ConnectionLost
from ask.exits import NOT_FOUND, TIME_LIMIT, Failed
from ask.library.errors import NotFound, translated
from ask.library.link import Link
from ask.library.prompts import Draft
from ask.library.turn import Turn
from ask.library.values import Job

T = TypeVar("T")

SHORTEST_S = 0.001
"""Of a wait: none at all would be over before it began."""
_NOT_ACCEPTED = "The time limit was reached before the daemon took the prompt."


def begin_turn(link: Link, draft: Draft) -> Turn:
    """Send a prompt, and follow what comes of it.

    Raises:
        Error: it was refused, or the daemon stays away.
    """

    def attempt() -> Turn:
        connection = link.open()
        try:
            accepted = draft.send(connection, limit_s=_limit(draft))
            return Turn(link, accepted, draft=draft, connection=connection)
        except BaseException:
            connection.close()
            raise

    return _begin(link, draft, attempt)


def leave_turn(link: Link, draft: Draft) -> dict[str, Any]:
    """Send a prompt that nobody stays to watch: the `TurnStartResult`, which names its job."""

    def attempt() -> dict[str, Any]:
        with link.open() as connection:
            return draft.send(connection, limit_s=_limit(draft))

    return _begin(link, draft, attempt)


def follow_job(link: Link, job: Job) -> Turn:
    """The turn that a job is, from its prompt on.

    Raises:
        NotFound: it is no turn.
    """
    if job.turn_id is None or job.conversation_id is None or job.seq is None:
        message = f"The job {job.id} is no turn."
        raise NotFound(NOT_FOUND, message, data={"reason": "turn_not_found"})
    found = {"turn_id": job.turn_id, "conversation_id": job.conversation_id, "seq": job.seq}
    return Turn(link, found)


def _begin(link: Link, draft: Draft, attempt: Callable[[], T]) -> T:
    link.check()
    with translated():
        try:
            return link.persist(attempt, until=draft.deadline)
        except ConnectionLost:
            if draft.deadline is None or time.monotonic() < draft.deadline:
                raise
            raise Failed(TIME_LIMIT, _NOT_ACCEPTED, data={"reason": "time_limit"}) from None


def _limit(draft: Draft) -> float:
    if draft.deadline is None:
        return ANSWER_LIMIT_S
    return min(ANSWER_LIMIT_S, max(draft.deadline - time.monotonic(), SHORTEST_S))
