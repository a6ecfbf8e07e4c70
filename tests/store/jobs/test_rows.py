"""Jobs: added once, run by one attempt at a time, ended by that attempt alone."""

import contextlib
import json
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from askd.core.events import Titled
from askd.errors import RequestError, StaleFence
from askd.store.batch import Change, Done, commit_batch
from askd.store.changes import append
from askd.store.jobs.orders import cancel_job, find_next_run, retry_job
from askd.store.jobs.rows import ERROR_LENGTH, KEPT_ERRORS, claim_job, end_job, reset_orphans
from askd.store.log import TURN_KIND, ClaimedJob, Fence, Write
from askd.store.migrations import migrate
from tests.store.builders import create, job

WAITING_STATES = ("available", "scheduled", "retryable")
OPEN_STATES = (*WAITING_STATES, "running")


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
    first = job("j", run_at=5.0)
    write = Write(conversation_id="c", bodies=create("c").bodies, create=True, jobs=[first])
    do(connection, append(write), at=1.0)
    return connection


def more(connection: sqlite3.Connection, *new: Any) -> None:
    do(connection, append(Write(conversation_id="c", bodies=[], jobs=new)))


def test_a_job_is_claimed_when_it_is_due(jobs: sqlite3.Connection) -> None:
    assert do(jobs, claim_job("boot"), at=4.9) is None
    assert state(jobs) == ("scheduled", 0, None, 5.0, None, None)
    claimed = do(jobs, claim_job("boot"), at=5.0)
    assert claimed == ClaimedJob(
        fence=Fence("j", "boot", 1),
        kind="title",
        conversation_id="c",
        arguments={"conversation_id": "c"},
        attempt=1,
        max_attempts=3,
        waited_s=0.0,
    )
    assert state(jobs) == ("running", 1, "boot", 5.0, 5.0, None)
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
    assert state(jobs) == ("completed", 1, None, 5.0, 10.0, 11.0)
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
    assert state(jobs)[0] == "running"


def test_a_job_put_back_waits_and_remembers_why(jobs: sqlite3.Connection) -> None:
    for attempt in range(1, KEPT_ERRORS + 3):
        claimed = do(jobs, claim_job("boot"), at=100.0 * attempt)
        assert claimed.attempt == attempt
        do(
            jobs,
            end_job(claimed.fence, state="retryable", error=f"e{attempt}", run_at=100.0 * attempt),
            at=100.0 * attempt,
        )
    assert state(jobs) == ("retryable", 12, None, 1200.0, 1200.0, None)
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


def test_a_kind_of_which_enough_run_does_not_hold_up_others(jobs: sqlite3.Connection) -> None:
    other = replace(job("k", "k", run_at=9.0), kind="compact")
    more(jobs, other)
    assert do(jobs, claim_job("boot", without=["title"])).fence.job_id == "k"
    assert do(jobs, claim_job("boot", without=["title"])) is None


def test_the_job_of_a_turn_is_never_claimed_nor_taken_back(jobs: sqlite3.Connection) -> None:
    more(jobs, replace(job("t", "turn-1", run_at=1.0), kind=TURN_KIND))
    assert do(jobs, claim_job("boot")).fence.job_id == "j"
    assert do(jobs, claim_job("boot")) is None
    jobs.execute("UPDATE jobs SET state = 'running', owner = 'before' WHERE id = 't'")
    assert do(jobs, reset_orphans("after")) == 1
    assert state(jobs, "t")[0] == "running"


def test_a_try_that_a_proper_end_cut_short_does_not_count(jobs: sqlite3.Connection) -> None:
    for number in range(1, 5):
        claimed = do(jobs, claim_job(f"boot {number}"))
        assert (claimed.attempt, claimed.fence.attempt) == (1, number)
        do(jobs, end_job(claimed.fence, state="available"))
    assert (state(jobs)[0], errors(jobs)) == ("available", [])


def test_a_clock_that_was_set_back_puts_nothing_off_for_years(jobs: sqlite3.Connection) -> None:
    """What is available runs; a retry that no back-off can have put there runs; a time stays."""
    year = 365 * 86_400.0
    more(jobs, job("later", "later", run_at=2 * year))
    claimed = do(jobs, claim_job("boot"), at=year)
    do(jobs, end_job(claimed.fence, state="retryable", run_at=year + 5), at=year)
    assert do(jobs, claim_job("boot"), at=year + 4) is None
    assert do(jobs, claim_job("boot"), at=10.0).fence.job_id == "j"
    do(jobs, end_job(Fence("j", "boot", 2), state="available"), at=10.0)
    assert do(jobs, claim_job("boot"), at=-year).fence.job_id == "j"
    assert do(jobs, claim_job("boot"), at=10.0) is None
    assert state(jobs, "later")[0] == "scheduled"


def test_an_error_is_kept_short(jobs: sqlite3.Connection) -> None:
    claimed = do(jobs, claim_job("boot"))
    do(jobs, end_job(claimed.fence, state="discarded", error="x" * 5000))
    assert len(errors(jobs)[0]["error"]) == ERROR_LENGTH


class Jobs(RuleBasedStateMachine):
    """Any order of all that can happen to jobs, beside a model of what they are.

    Each effect happens at most once, never are two of one key open, and no job is lost: what is
    open can be claimed some day, whatever the clock did.
    """

    def __init__(self) -> None:
        super().__init__()
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        for statement in ("PRAGMA foreign_keys = ON", "PRAGMA temp_store = MEMORY"):
            self.connection.execute(statement)
        migrate(self.connection, Path(":memory:"), at=0.0)
        self.clock = 1e9
        self.do(append(create("c")))
        self.boot = 0
        self.added: set[str] = set()
        self.held: list[ClaimedJob] = []
        self.claims: set[Fence] = set()
        self.effects: list[Fence] = []

    def do(self, change: Change[Any]) -> Any:
        return do(self.connection, change, at=self.clock)

    def teardown(self) -> None:
        if self.added:
            self.nothing_is_lost()
        self.connection.close()

    def rows(self) -> dict[str, tuple[str, str]]:
        found = self.connection.execute("SELECT id, state, unique_key FROM jobs")
        return {id: (state, key) for id, state, key in found}

    @rule(like=st.sampled_from(["a", "b", "c"]), wait_s=st.sampled_from([0.0, 100.0]))
    def add(self, like: str, wait_s: float) -> None:
        id = f"j{len(self.added)}"
        before = self.rows()
        new = job(id, like, run_at=self.clock + wait_s, max_attempts=2)
        self.do(append(Write(conversation_id="c", bodies=[], jobs=[new])))
        is_taken = any(key == like and state in OPEN_STATES for state, key in before.values())
        assert (id in self.rows()) is not is_taken
        if not is_taken:
            self.added.add(id)

    @rule(seconds=st.sampled_from([1.0, 200.0, -3600.0, -3e8, 3e8]))
    def set_clock(self, seconds: float) -> None:
        self.clock += seconds

    @rule()
    def claim(self) -> None:
        claimed = self.do(claim_job(str(self.boot)))
        if claimed is not None:
            assert 1 <= claimed.attempt <= claimed.max_attempts
            assert claimed.fence not in self.claims, "two tries with one fence"
            self.claims.add(claimed.fence)
            self.held.append(claimed)

    @rule()
    def crash(self) -> None:
        self.boot += 1
        self.do(reset_orphans(str(self.boot)))
        assert not any(state == "running" for state, _ in self.rows().values())

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def take_effect(self, data: st.DataObject) -> None:
        fence = data.draw(st.sampled_from(self.held)).fence
        write = Write(conversation_id="c", bodies=[Titled(fence.job_id)], fulfils=fence)
        with contextlib.suppress(StaleFence):
            self.do(append(write))
            self.effects.append(fence)

    @precondition(lambda self: self.held)
    @rule(data=st.data(), final=st.booleans())
    def fail(self, data: st.DataObject, final: bool) -> None:
        held = data.draw(st.sampled_from(self.held))
        is_over = final or held.attempt >= held.max_attempts
        end: Any = "discarded" if is_over else "retryable"
        with contextlib.suppress(StaleFence):
            self.do(end_job(held.fence, state=end, error="x", run_at=self.clock + 2))

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def hand_back(self, data: st.DataObject) -> None:
        with contextlib.suppress(StaleFence):
            self.do(end_job(data.draw(st.sampled_from(self.held)).fence, state="available"))

    @precondition(lambda self: self.added)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        id = data.draw(st.sampled_from(sorted(self.added)))
        was = self.rows()[id][0]
        now = self.do(cancel_job(id)).state
        assert now == ("cancelled" if was in OPEN_STATES else was)

    @precondition(lambda self: self.added)
    @rule(data=st.data())
    def retry(self, data: st.DataObject) -> None:
        id = data.draw(st.sampled_from(sorted(self.added)))
        was = self.rows()[id][0]
        with contextlib.suppress(RequestError):
            row = self.do(retry_job(id))
            assert was not in ("running", "completed")
            assert (row.state, row.attempt) == ("available", 0)

    @invariant()
    def at_most_one_effect(self) -> None:
        assert len({fence.job_id for fence in self.effects}) == len(self.effects)
        done = {id for id, (state, _) in self.rows().items() if state == "completed"}
        assert done == {fence.job_id for fence in self.effects}
        titled = self.connection.execute("SELECT count(*) FROM events WHERE type = 'titled'")
        assert titled.fetchone() == (len(self.effects),)

    @invariant()
    def no_two_alike(self) -> None:
        keys = [key for state, key in self.rows().values() if state in OPEN_STATES]
        assert len(set(keys)) == len(keys)

    @invariant()
    def the_next_time_is_when_a_claim_finds_something(self) -> None:
        due_s = self.do(find_next_run())
        waits = [id for id, (state, _) in self.rows().items() if state in WAITING_STATES]
        assert (due_s is None) is (not waits)

    def nothing_is_lost(self) -> None:
        """After a restart, and long enough, all that is open can be run."""
        assert set(self.rows()) == self.added
        self.crash()
        waiting = {id for id, (state, _) in self.rows().items() if state in WAITING_STATES}
        self.clock = 1e12
        claimed = set()
        while (job := self.do(claim_job("last"))) is not None:
            claimed.add(job.fence.job_id)
        assert claimed == waiting


TestJobs = Jobs.TestCase
TestJobs.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
