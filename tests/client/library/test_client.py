"""The door: what `import ask` offers, what it loads, and how it is left."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import ask
from ask.protocol.messages import METHODS
from tests.client.library.plays import told
from tests.client.library.test_conversations import ROW
from tests.client.library.test_turn import hold
from tests.client.library.test_values import JOB
from tests.fakes.daemon import FakeDaemon, answer


def list_modules(code: str) -> set[str]:
    """What a fresh Python has loaded after this."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return set(done.stdout.split())


def test_importing_it_loads_nothing() -> None:
    assert list_modules("import ask") - list_modules("pass") == {"ask"}


def test_using_it_loads_no_more_than_the_client_needs() -> None:
    names = ", ".join(f"ask.{name}" for name in ask.__all__)
    loaded = list_modules(f"import ask; ({names})") - list_modules("pass")
    tops = {name.partition(".")[0] for name in loaded}
    packages = {each for each in tops - sys.stdlib_module_names if not each.startswith("_")}
    assert packages <= {"ask", "msgpack", "cython_runtime"}, "the last is msgpack's own"


def test_every_public_name_is_there_and_no_other() -> None:
    assert sorted(ask.__all__) == sorted(set(ask.__all__))
    assert set(ask.__all__) <= set(dir(ask))
    for name in ask.__all__:
        assert getattr(ask, name) is not None
    with pytest.raises(AttributeError, match="nothing"):
        ask.__getattr__("nothing")


def test_the_simplest_case(lone_home: Path) -> None:
    with FakeDaemon(lone_home, told(answer("Because."))) as daemon, ask.connect() as client:
        assert client.ask("Why?", conversation="sky") == "Because."
    (asked,) = daemon.asked("turn/start")
    assert asked["target"] == {"kind": "session", "value": "sky", "create": True}
    assert asked["parts"] == [{"type": "text", "text": "Why?"}]


def test_a_prompt_that_makes_no_sense_is_not_sent(lone_home: Path) -> None:
    with FakeDaemon(lone_home) as daemon, ask.connect() as client:
        for send in (client.ask, client.turn, client.detach):
            with pytest.raises(ask.UsageError, match="empty") as caught:
                send("")
            assert caught.value.reason == "empty_prompt"
    assert daemon.asked("turn/start") == []


def test_a_prompt_is_left_and_followed(lone_home: Path) -> None:
    results = {"turn/start": {"job_id": "j"}, "job/read": {**JOB, "seq": 2}}
    with FakeDaemon(lone_home, answer("yes"), results=results) as daemon, ask.connect() as client:
        job = client.detach("Think.")
        (conversation_id,) = daemon.events
        results["job/read"] = {
            **JOB,
            "conversation_id": conversation_id,
            "turn_id": "turn-1",
            "seq": 2,
        }
        assert job.id == "j"
        assert client.follow("j").result() == "yes"


def test_an_older_daemon_makes_no_job_of_it(lone_home: Path) -> None:
    with (
        FakeDaemon(lone_home),
        ask.connect() as client,
        pytest.raises(ask.NoDaemon, match="older"),
    ):
        client.detach("Think.")


def test_a_conversation_is_followed_from_now_or_from_before(lone_home: Path) -> None:
    results = {"conversation/resolve": ROW}
    with FakeDaemon(lone_home, answer("yes"), results=results) as daemon, ask.connect() as client:
        turn = client.turn("hi")
        ROW_HERE = {**ROW, "id": turn.conversation_id, "last_seq": 2}
        daemon.results["conversation/resolve"] = ROW_HERE
        with client.subscribe("work") as now, client.subscribe("work", since=0) as before:
            now.wait(0.0)
            before.wait(0.0)
        turn.close()
    first, second = daemon.asked("conversation/subscribe")
    assert (first["after_seq"], second["after_seq"]) == (2, 0)


def test_a_question_is_answered(lone_home: Path) -> None:
    question = ask.Question(
        "May it?",
        question_id="q",
        kind="approval",
        digest="d",
        expires_at=9.0,
        conversation_id="c",
    )
    with FakeDaemon(lone_home) as daemon, ask.connect() as client:
        client.answer(question, "no", reason="Not now.")
    (said,) = daemon.asked("question/answer")
    assert (said["decision"], said["reason"], said["digest"]) == ("no", "Not now.", "d")


def test_every_method_can_be_called(lone_home: Path) -> None:
    with FakeDaemon(lone_home) as daemon, ask.connect() as client:
        assert client.call("daemon/status")["sessions"] == 2
        client.call("conversation/list", limit=5)
    assert daemon.asked("conversation/list") == [{"limit": 5}]
    assert "daemon/status" in METHODS


def test_where_there_is_no_daemon(lone_home: Path) -> None:
    with pytest.raises(ask.NoDaemon) as caught:
        ask.connect(start=False)
    assert caught.value.code == 69
    assert caught.value.hint == "Start it: ask daemon start"


def test_an_address_that_is_none(lone_home: Path) -> None:
    with pytest.raises(ask.UsageError, match="address"):
        ask.connect(host="far")
    with FakeDaemon(lone_home), ask.connect(dict(os.environ)) as client:
        client.call("daemon/status")


def test_leaving_closes_everything_and_ctrl_c_interrupts_what_is_ours(lone_home: Path) -> None:
    with FakeDaemon(lone_home, told(hold), told(hold), told(answer("over"))) as daemon:
        with ask.connect() as client:
            next(client.turn("one"))
        assert daemon.asked("turn/interrupt") == []
        client = ask.connect()
        running = client.turn("two")
        next(running)
        client.turn("three").wait()
        with pytest.raises(KeyboardInterrupt), client:
            raise KeyboardInterrupt
    assert [each["turn_id"] for each in daemon.asked("turn/interrupt")] == [running.id]
    with pytest.raises(ask.UsageError, match="closed"):
        client.ask("four")
    client.close()
