"""Background work: listed, read, waited for, cancelled, tried again, counted."""

from ask.protocol.messages import (
    Empty,
    JobCount,
    JobFailure,
    JobKind,
    JobList,
    JobPage,
    JobRecord,
    JobRef,
    JobRetry,
    JobStats,
    JobWait,
    JobWaitResult,
    Map,
)
from askd.core.questions import find_open
from askd.errors import AskdError, RequestError
from askd.providers.base import Caller
from askd.server import wire
from askd.server.handlers.paging import check_limit
from askd.server.handlers.turns import pick_stored
from askd.server.house import House
from askd.server.peer import Peer
from askd.store.jobs.queries import JobFilter, JobRow

WAIT_LIMIT_S = 300.0
"""The longest that one `job/wait` takes; it may be asked again."""
WAIT_JOBS = 200
"""Jobs that one request waits for: their records fit the answer's message."""


async def list_page(house: House, peer: Peer, params: JobList) -> JobPage:
    """A page of jobs, the newest first."""
    page = await house.reader.jobs(
        cursor=params.cursor,
        limit=check_limit(params.limit),
        which=JobFilter(
            kind=params.kind,
            states=tuple(params.states or ()),
            conversation_id=params.conversation_id,
        ),
    )
    data = [wire.describe_job(row, needs_you=_is_waiting(house, row)) for row in page.rows]
    return JobPage(data=data, next_cursor=page.next_cursor)


async def read(house: House, peer: Peer, params: JobRef) -> JobRecord:
    """One job, with its failures and what its turn waits for."""
    row = await house.jobs.find(params.job_id)
    errors = [wire.describe(JobFailure, each) for each in row.errors]
    seq, question = await _find_turn(house, row)
    needs_you = question is not None
    return wire.describe_job(row, errors=errors, seq=seq, question=question, needs_you=needs_you)


async def wait(house: House, peer: Peer, params: JobWait) -> JobWaitResult:
    """Answer when the jobs are over, or with how they are when the time is."""
    if not 1 <= len(params.job_ids) <= WAIT_JOBS:
        raise RequestError(f"job/wait: 1 to {WAIT_JOBS} jobs can be waited for at once.")
    rows, over = await house.jobs.wait(
        params.job_ids,
        only_one=params.any,
        timeout_s=min(max(params.timeout_s, 0.0), WAIT_LIMIT_S),
    )
    return JobWaitResult(data=[wire.describe_job(row) for row in rows], over=over)


async def cancel(house: House, peer: Peer, params: JobRef) -> JobRecord:
    """End a job; one that is over stays as it is."""
    return wire.describe_job(await house.jobs.cancel(params.job_id))


async def retry(house: House, peer: Peer, params: JobRetry) -> JobRecord:
    """Put a job back, to run now and with all its tries; a turn's comes as another job."""
    caller = Caller(env=pick_stored(params.env), secrets=params.secrets or {})
    return wire.describe_job(await house.jobs.retry(params.job_id, caller))


async def stats(house: House, peer: Peer, params: Empty) -> JobStats:
    """How many there are, and what was done since the daemon started."""
    return JobStats(
        stored=[
            JobCount(kind=kind, state=state, count=count)
            for kind, state, count in await house.reader.count_jobs()
        ],
        kinds=[wire.describe(JobKind, each) for each in house.jobs.count()],
    )


def _is_waiting(house: House, row: JobRow) -> bool:
    """Whether its turn asks a person; a conversation that does is in memory."""
    if row.turn_id is None or row.conversation_id is None:
        return False
    session = house.sessions.find_live(row.conversation_id)
    record = None if session is None else session.conversation.turn_record(row.turn_id)
    return record is not None and find_open(record) is not None


async def _find_turn(house: House, row: JobRow) -> tuple[int | None, Map | None]:
    """Where the job's turn begins, and its open question, as far as there are such."""
    if row.turn_id is None or row.conversation_id is None:
        return None, None
    try:
        session = await house.sessions.get(row.conversation_id)
    except AskdError:
        return None, None
    record = session.conversation.turn_record(row.turn_id)
    if record is None:
        return None, None
    asked = find_open(record)
    if asked is None:
        return record.accepted_seq, None
    return record.accepted_seq, {
        "question_id": asked.question_id,
        "kind": asked.kind,
        "digest": asked.digest,
        "detail": dict(asked.detail),
        "expires_at": asked.expires_at,
    }
