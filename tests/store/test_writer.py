"""The writer: durable before it answers, in groups, whatever its callers do meanwhile."""

import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
import trio
import trio.testing

from askd.core.events import Event
from askd.errors import NewerSchema, NotFound, RequestError, StaleFence, StorageFailed
from askd.store import changes
from askd.store import checkpoint as checkpoint_module
from askd.store import writer as writer_module
from askd.store.batch import Change
from askd.store.checkpoint import file_size, wal_size
from askd.store.jobs import rows as job_rows
from askd.store.log import Committed, Fence, Partial, Write
from askd.store.migrations import MIGRATIONS, Migration
from askd.store.writer import BATCH_REQUESTS, MANY_BODIES, PARTIALS_S, Writer
from tests.store.builders import (
    Clock,
    add,
    answer,
    create,
    finish,
    job,
    note,
    open_store,
    prompt,
    seqs,
)


def ignore(events: Sequence[Event]) -> None:
    """An observer that has seen enough."""


async def test_what_is_answered_is_stored(path: Path) -> None:
    async with open_store(path) as store:
        committed = await store.writer.append(create("c", note(), name="work"))
        assert seqs(committed.events) == [1, 2]
        assert await store.reader.load("c") == list(committed.events) == store.seen
    async with open_store(path) as store:
        assert await store.reader.load("c") == list(committed.events)
        assert store.seen == []
        assert seqs((await store.writer.append(add("c", note()))).events) == [3]


async def test_many_waiting_appends_share_commits(path: Path) -> None:
    async with open_store(path) as store:
        await store.writer.append(create("c"))
        before = store.writer.commits

        async def append_some() -> None:
            for _ in range(20):
                await store.writer.append(add("c", note()))

        # 50 callers, each waiting for its own appends; they end by themselves.
        async with trio.open_nursery() as nursery:
            for _ in range(50):
                nursery.start_soon(append_some)
        assert store.writer.commits - before < 100, "1,000 appends"
        assert seqs(store.seen) == seqs(await store.reader.load("c")) == list(range(1, 1002))


async def test_a_whole_conversation_at_once_is_made_ready_beside_the_others(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = threading.current_thread()
    elsewhere = []
    prepare = changes.append

    def watch(write: Write) -> Change[Committed]:
        elsewhere.append(threading.current_thread() is not here)
        return prepare(write)

    monkeypatch.setattr(changes, "append", watch)
    async with open_store(path) as store:
        await store.writer.append(create("c", note()))
        notes = [note(id=f"n{number}") for number in range(MANY_BODIES)]
        committed = await store.writer.append(create("d", *notes))
        assert seqs(committed.events) == list(range(1, MANY_BODIES + 2))
        assert elsewhere == [False, True]


async def test_a_batch_is_bounded(path: Path) -> None:
    writer = Writer(path, observe=ignore, now=Clock(), boot_id="b")
    async with trio.open_nursery() as owner:
        # The callers end when they are answered.
        async with trio.open_nursery() as callers:
            callers.start_soon(writer.append, create("c"))
            await trio.testing.wait_all_tasks_blocked()
            for _ in range(BATCH_REQUESTS):
                callers.start_soon(writer.append, add("c", note()))
            await trio.testing.wait_all_tasks_blocked()
            await owner.start(writer.run)
        assert writer.commits == 2
        await writer.close()


async def test_large_writes_close_a_batch(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "BATCH_BYTES", 100)
    writer = Writer(path, observe=ignore, now=Clock(), boot_id="b")
    async with trio.open_nursery() as owner:
        async with trio.open_nursery() as callers:
            for id in "abcd":
                write = create(id)
                large = Write(
                    conversation_id=id, bodies=write.bodies, create=True, blobs=[("x", b"x" * 60)]
                )
                callers.start_soon(writer.append, large)
            await trio.testing.wait_all_tasks_blocked()
            await owner.start(writer.run)
        assert writer.commits == 2
        await writer.close()


async def test_a_refused_request_harms_no_other_of_its_batch(path: Path) -> None:
    writer = Writer(path, observe=ignore, now=Clock(), boot_id="b")
    outcomes: dict[str, object] = {}

    async def ask(label: str, write: Write) -> None:
        try:
            outcomes[label] = seqs((await writer.append(write)).events)
        except (RequestError, StaleFence) as error:
            outcomes[label] = error.reason

    async with trio.open_nursery() as owner, trio.open_nursery() as callers:
        # Each waits before the next is asked, so that their order in the queue is known.
        for label, write in [
            ("a", create("a", name="work")),
            ("b", create("b", name="work")),
            ("c", add("b", note())),
            ("d", Write(conversation_id="a", bodies=[note()], fulfils=Fence("j", "b", 1))),
            ("e", add("a", note(), note())),
        ]:
            callers.start_soon(ask, label, write)
            await trio.testing.wait_all_tasks_blocked()
        await owner.start(writer.run)
        await writer.close()
    assert writer.commits == 1
    assert outcomes == {
        "a": [1],
        "b": "name_taken",
        "c": "conversation_not_found",
        "d": "storage_failed",
        "e": [2, 3],
    }


async def test_events_are_seen_after_the_commit_and_before_the_answer(path: Path) -> None:
    order: list[str] = []

    def observe(events: Sequence[Event]) -> None:
        check = sqlite3.connect(path)
        (count,) = check.execute("SELECT count(*) FROM events").fetchone()
        check.close()
        order.append(f"seen {len(events)}, stored {count}")

    writer = Writer(path, observe=observe, now=Clock(), boot_id="b")
    async with trio.open_nursery() as nursery:
        await nursery.start(writer.run)
        await writer.append(create("c", note()))
        order.append("answered")
        await writer.close()
    assert order == ["seen 2, stored 2", "answered"]


async def test_an_observer_that_fails_stops_nothing(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def observe(events: Sequence[Event]) -> None:
        raise RuntimeError("observer")

    writer = Writer(path, observe=observe, now=Clock(), boot_id="b")
    async with trio.open_nursery() as nursery:
        await nursery.start(writer.run)
        assert seqs((await writer.append(create("c"))).events) == [1]
        assert seqs((await writer.append(add("c", note()))).events) == [2]
        await writer.close()
    assert "observer" in caplog.text


async def test_a_cancelled_caller_changes_nothing_about_its_commit(path: Path) -> None:
    async with open_store(path) as store:
        await store.writer.append(create("c"))
        with trio.CancelScope() as scope:
            scope.cancel()
            await store.writer.append(add("c", note()))
        assert scope.cancelled_caught
        await store.writer.flush()
        assert seqs(await store.reader.load("c")) == seqs(store.seen) == [1, 2]


async def test_close_commits_what_waits_and_refuses_the_rest(path: Path) -> None:
    writer = Writer(path, observe=ignore, now=Clock(), boot_id="b")
    async with trio.open_nursery() as nursery:
        await nursery.start(writer.run)
        await writer.append(create("c", prompt("t")))
        with trio.CancelScope() as impatient:
            impatient.cancel()
            await writer.append(add("c", note()))
        writer.save_partial(Partial("c", "t", "t.1", "text", "so far"))
        await writer.close()
        await writer.close()
        with pytest.raises(StorageFailed, match="closed"):
            await writer.append(add("c", note()))
        writer.save_partial(Partial("c", "t", "t.1", "text", "too late"))
    assert wal_size(path) == 0
    async with open_store(path) as store:
        assert seqs(await store.reader.load("c")) == [1, 2, 3]
        assert [each.text for each in await store.reader.partials("c")] == ["so far"]


async def test_cancelling_the_writer_commits_what_waits(path: Path) -> None:
    writer = Writer(path, observe=ignore, now=Clock(), boot_id="b")
    answered: list[int] = []

    async def ask() -> None:
        answered.extend(seqs((await writer.append(create("c"))).events))

    async with trio.open_nursery() as callers, trio.open_nursery() as nursery:
        await nursery.start(writer.run)
        callers.start_soon(ask)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert answered == [1]
    with pytest.raises(StorageFailed, match="closed"):
        await writer.append(add("c", note()))
    await writer.ping()


async def test_a_writer_that_never_ran_can_be_closed(path: Path) -> None:
    await Writer(path, observe=ignore, now=Clock(), boot_id="b").close()
    assert not await trio.Path(path).exists()


async def test_partials_are_written_soon_and_the_latest_wins(path: Path) -> None:
    async with open_store(path) as store:
        await store.writer.append(create("c", prompt("t")))
        before = store.writer.commits
        for text in ("H", "He", "Hello"):
            store.writer.save_partial(Partial("c", "t", "t.1", "text", text))
        with trio.fail_after(PARTIALS_S + 5):
            while not (found := await store.reader.partials("c")):
                await trio.lowlevel.checkpoint()
        assert [each.text for each in found] == ["Hello"]
        assert store.writer.commits - before == 1


async def test_partials_go_with_the_next_batch_and_with_their_item(path: Path) -> None:
    async with open_store(path) as store:
        await store.writer.append(create("c", prompt("t")))
        before = store.writer.commits
        store.writer.save_partial(Partial("c", "t", "t.1", "text", "Hel"))
        await store.writer.append(add("c", note()))
        assert store.writer.commits - before == 1
        assert len(await store.reader.partials("c")) == 1
        store.writer.save_partial(Partial("c", "t", "t.1", "text", "Hello"))
        await store.writer.append(add("c", answer("t"), finish("t")))
        assert await store.reader.partials("c") == []


async def test_deleted_text_is_nowhere_in_the_files(path: Path) -> None:
    secret = "nobody-may-find-this"
    async with open_store(path) as store:
        await store.writer.append(create("c", prompt("t", secret * 1000)))
        store.writer.save_partial(Partial("c", "t", "t.1", "text", secret))
        await store.writer.append(create("d", note()))
        files = [path, path.with_name("ask.db-wal")]
        assert any(secret.encode() in each.read_bytes() for each in files)
        store.reader.close()
        await store.writer.delete("c")
        assert not any(secret.encode() in each.read_bytes() for each in files)
        assert await store.reader.load("c") == []
        assert len(await store.reader.load("d")) == 2
        with pytest.raises(NotFound):
            await store.writer.delete("c")


async def test_what_a_reader_held_in_the_log_leaves_it_later(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = b"nobody-may-find-this"
    monkeypatch.setattr(writer_module, "IDLE_S", 0.01)
    monkeypatch.setattr(writer_module, "HELD_S", 0.01)
    async with open_store(path) as store:
        await store.writer.append(create("c", prompt("t", secret.decode())))
        old = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, isolation_level=None)
        old.execute("BEGIN")
        assert old.execute("SELECT count(*) FROM events").fetchone() == (2,)
        await store.writer.delete("c")
        assert await store.reader.load("c") == [], "for all others it is gone"
        await trio.sleep(0.1)  # idle, and tried again: in vain
        assert old.execute("SELECT count(*) FROM events").fetchone() == (2,)
        assert wal_size(path) > 0
        old.close()
        with trio.fail_after(5):
            while wal_size(path):  # noqa: ASYNC110  # nobody tells when a log is empty
                await trio.sleep(0.01)
        assert secret not in await trio.Path(path).read_bytes()


async def test_a_long_log_is_checkpointed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint_module, "WAL_LIMIT_BYTES", 200_000)
    async with open_store(path) as store:
        await store.writer.append(create("c", note("x" * 100_000)))
        assert 0 < wal_size(path) < 200_000
        assert file_size(path) < 200_000
        await store.writer.append(add("c", note("y" * 150_000)))
        await store.writer.ping()
        assert file_size(path) > 250_000, "what the log held is in the database"
        kept = wal_size(path)
        await store.writer.append(add("c", note("z" * 150_000)))
        assert wal_size(path) == kept, "and the log's file is used again"
        assert len(await store.reader.load("c")) == 4


async def test_a_log_that_is_written_fast_is_bounded(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint_module, "WAL_LIMIT_BYTES", 200_000)
    monkeypatch.setattr(checkpoint_module, "KEPT_LIMIT_BYTES", 400_000)
    longest = 0
    async with open_store(path) as store:
        await store.writer.append(create("c"))
        for _ in range(100):
            await store.writer.append(add("c", note("x" * 50_000)))
            longest = max(longest, wal_size(path))
        assert len(await store.reader.load("c")) == 101
    assert longest < 600_000, "100 commits have 5 MB, in less than a second"


async def test_at_rest_the_log_is_copied(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "IDLE_S", 0.01)
    async with open_store(path) as store:
        await store.writer.append(create("c", note("x" * 100_000)))
        kept = wal_size(path)
        with trio.fail_after(5):
            while file_size(path) < 100_000:
                await trio.lowlevel.checkpoint()
        assert wal_size(path) == kept


async def test_a_write_with_jobs_is_announced_after_its_commit(path: Path) -> None:
    rung: list[int] = []
    writer = Writer(
        path,
        observe=ignore,
        now=Clock(),
        boot_id="one",
        jobs_changed=lambda: rung.append(writer.commits),
    )
    async with trio.open_nursery() as nursery:
        await nursery.start(writer.run)
        await writer.append(create("c"))
        assert rung == []
        before = writer.commits
        await writer.append(Write(conversation_id="c", bodies=[], jobs=[job("j")]))
        assert rung == [before + 1]
        claimed = await writer.apply(job_rows.claim_job(writer.boot_id))
        assert claimed is not None
        assert len(rung) == 1, "a claim is no news for those who claim"
        await writer.append(Write(conversation_id="c", bodies=[], fulfils=claimed.fence))
        assert len(rung) == 2
        with pytest.raises(StaleFence):
            await writer.append(Write(conversation_id="c", bodies=[], fulfils=claimed.fence))
        assert len(rung) == 2
        await writer.close()


async def test_a_newer_database_is_refused_before_anything_else(path: Path) -> None:
    next_number = MIGRATIONS[-1].number + 1
    newer = (*MIGRATIONS, Migration(next_number, "next", "CREATE TABLE later (x);"))
    writer = Writer(path, observe=ignore, now=Clock(), boot_id="b", migrations=newer)
    async with trio.open_nursery() as nursery:
        await nursery.start(writer.run)
        await writer.close()
    older = Writer(path, observe=ignore, now=Clock(), boot_id="b")
    with pytest.raises(NewerSchema, match="newer askd"):
        await older.run()
    with pytest.raises(StorageFailed):
        await older.append(create("c"))


async def test_callers_of_a_writer_that_cannot_open_are_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    writer = Writer(tmp_path / "file" / "ask.db", observe=ignore, now=Clock(), boot_id="b")
    told: list[str] = []

    async def ask() -> None:
        with pytest.raises(StorageFailed) as caught:
            await writer.append(create("c"))
        told.append(caught.value.message)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(StorageFailed, match="cannot be written"):
            await writer.run()
    assert len(told) == 1
    assert "cannot be written" in told[0]
