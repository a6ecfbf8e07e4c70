"""The table of jobs through the writer: for one boot, and without credentials in what it keeps."""

from pathlib import Path

import pytest

from askd.errors import NotFound, StaleFence
from askd.store.jobs.table import JobTable
from askd.store.log import Fence, Write
from tests.store.builders import Store, create, job, open_store

KEY = "sk-canary-0123456789"


def table_of(store: Store) -> JobTable:
    return JobTable(store.writer, find_hide=lambda: lambda text: text.replace(KEY, "***"))


async def test_a_job_belongs_to_the_boot_that_claimed_it(path: Path) -> None:
    async with open_store(path, boot_id="one") as store:
        table = table_of(store)
        await store.writer.append(create("c"))
        await store.writer.append(Write(conversation_id="c", bodies=[], jobs=[job("j")]))
        assert await table.find_next_run() == 0.0
        assert await table.claim_job(without=["title"]) is None
        claimed = await table.claim_job()
        assert claimed is not None
        assert await table.claim_job() is None
        with pytest.raises(StaleFence):
            await table.end_job(Fence("j", "one", 7), state="completed")
    async with open_store(path, boot_id="two") as store:
        table = table_of(store)
        assert await table.reset_orphans() == 1
        again = await table.claim_job()
        assert again is not None
        assert again.fence == Fence("j", "two", 2)
        with pytest.raises(StaleFence):
            await table.end_job(claimed.fence, state="completed")
        await table.end_job(again.fence, state="discarded", error="no use")
        (row,) = await store.reader.find_jobs(["j"])
        assert (row.state, row.error) == ("discarded", "no use")


async def test_an_error_that_quotes_a_key_does_not_keep_it(path: Path) -> None:
    async with open_store(path) as store:
        table = table_of(store)
        await store.writer.append(create("c"))
        await store.writer.append(Write(conversation_id="c", bodies=[], jobs=[job("j")]))
        claimed = await table.claim_job()
        assert claimed is not None
        await table.end_job(claimed.fence, state="retryable", error=f"no {KEY}", run_at=9e9)
        (row,) = await store.reader.find_jobs(["j"])
        assert row.error == "no ***"
    stored = b"".join(each.read_bytes() for each in path.parent.glob("ask.db*"))
    assert KEY.encode() not in stored


async def test_orders_go_the_same_way(path: Path) -> None:
    async with open_store(path) as store:
        table = table_of(store)
        await store.writer.append(create("c"))
        await store.writer.append(Write(conversation_id="c", bodies=[], jobs=[job("j")]))
        assert (await table.cancel_job("j")).state == "cancelled"
        assert (await table.retry_job("j")).state == "available"
        assert await table.remove_old() == 0
        with pytest.raises(NotFound):
            await table.cancel_job("k")
