"""A turn followed the long way: shown once and whole, however the connection fares."""

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ask import connection, follow
from ask.connection import Client, ConnectionLost, RpcError, connect
from ask.endings import End
from ask.exits import Failed
from ask.fast.codec import Answer
from ask.fast.run import STOP_AFTER_S, Carried
from ask.follow import Follower
from ask.listener import NoDaemon
from ask.render import Screen
from tests.fakes.daemon import FakeDaemon, Peer, Refusal, Script, Stage, answer

Captured = pytest.CaptureFixture[str]

PARAMS: dict[str, Any] = {
    "target": {"kind": "new"},
    "key": "k",
    "parts": [{"type": "text", "text": "hi"}],
    "follow": True,
}


def start(client: Client) -> dict[str, Any]:
    return client.call("turn/start", PARAMS)


def make(carried: Carried | None = None, **options: Any) -> Follower:
    return Follower(
        connect=lambda: connect(start=False),
        start=start,
        screen=options.pop("screen", None) or Screen(),
        carried=carried or Carried("k"),
        **options,
    )


@pytest.fixture(autouse=True)
def no_long_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon that comes back is found at once."""
    monkeypatch.setattr(follow, "RECONNECT_PAUSE_S", 0.001)


# ---- what is shown -----------------------------------------------------------------


def test_an_answer(lone_home: Path, capfd: Captured) -> None:
    with FakeDaemon(lone_home, answer("one two", "one ", "two")):
        assert make().run() == End(0, None, "one two")
    assert capfd.readouterr().out == "one two"


def test_silent_shows_nothing_and_keeps_the_text(lone_home: Path, capfd: Captured) -> None:
    with FakeDaemon(lone_home, answer("one")):
        assert make(silent=True).run().text == "one"
    assert capfd.readouterr().out == ""


def test_json_is_one_event_a_line_and_the_last_is_the_end(lone_home: Path, capfd: Captured) -> None:
    def play(stage: Stage) -> None:
        stage.progress("model_loading", "Loading ...")
        mine, item_id = stage.turn, stage.item_id
        stage.turn, stage.item_id = {**mine, "turn_id": "other"}, "other.1"
        stage.event("turn_started", attempt=1)
        stage.delta("not mine")
        stage.turn, stage.item_id = mine, item_id
        stage.event("titled", turn_id=mine["turn_id"], title="T")
        stage.delta("hm", kind="reasoning")
        answer("one two", "one ", "two")(stage)

    with FakeDaemon(lone_home, play) as daemon:
        assert make(as_json=True).run().code == 0
    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [line["type"] for line in lines] == [
        *("progress", "titled", "delta", "turn_started", "delta", "delta", "item_added"),
        "turn_finished",
    ]
    (conversation_id,) = daemon.events
    assert {line["conversation_id"] for line in lines} == {conversation_id}
    assert "seq" in lines[-1]
    assert [line["text"] for line in lines if line["type"] == "delta"] == ["hm", "one ", "two"]


def test_an_answer_of_calls_alone_has_no_parts(lone_home: Path, capfd: Captured) -> None:
    def play(stage: Stage) -> None:
        stage.start()
        calls = [{"call_id": "c", "name": "look", "arguments": "{}"}]
        item = {"type": "assistant_message", "id": stage.item_id, "calls": calls}
        stage.event("item_added", completion=1, item=item)
        stage.item_id += "b"
        stage.say_whole("Found it.", completion=2)
        stage.finish()

    with FakeDaemon(lone_home, play):
        assert make().run().text == "Found it."
    assert capfd.readouterr().out == "Found it."


def test_usage_and_the_last_answers_text(lone_home: Path, capfd: Captured) -> None:
    def play(stage: Stage) -> None:
        stage.start()
        stage.say_whole("Let me look.")
        stage.item_id += "b"
        stage.say_whole("Found it.", completion=2)
        stage.finish(usage={"input_tokens": 3})

    with FakeDaemon(lone_home, play):
        end = make().run()
    assert (end.text, end.usage) == ("Found it.", {"input_tokens": 3})
    assert capfd.readouterr().out == "Let me look.\nFound it."


def steered(stage: Stage) -> None:
    """An answer that is cut by a message, and the answer to that."""
    stage.delta("hm", kind="reasoning")
    stage.delta("Once")
    item = stage.accept_steering("s.0", "no, rhyme")
    stage.say_whole("Once upon a", status="interrupted")
    stage.join(item, "t.2")
    stage.delta("The ")
    stage.say_whole("The end.", completion=2)
    stage.finish()


def test_an_answer_that_was_cut_is_none_of_those_that_are_kept(
    lone_home: Path, capfd: Captured
) -> None:
    with FakeDaemon(lone_home, steered):
        assert make().run().text == "The end."
    assert capfd.readouterr().out == "Once upon a\nThe end."


def test_who_steers_is_shown_what_follows_also_over_a_lost_connection(
    lone_home: Path, capfd: Captured
) -> None:
    def lost(stage: Stage) -> None:
        stage.delta("Once")
        stage.drop()

    results = {"turn/start": {"steers": "s.0"}}
    with FakeDaemon(lone_home, lost, steered, results=results):
        assert make().run().text == "The end."
    assert capfd.readouterr().out == "The end."


def test_in_json_who_steers_gets_every_event_and_the_deltas_of_the_answer(
    lone_home: Path, capfd: Captured
) -> None:
    with FakeDaemon(lone_home, steered, results={"turn/start": {"steers": "s.0"}}):
        assert make(as_json=True).run().code == 0
    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [line["type"] for line in lines] == [
        *("prompt_steered", "item_added", "item_added", "delta", "item_added", "turn_finished"),
    ]


def test_a_large_answer_is_read_from_its_blob(lone_home: Path, capfd: Captured) -> None:
    content = b"large " * 10

    def play(stage: Stage) -> None:
        stage.start()
        stage.delta("large ")
        text = {"type": "text", "text": ""}
        blob = {"type": "blob", "sha256": "0", "bytes": 60, "media_type": "text/plain"}
        image = {**blob, "media_type": "image/png"}
        item = {"type": "assistant_message", "id": stage.item_id, "parts": [text, blob, image]}
        stage.event("item_added", item=item, completion=1)
        stage.finish()

    def read(params: dict[str, Any]) -> dict[str, Any]:
        return {"bytes": content[params["offset"] :][:25], "size": len(content)}

    with FakeDaemon(lone_home, play, results={"blob/read": read}) as daemon:
        # The script and the reading of the blob share the connection: all of it is sent first.
        assert make().run().text == content.decode()
    assert capfd.readouterr().out == content.decode()
    assert len(daemon.asked("blob/read")) == 3


def test_reasoning_goes_to_a_terminals_stderr(
    lone_home: Path, capfd: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "isatty", lambda descriptor: descriptor == 2)

    def play(stage: Stage) -> None:
        stage.progress("model_loading", "Loading")
        stage.start()
        stage.delta("hm, ", kind="reasoning")
        stage.delta("m, ye", kind="reasoning", offset=1)
        answer("Yes.")(stage)

    with FakeDaemon(lone_home, play):
        make().run()
    out, err = capfd.readouterr()
    assert out == "Yes."
    dimmed = err.replace("\x1b[2m", "").replace("\x1b[0m", "")
    assert dimmed.split("\r\x1b[K")[0] == ""
    assert dimmed.endswith("hm, ye\n")


def test_thoughts_that_came_before_anybody_listened(
    lone_home: Path, capfd: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "isatty", lambda descriptor: descriptor == 2)

    def play(stage: Stage) -> None:
        stage.start()
        stage.delta("hm", kind="reasoning")
        item = {
            "type": "assistant_message",
            "id": stage.item_id,
            "parts": [{"type": "text", "text": "Yes."}],
            "reasoning": [{"text": "hm, "}, {"text": "yes", "raw": None}],
        }
        stage.event("item_added", item=item, completion=1)
        stage.finish()

    with FakeDaemon(lone_home, play):
        make().run()
    out, err = capfd.readouterr()
    assert out == "Yes."
    assert err == "\x1b[2mhm\x1b[0m\x1b[2m, yes\x1b[0m\n"


def test_thoughts_between_two_answers_on_one_terminal(
    lone_home: Path, capfd: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "isatty", lambda descriptor: True)

    def play(stage: Stage) -> None:
        stage.start()
        stage.say_whole("Let me look.")
        stage.item_id += "b"
        stage.delta("hm", kind="reasoning")
        stage.say_whole("Found it.", completion=2)
        stage.finish()

    with FakeDaemon(lone_home, play):
        make().run()
    out, err = capfd.readouterr()
    assert out == "Let me look.\nFound it."
    assert err == "\x1b[2mhm\x1b[0m\n"


def test_what_is_waited_for_turns_on_a_terminal(
    lone_home: Path, capfd: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "isatty", lambda descriptor: descriptor == 2)

    def play(stage: Stage) -> None:
        stage.progress("waiting", "Waiting 3 s for openai")
        answer("Yes.")(stage)

    with FakeDaemon(lone_home, play):
        make().run()
    assert "⠋ Waiting 3 s for openai\r\x1b[K" in capfd.readouterr().err


def compact(stage: Stage, state: str, text: str) -> None:
    news = {"conversation_id": stage.turn["conversation_id"], "state": state, "text": text}
    stage.notify("compaction", {**news, "tokens_before": 2, "tokens_after": 1})


def test_a_compaction_is_told_on_a_terminal_and_never_in_the_midst_of_a_line(
    lone_home: Path, capfd: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "isatty", lambda descriptor: descriptor in (1, 2))

    def play(stage: Stage) -> None:
        compact(stage, "started", "Compacting conversation history...")
        stage.start()
        stage.delta("Well, ")
        compact(stage, "finished", "Compacted: 2 -> 1 tokens.")
        stage.delta("yes.", offset=6)
        stage.say_whole("Well, yes.")
        stage.finish()

    with FakeDaemon(lone_home, play):
        assert make().run().code == 0
    out, err = capfd.readouterr()
    assert out == "Well, yes.\n"
    assert err == "Compacting conversation history...\nCompacted: 2 -> 1 tokens.\n"


def test_a_compaction_is_no_news_in_a_pipe(lone_home: Path, capfd: Captured) -> None:
    def play(stage: Stage) -> None:
        compact(stage, "failed", "Compression failed, conversation may hit limits soon")
        answer("Yes.")(stage)

    with FakeDaemon(lone_home, play):
        make().run()
    assert capfd.readouterr() == ("Yes.", "")
    with FakeDaemon(lone_home, play):
        make(as_json=True).run()
    records = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    (news,) = [each for each in records if each["type"] == "compaction"]
    assert (news["state"], news["tokens_after"]) == ("failed", 1)


# ---- how it ends -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "code", "fields", "end"),
    [
        ("failed", 5, {"message": "Slow down."}, End(5, "Slow down.")),
        ("failed", 0, {}, End(1, "The turn was failed by someone else.")),
        ("completed", 9, {}, End(9, "The answer was cut by a length limit.")),
        ("completed", 9, {"message": "Cut at 5 tokens."}, End(9, "Cut at 5 tokens.")),
        ("interrupted", 1, {}, End(1, "The turn was interrupted by someone else.")),
        ("interrupted", 124, {"message": "Over time."}, End(124, "Over time.")),
        ("withdrawn", 1, {}, End(1, "The turn was withdrawn by someone else.")),
    ],
)
def test_ends(lone_home: Path, outcome: str, code: int, fields: dict[str, Any], end: End) -> None:
    with FakeDaemon(lone_home, lambda stage: stage.finish(outcome, code, **fields)):
        assert make().run() == end


def test_a_turn_that_could_not_be_saved(lone_home: Path, capfd: Captured) -> None:
    def play(stage: Stage) -> None:
        stage.delta("all the same")
        fields = {"outcome": "completed", "code": 74, "reason": "the disk is full"}
        stage.notify("turn_unsaved", {**stage.turn, **fields})

    with FakeDaemon(lone_home, play):
        assert make().run() == End(74, "Failed to save turn: the disk is full")
    assert capfd.readouterr().out == "all the same"


def test_what_the_short_way_has_seen_needs_no_connection(lone_home: Path) -> None:
    carried = Carried("k")
    with FakeDaemon(lone_home, answer("x")) as daemon:
        make(carried).run()
        count = len(daemon.requests)
        assert make(carried).run().code == 0
        assert len(daemon.requests) == count


def test_a_refusal_is_raised(lone_home: Path) -> None:
    refusal = Refusal(8, "busy", "It is busy.")
    with (
        FakeDaemon(lone_home, refuse={"turn/start": [refusal]}),
        pytest.raises(RpcError, match="It is busy"),
    ):
        make().run()


# ---- lost connections --------------------------------------------------------------


def drop_after(text: str) -> Script:
    def play(stage: Stage) -> None:
        stage.start()
        stage.delta(text)
        stage.drop()

    return play


def go_on(text: str, whole: str) -> Script:
    def play(stage: Stage) -> None:
        stage.delta(text)
        stage.say_whole(whole)
        stage.finish()

    return play


@pytest.mark.parametrize("page", [200, 1])
def test_a_lost_connection_is_made_again(lone_home: Path, capfd: Captured, page: int) -> None:
    def drop_again(stage: Stage) -> None:
        stage.delta("two ")
        stage.drop()

    scripts = (drop_after("one "), drop_again, go_on("three", "one two three"))
    with FakeDaemon(lone_home, *scripts, results={"page": page}) as daemon:
        assert make().run().code == 0
    assert capfd.readouterr().out == "one two three"
    assert {params["key"] for params in daemon.asked("turn/start")} == {"k"}
    assert len(daemon.asked("turn/start")) == 3


def test_text_that_was_streamed_meanwhile_comes_with_the_subscription(
    lone_home: Path, capfd: Captured
) -> None:
    def play(stage: Stage) -> None:
        stage.start()
        stage.delta("one ")
        stage.daemon.live[stage.turn["conversation_id"]][(stage.item_id, "text")] += "two "
        stage.drop()

    with FakeDaemon(lone_home, play, go_on("three", "one two three")):
        make().run()
    assert capfd.readouterr().out == "one two three"


def test_a_gap_is_closed(lone_home: Path, capfd: Captured) -> None:
    def play(stage: Stage) -> None:
        stage.start()
        stage.delta("one ")
        stage.daemon.live[stage.turn["conversation_id"]][(stage.item_id, "text")] += "two "
        stage.notify("gap", {"conversation_id": stage.turn["conversation_id"]})

    with FakeDaemon(lone_home, play, go_on("three", "one two three")) as daemon:
        assert make().run().text == "one two three"
    assert capfd.readouterr().out == "one two three"
    assert len(daemon.asked("conversation/subscribe")) == 1


def test_a_turn_that_ended_meanwhile(lone_home: Path, capfd: Captured) -> None:
    def play(stage: Stage) -> None:
        stage.start()
        stage.delta("one ")
        with stage.peer.together():  # kept, and never sent
            stage.say_whole("one two")
            stage.finish()
            stage.drop()

    with FakeDaemon(lone_home, play):
        assert make().run().code == 0
    assert capfd.readouterr().out == "one two"


def test_a_daemon_that_drains_is_asked_again(lone_home: Path) -> None:
    draining = [Refusal(69, "draining", "Stopping.") for _ in range(2)]
    with FakeDaemon(lone_home, answer("x"), refuse={"turn/start": draining}) as daemon:
        assert make(screen=Screen(verbose=True)).run().code == 0
    assert len(daemon.asked("turn/start")) == 3


def test_a_daemon_that_stays_away(lone_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "RECONNECT_LIMIT_S", 0.0)
    daemon = FakeDaemon(lone_home, drop_after("one "))
    follower = make()

    def connect_again() -> Client:
        if follower.carried.answer is not None:
            raise ConnectionLost
        return connect(start=False)

    follower.connect = connect_again
    with daemon, pytest.raises(ConnectionLost):
        follower.run()


def test_an_ephemeral_turn_does_not_outlive_the_daemon(lone_home: Path) -> None:
    def play(stage: Stage) -> None:
        stage.start()
        stage.daemon.events.clear()
        stage.drop()

    with (
        FakeDaemon(lone_home, play) as daemon,
        pytest.raises(NoDaemon, match="ephemeral conversation with it"),
    ):
        make(durable=False).run()
    assert len(daemon.asked("turn/start")) == 1  # it is not asked a second time elsewhere


def test_a_conversation_that_was_deleted_meanwhile(lone_home: Path) -> None:
    def play(stage: Stage) -> None:
        stage.start()
        stage.daemon.events.clear()
        stage.drop()

    with FakeDaemon(lone_home, play), pytest.raises(RpcError, match="not found"):
        make().run()


# ---- signals and limits ------------------------------------------------------------

MAIN_THREAD = threading.main_thread().ident or 0


def send_self(number: int) -> None:
    signal.pthread_kill(MAIN_THREAD, number)


def test_ctrl_c_interrupts_and_waits(lone_home: Path, capfd: Captured) -> None:
    def play(stage: Stage) -> None:
        stage.start()
        stage.delta("so far")
        send_self(signal.SIGINT)
        assert stage.wait_for("turn/interrupt") == stage.turn
        stage.say_whole("so far", status="interrupted")
        stage.finish("interrupted", 1)

    before = signal.getsignal(signal.SIGINT)
    with FakeDaemon(lone_home, play):
        assert make().run() == End(130, None, "so far")
    assert signal.getsignal(signal.SIGINT) == before


@pytest.mark.parametrize(
    ("numbers", "code"),
    [([signal.SIGTERM], 143), ([signal.SIGHUP], 143), ([signal.SIGINT, signal.SIGINT], 130)],
)
def test_leaving(lone_home: Path, numbers: list[int], code: int) -> None:
    def play(stage: Stage) -> None:
        stage.start()
        send_self(numbers[0])
        if len(numbers) > 1:
            stage.wait_for("turn/interrupt")
            send_self(numbers[1])

    with FakeDaemon(lone_home, play):
        try:
            found = make().run().code
        except Failed as failure:  # it came before the answer to the prompt was read
            found = failure.code
    assert found == code


def test_an_interrupt_outlives_the_connection(lone_home: Path) -> None:
    def lose(stage: Stage) -> None:
        stage.start()
        send_self(signal.SIGINT)
        stage.wait_for("turn/interrupt")
        stage.drop()

    def stop(stage: Stage) -> None:
        stage.wait_for("turn/interrupt")
        stage.finish("interrupted", 1)

    with FakeDaemon(lone_home, lose, stop):
        assert make().run().code == 130


def test_the_short_ways_connection_is_let_go_when_there_is_another(lone_home: Path) -> None:
    """Until then its person is there for the daemon, which asks nobody else."""
    here, there = socket.socketpair()
    carried = Carried("k")
    with here, there, FakeDaemon(lone_home, answer("one")) as daemon:
        with connect(start=False) as client:
            carried.answer = Answer(start(client))
            while client.receive()[1].get("type") != "turn_finished":
                pass
        carried.held = os.dup(here.fileno())
        here.close()
        there.setblocking(False)
        follower = make(carried)

        def subscribe(client: Client) -> dict[str, Any]:
            with pytest.raises(BlockingIOError):
                there.recv(1)
            return start(client)

        follower.start = subscribe
        assert follower.run().code == 0
        assert "conversation/subscribe" in [method for method, _ in daemon.requests]
        assert there.recv(1) == b""
        assert carried.held is None


def test_an_interrupt_of_the_short_way_is_carried_on(lone_home: Path) -> None:
    def stop(stage: Stage) -> None:
        stage.wait_for("turn/interrupt")
        stage.finish("withdrawn", 1)

    carried = Carried("k")
    carried.interrupted = True
    with FakeDaemon(lone_home, stop):
        assert make(carried).run().code == 130


class Signalling(FakeDaemon):
    """Sends the client a signal when its prompt has come; answers it only if `fast`."""

    number = signal.SIGINT
    fast = True

    def answer(self, peer: Peer, method: str, params: Any, then: Any) -> Any:
        if method == "turn/start":
            send_self(self.number)
            if not self.fast:
                peer.serve_one()
        return super().answer(peer, method, params, then)


def test_ctrl_c_before_anything_was_accepted_stops_what_is(lone_home: Path) -> None:
    def stop(stage: Stage) -> None:
        stage.wait_for("turn/interrupt")
        stage.finish("withdrawn", 1)

    with Signalling(lone_home, stop):
        assert make().run().code == 130


@pytest.mark.parametrize(
    ("number", "interrupted", "code"),
    [(signal.SIGINT, True, 130), (signal.SIGTERM, False, 143)],
)
def test_leaving_before_anything_was_accepted(
    lone_home: Path, number: signal.Signals, interrupted: bool, code: int
) -> None:
    daemon, carried = Signalling(lone_home), Carried("k")
    daemon.number, daemon.fast = number, False
    carried.interrupted = interrupted
    with daemon, pytest.raises(Failed) as caught:
        make(carried).run()
    assert caught.value.code == code


def test_a_time_limit_that_the_daemon_does_not_keep(
    lone_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked to stop, and what it has said by then is kept."""
    carried = limited(0.2)
    monkeypatch.setattr(follow, "STOP_AFTER_S", 0.05)

    def play(stage: Stage) -> None:
        stage.start()
        stage.delta("so far")
        stage.wait_for("turn/interrupt")
        stage.finish("interrupted", 1)

    with FakeDaemon(lone_home, play):
        assert make(carried).run() == End(124, "The time limit was reached.")
    assert time.monotonic() >= (carried.deadline or 0.0) + 0.05


def limited(timeout_s: float) -> Carried:
    """What the short way hands over that was given a time limit."""
    carried = Carried("k")
    carried.deadline = time.monotonic() + timeout_s
    return carried


def test_a_turn_that_waits_ends_with_its_event(lone_home: Path, capfd: Captured) -> None:
    """`--json` promises the turn's end as the last line."""

    def play(stage: Stage) -> None:
        stage.wait_for("turn/interrupt")
        stage.event("prompt_withdrawn")
        stage.finish("withdrawn", 1)

    before = time.monotonic()
    with FakeDaemon(lone_home, play):
        end = make(limited(0.2), as_json=True).run()
    assert end == End(124, "The time limit was reached.")
    assert json.loads(capfd.readouterr().out.splitlines()[-1])["type"] == "turn_finished"
    assert time.monotonic() - before < STOP_AFTER_S


def test_a_turn_that_does_not_end_is_left(lone_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "STOP_LIMIT_S", 0.05)

    def play(stage: Stage) -> None:
        stage.wait_for("turn/interrupt")

    with FakeDaemon(lone_home, play), pytest.raises(Failed, match="not ended the turn") as caught:
        make(limited(0.2)).run()
    assert (caught.value.code, caught.value.data["reason"]) == (124, "time_limit")


@contextmanager
def frozen(path: Path) -> Iterator[None]:
    """A daemon that was stopped: the kernel takes connections, and nothing answers."""
    path.parent.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        yield


def test_a_daemon_that_does_not_answer_keeps_nobody_beyond_the_limit(lone_home: Path) -> None:
    with frozen(lone_home), pytest.raises(Failed, match="took the prompt") as caught:
        make(limited(0.1)).run()
    assert caught.value.code == 124


def test_nor_one_that_is_lost_and_not_found_again(
    lone_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "GRACE_S", 0.05)
    carried = limited(0.05)
    carried.answer = Answer({"conversation_id": "c", "turn_id": "t", "seq": 2})
    with frozen(lone_home), pytest.raises(Failed, match="not ended the turn") as caught:
        make(carried).run()
    assert caught.value.code == 124


def test_waiting_is_shown_and_pinged(
    lone_home: Path, capfd: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "QUIET_S", 0.01)
    monkeypatch.setattr(os, "isatty", lambda descriptor: descriptor == 2)
    carried = Carried("k")

    def load(stage: Stage) -> None:
        stage.progress("model_loading", "Loading")
        stage.drop()

    with FakeDaemon(lone_home, load) as daemon:
        follower = make(carried)
        follower.connect = lambda: connect(start=False) if not carried.answer else lose()
        with monkeypatch.context() as impatient:
            impatient.setattr(follow, "RECONNECT_LIMIT_S", 0.0)
            with pytest.raises(ConnectionLost):
                follower.run()

        def ready(stage: Stage) -> None:
            stage.wait_for("daemon/status")
            answer("ready")(stage)

        daemon.scripts.append(ready)
        monkeypatch.setattr(os, "isatty", lambda descriptor: False)
        carried.progress = {"turn_id": "turn-1", "kind": "model_loading", "text": "Loading on"}
        assert make(carried).run().text == "ready"
    assert "Loading on\n" in capfd.readouterr().err


def lose() -> Client:
    raise ConnectionLost
