"""Who says something to a turn that runs: one turn, one end, and nothing that was said is lost."""

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.system.panes import open_pane, write_script
from tests.system.servers import open_project
from tests.system.world import ASK, LIMIT_S, Running, World

Map = dict[str, Any]
BEGUN = "tok0 tok1 tok2 "
"""What HOLD says before it waits."""
WHOLE = "".join(f"tok{number} " for number in range(20))


def begin(world: World, *arguments: str, prompt: str = "HOLD") -> Running:
    """A turn that has begun to answer and waits."""
    running = world.start("-s", "work", *arguments, prompt)
    running.wait_for("tok2")
    return running


def messages(world: World) -> list[tuple[str, str]]:
    """The conversation as a person reads it: who, and what."""
    shown = json.loads(world.ok("history", "show", "work", "--raw").out)
    return [(each["role"], each["content"]) for each in shown["messages"]]


def sent(world: World) -> list[tuple[str, str]]:
    """The last request, as the model got it."""
    assert world.model is not None
    return [(m["role"], m["content"]) for m in world.model.requests()[-1]["messages"]]


def turns(world: World) -> list[str]:
    """The turns of the conversation."""
    return [e["turn_id"] for e in world.events("work") if e["type"] == "prompt_accepted"]


def test_a_message_joins_the_turn_and_both_get_its_end(world: World) -> None:
    first = begin(world)
    second = world.ask("-s", "work", "--steer", stdin=b"ECHO:no, do Y")
    assert (second.code, second.out) == (0, "no, do Y\n"), second
    done = first.finish()
    assert (done.code, done.out) == (0, f"{BEGUN}\nno, do Y\n"), done
    assert done.short_id == second.short_id
    assert sent(world) == [("user", "HOLD"), ("assistant", BEGUN), ("user", "ECHO:no, do Y")]
    assert messages(world) == [*sent(world), ("assistant", "no, do Y")]
    assert len(turns(world)) == 1
    hits = json.loads(world.ok("history", "search", "no, do Y", "--json").out)
    assert {hit["role"] for hit in hits} == {"user", "assistant"}
    shown = world.ok("history", "show", "work").out
    assert shown.index("tok2") < shown.index("ECHO:no, do Y")


def test_before_the_model_has_said_anything(world: World) -> None:
    assert world.model is not None
    first = world.start("-s", "work", "SAY:[null]")
    world.model.requests(at_least=1)
    second = world.ask("-s", "work", "--steer", "ECHO:this")
    assert (second.out, first.finish().out) == ("this\n", "this\n")
    assert messages(world) == [
        ("user", "SAY:[null]"), ("user", "ECHO:this"), ("assistant", "this"),
    ]  # fmt: skip


def test_where_nothing_runs_it_is_a_prompt_and_without_a_conversation_one_is_begun(
    world: World,
) -> None:
    assert world.ok("-s", "work", "--steer", "ECHO:one").out == "one\n"
    assert world.ok("-s", "work", "--steer", "ECHO:two").out == "two\n"
    assert len(turns(world)) == 2


def test_the_same_key_is_said_once(world: World) -> None:
    first = begin(world)
    one = world.start("-s", "work", "--steer", "--key", "k", "HOLD:1")
    one.wait_for("tok0")
    two = world.start("-s", "work", "--steer", "--key", "k", "HOLD:1")
    two.wait_for("tok0")
    assert world.model is not None
    world.model.release()
    assert [each.finish().code for each in (first, one, two)] == [0, 0, 0]
    assert one.out == two.out == f"{WHOLE}\n"
    assert [role for role, _ in messages(world)] == ["user", "assistant", "user", "assistant"]


def test_ctrl_c_of_who_steered_ends_the_turn_for_both(world: World) -> None:
    first = begin(world)
    second = world.start("-s", "work", "--steer", "HOLD:1")
    second.wait_for("tok0")
    second.signal(signal.SIGINT)
    assert second.finish().code == 130
    assert first.finish().code == 1
    (end,) = [e for e in world.events("work") if e["type"] == "turn_finished"]
    assert end["outcome"] == "interrupted"
    assert ("user", "HOLD:1") in messages(world)


def test_a_turn_that_fails_fails_for_both(world: World) -> None:
    first = begin(world)
    second = world.ask("-s", "work", "--steer", "FAIL 400")
    done = first.finish()
    assert (second.code, done.code) == (1, 1), (second, done)
    assert second.out == ""


def test_what_the_turn_keeps_is_said_and_a_shape_is_refused(world: World) -> None:
    first = begin(world)
    refused = world.ask("-s", "work", "--steer", "--schema", "name", "ECHO:x")
    assert (refused.code, "Ask without a schema" in refused.err) == (2, True), refused
    taken = world.ask("-s", "work", "--steer", "-S", "Rhyme.", "ECHO:x")
    assert (taken.code, taken.out) == (0, "x\n"), taken
    assert "The turn that this message joins keeps its own system prompt." in taken.err
    assert first.finish().code == 0


def test_files_and_mentions_go_with_it(world: World, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("the moon is made of rock")
    first = begin(world)
    second = world.ask("-s", "work", "--steer", "ECHO:seen @notes.txt", cwd=tmp_path)
    assert second.code == 0, second
    assert first.finish().code == 0
    assert "the moon is made of rock" in sent(world)[-1][1]


@pytest.fixture
def project(world: World) -> Path:
    """A directory in which commands may write, and a server that wants no key of its caller."""
    return open_project(world)


def call(line: str) -> str:
    """A prompt that makes the model call for a command."""
    return "CALLS:" + json.dumps([["run_command", {"command": line}]])


def test_a_tool_that_runs_ends_and_its_output_is_kept(world: World, project: Path) -> None:
    line = "echo begun > begun; until [ -e goes ]; do sleep 0.02; done; echo it is done"
    first = world.start("-s", "work", "-T", "all", "--approve", "auto", call(line), cwd=project)
    wait_for(project / "begun")
    second = world.start("-s", "work", "--steer", "ECHO:enough")
    wait_until(lambda: any(e["type"] == "prompt_steered" for e in world.events("work")))
    assert [role for role, _ in messages(world)] == ["user", "assistant"]
    (project / "goes").touch()
    assert (second.finish().code, second.out) == (0, "enough\n")
    assert first.finish().code == 0
    assert [role for role, _ in sent(world) if role != "system"] == [
        "user", "assistant", "tool", "user",
    ]  # fmt: skip
    assert any(role == "tool" and "it is done" in text for role, text in messages(world))


def wait_for(path: Path) -> None:
    """Wait until a file is there."""
    wait_until(path.exists)


def wait_until(condition: Any) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_call_that_waits_for_a_yes_is_refused_by_a_message(world: World, project: Path) -> None:
    asking = ("--detach", "-s", "work", "-T", "all", "--approve", "ask", call("touch made"))
    assert world.ask(*asking, cwd=project).code == 0
    wait_until(lambda: any(e["type"] == "question_asked" for e in world.events("work")))
    second = world.ask("-s", "work", "--steer", "ECHO:do not")
    assert (second.code, second.out) == (0, "do not\n"), second
    assert not (project / "made").exists()
    (answer,) = [e for e in world.events("work") if e["type"] == "question_answered"]
    assert (answer["decision"], answer["by"]) == ("no", "name:test-terminal")
    assert len(turns(world)) == 1


@pytest.mark.parametrize("detached", [False, True])
def test_killed_before_it_joined_the_message_is_in_the_turn(
    world: World, project: Path, detached: bool
) -> None:
    """A tool runs, so that the message is accepted and waits; then the daemon is killed."""
    line = "echo begun > begun; until [ -e goes ]; do sleep 0.02; done"
    options = ["--detach"] if detached else []
    words = ("-s", "work", "-T", "all", "--approve", "auto", *options, call(line))
    first = world.start(*words, cwd=project)
    wait_for(project / "begun")
    second = world.start("-s", "work", "--steer", "ECHO:enough")
    wait_until(lambda: any(e["type"] == "prompt_steered" for e in world.events("work")))
    world.kill_daemon()
    # The client has noticed, starts another daemon, and asks with its key again.
    assert (second.finish().code, second.out) == (1, ""), second.err
    first.finish()
    assert len(turns(world)) == 1
    assert [text for role, text in messages(world) if role == "user"] == [call(line), "ECHO:enough"]
    assert [role for role, _ in messages(world)] == ["user", "assistant", "tool", "user"]
    assert world.ok("-s", "work", "ECHO:and now").out == "and now\n"
    assert sent(world)[-1] == ("user", "ECHO:enough\n\nECHO:and now")


def test_killed_after_it_joined_the_answer_goes_on_or_is_kept(world: World, project: Path) -> None:
    """A detached turn without effects is tried again, and answers the message then."""
    world.ok("--detach", "-s", "work", "HOLD")
    assert world.model is not None
    world.wait_saved("tok2")
    second = world.start("-s", "work", "--steer", "HOLD:5")
    second.wait_for("tok4")
    world.wait_saved("tok4")
    world.kill_daemon()
    world.model.requests(at_least=3)
    world.model.release()
    assert second.finish().code == 0, second.err
    assert second.out.endswith(f"{WHOLE}\n")
    assert messages(world) == [
        ("user", "HOLD"),
        ("assistant", BEGUN),
        ("user", "HOLD:5"),
        ("assistant", WHOLE),
    ]
    starts = [e["attempt"] for e in world.events("work") if e["type"] == "turn_started"]
    assert starts == [1, 2]


def test_it_comes_back_from_the_files_and_from_an_export(world: World, tmp_path: Path) -> None:
    first = begin(world)
    world.ok("-s", "work", "--steer", "ECHO:no, do Y")
    assert first.finish().code == 0
    before, said = world.events("work"), messages(world)
    target = tmp_path / "out.jsonl"
    world.ok("history", "export", "work", "-o", str(target))
    wait_until(lambda: is_mirrored(world))
    world.kill_daemon()
    for path in (world.ask_home / "data").glob("ask.db*"):
        path.unlink()
    world.ok("doctor", "--rebuild", "--yes")
    assert world.events("work") == before
    world.ok("rename", "work", "old")
    world.ok("history", "import", str(target))
    assert messages(world) == said


def is_mirrored(world: World) -> bool:
    rollouts: Map = json.loads(world.ok("api", "daemon/check", "{}").out)["rollouts"]
    return (rollouts["mirrored"], rollouts["behind"]) == (1, 0)


def test_on_a_terminal_the_new_answer_is_painted_by_itself(world: World) -> None:
    """A block of code that was never ended does not take the answer into itself."""
    world.env["ASK_MODEL"] = "openai/fake"
    world.ok("warm")
    cut = ["Like this:\n\n```py\n", "x = 1\n", None]
    write_script(world, "prompt", f"SAY:{json.dumps(cut)}")
    write_script(world, "go", f'{ASK} -s work -- "$(cat prompt)"\necho code=$?\n')
    with open_pane(world, 60, 30) as pane:
        pane.run("sh go")
        pane.wait_until(lambda shown: "x = 1" in shown)
        answer = 'SAY:["No **code** now, as you wish.\\n"]'
        assert world.ask("-s", "work", "--steer", answer).code == 0
        shown = pane.wait_until(lambda shown: "code=0" in shown)
    assert "> SAY:" in shown
    assert "\nNo code now, as you wish.\n" in shown
    assert shown.index("x = 1") < shown.index("> SAY:") < shown.index("\nNo code now")
