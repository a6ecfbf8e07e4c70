"""Jobs: added once, run by one attempt at a time, ended by that attempt alone."""

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from askd.core.events import Titled
from askd.errors import StaleFence
from askd.store.batch import Change, Done, commit_batch
from askd.store.changes import append
from askd.store.job_rows import KEPT_ERRORS, claim_job, end_job, reset_orphans
from askd.store.log import ClaimedJob, Fence, Write
from askd.store.migrations import migrate
from tests.store.builders import create, job


def do(connection: sqlite3.Connection, change: Change[Any], *, at: float = 10.0) -> Any:
    (outcome,) = commit_batch(connection, [change], at=at)
    if isinstance(outcome, Done):
        return outcome.value
    raise outcome


def state(connection: sqlite3.Connection, id: str = "j") -> tuple[Any, ...]:
    found = connection.execute(
        "SELECT state, attempt, owner, run_at, started_at, finished_at FROM jobs WHERE id = ?",
        (id,),
    ).fetchone()
    return tuple(found)


def errors(connection: sqlite3.Connection, id: str = "j") -> list[dict[str, Any]]:
    (text,) = connection.execute("SELECT errors FROM jobs WHERE id = ?", (id,)).fetchone()
    found: list[dict[str, Any]] = json.loads(text)
    return found


@pytest.fixture
def jobs(connection: sqlite3.Connection) -> sqlite3.Connection:
    write = create("c")
    do(
        connection,
        append(
            Write(
                conversation_id="c", bodies=write.bodies, create=True, jobs=[job("j", run_at=5.0)]
            )
        ),
    )
    return connection


def more(connection: sqlite3.Connection, *new: Any) -> None:
    do(connection, append(Write(conversation_id="c", bodies=[], jobs=new)))


def test_a_job_is_claimed_when_it_is_due(jobs: sqlite3.Connection) -> None:
    assert do(jobs, claim_job("boot"), at=4.9) is None
    claimed = do(jobs, claim_job("boot"), at=5.0)
    assert claimed == ClaimedJob(
        fence=Fence("j", "boot", 1),
        kind="title",
        conversation_id="c",
        arguments={"conversation_id": "c"},
        attempt=1,
        max_attempts=3,
    )
    assert state(jobs) == ("executing", 1, "boot", 5.0, 5.0, None)
    assert do(jobs, claim_job("boot"), at=6.0) is None


def test_the_one_that_waits_longest_comes_first(jobs: sqlite3.Connection) -> None:
    more(jobs, job("later", "x", run_at=6.0), job("sooner", "y", run_at=1.0))
    order = [do(jobs, claim_job("boot")).fence.job_id for _ in range(3)]
    assert order == ["sooner", "j", "later"]


def test_a_like_job_is_added_only_when_the_first_is_over(jobs: sqlite3.Connection) -> None:
    def ids() -> list[str]:
        return [id for (id,) in jobs.execute("SELECT id FROM jobs ORDER BY id")]

    more(jobs, job("k"))
    assert ids() == ["j"]
    claimed = do(jobs, claim_job("boot"))
    more(jobs, job("k"))
    assert ids() == ["j"]
    do(jobs, end_job(claimed.fence, state="completed"))
    more(jobs, job("k"))
    assert ids() == ["j", "k"]


def test_an_effect_and_the_end_of_its_job_are_one(jobs: sqlite3.Connection) -> None:
    claimed = do(jobs, claim_job("boot"))
    write = Write(conversation_id="c", bodies=[Titled("Greetings")], fulfils=claimed.fence)
    do(jobs, append(write), at=11.0)
    assert state(jobs) == ("completed", 1, "boot", 5.0, 10.0, 11.0)
    with pytest.raises(StaleFence):
        do(jobs, append(write))
    assert jobs.execute("SELECT count(*) FROM events WHERE type = 'titled'").fetchone() == (1,)


@pytest.mark.parametrize(
    "fence", [Fence("j", "boot", 2), Fence("j", "other", 1), Fence("k", "boot", 1)]
)
def test_a_stale_attempt_changes_nothing(jobs: sqlite3.Connection, fence: Fence) -> None:
    do(jobs, claim_job("boot"))
    with pytest.raises(StaleFence):
        do(jobs, append(Write(conversation_id="c", bodies=[Titled("x")], fulfils=fence)))
    with pytest.raises(StaleFence):
        do(jobs, end_job(fence, state="completed"))
    assert state(jobs)[0] == "executing"


def test_a_job_put_back_waits_and_remembers_why(jobs: sqlite3.Connection) -> None:
    for attempt in range(1, KEPT_ERRORS + 3):
        claimed = do(jobs, claim_job("boot"), at=100.0 * attempt)
        assert claimed.attempt == attempt
        do(
            jobs,
            end_job(claimed.fence, state="available", error=f"e{attempt}", run_at=100.0 * attempt),
            at=100.0 * attempt,
        )
    assert state(jobs) == ("available", 12, None, 1200.0, 1200.0, None)
    kept = errors(jobs)
    assert [each["error"] for each in kept] == [f"e{n}" for n in range(3, 13)]
    assert kept[-1] == {"at": 1200.0, "attempt": 12, "error": "e12"}


@pytest.mark.parametrize("end", ["completed", "cancelled", "discarded"])
def test_an_end_is_an_end(jobs: sqlite3.Connection, end: Any) -> None:
    claimed = do(jobs, claim_job("boot"))
    do(jobs, end_job(claimed.fence, state=end), at=12.0)
    assert state(jobs) == (end, 1, None, 5.0, 10.0, 12.0)
    assert errors(jobs) == []


def test_a_crash_counts_as_a_try_and_ends_a_poison_job(jobs: sqlite3.Connection) -> None:
    for boot in ("one", "two", "three"):
        assert do(jobs, reset_orphans(boot)) == (0 if boot == "one" else 1)
        assert do(jobs, reset_orphans(boot)) == 0
        assert do(jobs, claim_job(boot)) is not None
        assert do(jobs, reset_orphans(boot)) == 0, "its own is no orphan"
    assert do(jobs, reset_orphans("four"), at=20.0) == 1
    assert state(jobs) == ("discarded", 3, None, 5.0, 10.0, 20.0)
    assert [each["attempt"] for each in errors(jobs)] == [1, 2, 3]
    assert do(jobs, claim_job("four")) is None


class Jobs(RuleBasedStateMachine):
    """Any order of adding, claiming, ending and crashing: each effect happens at most once."""

    def __init__(self) -> None:
        super().__init__()
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        for statement in ("PRAGMA foreign_keys = ON", "PRAGMA temp_store = MEMORY"):
            self.connection.execute(statement)
        migrate(self.connection, Path(":memory:"), at=0.0)
        do(self.connection, append(create("c")))
        self.boot = 0
        self.added = 0
        self.held: list[Fence] = []
        self.effects: list[str] = []

    def teardown(self) -> None:
        self.connection.close()

    @rule(like=st.sampled_from(["a", "b"]))
    def add(self, like: str) -> None:
        self.added += 1
        more(self.connection, job(f"j{self.added}", like, max_attempts=2))

    @rule()
    def claim(self) -> None:
        claimed = do(self.connection, claim_job(str(self.boot)))
        if claimed is not None:
            assert claimed.attempt <= claimed.max_attempts
            self.held.append(claimed.fence)

    @rule()
    def crash(self) -> None:
        self.boot += 1
        do(self.connection, reset_orphans(str(self.boot)))
        stuck = self.connection.execute("SELECT 1 FROM jobs WHERE state = 'executing'").fetchone()
        assert stuck is None

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def effect(self, data: st.DataObject) -> None:
        fence = data.draw(st.sampled_from(self.held))
        try:
            do(
                self.connection,
                append(Write(conversation_id="c", bodies=[Titled(fence.job_id)], fulfils=fence)),
            )
        except StaleFence:
            return
        self.effects.append(fence.job_id)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        fence = data.draw(st.sampled_from(self.held))
        again: Any = "available" if fence.attempt < 2 else "discarded"
        with contextlib.suppress(StaleFence):
            do(self.connection, end_job(fence, state=again, error="x", run_at=0.0))

    @invariant()
    def at_most_once(self) -> None:
        assert len(set(self.effects)) == len(self.effects)
        completed = self.connection.execute("SELECT id FROM jobs WHERE state = 'completed'")
        assert {id for (id,) in completed} == set(self.effects)

    @invariant()
    def no_two_alike(self) -> None:
        open_jobs = self.connection.execute(
            "SELECT unique_key FROM jobs WHERE state IN ('available', 'executing')"
        ).fetchall()
        assert len(set(open_jobs)) == len(open_jobs)


TestJobs = Jobs.TestCase
TestJobs.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
