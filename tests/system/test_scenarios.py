"""What people do with conversations, from the first word to a broken disk: real processes.

Each test is one story, told to its end. Parts of the last one stand elsewhere: a
rollout directory that may not be written in `test_rollouts`, a full disk and a
file in the way of the data directory in `test_bad_input`; Codex itself goes on
with a rollout in `test_codex`.
"""

import json
import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.system.servers import write_config
from tests.system.world import ASK, LIMIT_S, Result, World

MODEL = "openai (fake)"


def wait_until(condition: Callable[[], bool]) -> None:
    """For what the daemon does when nobody waits for it."""
    until = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < until, "it never came"
        time.sleep(0.01)


def find_rollout(world: World, conversation_id: str) -> list[Path]:
    return list((world.ask_home / "data" / "rollouts").rglob(f"rollout-*-{conversation_id}.jsonl"))


def read_rollout(path: Path) -> list[dict[str, Any]]:
    """Its lines; every one is whole, and what a line of Codex's is."""
    content = path.read_bytes()
    assert content.endswith(b"\n")
    lines = [json.loads(line) for line in content.splitlines()]
    for line in lines:
        assert {"timestamp", "type", "payload"} <= set(line)
        assert datetime.fromisoformat(line["timestamp"]).tzinfo is not None
    return lines


def wait_rollout(world: World, name: str) -> Path:
    """The file of a conversation, when it holds all that the log does."""
    events = world.events(name)

    def is_whole() -> bool:
        paths = find_rollout(world, events[0]["id"])
        if not paths:
            return False
        lines = read_rollout(paths[0])
        seqs = [line["payload"]["seq"] for line in lines if line["type"] == "ask_event"]
        return seqs == [event["seq"] for event in events]

    wait_until(is_whole)
    (path,) = find_rollout(world, events[0]["id"])
    return path


def kinds(lines: list[dict[str, Any]]) -> list[str]:
    """What Codex sees of the lines."""
    seen = [line for line in lines if not line["type"].startswith("ask_")]
    return [f"{line['type']} {line['payload'].get('type', '')}".strip() for line in seen]


def said(request: dict[str, Any]) -> list[str]:
    """The words of a request, in order, without the system prompt."""
    return [each["content"] for each in request["messages"] if each["role"] != "system"]


TURN = [
    "turn_context",
    "event_msg user_message",
    "response_item message",
    "event_msg agent_message",
    "response_item message",
    "event_msg token_count",
]


def test_1_alice_is_remembered_and_the_rollout_grows_by_each_turn(world: World) -> None:
    assert world.model is not None
    first = world.ok("-s", "alice", "ECHO:My name is Alice")
    assert first.out == "My name is Alice\n"
    path = wait_rollout(world, "alice")
    before = path.read_bytes()
    lines = read_rollout(path)
    assert kinds(lines) == ["session_meta", *TURN]
    meta, context = lines[0]["payload"], next(x for x in lines if x["type"] == "turn_context")
    assert (meta["id"], meta["model_provider"]) == (world.events("alice")[0]["id"], "openai")
    assert context["payload"]["model"] == "fake"
    counts = next(x["payload"]["info"] for x in lines if x["payload"].get("type") == "token_count")
    assert counts["total_token_usage"]["output_tokens"] > 0
    world.ok("-c", "What is my name?")
    assert said(world.model.requests()[-1]) == [
        "ECHO:My name is Alice",
        "My name is Alice",
        "What is my name?",
    ]
    wait_rollout(world, "alice")
    assert path.read_bytes().startswith(before), "it grows, and nothing in it changes"
    assert kinds(read_rollout(path)) == ["session_meta", *TURN, *TURN]


def test_2_three_conversations_are_listed_with_provider_model_time_and_total(world: World) -> None:
    for name, turns in (("one", 1), ("two", 2), ("three", 1)):
        for _ in range(turns):
            world.ok("-s", name, "ECHO:hi")
    *rows, total = world.ok("history", "list").out.splitlines()
    assert total == "Total: 3 conversation(s)"
    found = json.loads(world.ok("history", "list", "--json").out)
    assert [each["name"] for each in found] == ["three", "two", "one"], "the newest first"
    for row, each, count in zip(rows, found, (2, 4, 2), strict=True):
        updated = datetime.fromtimestamp(each["updated_at"]).strftime("%Y-%m-%d %H:%M")
        shown = f"{each['id'][:8]}  {each['name']:28}  {MODEL:28}  {updated}  {count} messages"
        assert row == shown
        assert abs(each["updated_at"] - time.time()) < LIMIT_S


def test_3_resumed_continued_stopped_and_resumed_again_with_the_full_context(
    world: World,
) -> None:
    assert world.model is not None
    conversation_id = world.ok("new", "tale").out.strip()
    words: list[str] = []

    def go_on(text: str) -> None:
        """Say something in this terminal's conversation: all that was said goes with it."""
        assert world.model is not None
        world.ok("-c", f"ECHO:{text}")
        words.append(f"ECHO:{text}")
        assert said(world.model.requests()[-1]) == words
        words.append(text)

    go_on("once")
    world.ok("-s", "other", "ECHO:meanwhile")  # which is now this terminal's
    for number in range(2):
        resumed = world.ok("resume", conversation_id[:8])
        assert (resumed.out, resumed.err.splitlines()[0]) == (
            "",
            f"Resumed conversation: {conversation_id}",
        )
        assert "Provider: openai, model: fake" in resumed.err
        assert 'Continue chatting: ask -c "..."' in resumed.err
        go_on(f"upon {number}")
        go_on(f"a time {number}")
        world.ok("daemon", "stop")  # returns when it has ended
    world.ok("resume", "tale")
    go_on("the end")
    shown = json.loads(world.ok("history", "show", "tale", "--raw").out)
    assert [each["content"] for each in shown["messages"]] == words
    assert shown["message_count"] == len(words) == 12


def test_4_an_unknown_id_is_said_with_the_way_to_the_known_ones(world: World) -> None:
    world.ok("-s", "work", "ECHO:one")
    before = world.ok("history", "list", "--json").out
    for command in (
        ("resume", "0badc0de"),
        ("history", "show", "0badc0de"),
        ("history", "export", "0badc0de"),
        ("attach", "0badc0de"),
    ):
        result = world.ask(*command)
        assert (result.code, result.out) == (3, ""), command
        assert result.err.splitlines() == [
            "Conversation not found: id=0badc0de",
            "List them: ask list",
        ], command
    prompt = world.ask("-s", "0badc0de", "ECHO:x")
    assert (prompt.code, prompt.out) == (3, "")
    assert "Conversation not found: id=0badc0de" in prompt.err
    assert world.ok("history", "list", "--json").out == before, "and nothing was made of it"
    assert world.ok("-c", "ECHO:two").out == "two\n", "this terminal's is the one that it was"


def test_7_a_rollout_is_valid_line_by_line_and_becomes_the_conversation_again(
    world: World,
) -> None:
    assert world.model is not None
    world.ok("-s", "work", "-S", "Be brief.", "ECHO:one")
    world.ok("clear", "work")
    world.ok("-s", "work", "ECHO:two")
    path = wait_rollout(world, "work")
    lines = read_rollout(path)
    assert [line["type"] for line in lines].count("session_meta") == 1
    assert lines[0]["type"] == "session_meta"
    assert kinds(lines) == ["session_meta", *TURN, "compacted", *TURN]
    before = json.loads(world.ok("history", "show", "work", "--raw").out)
    copy = world.ok("history", "import", str(path)).out.strip()
    after = json.loads(world.ok("history", "show", copy, "--raw").out)
    assert after["messages"] == before["messages"]
    for each in ("work", copy):
        world.ok("-s", each, "ECHO:three")
        assert said(world.model.requests()[-1]) == ["ECHO:two", "two", "ECHO:three"]


# ---- 5, 6, 7: a window that is too small for all of it -----------------------------

SMALL_WINDOW = """
[models."openai/fake"]
context_window = 3000
max_output_tokens = 500
[context]
summary_tokens = 200
user_message_tokens = 200
"""
BUDGET = 2500
SUMMARY = "Here is the summary produced by the other language model"
SUMMARIZED = " ".join(f"tok{number}" for number in range(20))
"""What the scripted model answers to whoever does not tell it what to say."""


def talk_long(world: World, name: str, turns: range) -> None:
    """Turns that take a tenth of the window each; every one is answered."""
    for number in turns:
        words = f"turn {number} {'and so on ' * 50}end"
        assert world.ok("-s", name, f"ECHO:{words}").out.strip() == words


def wait_jobs(world: World) -> None:
    """Until nothing is left to do in the background."""
    wait_until(lambda: json.loads(world.ok("jobs", "list", "--json").out) == [])


def find_changes(world: World, name: str, kind: str) -> list[dict[str, Any]]:
    """What has become of the view, in this way."""
    return [each for each in world.events(name) if each.get("kind") == kind]


def show_context(world: World, name: str) -> list[str]:
    """What the next request would hold."""
    found = json.loads(world.ok("history", "show", name, "--context", "--json").out)
    assert found["tokens"] <= found["budget"] == BUDGET
    return [each["content"] for each in found["items"]]


def test_5_twenty_long_turns_in_a_small_window(world: World) -> None:
    assert world.model is not None
    write_config(world, SMALL_WINDOW)
    talk_long(world, "long", range(20))
    wait_jobs(world)
    compacted = find_changes(world, "long", "compact")
    assert compacted, "a summary was made"
    for each in compacted:
        assert each["tokens_after"] <= 0.8 * each["tokens_before"]
        assert each["model"] == "openai/fake"
    world.ok("-s", "long", "ECHO:the last one")
    *earlier, last = said(world.model.requests()[-1])
    assert last == "ECHO:the last one"
    for number in (18, 19):
        recent = [text for text in earlier if f"turn {number} " in text]
        assert len(recent) == 2, "recent turns stay word for word, both sides"
        assert all(text.endswith("end") for text in recent)
    assert sum(text.count(SUMMARY) for text in earlier) == 1
    assert SUMMARIZED in "".join(earlier)
    assert not any(text == f"turn 3 {'and so on ' * 50}end" for text in earlier)
    shown = json.loads(world.ok("history", "show", "long", "--raw").out)
    assert shown["message_count"] == 42, "the history has everything"
    assert "WARN" not in world.log()


def test_6_resumed_after_a_compaction(world: World) -> None:
    assert world.model is not None
    write_config(world, SMALL_WINDOW)
    talk_long(world, "long", range(8))
    before = show_context(world, "long")
    assert len(before) == 16
    assert not any(SUMMARY in text for text in before)
    done = world.ok("compact", "long")
    (change,) = find_changes(world, "long", "compact")
    assert f"{change['tokens_before']} -> {change['tokens_after']} tokens" in done.err + done.out
    after = show_context(world, "long")
    assert sum(SUMMARY in text for text in after) == 1
    assert after[-4:] == before[-4:], "the last turns are as they were"
    world.ok("daemon", "stop")
    world.ok("resume", "long")
    assert show_context(world, "long") == after
    world.ok("-c", "ECHO:and now")
    request = "\n\n".join(said(world.model.requests()[-1]))
    assert request == "\n\n".join([*after, "ECHO:and now"])
    shown = json.loads(world.ok("history", "show", "long", "--raw").out)
    assert shown["message_count"] == 18
    world.ok("compact", "long", "--undo")
    assert show_context(world, "long") == [*before, "ECHO:and now", "and now"]


def test_7_a_rollout_after_a_compaction_becomes_the_same_conversation(world: World) -> None:
    assert world.model is not None
    write_config(world, SMALL_WINDOW)
    talk_long(world, "long", range(8))
    world.ok("compact", "long")
    world.ok("-s", "long", "ECHO:and now")
    path = wait_rollout(world, "long")
    lines = read_rollout(path)
    assert kinds(lines) == ["session_meta", *TURN * 8, "compacted", *TURN]
    (line,) = [each for each in lines if each["type"] == "compacted"]
    (change,) = find_changes(world, "long", "compact")
    assert line["payload"]["message"] == change["summary"]["text"]
    assert line["payload"]["message"].endswith(SUMMARIZED)
    assert line["ask"]["up_to_seq"] == change["up_to_seq"]
    assert (line["ask"]["model"], line["ask"]["truncated_count"]) == ("openai/fake", 0)
    assert line["ask"]["usage"]["output_tokens"] > 0
    copy = world.ok("history", "import", str(path)).out.strip()
    assert show_context(world, copy) == show_context(world, "long")
    raw = [json.loads(world.ok("history", "show", each, "--raw").out) for each in ("long", copy)]
    assert raw[0]["messages"] == raw[1]["messages"]


# ---- 8: the disk says no -----------------------------------------------------------

SMALL = 512
"""Bytes: no file of the daemon's may be written beyond, its log and its database among them."""


@contextmanager
def limit_writes(pid: int) -> Iterator[None]:
    """RLIMIT_FSIZE of a running process, as a quota that is used up; lifted at the end."""
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (SMALL, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("flags", [(), ("-v",)], ids=["plain", "the long way"])
def test_8_a_turn_that_cannot_be_saved_is_shown_and_said(
    world: World, flags: tuple[str, ...]
) -> None:
    assert world.model is not None
    world.ok("-s", "work", "ECHO:before")
    pid = world.daemon_pid()
    running = world.start("-s", "work", *flags, "HOLD:2 words")
    running.wait_for("tok0")
    with limit_writes(pid):
        world.model.release()
        result = running.finish()
        assert result.code == 74, result
        assert result.out.splitlines()[0].startswith("tok0"), "the answer is shown"
        assert "tok1" in result.out
        assert "Failed to save turn: " in result.err
        refused = world.ask("-s", "work", "ECHO:now")
        assert (refused.code, refused.out) == (74, "")
        assert str(world.ask_home / "data") in refused.err
        status = json.loads(world.ok("daemon", "status", "--json").out)
        assert status["pid"] == pid, "the daemon lives"
        shown = json.loads(world.ok("history", "show", "work", "--raw").out)
        assert shown["messages"][0]["content"] == "ECHO:before", "and can be read"
    assert world.ok("-s", "work", "ECHO:after").out == "after\n"
    # What the log holds is what the conversation is: the prompt, not the answer.
    sent = said(world.model.requests()[-1])
    assert sent == ["ECHO:before", "before", "HOLD:2 words\n\nECHO:after"]

    def find(kind: str) -> list[str]:
        return [event["turn_id"] for event in world.events("work") if event["type"] == kind]

    wait_until(lambda: sorted(find("turn_finished")) == sorted(find("prompt_accepted")))
    assert len(find("prompt_accepted")) == 3, "what was refused is not there, what was not is"
    world.ok("daemon", "restart")
    shown = json.loads(world.ok("history", "show", "work", "--raw").out)
    assert [each["content"] for each in shown["messages"] if each["role"] == "user"] == [
        "ECHO:before",
        "HOLD:2 words",
        "ECHO:after",
    ]


POWERLESS = f"""
import ctypes, os, sys
PR_CAPBSET_DROP, POWERS = 24, (1, 2, 3)
if os.geteuid() == 0:
    # Root may write everything, by these: without them it is a user like others.
    libc = ctypes.CDLL(None, use_errno=True)
    for power in POWERS:
        assert libc.prctl(PR_CAPBSET_DROP, power, 0, 0, 0) == 0
os.execv({ASK!r}, [{ASK!r}, *sys.argv[1:]])
"""
"""Runs `ask`, and whatever it starts, without CAP_DAC_OVERRIDE and its like."""


def ask_powerless(world: World, *arguments: str) -> Result:
    return world.ask(*arguments, command=(sys.executable, "-c", POWERLESS))


def test_8_a_data_directory_that_cannot_be_written_at_start_is_named(world: World) -> None:
    data = world.ask_home / "data"
    data.mkdir(parents=True)
    data.chmod(0o500)
    result = ask_powerless(world, "ECHO:x")
    assert (result.code, result.out) == (74, "")
    assert str(data) in result.err
    assert "Permission denied" in result.err
    assert "Traceback" not in result.err
    assert list(data.iterdir()) == []
    data.chmod(0o700)
    assert ask_powerless(world, "ECHO:and now").out == "and now\n"
