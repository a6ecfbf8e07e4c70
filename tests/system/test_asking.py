"""One terminal: every way to ask, and what comes back where."""

import json
import os
import subprocess
import uuid
from pathlib import Path

from tests.system.world import ASK, World

TOKENS = "".join(f"tok{number} " for number in range(20))


def last_user_text(world: World) -> str:
    assert world.model is not None
    return str(world.model.requests()[-1]["messages"][-1]["content"])


def test_the_first_prompt_starts_a_daemon_and_is_answered(world: World) -> None:
    assert world.owner() is None
    result = world.ask("hello", "there")
    assert result.code == 0, result
    assert result.out.strip() == TOKENS.strip()
    assert result.out.endswith("\n")
    assert len(result.short_id) == 8
    assert last_user_text(world) == "hello there"
    os.kill(world.daemon_pid(), 0)


def test_standard_input_is_context(world: World) -> None:
    result = world.ask("what failed?", stdin=b"line one\nerror: disk full\n")
    assert result.code == 0, result
    sent = last_user_text(world)
    assert "error: disk full" in sent
    assert "what failed?" in sent


def test_standard_input_alone_is_the_prompt(world: World) -> None:
    result = world.ask(stdin=b"ECHO:from a pipe")
    assert result.code == 0, result
    assert "from a pipe" in result.out


def test_continue_sends_the_first_exchange_again(world: World) -> None:
    assert world.model is not None
    first = world.ok("ECHO:The code is 4711.")
    second = world.ok("-c", "ECHO:and why?")
    assert second.short_id == first.short_id
    messages = world.model.requests()[-1]["messages"]
    assert [(m["role"], m["content"]) for m in messages[-3:]] == [
        ("user", "ECHO:The code is 4711."),
        ("assistant", first.out.rstrip("\n")),
        ("user", "ECHO:and why?"),
    ]


def test_continue_is_per_terminal(world: World) -> None:
    world.ok("ECHO:mine")
    other = world.ask("-c", "ECHO:yours", env={"ASK_TERMINAL": "another"})
    assert other.code == 3, other
    none = world.ask("-c", "ECHO:none", env={"ASK_TERMINAL": None, "TMUX": None})
    assert none.code == 3, none


def test_a_name_is_created_once_and_found_by_prefix(world: World) -> None:
    first = world.ok("-s", "work", "ECHO:one")
    second = world.ok("-s", "work", "ECHO:two")
    third = world.ok("-s", first.short_id, "ECHO:three")
    assert first.short_id == second.short_id == third.short_id
    assert len([e for e in world.events("work") if e["type"] == "turn_finished"]) == 3


def test_a_file_and_a_system_prompt_are_sent(world: World) -> None:
    assert world.model is not None
    (world.home / "notes.txt").write_text("the sky is green here")
    world.ok("-f", "notes.txt", "-S", "Answer like a pirate.", "what colour?")
    messages = world.model.requests()[-1]["messages"]
    assert messages[0] == {"role": "system", "content": "Answer like a pirate."}
    assert "the sky is green here" in messages[-1]["content"]


def test_json_is_one_event_a_line_and_ends_with_the_turn(world: World) -> None:
    lines = [json.loads(line) for line in world.ok("--json", "hi").out.splitlines()]
    assert all(line["type"] and line["conversation_id"] for line in lines)
    assert lines[-1]["type"] == "turn_finished"
    assert lines[-1]["outcome"] == "completed"
    text = "".join(line["text"] for line in lines if line["type"] == "delta")
    assert text == TOKENS
    numbered = [line["seq"] for line in lines if "seq" in line]
    assert numbered == sorted(numbered)


def test_output_file_is_replaced_only_on_success(world: World) -> None:
    target = world.home / "answer.txt"
    target.write_text("old")
    assert world.ask("-o", "answer.txt", "FAIL 400").code == 1
    assert target.read_text() == "old"
    world.ok("-o", "answer.txt", "ECHO:new words")
    assert target.read_text().strip() == "new words"


def test_extract_prints_the_first_block_alone(world: World) -> None:
    assert world.ok("-x", "CODE").out == "print('hello')\n"
    assert world.ask("-x", "ECHO:no block").code == 1


def test_quiet_says_nothing_but_the_answer(world: World) -> None:
    world.ok("ECHO:warm up")
    result = world.ok("-q", "ECHO:just this")
    assert result.err == ""
    assert result.out.strip() == "just this"


def test_control_sequences_of_a_model_never_come_through(world: World) -> None:
    result = world.ok("ESC")
    assert not set(result.out) & set("\x1b\x07\x9b")
    assert "pwned" not in result.out
    assert "\x1b" in world.ok("--raw", "ESC").out


def test_the_time_limit_ends_the_turn(world: World) -> None:
    world.ok("hello")  # the start of the daemon is not to be counted
    result = world.ask("--timeout", "1", "-s", "slow", "HOLD:4")
    assert result.code == 124, result
    assert "tok0" in result.out
    finished = [e for e in world.events("slow") if e["type"] == "turn_finished"]
    assert [e["code"] for e in finished] == [124]


def test_nothing_of_an_ephemeral_conversation_reaches_the_disk(world: World) -> None:
    world.ok("ECHO:on the disk")
    canary = "zebra" + uuid.uuid4().hex
    result = world.ask("--ephemeral", f"ECHO:{canary}")
    assert result.code == 0, result
    assert canary in result.out
    again = world.ask("-c", "SUM")
    assert again.code == 0, again
    world.ok("daemon", "stop")
    for path in world.home.rglob("*"):
        if path.is_file():
            assert canary.encode() not in path.read_bytes(), path
    assert canary not in world.ok("history", "list").out


def test_the_same_key_is_the_same_turn(world: World) -> None:
    assert world.model is not None
    key = str(uuid.uuid4())
    first = world.ok("--key", key, "-s", "once", "ECHO:only once")
    again = world.ok("--key", key, "-s", "once", "ECHO:only once")
    assert first.out == again.out
    assert len(world.model.requests()) == 1
    other = world.ask("--key", key, "-s", "once", "ECHO:something else")
    assert other.code == 2, other


def test_fail_busy_does_not_wait(world: World) -> None:
    assert world.model is not None
    running = world.start("-s", "busy", "HOLD:2")
    running.wait_for("tok1")
    result = world.ask("--fail-busy", "-s", "busy", "ECHO:x")
    assert result.code == 8, result
    world.model.release()
    assert running.finish().code == 0


def test_loops_can_keep_their_standard_input(world: World) -> None:
    script = f'printf "a\\nb\\n" | while read line; do {ASK} -q --no-stdin "ECHO:$line"; done'
    done = subprocess.run(
        ["sh", "-c", script], env=world.env, cwd=world.home, capture_output=True, check=True
    )
    assert done.stdout.split() == [b"a", b"b"]


def test_a_cut_answer_is_not_done(world: World) -> None:
    assert world.ask("LENGTH").code == 9
    cut = world.ask("-s", "cut", "CUT")
    assert cut.code == 1, cut
    assert "tok2" in cut.out
    assert world.ask("FAIL 401").code == 4
    assert world.ask("FAIL 400").code == 1


def test_a_failed_prompt_does_not_poison_the_conversation(world: World) -> None:
    assert world.model is not None
    assert world.ask("-s", "p", "FAIL 400").code == 1
    world.ok("-s", "p", "ECHO:fine")
    contents = [m["content"] for m in world.model.requests()[-1]["messages"]]
    assert contents == ["ECHO:fine"]


def test_verbose_logs_to_standard_error(world: World) -> None:
    result = world.ok("-v", "ECHO:words")
    assert result.out.strip() == "words"
    assert f"pid {world.daemon_pid()}" in result.err


def test_a_reader_that_goes_away_does_not_end_the_turn(world: World) -> None:
    assert world.model is not None
    running = world.start("-s", "pipe", "HOLD:2")
    running.wait_for("tok1")
    assert running.process.stdout is not None
    running.process.stdout.close()
    world.model.release()
    assert running.process.wait(60) == 141
    wait_for_end(world, "pipe")


def wait_for_end(world: World, name: str) -> None:
    """Wait on the wire until the conversation's last turn is over; demand that it is complete."""
    prompt = next(e for e in reversed(world.events(name)) if e["type"] == "prompt_accepted")
    params = {"conversation_id": prompt["conversation_id"], "turn_id": prompt["turn_id"]}
    state = json.loads(world.ok("api", "turn/wait", json.dumps(params)).out)
    assert state["outcome"] == "completed", state


def test_a_config_file_names_a_server(world: World, tmp_path: Path) -> None:
    assert world.model is not None
    config = world.ask_home / "config" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(
        'default_model = "work/fake"\n[providers.work]\ndialect = "openai-chat"\n'
        f'base_url = "{world.model.base_url}"\n'
    )
    bare = {"OPENAI_API_KEY": None, "OPENAI_BASE_URL": None}
    result = world.ask("ECHO:configured", env=bare)
    assert result.code == 0, result
    assert world.model.requests()[-1]["model"] == "fake"


def test_an_edited_config_file_counts_from_the_next_prompt_on(world: World) -> None:
    assert world.model is not None
    world.ok("ECHO:before")
    config = world.ask_home / "config" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(
        f'[providers.fresh]\ndialect = "openai-chat"\nbase_url = "{world.model.base_url}"\n'
    )
    world.ok("-m", "fresh/fake", "ECHO:at once")
