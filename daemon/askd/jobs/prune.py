"""The job that prunes a conversation's view, where a summary is not to be had.

The session does it, with the job's fence: the change of the view and the job's end are
one write.
"""

from askd.errors import NotFound
from askd.jobs.base import Applied, NothingToDo, Outcome
from askd.sessions.chores import do_prune
from askd.sessions.registry import Sessions
from askd.store.log import ClaimedJob


class PruneJob:
    """Prunes conversations of these sessions."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def run(self, job: ClaimedJob) -> Outcome:
        """One try."""
        if job.conversation_id is None:
            return NothingToDo()
        sessions = self._sessions
        try:
            session = await sessions.get(job.conversation_id)
            change = await do_prune(session, job.arguments, means=sessions.means, fence=job.fence)
        except NotFound:
            return NothingToDo()  # deleted meanwhile
        return NothingToDo() if change is None else Applied()
