"""The clock of schedules: sends prompts when their time has come, and makes up for what was missed.

It sleeps on the monotonic clock, never for long, and compares the wall clock with the moment that
it waits for: a machine that slept, or whose clock was set, is noticed within seconds. What is
due follows from what is stored, so that a restart needs nothing else. Where no schedule is
enabled it sleeps until one is.
"""

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass

import trio

from askd.core.schedules import After, Fire, Schedule, Skip, find_due, find_next, plan_slots
from askd.errors import AskdError, NotFound, StaleFence, StorageFailed, find_known
from askd.jobs.bell import Bell
from askd.jobs.firing import ConversationGone, Tell, send_slot, tell_nobody
from askd.sessions.admission import Admission, Draining
from askd.store.schedules.rows import DELETED, Passed
from askd.store.schedules.table import ScheduleTable, Standing

CLOCK_LOOK_S = 5.0
"""While a slot is waited for: how soon a wall clock that was set is noticed."""
SHORTEST_REST_S = 0.01
"""The clocks are not equally fine: a slot must not be asked for in a loop."""
RETRY_S = (10.0, 60.0, 240.0)
"""A refused prompt is tried again after these: at a start, what it needs may be starting too."""
STORAGE_PAUSE_S = 5.0
"""While storage fails, nothing can be sent or passed over."""
FIRE_LIMIT_S = 120.0
"""How long one prompt may take to be accepted; a provider may be asked what it has."""
TOO_LONG = f"It took longer than {FIRE_LIMIT_S:g} s to have the prompt accepted."

ReadCron = Callable[[str, str], After]
"""The slots of an expression in a zone; raises `AskdError`."""

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Waiting:
    """A schedule that has to wait.

    Attributes:
        times: how often in a row its prompt was refused.
        until: when it is tried again, on the monotonic clock.
        why: a sentence; empty: it is the daemon's own trouble, and no business of the prompt.
    """

    times: int
    until: float
    why: str = ""


class ScheduleClock:
    """Sends what is due. Ring `bell` after a change.

    Args:
        now: the wall clock, in unix seconds.
        tell: hears of a slot that was given up.
    """

    def __init__(
        self,
        table: ScheduleTable,
        *,
        admission: Admission,
        read_cron: ReadCron,
        now: Callable[[], float],
        tell: Tell = tell_nobody,
    ) -> None:
        self._table = table
        self._admission = admission
        self._read_cron = read_cron
        self._now = now
        self._tell = tell
        self._busy: set[str] = set()
        self._waiting: dict[str, _Waiting] = {}
        self.bell = Bell()
        """Rings when schedules have changed, or one has been seen to."""

    def explain_wait(self, schedule_id: str) -> str | None:
        """Why a prompt that is due was not sent yet, a sentence; None: none waits."""
        waiting = self._waiting.get(schedule_id)
        if waiting is None or not waiting.why:
            return None
        if waiting.until <= trio.current_time() and schedule_id not in self._busy:
            return None  # it was paused, or handled, while it waited
        return f"Refused, and tried again soon: {waiting.why}"

    async def run(self) -> None:
        """Send what is due, until cancelled."""
        # In it: a task for each schedule that has something to do, so that none waits for another.
        async with trio.open_nursery() as nursery:
            while True:
                heard = self.bell.listen()
                # Read once: a clock that is set back while it is looked has to be noticed, too.
                now = self._now()
                try:
                    next_at, retry_s = await self._look(nursery, now)
                except StorageFailed as error:
                    log.warning("Schedules wait for storage: %s", error.message)
                    next_at, retry_s = None, STORAGE_PAUSE_S
                await self._rest(heard, next_at, retry_s, looked_at=now)

    async def _look(self, nursery: trio.Nursery, now: float) -> tuple[float | None, float | None]:
        """Begin what is due; when the next slot is, and in how many seconds to try again."""
        nexts: list[float] = []
        retries: list[float] = []
        for standing in await self._table.read_all(now=now):
            schedule = standing.schedule
            if schedule.paused_at is not None or schedule.id in self._busy:
                continue  # who is busy rings at the end
            waiting = self._waiting.get(schedule.id)
            if waiting is not None and waiting.until > trio.current_time():
                retries.append(waiting.until - trio.current_time())
                continue
            if schedule.damage is not None:
                log.warning("A schedule cannot be read: id=%s: %s", schedule.id, schedule.damage)
                continue
            try:
                after = self._read_cron(schedule.cron, schedule.zone)
                is_due = standing.handled_at is None or self._find_steps(after, standing, now)
                next_at = None if is_due else find_next(after, now)
            except AskdError as error:
                log.warning("A schedule cannot be read: id=%s: %s", schedule.id, error.message)
                continue
            if is_due:
                self._busy.add(schedule.id)
                nursery.start_soon(self._see_to, standing, after, now)
            elif next_at is not None:
                nexts.append(next_at)
        return min(nexts, default=None), min(retries, default=None)

    def _find_steps(self, after: After, standing: Standing, now: float) -> list[Fire | Skip]:
        if standing.handled_at is None:
            return []
        due = find_due(after, since=standing.handled_at, until=now)
        return plan_slots(due, now=now, missed=standing.schedule.missed)

    async def _rest(
        self, heard: trio.Event, next_at: float | None, retry_s: float | None, *, looked_at: float
    ) -> None:
        """Wait for the next slot, a change, a retry, or a clock that was set back."""
        began = trio.current_time()
        before = looked_at
        while not heard.is_set():
            waits = [] if next_at is None else [CLOCK_LOOK_S, next_at - self._now()]
            if retry_s is not None:
                waits.append(began + retry_s - trio.current_time())
            with trio.move_on_after(max(SHORTEST_REST_S, min(waits, default=math.inf))):
                await heard.wait()
            now = self._now()
            if next_at is not None and (now >= next_at or now < before):
                return
            if retry_s is not None and trio.current_time() >= began + retry_s:
                return
            before = now

    async def _see_to(self, standing: Standing, after: After, seen_at: float) -> None:
        """Do what is due of one schedule; an error of it stops no other."""
        schedule = standing.schedule
        pause_s: float | None = None
        try:
            await self._do_steps(standing, after, seen_at)
        except (StorageFailed, Draining) as error:
            log.warning("A schedule has to wait: id=%s: %s", schedule.id, error.message)
            pause_s = STORAGE_PAUSE_S
        except Exception:
            log.exception("A schedule failed: id=%s", schedule.id)
            pause_s = RETRY_S[-1]
        finally:
            self._busy.discard(schedule.id)
            if pause_s is not None:
                until = trio.current_time() + pause_s
                self._waiting[schedule.id] = _Waiting(self._count_refusals(schedule), until)
            self.bell.ring()

    async def _do_steps(self, standing: Standing, after: After, seen_at: float) -> None:
        schedule = standing.schedule
        if standing.handled_at is None:
            # The clock was set back behind all that was done: slots count from here.
            log.info("The clock is before all that was done: id=%s", schedule.id)
            await self._table.begin(schedule.id, since=seen_at)
            return
        for step in self._find_steps(after, standing, self._now()):
            match step:
                case Skip(slot=slot, skipped=skipped):
                    await self._table.pass_slot(
                        Passed(schedule_id=schedule.id, slot=slot, state="skipped", skipped=skipped)
                    )
                case Fire():
                    if not await self._fire(schedule, step):
                        return

    async def _fire(self, schedule: Schedule, fire: Fire) -> bool:
        """Send the prompt of a slot; False: the rest has to wait."""
        try:
            with trio.fail_after(FIRE_LIMIT_S):
                accepted = await send_slot(self._admission, schedule, fire)
        except ConversationGone:
            await self._table.pause(schedule.id, why=DELETED)
            log.warning("A schedule is paused: id=%s: %s", schedule.id, DELETED)
            return False
        except StaleFence:
            return False  # paused, or handled, meanwhile: what is stored says so
        except (StorageFailed, Draining):
            raise
        except trio.TooSlowError:
            return await self._refuse(schedule, fire, AskdError(TOO_LONG, reason="unavailable"))
        except Exception as error:
            known = find_known(error)
            if known is None:
                raise
            return await self._refuse(schedule, fire, known)
        self._waiting.pop(schedule.id, None)
        log.info("Sent: schedule=%s, turn=%s", schedule.id, accepted.turn_id)
        handled_at = await self._table.find_handled(schedule.id, now=fire.slot)
        if handled_at is None or handled_at < fire.slot:
            # It had been accepted before, and the row that said so is gone.
            await self._pass(schedule, fire, None)
        return True

    async def _refuse(self, schedule: Schedule, fire: Fire, error: AskdError) -> bool:
        """Try again soon, and give the slot up in the end; whether it is given up."""
        if error.reason == "schedule_not_found":
            self._waiting.pop(schedule.id, None)
            return False  # removed meanwhile: whoever did that need not be told
        times = self._count_refusals(schedule) + 1
        log.warning("A schedule's prompt is refused: id=%s: %s", schedule.id, error.message)
        if times <= len(RETRY_S) and not isinstance(error, NotFound):
            until = trio.current_time() + RETRY_S[times - 1]
            self._waiting[schedule.id] = _Waiting(times, until, error.message)
            return False
        self._waiting.pop(schedule.id, None)
        await self._pass(schedule, fire, error)
        await self._tell(schedule, error)
        return True

    def _count_refusals(self, schedule: Schedule) -> int:
        """How often in a row; other slots may have come meanwhile, which are one with it."""
        waiting = self._waiting.get(schedule.id)
        return 0 if waiting is None else waiting.times

    async def _pass(self, schedule: Schedule, fire: Fire, error: AskdError | None) -> None:
        await self._table.pass_slot(
            Passed(
                schedule_id=schedule.id,
                slot=fire.slot,
                state="skipped" if error is None else "refused",
                skipped=fire.skipped,
                code=None if error is None else error.code,
                error=None if error is None else error.message,
            )
        )
