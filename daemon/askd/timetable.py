"""The timetable: schedules put together, their clock and the desk where people order them.

Made once for a daemon, by `app`. It decides nothing itself.
"""

import time
import uuid

from askd.jobs.cron import read_cron
from askd.jobs.firing import make_tell
from askd.jobs.notify import Send
from askd.jobs.schedule import ScheduleClock
from askd.jobs.schedule_desk import ScheduleDesk
from askd.sessions.admission import Admission
from askd.sessions.registry import Sessions
from askd.store.schedules.table import ScheduleTable


class Timetable:
    """Schedules of this daemon; `send` notifies people.

    Attributes:
        desk: where they are ordered.
        run: sends what is due, until cancelled.
        count_enabled: how many are not paused.
    """

    def __init__(
        self,
        table: ScheduleTable,
        *,
        sessions: Sessions,
        admission: Admission,
        send: Send,
    ) -> None:
        clock = ScheduleClock(
            table,
            admission=admission,
            read_cron=read_cron,
            now=time.time,
            tell=make_tell(send, sessions.means.notifies),
        )
        self.run = clock.run
        self.count_enabled = table.count_enabled
        self.desk = ScheduleDesk(
            table,
            sessions=sessions,
            admission=admission,
            read_cron=read_cron,
            now=time.time,
            new_id=lambda: str(uuid.uuid4()),
            bell=clock.bell,
            explain_wait=clock.explain_wait,
        )
