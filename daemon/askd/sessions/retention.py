"""Retention: removes conversations in which nothing was said for as long as settings say.

At a start and every hour, one after the other, so that nobody waits for it. It
removes nothing that has a name or a pin, is at work or watched, and nothing at
all while the clock is in doubt (`core.doubt`). With nothing set it does nothing.
"""

import json
import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

import trio

from askd.core.doubt import Belief, judge
from askd.errors import AskdError
from askd.files import replace_file
from askd.sessions.registry import Sessions
from askd.sessions.removal import expire

log = logging.getLogger(__name__)

FIRST_S = 5.0
"""After a start those who caused it come first."""
EVERY_S = 3600.0
DAY_S = 86_400.0
BATCH = 100
"""Ids that are looked up at once."""


@dataclass(frozen=True, slots=True)
class Keep:
    """How long to keep conversations, and whether their rollouts go to the archive."""

    days: int
    archive: bool = False


class Ages(Protocol):
    """Knows how old conversations are; `store.queries.Reader` does."""

    async def find_expired(self, *, before_at: float, after_id: str, limit: int) -> list[str]:
        """Ids of those that may be removed, in order, from one id on."""
        ...

    async def find_newest(self) -> float | None:
        """When the log was last written, by the clock of then; None: it is empty."""
        ...


class Retention:
    """The task. `keep` says what is set now, None: nothing; `now` in unix seconds.

    `belief_file` remembers what is known of the clock; without it the log's newest event does.
    """

    def __init__(
        self,
        sessions: Sessions,
        *,
        ages: Ages,
        keep: Callable[[], Keep | None],
        belief_file: Path,
        now: Callable[[], float],
    ) -> None:
        self._sessions = sessions
        self._ages = ages
        self._keep = keep
        self._belief_file = belief_file
        self._now = now

    async def run(self) -> None:
        """Remove what is old, again and again, until cancelled."""
        await trio.sleep(FIRST_S)
        while True:
            try:
                await self.remove_old()
            except AskdError as error:
                log.warning("Old conversations cannot be removed now: %s", error.message)
            except Exception:
                log.exception("Retention failed")
            await trio.sleep(EVERY_S)

    async def remove_old(self) -> int:
        """One run; how many conversations it removed."""
        keep = self._keep()
        if keep is None or not await self._is_clock_right(keep):
            return 0
        before_at = self._now() - keep.days * DAY_S
        removed = stayed = 0
        after_id = ""
        while ids := await self._ages.find_expired(
            before_at=before_at, after_id=after_id, limit=BATCH
        ):
            for id in ids:
                if self._keep() != keep:
                    log.info("The setting has changed: removed=%d.", removed)
                    return removed
                began = trio.current_time()
                if await expire(self._sessions, id, before_at=before_at, archive=keep.archive):
                    removed += 1
                else:
                    stayed += 1
                # As long as it took, the disk is left to others.
                await trio.sleep(trio.current_time() - began)
            after_id = ids[-1]
        if removed or stayed:
            log.info(
                "Removed conversations of more than %d days: removed=%d, archived=%s, stayed=%d",
                keep.days,
                removed,
                "yes" if keep.archive else "no",
                stayed,
            )
        return removed

    async def _is_clock_right(self, keep: Keep) -> bool:
        newest_at = await self._ages.find_newest()
        before = await trio.to_thread.run_sync(_read_belief, self._belief_file)
        now = self._now()
        belief = judge(before, now=now, newest_at=newest_at, keep_s=keep.days * DAY_S)
        await trio.to_thread.run_sync(_write_belief, self._belief_file, belief)
        if belief.doubted_at is None:
            return True
        if belief != before:
            log.warning(
                "The clock is far ahead of when conversations were last looked at: none is "
                "removed for its age until it has been so for a day."
            )
        return False


def _read_belief(path: Path) -> Belief:
    try:
        found = json.loads(path.read_bytes())
        return Belief(_read_time(found["believed_at"]), _read_time(found["doubted_at"]))
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return Belief()


def _read_time(value: object) -> float | None:
    return None if value is None else float(str(value))


def _write_belief(path: Path, belief: Belief) -> None:
    try:
        replace_file(path, json.dumps(asdict(belief)).encode())
    except OSError as error:
        # A doubt then begins anew with the next daemon: that keeps more, not less.
        log.warning("%s cannot be written: %s", path, error.strerror)
