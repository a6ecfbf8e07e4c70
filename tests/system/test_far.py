"""`ask -H`: what is asked of another machine's daemon, through a real ssh and sshd."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.prose import FENCE
from tests.system.pairs import ANSWER, CANARY, NEEDY, Pair, needs_sshd, open_pair, pair, wait_until
from tests.system.sshd import NAME, list_children, name_process
from tests.system.world import ASK, LIMIT_S, ROOT

__all__ = ["pair"]
pytestmark = needs_sshd
PAGE = ROOT / "docs" / "how-to" / "several-machines.md"


# ---- what is asked and answered ------------------------------------------------------


def test_a_pipe_is_answered_over_there_and_nothing_starts_here(pair: Pair) -> None:
    result = pair.near.ask("-s", "work", "ECHO:seen", stdin=b"one two three\n")
    assert (result.code, result.out) == (0, "seen\n")
    assert pair.far.model is not None
    (request,) = pair.far.model.requests()
    assert "one two three" in json.dumps(request)
    assert not pair.near.ask_home.exists()
    assert [each["name"] for each in json.loads(pair.near.ok("list", "--json").out)] == ["work"]
    # Whoever sits over there sees the same conversation.
    assert pair.far.ok("history", "show", "work").out == pair.near.ok("history", "show", "work").out
    wait_until(lambda: pair.server.list_sessions() == [])  # nothing is left of it


def test_dash_h_stands_before_a_command_and_among_words(pair: Pair) -> None:
    del pair.near.env["ASK_HOST"]
    address = f"ssh://{NAME}"
    assert pair.near.ok("ECHO:hi", "-H", address).out == "hi\n"
    assert pair.near.ok("-H", address, "-s", "work", "ECHO:you").out == "you\n"
    assert "work" in pair.near.ok("-H", address, "list").out
    status = json.loads(pair.near.ok(f"--host={address}", "daemon", "status", "--json").out)
    assert status["data"] == str(pair.far.ask_home / "data")


def test_files_and_mentions_are_read_on_the_near_side(pair: Pair) -> None:
    (pair.near.home / "notes.txt").write_text("the near notes\n")
    (pair.far.home / "notes.txt").write_text("the far notes\n")
    (pair.near.home / "large.txt").write_text("0123456789abcdef\n" * 40_000)
    pair.near.ok("What does @notes.txt say?")
    pair.near.ok("-f", "large.txt", "ECHO:read")
    assert pair.far.model is not None
    first, second = (json.dumps(each) for each in pair.far.model.requests())
    assert "the near notes" in first
    assert "the far notes" not in first
    assert second.count("0123456789abcdef") == 40_000


def test_the_codes_are_those_of_here(pair: Pair) -> None:
    assert pair.near.ask("history", "show", "nothing").code == 3
    assert pair.near.ask("-m", "no/such", "x").code == 2
    assert pair.near.ask("LENGTH").code == 9
    assert pair.near.ask("-x", "ECHO:no code").code == 1
    slow = pair.near.ask("--timeout", "1", "HOLD")
    assert slow.code == 124, slow


def test_a_turn_that_is_left_is_waited_for(pair: Pair) -> None:
    job = pair.near.ok("--detach", "-s", "work", "SLOW:0.02").out.strip()
    assert pair.near.ask("jobs", "wait", job, "--timeout", str(LIMIT_S)).code == 0
    assert ANSWER.strip() in pair.near.ok("jobs", "logs", job).out


def test_ctrl_c_stops_the_turn_and_not_the_link(pair: Pair) -> None:
    # In a process group of its own, as a shell starts it: Ctrl-C reaches `ssh` too.
    running = pair.near.start("-s", "work", "HOLD", command=("setsid", ASK))
    running.wait_for("tok2")
    group = os.getpgid(running.process.pid)
    assert any(name_process(pid) == "ssh" for pid in list_children(running.process.pid))
    os.killpg(group, signal.SIGINT)
    assert running.finish().code == 130
    (end,) = [e for e in pair.far.events("work") if e["type"] == "turn_finished"]
    assert end["outcome"] == "interrupted"


# ---- tools and keys ------------------------------------------------------------------


def test_tools_run_over_there_in_the_directory_that_is_named(pair: Pair) -> None:
    project = pair.far.home / "project"
    project.mkdir()
    (project / "AGENTS.md").write_text("Speak of lighthouses.\n")
    (project / "here.txt").write_text("far content\n")
    (pair.near.home / "AGENTS.md").write_text("Speak of deserts.\n")
    call = "CALLS:" + json.dumps([["read_file", {"path": "here.txt"}]])
    words = ("--remote-cwd", str(project), "-T", "read,run_command", "--approve", "auto")
    pair.near.ok(*words, "-s", "work", call)
    assert pair.far.model is not None
    asked = [json.dumps(each) for each in pair.far.model.requests()]
    assert "far content" in asked[1]
    assert "Speak of lighthouses." in asked[0]
    assert "deserts" not in asked[0]
    # With the far side's own variables: the near ones mean nothing there.
    pwd = "CALLS:" + json.dumps([["run_command", {"command": "pwd; echo home=$HOME"}]])
    pair.near.ok(*words, "-s", "work", pwd)
    said = json.dumps(pair.far.model.requests()[-1])
    assert str(project) in said
    assert f"home={pair.far.home}" in said


def test_without_a_directory_there_are_no_tools_and_none_is_lost_for_later(pair: Pair) -> None:
    config = pair.far.ask_home / "config" / "config.toml"
    config.write_text(config.read_text() + '\n[tools]\nenabled = ["read"]\n')
    pair.near.ok("-s", "work", "ECHO:one")
    pair.near.ok("-s", "work", "--remote-cwd", "/tmp", "ECHO:two")
    assert pair.far.model is not None
    first, second = pair.far.model.requests()
    assert "tools" not in first
    assert second["tools"]
    refused = pair.near.ask("-T", "read", "ECHO:x")
    assert refused.code == 2
    assert "--remote-cwd DIR" in refused.err
    for directory in ("src", str(pair.far.home / "gone")):
        refused = pair.near.ask("--remote-cwd", directory, "ECHO:x")
        assert refused.code == 2, refused
    assert len(pair.far.model.requests()) == 2


@pytest.fixture
def needy(tmp_path: Path) -> Iterator[Pair]:
    """A far side whose provider wants a key that it does not have."""
    yield from open_pair(tmp_path, NEEDY, "--api-key", CANARY)


def test_keys_stay_near_unless_it_is_said(needy: Pair) -> None:
    near = needy.near
    near.env |= {"WORK_KEY": CANARY, "OPENAI_API_KEY": f"{CANARY}-2", "HTTPS_PROXY": f"{CANARY}-3"}
    needy.server.configure("SendEnv OPENAI_API_KEY")
    refused = near.ask("-s", "work", "ECHO:x")
    assert refused.code == 4, refused
    assert "--send-keys" in refused.err
    assert near.ok("--send-keys", "-s", "work", "ECHO:sent").out == "sent\n"
    assert near.ask("-s", "work", "ECHO:x").code == 4  # it was lent for its turn
    # Neither the other key nor the proxy has crossed, in either case; nothing was kept.
    kept = b"".join(
        path.read_bytes()
        for path in needy.far.ask_home.rglob("*")
        if path.is_file() and not path.is_symlink()
    )
    assert CANARY.encode() not in kept
    assert CANARY not in needy.server.log()


def test_a_link_that_is_told_its_command_word_for_word(pair: Pair) -> None:
    wrapped = {"ASK_REMOTE_COMMAND": f"env ASK_HOME={pair.far.home}/other {ASK}"}
    result = pair.near.ask("list", env=wrapped)
    assert result.code == 0, result
    assert (pair.far.home / "other" / "data" / "owner.json").exists()
    stop = {"ASK_HOME": f"{pair.far.home}/other"}
    assert pair.far.ask("daemon", "stop", env=stop).code == 0


def test_what_is_about_a_machine_is_refused(pair: Pair) -> None:
    for words in (["daemon", "stop"], ["daemon", "start"], ["doctor"], ["config", "path"]):
        result = pair.near.ask(*words)
        assert result.code == 2, result
        assert "is about the machine that it runs on" in result.err
    assert pair.near.ask("daemon", "status").code == 69  # and none was started for it
    assert pair.near.ok("ps").out == "No live conversations.\n"
    assert pair.far.owner() is None


def test_dial_stdio_carries_bytes_as_they_are(pair: Pair) -> None:
    dial = pair.far.start("dial-stdio", stdin=subprocess.PIPE)
    dial.type("no message at all")
    dial.wait_for("Malformed message")
    assert dial.finish().code == 0
    assert pair.far.ask("dial-stdio", "--no-start").code == 0
    pair.far.ok("daemon", "stop")
    result = pair.far.ask("dial-stdio", "--no-start")
    assert (result.code, result.err) == (69, "No daemon is running.\n")


def read_blocks(language: str) -> list[str]:
    """The blocks of the page in one language."""
    return [text for found, text in FENCE.findall(PAGE.read_text()) if found == language]


def test_what_the_page_says_can_be_typed(pair: Pair) -> None:
    """Every block of "several-machines.md" as it stands."""
    del pair.near.env["ASK_HOST"]
    blocks = read_blocks("sh")
    assert len(blocks) == 4
    (pair.far.home / ".local" / "bin").mkdir(parents=True)
    (pair.far.home / ".local" / "bin" / "ask").symlink_to(ASK)
    pair.near.env["PATH"] += f":{Path(ASK).parent}"
    here = pair.near.home
    subprocess.run(["git", "init", "-q", str(here)], check=True, timeout=LIMIT_S)
    for block in blocks:
        result = pair.near.start(command=("sh", "-euc", block)).finish()
        assert result.code == 0, (block, result)
    assert pair.far.model is not None
    assert pair.far.model.requests()[-1]["tools"]


@pytest.fixture
def kept(pair: Pair) -> Iterator[Pair]:
    """A pair whose `ssh` keeps its connection, by the page's own lines."""
    (lines,) = (each for each in read_blocks("text") if each.startswith("Host box\n"))
    place = tempfile.mkdtemp(prefix="ask")  # a socket's path is short, and pytest's is long
    pair.server.configure(lines.partition("\n")[2].replace("~/.ssh", place))
    try:
        yield pair
    finally:
        ssh = str(pair.server.path / "ssh")
        subprocess.run([ssh, "-O", "exit", NAME], capture_output=True, timeout=LIMIT_S, check=False)
        shutil.rmtree(place)


def test_a_connection_that_ssh_keeps_carries_everything(kept: Pair) -> None:
    kept.near.ok("-s", "work", "ECHO:one")
    (session,) = kept.server.list_sessions()
    kept.near.ok("-s", "work", "ECHO:two")
    assert kept.near.ask("history", "show", "nothing").code == 3
    assert kept.server.list_sessions() == [session], "it has signed in once"
    running = kept.near.start("-s", "work", "SLOW:0.1")
    running.wait_for("tok3")
    kept.server.cut()
    result = running.finish()
    assert (result.code, result.out) == (0, f"{ANSWER}\n"), "another one was made for the rest"
    assert session not in kept.server.list_sessions()
    kinds = [event["type"] for event in kept.far.events("work")]
    assert kinds.count("prompt_accepted") == kinds.count("turn_finished") == 3


def test_a_key_that_may_do_nothing_else(pair: Pair) -> None:
    (line,) = (each for each in read_blocks("text") if each.startswith("restrict,"))
    keys = pair.server.directory / "authorized_keys"
    keys.write_text(line.partition(" ssh-ed25519 ")[0] + " " + keys.read_text())
    assert pair.near.ok("ECHO:allowed").out == "allowed\n"
    ssh = str(pair.server.path / "ssh")
    other = pair.near.start(NAME, "echo broken out", command=(ssh,)).finish()
    assert "broken out" not in other.out
