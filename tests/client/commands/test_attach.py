"""Following live: what was said, the text so far, each delta once, across everything."""

import json
import os
import pty
import subprocess
import threading
from pathlib import Path
from typing import Any

import click
import pytest

from ask.commands import attach
from ask.commands.attach import Count
from ask.commands.calls import PAGE
from ask.commands.views import ALL
from tests.client.commands.conftest import Ask, Run
from tests.client.commands.fake_daemon import FakeDaemon
from tests.client.commands.fake_log import Refusal
from tests.client.commands.process import LIMIT_S
from tests.client.test_questions import ALLOW, APPROVAL


def test_the_past_the_running_answer_and_the_rest(daemon: FakeDaemon, run: Run) -> None:
    conversation_id = daemon.create("work", live=True)
    daemon.say(conversation_id, "before")
    daemon.hold.clear()
    turn = threading.Thread(target=daemon.say, args=(conversation_id, "now"))
    reached = threading.Event()
    daemon.holding = reached.set
    turn.start()
    assert reached.wait(LIMIT_S)
    watcher = run("attach", "work")
    shown = watcher.wait_for("> now\n\nYou said: ")
    assert "> before\n\nYou said: before\n\n" in shown
    daemon.hold.set()
    turn.join()
    watcher.wait_for("You said: now\n\n")
    daemon.say(conversation_id, "after")
    watcher.wait_for("You said: after\n")
    code, out = watcher.leave()
    assert code == 0
    assert out == "".join(f"> {w}\n\nYou said: {w}\n\n" for w in ("before", "now", "after"))
    assert "[detached]" in watcher.err


def test_as_json_each_event_once_and_whole_deltas(daemon: FakeDaemon, run: Run) -> None:
    conversation_id = daemon.create("work", live=True)
    for number in range(70):
        daemon.say(conversation_id, f"question {number}")
    watcher = run("attach", "work", "--json")
    watcher.wait_for('"question 69"')
    daemon.answer = lambda text: ["\u00fc", "b", "\x1b[31mc"]
    daemon.say(conversation_id, "more")
    lines = [json.loads(line) for line in watcher.wait_for('"seq": 285').splitlines()]
    watcher.leave()
    events = [line for line in lines if line["type"] != "delta"]
    assert events == daemon.events[conversation_id][: len(events)]
    assert "".join(line["text"] for line in lines if line["type"] == "delta") == "\u00fcb\x1b[31mc"


def test_the_tail_is_bounded_unless_all_is_wanted(daemon: FakeDaemon, ask: Ask) -> None:
    conversation_id = daemon.create("work", live=True)
    for number in range(20):
        daemon.say(conversation_id, f"q{number}")
    default = ask("attach", "work", "--until-idle").out
    assert default.startswith("> q15\n\nYou said: q15\n")
    assert default.endswith("> q19\n\nYou said: q19\n\n")
    one = ask("attach", "work", "--until-idle", "-n", "1").out
    assert one == "You said: q19\n\n"
    assert ask("attach", "work", "--until-idle", "-n", "0").out == ""
    assert ask("attach", "work", "--until-idle", "-n", "all").out.startswith("> q0\n")
    assert ask("attach", "work", "-n", "some").code == 2
    assert ask("attach", "nobody").code == 3


def count_read(daemon: FakeDaemon) -> int:
    """How many events the clients asked for at the most."""
    methods = ("conversation/read", "conversation/subscribe")
    pages = [params for method in methods for params in daemon.called(method)]
    last = max(len(events) for events in daemon.events.values())
    return sum(min(params["limit"], last - params["after_seq"]) for params in pages)


@pytest.mark.parametrize("live", [True, False])
def test_of_a_long_conversation_the_end_alone_is_read(
    daemon: FakeDaemon, ask: Ask, live: bool
) -> None:
    conversation_id = daemon.create("work", live=live)
    for number in range(500):
        daemon.say(conversation_id, f"q{number}")
    out = ask("attach", "work", "--until-idle").out
    assert out == "".join(f"> q{n}\n\nYou said: q{n}\n\n" for n in range(495, 500))
    assert count_read(daemon) == PAGE
    daemon.calls.clear()
    lines = ask("attach", "work", "--until-idle", "--json", "-n", "3").out.splitlines()
    assert [json.loads(line) for line in lines] == daemon.events[conversation_id][-6:]
    assert count_read(daemon) == PAGE
    daemon.calls.clear()
    assert ask("attach", "work", "--until-idle", "-n", "0").out == ""
    assert count_read(daemon) == PAGE


def test_what_waits_since_long_ago_is_followed_to_its_end(daemon: FakeDaemon, run: Run) -> None:
    conversation_id = daemon.create("work", live=True)
    daemon.say(conversation_id, "first")
    waiting = daemon.accept(conversation_id, "since long ago")
    for number in range(200):
        daemon.say(conversation_id, f"q{number}")
    watcher = run("attach", "work", "--until-idle", "-n", "1")
    watcher.wait_for("You said: q199\n\n")
    daemon.say(conversation_id, "since long ago", turn_id=waiting)
    code, out = watcher.end()
    assert code == 0
    assert out == "You said: q199\n\n> since long ago\n\nYou said: since long ago\n\n"


def test_nothing_of_the_past_still_shows_what_comes(daemon: FakeDaemon, run: Run) -> None:
    conversation_id = daemon.create("work", live=True)
    for number in range(100):
        daemon.say(conversation_id, f"q{number}")
    daemon.hold.clear()
    reached = threading.Event()
    daemon.holding = reached.set
    turn = threading.Thread(target=daemon.say, args=(conversation_id, "now"))
    turn.start()
    assert reached.wait(LIMIT_S)
    watcher = run("attach", "work", "-n", "0")
    watcher.wait_for("You said: ")
    daemon.hold.set()
    turn.join()
    daemon.say(conversation_id, "new")
    watcher.wait_for("You said: new\n\n")
    _, out = watcher.leave()
    assert out == "You said: now\n\n> new\n\nYou said: new\n\n"


def test_the_tail_is_as_bounded_in_json_when_that_is_said(daemon: FakeDaemon, ask: Ask) -> None:
    conversation_id = daemon.create("work", live=True)
    for number in range(20):
        daemon.say(conversation_id, f"q{number}")
    daemon.append(conversation_id, "prompt_withdrawn", turn_id=daemon.accept(conversation_id, "no"))

    def watch(*words: str) -> list[str]:
        lines = ask("attach", "work", "--json", "--no-input", *words).out.splitlines()
        return [json.loads(line)["type"] for line in lines]

    daemon.append(conversation_id, "turn_finished", turn_id="x", outcome="withdrawn", code=1)
    daemon.events[conversation_id][-1]["turn_id"] = daemon.events[conversation_id][-2]["turn_id"]
    everything = [event["type"] for event in daemon.events[conversation_id]]
    assert watch("--until-idle") == watch("--until-idle", "-n", "all") == everything
    assert watch("--until-idle", "-n", "0") == []
    assert watch("--until-idle", "-n", "1") == [
        *("item_added", "turn_finished", "prompt_accepted", "prompt_withdrawn", "turn_finished")
    ]
    assert watch("--until-idle", "-n", "1000") == everything


def test_until_idle_waits_for_what_runs_and_waits(daemon: FakeDaemon, run: Run) -> None:
    conversation_id = daemon.create("work", live=True)
    turn_id = daemon.accept(conversation_id, "queued")
    watcher = run("attach", "work", "--until-idle", "--json")
    watcher.wait_for("queued")
    daemon.say(conversation_id, "queued", turn_id=turn_id)
    code, out = watcher.end()
    assert code == 0
    assert json.loads(out.splitlines()[-1])["type"] == "turn_finished"


def test_a_gap_is_filled_from_the_own_seq(daemon: FakeDaemon, run: Run) -> None:
    conversation_id = daemon.create("work", live=True)
    daemon.say(conversation_id, "one")
    watcher = run("attach", "work")
    watcher.wait_for("You said: one\n\n")
    daemon.deaf = True
    daemon.say(conversation_id, "two")
    daemon.deaf = False
    daemon.publish(conversation_id, "gap", {"conversation_id": conversation_id})
    watcher.wait_for("You said: two\n\n")
    daemon.deaf = True
    daemon.say(conversation_id, "three")
    daemon.deaf = False
    daemon.say(conversation_id, "four")  # an event too far tells as much as a gap
    watcher.wait_for("You said: four\n\n")
    _, out = watcher.leave()
    assert out == "".join(f"> {w}\n\nYou said: {w}\n\n" for w in ("one", "two", "three", "four"))


def test_a_lost_connection_is_made_again(daemon: FakeDaemon, run: Run) -> None:
    conversation_id = daemon.create("work", live=True)
    daemon.say(conversation_id, "one")
    watcher = run("attach", "work")
    watcher.wait_for("You said: one\n\n")
    daemon.drop()
    daemon.say(conversation_id, "two")
    watcher.wait_for("You said: two\n\n")
    _, out = watcher.leave()
    assert out == "".join(f"> {w}\n\nYou said: {w}\n\n" for w in ("one", "two"))


def test_typed_lines_are_prompts_and_ctrl_d_detaches(daemon: FakeDaemon, run: Run) -> None:
    conversation_id = daemon.create("work", live=True)
    ours, theirs = pty.openpty()
    watcher = run("attach", "work", stdin=theirs)
    os.close(theirs)
    os.write(ours, b"hello\n\nagain\n")
    watcher.wait_for("You said: hello\n\n")
    watcher.wait_for("You said: again\n\n")
    os.write(ours, b"\x04")
    code, _ = watcher.end()
    os.close(ours)
    assert code == 0
    assert [call["parts"][0]["text"] for call in daemon.called("turn/start")] == ["hello", "again"]
    assert {call["target"]["value"] for call in daemon.called("turn/start")} == {conversation_id}


def test_what_was_typed_before_a_question_is_no_answer_to_it(daemon: FakeDaemon, run: Run) -> None:
    """A whole line is a prompt all the same; half a line is dropped."""
    conversation_id = daemon.create("work", live=True)
    daemon.append(conversation_id, "turn_started", turn_id="t", attempt=1)
    fields = {"turn_id": "t", "question_id": "q1", "kind": "approval", "digest": "d"}
    daemon.append(conversation_id, "question_asked", **fields, detail=APPROVAL, expires_at=9e9)
    ours, theirs = pty.openpty()
    os.write(ours, b"yes\nno wait")
    watcher = run("attach", "work", stdin=theirs)
    os.close(theirs)
    watcher.wait_for(ALLOW)
    watcher.wait_for("You said: yes\n\n")
    assert daemon.called("question/answer") == []
    os.write(ours, b"n because so\n")
    while not daemon.called("question/answer"):
        assert watcher.process.poll() is None
    os.write(ours, b"\x04")
    watcher.end()
    os.close(ours)
    (said,) = daemon.called("question/answer")
    assert (said["decision"], said["reason"]) == ("no", "so")


@pytest.mark.parametrize("options", [(), ("--no-mentions",)])
def test_typed_lines_may_mention_files(
    daemon: FakeDaemon, run: Run, tmp_path: Path, options: tuple[str, ...]
) -> None:
    daemon.create("work", live=True)
    (tmp_path / "x.py").write_text("pass\n")
    ours, theirs = pty.openpty()
    watcher = run("attach", "work", *options, stdin=theirs)
    os.close(theirs)
    os.write(ours, f"fix @{tmp_path}/x.py\n@{tmp_path}/nope.py\nlast\n".encode())
    watcher.wait_for("You said: last\n\n")
    os.write(ours, b"\x04")
    watcher.end()
    os.close(ours)
    sent = [call["parts"] for call in daemon.called("turn/start")]
    if options:
        assert [part["text"] for (part,) in sent][:2] == [
            f"fix @{tmp_path}/x.py",
            f"@{tmp_path}/nope.py",
        ]
        return
    assert sent[0] == [
        {"type": "text", "text": f"fix {tmp_path}/x.py"},
        {"type": "text", "text": "pass\n", "name": f"{tmp_path}/x.py"},
    ]
    assert len(sent) == 2
    assert f"There is no file {tmp_path}/nope.py to attach.\nNot meant" in watcher.err


def test_a_refused_line_is_said_and_the_watching_goes_on(daemon: FakeDaemon, run: Run) -> None:
    conversation_id = daemon.create("work", live=True)
    daemon.refusals["turn/start"] = Refusal("not_configured", "No model.")
    ours, theirs = pty.openpty()
    watcher = run("attach", "work", stdin=theirs)
    os.close(theirs)
    daemon.say(conversation_id, "first")
    watcher.wait_for("You said: first")
    os.write(ours, b"hello\n\x04")
    code, _ = watcher.end()
    os.close(ours)
    assert code == 0
    assert "No model." in watcher.err


def test_ctrl_d_leaves_also_while_the_daemon_is_gone(daemon: FakeDaemon, run: Run) -> None:
    conversation_id = daemon.create("work", live=True)
    daemon.say(conversation_id, "first")
    daemon.hold.clear()
    turn = threading.Thread(target=daemon.say, args=(conversation_id, "second"))
    turn.start()
    ours, theirs = pty.openpty()
    watcher = run("attach", "work", stdin=theirs, stderr=subprocess.STDOUT)
    os.close(theirs)
    watcher.wait_for("> second\n\nYou said: ")
    daemon.stop()
    watcher.wait_for("You said: \nConnection lost; connecting again ...\n")
    os.write(ours, b"never sent\n\x04")
    code, out = watcher.end()
    os.close(ours)
    daemon.hold.set()
    turn.join()
    assert code == 0
    assert out.endswith("connecting again ...\n[detached]\n")
    assert daemon.called("turn/start") == []


def test_a_daemon_that_is_gone_for_good_ends_it(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon.create("work", live=True)
    monkeypatch.setattr(attach, "RECONNECT_LIMIT_S", 0)
    monkeypatch.setattr(attach, "RECONNECT_PAUSE_S", 0)
    subscribe = daemon._subscribe

    def subscribe_and_stop(*arguments: Any) -> Any:
        threading.Timer(0, daemon.stop).start()
        return subscribe(*arguments)

    monkeypatch.setattr(daemon, "_subscribe", subscribe_and_stop)
    result = ask("attach", "work")
    assert result.code == 69
    assert "connecting again" in result.err


def test_control_sequences_are_taken_out_across_deltas(daemon: FakeDaemon, run: Run) -> None:
    conversation_id = daemon.create("work", live=True)
    watcher = run("attach", "work")
    daemon.say(conversation_id, "first")
    watcher.wait_for("You said: first")
    daemon.answer = lambda text: ["a\x1b", "]0;owned", "\x07b"]
    daemon.say(conversation_id, "second")
    assert "> second\n\nab\n" in watcher.wait_for("b\n")
    _, out = watcher.leave()
    assert "owned" not in out


@pytest.mark.parametrize(("typed", "number"), [("5", 5), ("all", ALL), ("0", 0)])
def test_a_number_of_messages(typed: object, number: int) -> None:
    assert Count().convert(typed, None, None) == number


def test_what_is_no_number_of_messages() -> None:
    for typed in ("-1", "\u0664", "some"):
        with pytest.raises(click.BadParameter, match=r"nor 'all'\."):
            Count().convert(typed, None, None)
