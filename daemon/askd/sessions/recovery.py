"""Carries out what `core.recovery` plans for turns that an earlier daemon left open.

It decides nothing. Turns that had not started need nothing done: the driver
finds them in the queue, and knows which of them wait for their caller's keys.
"""

import logging
from collections.abc import Sequence, Set
from typing import assert_never

from askd.core.recovery import (
    Close,
    Plan,
    Retry,
    RunIt,
    StayParked,
    WaitForSecrets,
    plan_recovery,
)
from askd.sessions.live import LiveSession
from askd.store.log import Partial

log = logging.getLogger(__name__)


async def recover_session(
    session: LiveSession, partials: Sequence[Partial], *, harmless_tools: Set[str]
) -> None:
    """Close, or make ready to run again, each turn that had started; raise `StorageFailed`."""
    async with session.starting:
        texts = [(each.turn_id, each.item_id, each.kind, each.text) for each in partials]
        plans = plan_recovery(session.conversation, texts, harmless_tools=harmless_tools)
        for plan in plans:
            await _carry_out(session, plan)
        session.needs_recovery = False


async def _carry_out(session: LiveSession, plan: Plan) -> None:
    match plan:
        case Close(bodies=bodies):
            log.info("Interrupted by a crash: id=%s, turn_id=%s", session.id, plan.turn_id)
            await session.append(bodies)
        case Retry(bodies=bodies):
            log.info("Running again: id=%s, turn_id=%s", session.id, plan.turn_id)
            if bodies:
                await session.append(bodies)
            session.resumable.add(plan.turn_id)
        case WaitForSecrets(then=then):
            await _carry_out(session, then)
        case RunIt() | StayParked():
            pass
        case _:
            assert_never(plan)
