"""Two terminals, one conversation: nothing twice, nothing missing, everybody answered."""

import json
import signal
import subprocess

from tests.system.test_asking import TOKENS, wait_for_end
from tests.system.world import World


def test_attach_shows_live_what_another_terminal_asks(world: World) -> None:
    assert world.model is not None
    world.ok("-s", "work", "ECHO:before")
    attached = world.start("attach", "work", "--no-input", env={"ASK_TERMINAL": "second"})
    attached.wait_for("before")
    asking = world.start("-s", "work", "HOLD:3 while you watch")
    asking.wait_for("tok2")
    attached.wait_for("tok2")
    assert "tok3" not in attached.out
    late = world.start("attach", "work", "--no-input", env={"ASK_TERMINAL": "third"})
    late.wait_for("tok2")
    world.model.release()
    assert asking.finish().out.strip() == TOKENS.strip()
    for watcher in (attached, late):
        watcher.wait_for("tok19")
        watcher.signal(signal.SIGINT)
        shown = watcher.finish().out
        assert shown.count(TOKENS.strip()) == 1, shown
        assert shown.count("while you watch") == 1, shown
        assert shown.count("tok7 ") == 1


def test_attach_as_json_has_each_event_once_and_whole_deltas(world: World) -> None:
    assert world.model is not None
    world.ok("-s", "work", "ECHO:before")
    asking = world.start("-s", "work", "HOLD:5")
    asking.wait_for("tok4")
    attached = world.start("attach", "work", "--json", "--no-input")
    attached.wait_for("tok4")
    world.model.release()
    assert asking.finish().code == 0
    attached.wait_for(lambda: attached.out.count('"turn_finished"') >= 2)
    attached.signal(signal.SIGINT)
    lines = [json.loads(line) for line in attached.finish().out.splitlines()]
    seqs = [line["seq"] for line in lines if "seq" in line]
    assert seqs == list(range(seqs[0], seqs[0] + len(seqs)))
    assert seqs == [event["seq"] for event in world.events("work")][-len(seqs) :]


def test_prompts_from_both_are_queued_and_each_is_answered(world: World) -> None:
    assert world.model is not None
    first = world.start("-s", "work", "HOLD:1 first")
    first.wait_for("tok0")
    others = [
        world.start("-s", "work", f"ECHO:answer {number}", env={"ASK_TERMINAL": f"t{number}"})
        for number in range(5)
    ]
    wait_until_accepted(world, "work", 6)
    world.model.release()
    assert first.finish().code == 0
    for number, other in enumerate(others):
        result = other.finish()
        assert (result.code, result.out.strip()) == (0, f"answer {number}")
    events = world.events("work")
    accepted = [e["turn_id"] for e in events if e["type"] == "prompt_accepted"]
    finished = [e["turn_id"] for e in events if e["type"] == "turn_finished"]
    assert accepted == finished


def wait_until_accepted(world: World, name: str, count: int) -> None:
    """Wait, through a subscription, until so many prompts are in the log."""
    watcher = world.start("attach", name, "--json", "--no-input", env={"ASK_TERMINAL": "watch"})
    watcher.wait_for(lambda: watcher.out.count('"prompt_accepted"') >= count)
    watcher.signal(signal.SIGINT)
    watcher.finish()


def test_ctrl_c_interrupts_and_keeps_what_was_said(world: World) -> None:
    asking = world.start("-s", "work", "HOLD:3")
    asking.wait_for("tok2")
    asking.signal(signal.SIGINT)
    result = asking.finish()
    assert result.code == 130, result
    events = world.events("work")
    assert events[-1]["type"] in ("turn_finished", "titled")
    finished = next(e for e in events if e["type"] == "turn_finished")
    assert finished["outcome"] == "interrupted"
    partial = next(e for e in events if e["type"] == "item_added")
    assert partial["status"] == "interrupted"
    assert "tok2" in json.dumps(partial["item"])
    world.ok("-s", "work", "ECHO:goes on")


def test_ctrl_c_withdraws_a_queued_prompt(world: World) -> None:
    assert world.model is not None
    first = world.start("-s", "work", "HOLD:1")
    first.wait_for("tok0")
    queued = world.start("-s", "work", "ECHO:never sent", env={"ASK_TERMINAL": "b"})
    wait_until_accepted(world, "work", 2)
    queued.signal(signal.SIGINT)
    assert queued.finish().code == 130
    world.model.release()
    assert first.finish().code == 0
    outcomes = [e["outcome"] for e in world.events("work") if e["type"] == "turn_finished"]
    assert sorted(outcomes) == ["completed", "withdrawn"]
    assert "never sent" not in json.dumps(world.model.requests())


def test_a_prompt_that_waits_too_long_is_withdrawn(world: World) -> None:
    assert world.model is not None
    first = world.start("-s", "work", "HOLD:1")
    first.wait_for("tok0")
    late = world.ask("-s", "work", "--timeout", "0.3", "ECHO:too late")
    assert late.code == 124, late
    world.model.release()
    assert first.finish().code == 0
    outcomes = [e["outcome"] for e in world.events("work") if e["type"] == "turn_finished"]
    assert sorted(outcomes) == ["completed", "withdrawn"]
    assert "too late" not in json.dumps(world.model.requests())


def test_a_killed_terminal_only_detaches(world: World) -> None:
    assert world.model is not None
    asking = world.start("-s", "work", "HOLD:2")
    asking.wait_for("tok1")
    asking.process.kill()
    asking.finish()
    world.model.release()
    wait_for_end(world, "work")
    assert TOKENS.strip() in world.ok("history", "show", "work", "--raw").out


def test_someone_elses_interrupt_is_a_failure_for_the_asker(world: World) -> None:
    asking = world.start("-s", "work", "HOLD:2")
    asking.wait_for("tok1")
    prompt = next(e for e in world.events("work") if e["type"] == "prompt_accepted")
    params = {"conversation_id": prompt["conversation_id"], "turn_id": prompt["turn_id"]}
    world.ok("api", "turn/interrupt", json.dumps(params))
    assert asking.finish().code == 1


def test_a_chat_and_its_commands(world: World) -> None:
    assert world.model is not None
    chat = world.start("chat", "-s", "talk", stdin=subprocess.PIPE)
    chat.type("/models\nECHO:my name is Alice\n/help\nSUM\n/exit\n")
    result = chat.finish()
    assert result.code == 0, result
    assert "my name is Alice" in result.out
    shown = world.ok("history", "show", "talk").out
    for line in ("/models", "/help", "/exit"):
        assert line in shown
    sent = json.dumps(world.model.requests())
    for line in ("/models", "/help", "/exit"):
        assert line not in sent


def test_the_log_says_what_was_shown_and_kept(world: World) -> None:
    world.env["ASK_LOG"] = "debug"
    chat = world.start("chat", "-s", "talk", stdin=subprocess.PIPE)
    chat.type("/models\nECHO:hello\n/exit\n")
    assert chat.finish().code == 0
    shown = json.loads(world.ok("history", "show", "talk", "--raw").out)
    log = world.log()
    assert "Persisted special command: /models, result_length=" in log
    count = shown["message_count"]
    assert f"Displaying conversation: id={shown['id']}, message_count={count}" in log
    # A debugging log names what happened, never what was said, and never a key.
    assert "test-key" not in log
    assert "ECHO:hello" not in log
