"""The job that compacts a conversation: a summary in place of its older turns.

The session does it, with the job's fence: the change of the view and the job's end are
one write. A conversation that is not in memory is loaded for it. Its second failure is
its last, and pruning takes over.
"""

from askd.errors import NotFound
from askd.jobs.base import Applied, GaveUp, NothingToDo, Outcome
from askd.sessions.chores import do_compact
from askd.sessions.compaction import CompactionFailed
from askd.sessions.registry import Sessions
from askd.store.log import ClaimedJob


class CompactJob:
    """Compacts conversations of these sessions."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def run(self, job: ClaimedJob) -> Outcome:
        """One try; raise `GaveUp` when another cannot help."""
        if job.conversation_id is None:
            return NothingToDo()
        sessions = self._sessions
        try:
            session = await sessions.get(job.conversation_id)
            change = await do_compact(
                session,
                job.arguments,
                means=sessions.means,
                read_blob=sessions.find_store(session).read_blob,
                is_last=job.attempt >= job.max_attempts,
                fence=job.fence,
            )
        except NotFound:
            return NothingToDo()  # deleted meanwhile
        except CompactionFailed as failure:
            if failure.helps:
                raise
            raise GaveUp(failure.message) from failure
        return NothingToDo() if change is None else Applied()
