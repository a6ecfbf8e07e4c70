"""Jobs over the wire: listed in pages, read with their failures, waited for, steered, counted."""

import pytest
import trio
import trio.testing

from askd.core.events import QuestionAsked
from askd.store.log import NewJob
from tests.fakes.house import Refused, Server, open_server, prompt
from tests.fakes.log import JobState

EXPIRY = 9e9


def add(server: Server, id: str, state: str = "available", *, kind: str = "test") -> JobState:
    """A job as a row would hold it."""
    new = NewJob(id=id, kind=kind, unique_key=id, arguments={}, run_at=1.0, max_attempts=3)
    job = server.store.jobs[id] = JobState(new, "c", state, run_at=1.0)
    return job


async def test_jobs_come_in_pages() -> None:
    async with open_server() as server:
        for number in range(5):
            add(server, f"j{number}", "completed")
        peer = await server.greet()
        first = await peer.call("job/list", {"limit": 3})
        assert [job["id"] for job in first["data"]] == ["j0", "j1", "j2"]
        rest = await peer.call("job/list", {"limit": 3, "cursor": first["next_cursor"]})
        assert [job["id"] for job in rest["data"]] == ["j3", "j4"]
        assert rest["next_cursor"] is None


async def test_only_some_jobs_are_listed() -> None:
    async with open_server() as server:
        add(server, "a", "completed")
        add(server, "b", "retryable")
        add(server, "c", kind="other")
        peer = await server.greet()
        for asked, ids in (
            ({"kind": "other"}, ["c"]),
            ({"states": ["completed", "retryable"]}, ["a", "b"]),
            ({"conversation_id": "nobody"}, []),
        ):
            page = await peer.call("job/list", asked)
            assert [job["id"] for job in page["data"]] == ids


async def test_one_job_is_read_or_not_found() -> None:
    async with open_server() as server:
        add(server, "j7", "discarded").errors.append("No.")
        peer = await server.greet()
        job = await peer.call("job/read", {"job_id": "j7"})
        assert (job["kind"], job["state"], job["error"]) == ("test", "discarded", "No.")
        assert [each["error"] for each in job["errors"]] == ["No."]
        assert job["question"] is None
        with pytest.raises(Refused) as caught:
            await peer.call("job/read", {"job_id": "none"})
        assert (caught.value.code, caught.value.reason) == (3, "job_not_found")


async def test_a_turns_job_is_read_with_the_question_that_it_waits_for() -> None:
    async with open_server() as server:
        server.models.script = lambda request: [trio.Event()]
        peer = await server.greet()
        started = await peer.call("turn/start", prompt(options={"detach": True}))
        session = await server.house.sessions.get(started["conversation_id"])
        turn_id, job_id = started["turn_id"], started["job_id"]
        assert (await peer.call("job/read", {"job_id": job_id}))["question"] is None
        (listed,) = (await peer.call("job/list", {"kind": "turn"}))["data"]
        assert not listed["needs_you"]
        await session.append([QuestionAsked(turn_id, "q", "overflow", "d", {"tokens": 9}, EXPIRY)])
        job = await peer.call("job/read", {"job_id": job_id})
        assert (job["turn_id"], job["kind"], job["needs_you"]) == (turn_id, "turn", True)
        (listed,) = (await peer.call("job/list", {"kind": "turn"}))["data"]
        assert (listed["needs_you"], listed["question"]) == (True, None)
        assert job["seq"] == started["seq"]
        assert job["question"] == {
            "question_id": "q",
            "kind": "overflow",
            "digest": "d",
            "detail": {"tokens": 9},
            "expires_at": EXPIRY,
        }
        server.store.jobs[job_id].conversation_id = "gone"
        assert (await peer.call("job/read", {"job_id": job_id}))["question"] is None
        (listed,) = (await peer.call("job/list", {"kind": "turn"}))["data"]
        assert not listed["needs_you"]


async def test_a_turn_is_cancelled_and_asked_anew_as_another_job() -> None:
    async with open_server() as server:
        server.models.script = lambda request: ["half", trio.Event()]
        peer = await server.greet()
        started = await peer.call("turn/start", prompt("again", options={"detach": True}))
        job = await peer.call("job/cancel", {"job_id": started["job_id"]})
        assert (job["state"], job["code"]) == ("cancelled", 1)
        lent = {"env": {"ASK_MODEL": "x", "HOME": "/nowhere"}, "secrets": {"KEY": "k"}}
        again = await peer.call("job/retry", {"job_id": started["job_id"], **lent})
        assert again["id"] == again["turn_id"] != started["turn_id"]
        assert again["conversation_id"] == started["conversation_id"]
        await trio.testing.wait_all_tasks_blocked()
        assert server.models.callers[-1].secrets == {"KEY": "k"}
        with pytest.raises(Refused) as caught:
            await peer.call("job/retry", {"job_id": again["id"]})
        assert caught.value.reason == "wrong_job_state"


async def test_a_question_takes_one_of_its_choices_and_says_who_chose() -> None:
    async with open_server() as server:
        server.models.script = lambda request: [trio.Event()]
        peer = await server.greet()
        started = await peer.call("turn/start", prompt())
        session = await server.house.sessions.get(started["conversation_id"])
        choices = [{"decision": "compact", "label": "C"}, {"decision": "reset", "label": "R"}]
        turn_id = started["turn_id"]
        asked = QuestionAsked(turn_id, "q", "overflow", "d", {"choices": choices}, EXPIRY)
        await session.append([asked])
        answer = {"conversation_id": session.id, "question_id": "q", "digest": "d"}
        with pytest.raises(Refused) as caught:
            await peer.call("question/answer", {**answer, "decision": "3"})
        assert "compact, reset" in caught.value.message
        said = {**answer, "decision": "reset", "terminal": "tty:/dev/pts/9:1:2"}
        await peer.call("question/answer", said)
        (given,) = session.conversation.turns[turn_id].answers.values()
        assert (given.by, given.decision) == ("tty:/dev/pts/9:1:2", "reset")


async def test_jobs_are_waited_for(autojump_clock: trio.testing.MockClock) -> None:
    async with open_server() as server:
        job = add(server, "j", "running")
        add(server, "k", "completed")
        peer = await server.greet()
        waited = await peer.call("job/wait", {"job_ids": ["j", "k"], "timeout_s": 9})
        assert (waited["over"], [each["state"] for each in waited["data"]]) == (
            False,
            ["running", "completed"],
        )
        assert trio.current_time() >= 9
        first = await peer.call("job/wait", {"job_ids": ["j", "k"], "any": True})
        assert first["over"]
        job.state = "completed"
        assert (await peer.call("job/wait", {"job_ids": ["j", "k"]}))["over"]


@pytest.mark.parametrize("ids", [[], ["j"] * 201])
async def test_none_and_too_many_jobs_are_not_waited_for(ids: list[str]) -> None:
    async with open_server() as server:
        add(server, "j", "completed")
        peer = await server.greet()
        with pytest.raises(Refused) as caught:
            await peer.call("job/wait", {"job_ids": ids})
        assert (caught.value.code, caught.value.reason) == (2, "bad_params")


async def test_jobs_are_cancelled_and_tried_again() -> None:
    async with open_server() as server:
        add(server, "j", "retryable")
        peer = await server.greet()
        assert (await peer.call("job/cancel", {"job_id": "j"}))["state"] == "cancelled"
        assert (await peer.call("job/cancel", {"job_id": "j"}))["state"] == "cancelled"
        assert (await peer.call("job/retry", {"job_id": "j"}))["state"] == "available"
        server.store.jobs["j"].state = "completed"
        with pytest.raises(Refused) as caught:
            await peer.call("job/retry", {"job_id": "j"})
        assert (caught.value.code, caught.value.reason) == (2, "wrong_job_state")


async def test_jobs_are_counted() -> None:
    async with open_server() as server:
        add(server, "j", "retryable")
        peer = await server.greet()
        assert await peer.call("job/stats", {}) == {
            "stored": [{"kind": "test", "state": "retryable", "count": 1}],
            "kinds": [],
        }
