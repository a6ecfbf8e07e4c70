"""Turns over the wire: accepted once, followed from their own event, ended and waited for."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from ask.protocol.messages import BLOB_CHUNK_BYTES
from askd.core.approval import Grant
from askd.core.elicitations import describe_elicitation
from askd.core.events import PromptAccepted, QuestionAsked
from askd.core.grants import encode_grant
from askd.core.items import PART_LIMIT_BYTES
from askd.core.questions import describe_question
from askd.sessions.live import LiveSession
from tests.fakes.house import PeerStream, Refused, Server, open_server, prompt
from tests.fakes.models import last_words


def ids(started: dict[str, Any]) -> dict[str, Any]:
    return {name: started[name] for name in ("conversation_id", "turn_id")}


def to(started: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "id", "value": started["conversation_id"]}


async def refuse(peer: PeerStream, method: str, params: dict[str, Any]) -> Refused:
    with pytest.raises(Refused) as caught:
        await peer.call(method, params)
    return caught.value


async def test_the_answer_comes_before_the_first_notification_and_nothing_is_missing() -> None:
    async with open_server() as server:
        peer = await server.greet()
        id = await peer.send("turn/start", prompt("one two", follow=True))
        kind, answered, error, started = await peer.next()
        assert (kind, answered, error) == (1, id, None)
        assert (started["seq"], started["position"], started["created"]) == (2, 0, True)
        seen = await peer.follow("turn_finished")
        events = [params for method, params in seen if method == "event"]
        assert [event["seq"] for event in events] == list(range(2, 2 + len(events)))
        assert events[0]["type"] == "prompt_accepted"
        text = "".join(params["text"] for method, params in seen if method == "delta")
        assert text == "echo: one two"
        assert events[-1]["outcome"] == "completed"


async def test_who_prompts_is_told_that_the_settings_are_old() -> None:
    async with open_server() as server:
        server.host.warning = "config.toml, line 1: there is no such setting"
        peer = await server.greet()
        started = await peer.call("turn/start", prompt("a", follow=True))
        seen = await peer.follow("turn_finished")
        told = {**ids(started), "kind": "warning", "text": server.host.warning}
        assert seen[0] == ("progress", told)
        error = await refuse(peer, "turn/start", prompt("b", options={"model": "none/such"}))
        assert (error.reason, error.data["hint"]) == ("unknown_model", server.host.warning)


async def test_without_follow_only_the_answer_comes() -> None:
    async with open_server() as server:
        peer = await server.greet()
        started = await peer.call("turn/start", prompt())
        assert (await peer.call("turn/wait", ids(started)))["outcome"] == "completed"
        assert not peer.received


async def test_the_same_key_is_the_same_turn_and_is_followed_from_its_event() -> None:
    async with open_server() as server:
        first, second = await server.greet(), await server.greet()
        started = await first.call("turn/start", prompt("hi", follow=True))
        whole = await first.follow("turn_finished")
        again = await second.call("turn/start", prompt("hi", follow=True))
        assert ids(again) == ids(started)
        assert again["seq"] == started["seq"]
        replayed = await second.follow("turn_finished")
        assert [p for m, p in replayed if m == "event"] == [p for m, p in whole if m == "event"]
        error = await refuse(first, "turn/start", prompt("other", key="key of hi"))
        assert (error.code, error.reason) == (2, "key_reused")


async def test_what_is_followed_already_does_not_come_twice() -> None:
    async with open_server() as server:
        peer = await server.greet()
        started = await peer.call("turn/start", prompt("a", follow=True))
        first = await peer.follow("turn_finished")
        await peer.call("turn/start", prompt("b", target=to(started), follow=True))
        second = await peer.follow("turn_finished")
        seqs = [params["seq"] for method, params in first + second if method == "event"]
        assert seqs == list(range(2, 2 + len(seqs)))


async def test_a_late_follower_gets_the_text_so_far_and_then_the_rest() -> None:
    hold = trio.Event()
    async with open_server() as server:
        server.models.script = lambda request: ["so ", "far", hold, " and on"]
        first, late = await server.greet(), await server.greet()
        await first.call("turn/start", prompt("hi", follow=True))
        while (await first.notification())[1].get("text") != "far":
            pass
        await late.call("turn/start", prompt("hi", follow=True))
        hold.set()
        seen = await late.follow("turn_finished")
        deltas = [
            (params["offset"], params["text"]) for method, params in seen if method == "delta"
        ]
        assert deltas == [(0, "so far"), (6, " and on")]


async def test_a_follower_with_too_much_to_replay_is_told_to_read() -> None:
    async with open_server() as server:
        peer = await server.greet()
        started = await peer.call("turn/start", prompt("hi"))
        await peer.call("turn/wait", ids(started))
        for number in range(300):
            note = {"conversation_id": started["conversation_id"], "text": str(number)}
            await peer.call("conversation/note", note)
        await peer.call("turn/start", prompt("hi", follow=True))
        gap = {"conversation_id": started["conversation_id"]}
        assert await peer.notification() == ("gap", gap)


async def test_prompts_wait_in_line_or_are_refused() -> None:
    hold = trio.Event()
    async with open_server() as server:
        server.models.script = lambda request: [hold]
        peer = await server.greet()
        first = await peer.call("turn/start", prompt("a"))
        await trio.testing.wait_all_tasks_blocked()
        positions = [
            (await peer.call("turn/start", prompt(f"b{n}", target=to(first))))["position"]
            for n in range(3)
        ]
        assert positions == [1, 2, 3]
        error = await refuse(peer, "turn/start", prompt("c", target=to(first), busy="fail"))
        assert (error.code, error.reason) == (8, "busy")
        hold.set()


async def test_a_running_turn_is_interrupted_and_a_queued_one_is_withdrawn() -> None:
    hold = trio.Event()
    async with open_server() as server:
        server.models.script = lambda request: ["partial", hold]
        peer = await server.greet()
        first = await peer.call("turn/start", prompt("a"))
        second = await peer.call("turn/start", prompt("b", target=to(first)))
        await trio.testing.wait_all_tasks_blocked()
        withdrawn = await peer.call("turn/withdraw", ids(second))
        assert (withdrawn["state"], withdrawn["outcome"]) == ("finished", "withdrawn")
        running = await peer.call("turn/withdraw", ids(first))
        assert running["state"] == "running"
        await peer.call("turn/interrupt", ids(first))
        state = await peer.call("turn/wait", ids(first))
        assert (state["outcome"], state["code"]) == ("interrupted", 1)
        page = await peer.call("conversation/read", {"conversation_id": first["conversation_id"]})
        (ended,) = [
            e
            for e in page["data"]
            if e["type"] == "turn_finished" and e["code"] == 1 and e["outcome"] == "interrupted"
        ]
        assert ended["message"] == "Interrupted by test."
        assert (await peer.call("turn/interrupt", ids(first)))["state"] == "finished"


async def test_waiting_has_a_limit(autojump_clock: trio.testing.MockClock) -> None:
    hold = trio.Event()
    async with open_server() as server:
        server.models.script = lambda request: [hold]
        peer = await server.greet()
        started = await peer.call("turn/start", prompt())
        began = trio.current_time()
        state = await peer.call("turn/wait", {**ids(started), "timeout_s": 7.0})
        assert trio.current_time() - began == 7
        assert (state["state"], state["outcome"]) == ("running", None)
        assert (await peer.call("turn/wait", {**ids(started), "timeout_s": -1.0}))["state"]


@pytest.mark.parametrize("method", ["turn/wait", "turn/interrupt", "turn/withdraw"])
async def test_a_turn_that_is_not_there_is_not_found(method: str) -> None:
    async with open_server() as server:
        peer = await server.greet()
        started = await peer.call("turn/start", prompt())
        error = await refuse(peer, method, {**ids(started), "turn_id": "none"})
        assert (error.code, error.reason) == (3, "turn_not_found")
        error = await refuse(peer, method, {"conversation_id": "none", "turn_id": "none"})
        assert (error.code, error.reason) == (3, "conversation_not_found")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"parts": []}, "empty_prompt"),
        ({"parts": [{"type": "text", "text": " \n\t"}]}, "empty_prompt"),
        ({"parts": [{"type": "text"}]}, "bad_params"),
        ({"parts": [{"type": "blob", "sha256": "ab"}]}, "bad_params"),
        ({"parts": [{"type": "text", "text": "é" * (PART_LIMIT_BYTES // 2 + 1)}]}, "bad_params"),
        ({"key": ""}, "bad_params"),
        ({"key": "k" * 129}, "bad_params"),
        ({"options": {"timeout_s": 0.0}}, "bad_params"),
        ({"options": {"max_output_tokens": 0}}, "bad_params"),
        ({"options": {"temperature": -0.1}}, "bad_params"),
        ({"options": {"temperature": 11.0}}, "bad_params"),
        ({"options": {"stop": [""]}}, "bad_params"),
        ({"options": {"stop": ["x" * 1025]}}, "bad_params"),
        ({"options": {"stop": ["x"] * 17}}, "bad_params"),
        ({"options": {"effort": "colossal"}}, "bad_params"),
        ({"options": {"answer_schema": "name"}}, "bad_params"),
        ({"options": {"answer_schema": {"type": "int"}}}, "bad_schema"),
        ({"options": {"answer_schema": {"$ref": "http://127.0.0.1:9/x"}}}, "bad_schema"),
        ({"options": {"model": "none/such"}}, "unknown_model"),
        ({"target": {"kind": "new", "value": "a/b"}}, "bad_name"),
        ({"target": {"kind": "id", "value": "none"}}, "conversation_not_found"),
        ({"target": {"kind": "session", "value": "none"}}, "conversation_not_found"),
        ({"target": {"kind": "terminal", "value": "none"}}, "no_terminal"),
    ],
)
async def test_what_cannot_be_accepted_is_refused_and_nothing_is_stored(
    change: dict[str, Any], reason: str
) -> None:
    async with open_server() as server:
        peer = await server.greet()
        error = await refuse(peer, "turn/start", prompt("x", **change))
        assert error.reason == reason
        assert server.store.rows() == []
        assert server.house.sessions.live() == []


async def test_a_text_of_the_limit_is_accepted() -> None:
    async with open_server() as server:
        peer = await server.greet()
        parts = [{"type": "text", "text": "x" * PART_LIMIT_BYTES}]
        assert (await peer.call("turn/start", prompt("x", parts=parts)))["seq"] == 2


async def test_a_daemon_that_drains_accepts_nothing() -> None:
    async with open_server() as server:
        peer = await server.greet()
        await peer.call("daemon/drain")
        error = await refuse(peer, "turn/start", prompt())
        assert (error.code, error.reason) == (69, "draining")


async def test_a_disk_that_says_no_is_code_74_and_nothing_was_accepted() -> None:
    async with open_server() as server:
        server.store.failing = True
        peer = await server.greet()
        error = await refuse(peer, "turn/start", prompt())
        assert (error.code, error.reason) == (74, "storage_failed")
        server.store.failing = False
        assert (await peer.call("turn/start", prompt()))["seq"] == 2


async def test_only_listed_variables_are_stored_and_secrets_never() -> None:
    async with open_server() as server:
        peer = await server.greet()
        lent = {
            "env": {"LANG": "C", "AWS_SECRET": "canary-1"},
            "secrets": {"OPENAI_API_KEY": "canary-2"},
            "cwd": "/somewhere",
        }
        started = await peer.call("turn/start", prompt("x", **lent))
        await peer.call("turn/wait", ids(started))
        bodies = [body for write in server.store.writes for body in write.bodies]
        (accepted,) = [body for body in bodies if isinstance(body, PromptAccepted)]
        assert accepted.env == {"LANG": "C"}
        assert accepted.cwd == "/somewhere"
        assert accepted.caller_credentials
        assert "canary" not in repr(bodies)
        assert server.models.callers[0].secrets == {"OPENAI_API_KEY": "canary-2"}


async def test_a_directory_that_is_named_from_afar_must_be_there(tmp_path: Path) -> None:
    async with open_server() as server:
        peer = await server.greet()
        gone = tmp_path / "gone"
        error = await refuse(peer, "turn/start", prompt("x", cwd=str(gone), far=True))
        assert (error.code, error.reason) == (2, "bad_params")
        assert str(gone) in str(error)
        gone.mkdir()
        first = await peer.call("turn/start", prompt("x", key="k", cwd=str(gone), far=True))
        gone.rmdir()
        # The link has broken, and the answer of this turn is asked for: it was accepted.
        again = await peer.call("turn/start", prompt("x", key="k", cwd=str(gone), far=True))
        assert again["turn_id"] == first["turn_id"]


async def test_who_sends_no_variables_gets_the_daemons_own() -> None:
    async with open_server() as server:
        own = {"PATH": "/far/bin", "XDG_CONFIG_HOME": "/x"}
        server.dispatch._house = replace(server.house, own_env=own)
        peer = await server.greet()
        for key, lent in (("none", {}), ("empty", {"env": dict[str, str]()})):
            started = await peer.call("turn/start", prompt("x", key=key, **lent))
            await peer.call("turn/wait", ids(started))
        bodies = [body for write in server.store.writes for body in write.bodies]
        accepted = [body.env for body in bodies if isinstance(body, PromptAccepted)]
        assert accepted == [{"PATH": "/far/bin"}, {}]


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def blob(content: bytes, **more: Any) -> dict[str, Any]:
    return {
        "type": "blob",
        "sha256": sha(content),
        "bytes": len(content),
        "media_type": "text/plain",
        "name": "stdin",
        **more,
    }


async def put(peer: PeerStream, content: bytes) -> None:
    for offset in range(0, len(content), BLOB_CHUNK_BYTES):
        chunk = content[offset : offset + BLOB_CHUNK_BYTES]
        answer = await peer.call(
            "blob/put",
            {"sha256": sha(content), "size": len(content), "offset": offset, "bytes": chunk},
        )
    assert answer == {"received": len(content), "complete": True}


async def test_a_blob_goes_with_its_prompt_and_is_stored_with_it() -> None:
    content = b"line\n" * 60_000
    async with open_server() as server:
        server.models.window = 10_000_000
        peer = await server.greet()
        await put(peer, content)
        parts = [{"type": "text", "text": "what?"}, blob(content)]
        started = await peer.call("turn/start", prompt("x", parts=parts))
        assert (await peer.call("turn/wait", ids(started)))["outcome"] == "completed"
        assert await server.store.read_blob(sha(content)) == content
        assert peer.connection is not None
        assert not peer.connection.peer.uploads.has(sha(content))
        # Stored is stored: another prompt may name it without sending it again.
        other = await server.greet()
        await other.call("turn/start", prompt("y", parts=parts, target=to(started)))


PNG = b"\x89PNG\r\n\x1a\n and so on"


async def test_an_image_is_sent_to_the_model_and_can_be_sent_again_by_its_digest() -> None:
    async with open_server() as server:
        peer = await server.greet()
        await put(peer, PNG)
        for _ in range(2):  # the second time it is stored already
            parts = [{"type": "text", "text": "what?"}, blob(PNG, media_type="image/png")]
            started = await peer.call("turn/start", prompt("x", parts=parts))
            assert (await peer.call("turn/wait", ids(started)))["outcome"] == "completed"
            assert server.models.requests[-1].images == {sha(PNG): PNG}


async def test_an_image_that_is_none_is_refused() -> None:
    async with open_server() as server:
        peer = await server.greet()
        await put(peer, b"no picture")
        parts = [blob(b"no picture", media_type="image/png", name="cat.png")]
        error = await refuse(peer, "turn/start", prompt("x", parts=parts))
        assert (error.code, error.reason) == (2, "bad_blob")
        assert error.message == "cat.png is no image/png."


async def test_options_reach_the_model() -> None:
    async with open_server() as server:
        peer = await server.greet()
        options = {"temperature": 0, "stop": ["END"], "effort": "high", "max_output_tokens": 5}
        started = await peer.call("turn/start", prompt("x", options=options))
        await peer.call("turn/wait", ids(started))
        request = server.models.requests[-1]
        assert (request.temperature, request.stop, request.effort) == (0.0, ("END",), "high")
        assert request.max_output_tokens == 5


async def test_a_blob_that_was_not_sent_is_not_found() -> None:
    async with open_server() as server:
        peer = await server.greet()
        error = await refuse(peer, "turn/start", prompt("x", parts=[blob(b"never sent")]))
        assert (error.code, error.reason) == (3, "blob_not_found")


async def test_another_connections_upload_is_not_there() -> None:
    async with open_server() as server:
        peer, other = await server.greet(), await server.greet()
        await put(other, b"abc")
        assert (await refuse(peer, "turn/start", prompt("x", parts=[blob(b"abc")]))).code == 3


async def test_a_stored_blob_of_another_size_is_refused() -> None:
    async with open_server() as server:
        peer = await server.greet()
        await put(peer, b"abc")
        await peer.call("turn/start", prompt("x", parts=[blob(b"abc")]))
        for size in (-5, 2, 2**60):
            parts = [blob(b"abc", bytes=size)]
            error = await refuse(peer, "turn/start", prompt("x", key=f"k{size}", parts=parts))
            assert error.reason == "bad_blob"


async def test_a_blob_of_another_size_is_refused() -> None:
    async with open_server() as server:
        peer = await server.greet()
        await put(peer, b"abc")
        error = await refuse(peer, "turn/start", prompt("x", parts=[blob(b"abc", bytes=4)]))
        assert error.reason == "bad_blob"


async def test_a_refused_prompt_keeps_its_uploads() -> None:
    async with open_server() as server:
        peer = await server.greet()
        await put(peer, b"abc")
        server.models.key_needed = "WORK_KEY"
        parts = [blob(b"abc")]
        error = await refuse(peer, "turn/start", prompt("x", parts=parts))
        assert (error.code, error.reason) == (4, "not_configured")
        await peer.call("turn/start", prompt("x", parts=parts, secrets={"WORK_KEY": "k"}))


async def start_turn(
    server: Server, peer: PeerStream, **more: Any
) -> tuple[dict[str, Any], LiveSession]:
    """A turn that runs, and the session that it is in."""
    started = await peer.call("turn/start", prompt(**more))
    session = server.house.sessions.find_live(started["conversation_id"])
    assert session is not None
    return started, session


async def test_an_open_question_is_answered_once_by_its_digest() -> None:
    hold = trio.Event()
    async with open_server() as server:
        server.models.script = lambda request: [hold]
        peer = await server.greet()
        started, session = await start_turn(server, peer)
        asked = QuestionAsked(started["turn_id"], "q1", "approval", "d1", {"argv": ["ls"]}, 9e9)
        await session.append([asked])
        answer = {
            "conversation_id": started["conversation_id"],
            "question_id": "q1",
            "digest": "d1",
            "decision": "yes",
        }
        error = await refuse(peer, "question/answer", {**answer, "digest": "d2"})
        assert error.reason == "bad_params"
        await peer.call("question/answer", answer)
        error = await refuse(peer, "question/answer", answer)
        assert (error.code, error.reason) == (3, "question_not_found")
        page = await peer.call("conversation/read", {"conversation_id": started["conversation_id"]})
        (answered,) = [e for e in page["data"] if e["type"] == "question_answered"]
        assert (answered["by"], answered["decision"]) == ("test", "yes")
        hold.set()


async def test_what_an_elicitation_wants_is_checked_and_stays_open_until_it_fits() -> None:
    hold = trio.Event()
    async with open_server() as server:
        server.models.script = lambda request: [hold]
        peer = await server.greet()
        started, session = await start_turn(server, peer)
        asked = describe_elicitation(
            who="here",
            tool="f",
            call_id="c",
            text="Who?",
            schema={"properties": {"name": {"type": "string"}}, "required": ["name"]},
        )
        detail = describe_question("t.1.1", asked.text, asked.choices, asked.more)
        await session.append(
            [QuestionAsked(started["turn_id"], "q1", "elicitation", "d1", detail, 9e9)]
        )
        answer = {
            "conversation_id": started["conversation_id"],
            "question_id": "q1",
            "digest": "d1",
        }
        for decision, content, fields in (
            ("accept", None, {"name": "This is required."}),
            ("accept", {"name": 3}, {"name": "This is a text."}),
            ("accept", {"name": "Ada", "x": 1}, {"x": "There is no such field."}),
            ("yes", {"name": "Ada"}, None),
        ):
            said = {**answer, "decision": decision, "content": content}
            error = await refuse(peer, "question/answer", said)
            assert (error.code, error.reason) == (2, "bad_params")
            assert error.data.get("fields") == fields
        error = await refuse(
            peer, "question/answer", {**answer, "decision": "decline", "content": {"name": "Ada"}}
        )
        assert "Content goes with accept" in error.message
        await peer.call(
            "question/answer", {**answer, "decision": "accept", "content": {"name": "Ada"}}
        )
        page = await peer.call("conversation/read", {"conversation_id": started["conversation_id"]})
        (answered,) = [e for e in page["data"] if e["type"] == "question_answered"]
        assert (answered["decision"], answered["content"]) == ("accept", {"name": "Ada"})
        hold.set()


async def test_an_approval_takes_no_content() -> None:
    hold = trio.Event()
    async with open_server() as server:
        server.models.script = lambda request: [hold]
        peer = await server.greet()
        started, session = await start_turn(server, peer)
        await session.append([QuestionAsked(started["turn_id"], "q1", "approval", "d", {}, 9e9)])
        said = {"question_id": "q1", "digest": "d", "decision": "yes", "content": {"x": 1}}
        error = await refuse(
            peer, "question/answer", {"conversation_id": started["conversation_id"], **said}
        )
        assert "Content goes with accept" in error.message
        assert session.conversation.open_questions
        hold.set()


async def test_a_message_joins_the_turn_that_runs_and_both_follow_it_to_its_end() -> None:
    async with open_server() as server:
        server.models.script = lambda request: (
            ["as you wish"] if last_words(request) == "no" else ["Once", trio.Event()]
        )
        one, two = await server.greet(), await server.greet()
        started = await one.call("turn/start", prompt("tell", follow=True))
        await trio.testing.wait_all_tasks_blocked()
        words = prompt("no", key="k2", target=to(started), busy="steer", follow=True)
        words["options"] = {"effort": "low"}
        joined = await two.call("turn/start", words)
        assert ids(joined) == ids(started)
        assert (joined["position"], joined["created"], joined["job_id"]) == (0, False, None)
        seen = await two.follow("turn_finished")
        warning = "The turn that this message joins keeps its own effort."
        told = {**ids(joined), "kind": "warning", "text": warning}
        assert seen[0] == ("progress", told)
        events = [params for method, params in seen if method == "event"]
        assert (events[0]["type"], events[0]["seq"]) == ("prompt_steered", joined["seq"])
        places = [each.get("item", {}).get("id") for each in events]
        answer = next(each for each in events if each.get("completion") == 2)["item"]
        assert places.index(joined["steers"]) < places.index(answer["id"])
        assert answer["parts"] == [{"type": "text", "text": "as you wish"}]
        assert (await one.follow("turn_finished"))[-1][1]["seq"] == events[-1]["seq"]
        again = await two.call("turn/start", {**words, "follow": False})
        assert {name: again[name] for name in ("turn_id", "seq", "steers")} == {
            name: joined[name] for name in ("turn_id", "seq", "steers")
        }


async def test_who_steers_without_following_is_told_in_the_answer() -> None:
    async with open_server() as server:
        server.models.script = lambda request: [trio.Event()]
        peer = await server.greet()
        started = await peer.call("turn/start", prompt("tell"))
        await trio.testing.wait_all_tasks_blocked()
        words = prompt("no", target=to(started), busy="steer", options={"effort": "low"})
        assert "its own effort" in (await peer.call("turn/start", words))["warning"]


async def test_who_steers_a_turn_that_waits_for_a_decision_is_told_of_it() -> None:
    async with open_server() as server:
        server.models.script = lambda request: [trio.Event()]
        peer, second = await server.greet(), await server.greet()
        started, session = await start_turn(server, peer)
        await trio.testing.wait_all_tasks_blocked()
        asked = QuestionAsked(started["turn_id"], "q1", "overflow", "d1", {}, 9e9)
        session.running = None  # parked, as far as anybody knows
        await session.append([asked])
        words = prompt("no", key="n", target=to(started), busy="steer", follow=True)
        joined = await second.call("turn/start", words)
        assert ids(joined) == ids(started)
        method, told = await second.notification()
        sentence = f"The turn that this joined waits for an answer: ask attach {session.id[:8]}"
        assert (method, told["text"]) == ("progress", sentence)


async def test_who_waits_in_line_for_an_answer_is_told_of_it() -> None:
    """It may take a day, and whoever asks next may be who can give it."""
    hold = trio.Event()
    async with open_server() as server:
        server.models.script = lambda request: [hold]
        peer, second = await server.greet(), await server.greet()
        started, session = await start_turn(server, peer, follow=True)
        asked = QuestionAsked(started["turn_id"], "q1", "approval", "d1", {"argv": ["ls"]}, 9e9)
        await session.append([asked])
        queued = await second.call(
            "turn/start", prompt("next", key="n", target=to(started), follow=True)
        )
        hold.set()
        seen = await second.follow("turn_finished")
        told = next(params for method, params in seen if method == "progress")
        sentence = f"A turn before this one waits for an answer: ask attach {session.id[:8]}"
        assert told == {**ids(queued), "kind": "warning", "text": sentence}
        assert ("progress", told) not in await peer.follow("turn_finished")


async def test_always_answers_what_else_it_covers_with_it() -> None:
    hold = trio.Event()
    async with open_server() as server:
        server.models.script = lambda request: [hold]
        peer = await server.greet()
        started, session = await start_turn(server, peer)
        detail = {"grant": encode_grant(Grant(tool="write_file", cwd="/w")), "confined": True}
        for number in (1, 2):
            asked = QuestionAsked(started["turn_id"], f"q{number}", "approval", "d", detail, 9e9)
            await session.append([asked])
        said = {"question_id": "q1", "digest": "d", "decision": "always"}
        await peer.call("question/answer", {"conversation_id": started["conversation_id"], **said})
        assert not session.conversation.open_questions
        hold.set()


async def test_an_answer_may_say_why_in_so_many_words() -> None:
    hold = trio.Event()
    async with open_server() as server:
        server.models.script = lambda request: [hold]
        peer = await server.greet()
        started, session = await start_turn(server, peer)
        for number in (1, 2):
            asked = QuestionAsked(started["turn_id"], f"q{number}", "approval", "d", {}, 9e9)
            await session.append([asked])
        answer = {"conversation_id": started["conversation_id"], "digest": "d", "decision": "no"}
        long = {**answer, "question_id": "q1", "reason": "x" * 1001}
        error = await refuse(peer, "question/answer", long)
        assert (error.code, error.reason) == (2, "bad_params")
        said = f" {'y' * 1000}\n"
        await peer.call("question/answer", {**answer, "question_id": "q1", "reason": said})
        await peer.call("question/answer", {**answer, "question_id": "q2", "reason": "  "})
        page = await peer.call("conversation/read", {"conversation_id": started["conversation_id"]})
        answered = [e for e in page["data"] if e["type"] == "question_answered"]
        assert [each.get("reason") for each in answered] == ["y" * 1000, None]
        hold.set()


async def test_a_daemon_that_stops_leaves_approvals_to_the_next() -> None:
    """What it was told now it would not begin, and the next one could not know that."""
    hold = trio.Event()
    async with open_server() as server:
        server.models.script = lambda request: [hold]
        peer = await server.greet()
        started, session = await start_turn(server, peer)
        asked = QuestionAsked(started["turn_id"], "q1", "approval", "d", {}, 9e9)
        other = QuestionAsked(started["turn_id"], "q2", "overflow", "d", {}, 9e9)
        await session.append([asked, other])
        server.house.sessions.draining = True
        answer = {"conversation_id": started["conversation_id"], "digest": "d", "decision": "yes"}
        error = await refuse(peer, "question/answer", {**answer, "question_id": "q1"})
        assert (error.code, error.reason) == (69, "draining")
        await peer.call("question/answer", {**answer, "question_id": "q2"})
        assert list(session.conversation.open_questions) == ["q1"]
        hold.set()
