"""The text so far of a running turn, kept beside the log: what a crash would else cost of it.

How much may be lost is `streaming`'s word; the log takes each text with its next commit, or soon.
"""

from collections.abc import Sequence

import trio

from askd.sessions.live import LiveSession
from askd.sessions.streaming import SAVE_BYTES, SAVE_INTERVAL_S, LiveText
from askd.store.log import Partial


async def save_now_and_then(session: LiveSession) -> None:
    """Keep what is new soon after it came, until cancelled; asleep where nothing comes."""
    while True:
        await session.texts.wait_unsaved()
        await trio.sleep(SAVE_INTERVAL_S)
        _save(session, session.texts.take_unsaved())


def save_much(session: LiveSession) -> None:
    """Keep what is new at once if it is much."""
    _save(session, session.texts.take_unsaved(SAVE_BYTES))


def _save(session: LiveSession, texts: Sequence[LiveText]) -> None:
    for each in texts:
        session.log.save_partial(
            Partial(session.id, each.turn_id, each.item_id, each.kind, each.text)
        )
