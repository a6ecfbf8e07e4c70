"""Background work, as it is listed and read."""

from ask.protocol.messages import JobList, JobPage, JobRecord, JobRef
from askd.server import wire
from askd.server.handlers.paging import check_limit
from askd.server.house import House
from askd.server.peer import Peer


async def list_page(house: House, peer: Peer, params: JobList) -> JobPage:
    """A page of jobs, the newest first."""
    page = await house.reader.jobs(cursor=params.cursor, limit=check_limit(params.limit))
    return JobPage(data=[wire.describe_job(row) for row in page.rows], next_cursor=page.next_cursor)


async def read(house: House, peer: Peer, params: JobRef) -> JobRecord:
    """One job."""
    return wire.describe_job(await house.reader.job(params.job_id))
