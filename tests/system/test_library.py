"""`import ask` on a real daemon: killed in the middle, asked, left by Ctrl-C, far away."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import ask
from tests.fakes.chat_answers import TOKENS
from tests.system.pairs import CONFIG, Pair, open_pair
from tests.system.servers import write_config
from tests.system.sshd import SSHD
from tests.system.world import LIMIT_S, World, open_world


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A world whose daemon knows its server itself: a job needs no key of ours."""
    with open_world(tmp_path) as opened:
        assert opened.model is not None
        write_config(opened, CONFIG.format(base_url=opened.model.base_url))
        for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
            del opened.env[name]
        yield opened


@pytest.fixture
def client(world: World) -> Iterator[ask.Client]:
    """A client of a daemon of its own."""
    with ask.connect(world.env) as opened:
        yield opened


def read_until(events: Iterator[ask.Event], text: str) -> None:
    """Read until this much has been said."""
    said = ""
    for event in events:
        if isinstance(event, ask.TextDelta):
            said += event.text
        if text in said:
            return
    raise AssertionError(f"never said: {text!r}, but {said!r}")


def join(events: list[ask.Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, ask.TextDelta))


# ---- a daemon that is killed ---------------------------------------------------------------


def test_a_turn_that_was_watched_ends_with_what_was_said(world: World, client: ask.Client) -> None:
    turn = client.turn("HOLD:3")
    read_until(turn, "tok2")
    world.wait_saved("tok1")
    world.kill_daemon()
    with pytest.raises(ask.TurnFailed) as caught:
        turn.result()
    assert turn.outcome == "interrupted"
    assert caught.value.text.startswith("tok0 tok1")
    assert caught.value.turn_id == turn.id
    # The client itself goes on, with the next daemon.
    assert client.ask("ECHO:and on") == "and on"


def test_a_job_is_followed_through_the_death_of_its_daemon(
    world: World, client: ask.Client
) -> None:
    job = client.detach("HOLD:3")
    turn = client.follow(job)
    read_until(turn, "tok2")
    world.wait_saved("tok1")
    world.kill_daemon()
    assert world.model is not None
    releasing = threading.Timer(1.0, release, [world])
    releasing.start()
    events = list(turn)
    releasing.join()
    attempts = [event.attempt for event in events if isinstance(event, ask.Started)]
    assert attempts == [2]
    place = next(n for n, event in enumerate(events) if isinstance(event, ask.Started))
    assert join(events[place:]) == "".join(TOKENS) == turn.text, "said anew, once and whole"
    (over,) = client.jobs.wait(job)
    assert (over.code, over.attempt) == (0, 2)


def release(world: World) -> None:
    """Let held answers go on, when the second try is at it."""
    assert world.model is not None
    world.model.requests(at_least=2)
    world.model.release()


def test_a_subscription_outlives_its_daemon(world: World, client: ask.Client) -> None:
    client.ask("ECHO:one", conversation="work")
    with client.subscribe("work", since=0) as events:
        read_until(events, "one")
        world.kill_daemon()
        client.ask("ECHO:two", conversation="work")
        read_until(events, "two")
        while (event := events.wait(LIMIT_S)) is not None:
            if isinstance(event, ask.Finished):
                break
    stored = [event.seq for event in client.conversations.read("work")]
    assert stored == [*range(1, len(stored) + 1)]


def test_a_key_is_one_turn_whatever_dies(world: World, client: ask.Client) -> None:
    first = client.turn("ECHO:once", key="mine")
    first.wait()
    world.kill_daemon()
    with ask.connect(world.env) as other:
        again = other.turn("ECHO:once", key="mine")
        assert (again.id, again.result()) == (first.id, "once")
        with pytest.raises(ask.UsageError) as caught:
            other.turn("ECHO:twice", key="mine")
    assert caught.value.reason == "key_reused"


# ---- questions -----------------------------------------------------------------------------

WRITE = 'CALLS:[["write_file", {"path": "made.txt", "content": "by a model"}]]'


def test_a_program_says_yes_or_no(world: World, client: ask.Client) -> None:
    asked: list[ask.Question] = []

    def decide(question: ask.Question) -> str:
        asked.append(question)
        return "yes" if len(asked) > 1 else "no"

    made = world.home / "made.txt"
    for there in (False, True):
        turn = client.turn(
            WRITE,
            conversation="work",
            tools=["write_file"],
            approve="ask",
            on_question=decide,
            cwd=world.home,
        )
        names = [type(event).__name__ for event in turn]
        assert turn.outcome == "completed"
        assert [each for each in names if each in SEQUENCE] == [*SEQUENCE]
        assert made.exists() is there
    assert made.read_text() == "by a model"
    assert asked[0].kind == "approval"


SEQUENCE = ("Message", "ToolCall", "Question", "Answered", "ToolOutput", "Message")


def test_a_question_can_be_answered_by_another_client(world: World, client: ask.Client) -> None:
    job = client.detach(WRITE, tools=["write_file"], approve="ask", cwd=world.home)
    turn = client.follow(job)
    (question,) = [next(each for each in turn if isinstance(each, ask.Question))]
    with ask.connect(world.env) as other:
        parked = other.jobs.read(job).question
        assert parked is not None
        assert parked.question_id == question.question_id
        other.answer(parked, "yes")
        with pytest.raises(ask.NotFound):
            other.answer(question, "no")
    assert turn.wait().code == 0
    assert (world.home / "made.txt").exists()


def test_nobody_is_there_to_be_asked(world: World, client: ask.Client) -> None:
    with pytest.raises(ask.ApprovalNeeded) as caught:
        client.ask(WRITE, tools=["write_file"], approve="ask", cwd=world.home)
    assert caught.value.code == 6


# ---- leaving -------------------------------------------------------------------------------

PROGRAM = """
import ask
with ask.connect() as client:
    turn = client.turn("HOLD:3", conversation="work")
    for event in turn:
        if isinstance(event, ask.TextDelta):
            print(event.text, flush=True)
"""


@pytest.mark.parametrize(
    ("number", "outcome"), [(signal.SIGINT, "interrupted"), (signal.SIGKILL, "completed")]
)
def test_ctrl_c_stops_the_turn_and_death_does_not(
    world: World, client: ask.Client, number: int, outcome: str
) -> None:
    program = world.start(command=(sys.executable, "-c", PROGRAM))
    program.wait_for("tok2")
    with client.subscribe("work") as events:
        events.wait(0.0)
        program.signal(number)
        program.finish()
        assert world.model is not None
        if outcome == "completed":
            world.model.release()
        finished = next(event for event in events if isinstance(event, ask.Finished))
    assert finished.outcome == outcome


def test_each_thread_has_a_client_and_any_can_stop_a_turn(world: World, client: ask.Client) -> None:
    turn = client.turn("HOLD:3")
    read_until(turn, "tok2")
    refused: list[ask.Error] = []

    def stop() -> None:
        try:
            turn.interrupt()
        except ask.UsageError as error:
            refused.append(error)
        with ask.connect(world.env) as own:
            ids = {"conversation_id": turn.conversation_id, "turn_id": turn.id}
            own.call("turn/interrupt", **ids)

    thread = threading.Thread(target=stop)
    thread.start()
    assert turn.wait().outcome == "interrupted"
    thread.join(LIMIT_S)
    assert len(refused) == 1


def test_many_turns_leave_no_descriptor(world: World, client: ask.Client) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        client.turn("ECHO:x", conversation="work").wait()
        for _ in client.turn("ECHO:x", conversation="work"):
            break
    assert len(os.listdir("/proc/self/fd")) == before


def test_time_is_kept(world: World, client: ask.Client) -> None:
    begun = time.monotonic()
    with pytest.raises(ask.TimeLimit) as caught:
        client.ask("HOLD:2", timeout_s=0.3)
    assert caught.value.code == 124
    assert caught.value.text.startswith("tok0 ")
    assert time.monotonic() - begun < LIMIT_S / 2


# ---- another machine -----------------------------------------------------------------------


@pytest.mark.skipif(SSHD is None, reason="sshd is not installed")
def test_the_daemon_of_another_machine_and_a_link_that_breaks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for pair in open_pair(tmp_path, CONFIG):
        monkeypatch.setenv("PATH", pair.near.env["PATH"])  # where this `ssh` is found
        follow_far(pair)


def follow_far(pair: Pair) -> None:
    """One turn whose link breaks in the middle."""
    with ask.connect(pair.near.env) as client:
        assert client.ask("ECHO:from afar") == "from afar"
        turn = client.turn("HOLD:3", conversation="work")
        read_until(turn, "tok2")
        pair.server.cut()
        assert pair.far.model is not None
        pair.far.model.release()
        events = list(turn)
        assert turn.text == "".join(TOKENS)
        assert ("tok0 tok1 tok2 " + join(events)) == turn.text, "nothing twice, nothing lost"
        with pytest.raises(ask.UsageError, match="no directory over there"):
            client.ask("hi", tools=["read"])
        assert client.call("daemon/status")["pid"] == pair.far.daemon_pid()
