"""Jobs over the wire: listed in pages, read one by one."""

import pytest

from askd.store.job_queries import JobRow
from tests.fakes.house import Refused, open_server


def row(number: int) -> JobRow:
    return JobRow(
        id=f"j{number}",
        kind="title",
        state="completed",
        conversation_id="c",
        attempt=1,
        max_attempts=3,
        run_at=1.0,
        created_at=float(number),
        started_at=1.0,
        finished_at=2.0,
        error=None,
    )


async def test_jobs_come_in_pages() -> None:
    async with open_server() as server:
        server.store.job_rows = [row(number) for number in range(5)]
        peer = await server.greet()
        first = await peer.call("job/list", {"limit": 3})
        assert [job["id"] for job in first["data"]] == ["j0", "j1", "j2"]
        rest = await peer.call("job/list", {"limit": 3, "cursor": first["next_cursor"]})
        assert [job["id"] for job in rest["data"]] == ["j3", "j4"]
        assert rest["next_cursor"] is None


async def test_one_job_is_read_or_not_found() -> None:
    async with open_server() as server:
        server.store.job_rows = [row(7)]
        peer = await server.greet()
        job = await peer.call("job/read", {"job_id": "j7"})
        assert (job["kind"], job["state"], job["created_at"]) == ("title", "completed", 7.0)
        with pytest.raises(Refused) as caught:
            await peer.call("job/read", {"job_id": "none"})
        assert (caught.value.code, caught.value.reason) == (3, "job_not_found")
