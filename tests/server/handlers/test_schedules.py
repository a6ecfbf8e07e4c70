"""Schedules over the wire: added, listed, read, sent now, paused, resumed, removed."""

from typing import Any

import pytest

from tests.fakes.house import Refused, Server, open_server


def wanted(text: str = "hello", **more: Any) -> dict[str, Any]:
    """The parameters of a `schedule/add`."""
    parts = [{"type": "text", "text": text}]
    return {"cron": "@daily", "zone": "UTC", "parts": parts, **more}


async def refuse(server: Server, method: str, params: dict[str, Any]) -> Refused:
    peer = await server.greet()
    with pytest.raises(Refused) as caught:
        await peer.call(method, params)
    return caught.value


async def test_one_is_added_and_read() -> None:
    async with open_server() as server:
        peer = await server.greet()
        options = {"model": "test/small", "tools": ["none"], "timeout_s": 5.0}
        added = await peer.call(
            "schedule/add",
            wanted("x" * 500, name="night", session="work", options=options, cwd="/tmp"),
        )
        assert (added["name"], added["cron"], added["zone"]) == ("night", "@daily", "UTC")
        assert added["options"] == {**options, "detach": True}
        assert (added["prompt"], added["cwd"], added["warning"]) == ("x" * 500, "/tmp", None)
        assert added["next_at"] > 0
        read = await peer.call("schedule/read", {"schedule": "night"})
        assert read == added
        page = await peer.call("schedule/list", {})
        (listed,) = page["data"]
        assert (listed["prompt"], listed["options"], listed["slots"]) == ("x" * 200, None, None)


async def test_nothing_of_a_caller_is_kept_but_what_is_listed() -> None:
    async with open_server() as server:
        refused = await refuse(server, "schedule/add", wanted(secrets={"OPENAI_API_KEY": "sk"}))
        assert refused.reason == "bad_params"
        peer = await server.greet()
        env = {"LANG": "C", "OPENAI_API_KEY": "sk", "OPENAI_BASE_URL": "http://127.0.0.1:9"}
        added = await peer.call("schedule/add", wanted(env=env))
        sight = await server.house.schedules.find(added["id"])
        assert sight.schedule.prompt.env == {"LANG": "C"}


async def test_it_is_sent_now() -> None:
    async with open_server() as server:
        peer = await server.greet()
        id = (await peer.call("schedule/add", wanted(session="work")))["id"]
        done = await peer.call("schedule/run", {"schedule": id, "key": "k"})
        again = await peer.call("schedule/run", {"schedule": id, "key": "k"})
        assert done["job_id"] == done["turn_id"] == again["turn_id"]
        assert (done["name"], done["created"]) == ("work", True)
        state = await peer.call(
            "turn/wait",
            {"conversation_id": done["conversation_id"], "turn_id": done["turn_id"]},
        )
        assert (state["state"], state["code"]) == ("finished", 0)


async def test_it_is_paused_resumed_and_removed() -> None:
    async with open_server() as server:
        peer = await server.greet()
        id = (await peer.call("schedule/add", wanted()))["id"]
        paused = await peer.call("schedule/pause", {"schedule": id})
        assert paused["paused_at"] is not None
        assert paused["next_at"] is None
        resumed = await peer.call("schedule/resume", {"schedule": id[:6]})
        assert (resumed["paused_at"], resumed["next_at"] is not None) == (None, True)
        assert (await peer.call("schedule/remove", {"schedule": id}))["id"] == id
        assert (await peer.call("schedule/list", {}))["data"] == []


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"parts": []}, "empty_prompt"),
        ({"parts": [{"type": "text", "text": " \n"}]}, "empty_prompt"),
        ({"parts": [{"type": "text", "text": "x" * 200_000}] * 2}, "bad_blob"),
        (
            {"parts": [{"type": "blob", "sha256": "a", "bytes": 1, "media_type": "image/png"}]},
            "bad_blob",
        ),
        ({"options": {"timeout_s": -1.0}}, "bad_params"),
        ({"missed": "never"}, "bad_params"),
        ({"cron": "61 * * * *"}, "bad_cron"),
        ({"far": True, "cwd": "/no/such/directory"}, "bad_params"),
    ],
)
async def test_what_is_wrong_is_refused(more: dict[str, Any], reason: str) -> None:
    async with open_server() as server:
        refused = await refuse(server, "schedule/add", wanted(**more))
        assert (refused.code, refused.reason) == (2, reason)


@pytest.mark.parametrize("verb", ["read", "pause", "resume", "remove"])
async def test_one_that_is_not_there(verb: str) -> None:
    async with open_server() as server:
        refused = await refuse(server, f"schedule/{verb}", {"schedule": "nobody"})
        assert (refused.code, refused.reason) == (3, "schedule_not_found")
        refused = await refuse(server, "schedule/run", {"schedule": "nobody", "key": "x" * 129})
        assert refused.reason == "bad_params"
