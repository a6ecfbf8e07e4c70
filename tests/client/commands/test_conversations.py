"""Conversations by name: listed, made, resumed, renamed, cleared."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.client.commands.conftest import Ask
from tests.client.commands.fake_daemon import FakeDaemon


def test_list_groups_live_and_recent(daemon: FakeDaemon, ask: Ask) -> None:
    stored = daemon.create("old")
    live = daemon.create("work", live=True)
    result = ask("list")
    assert result.code == 0
    lines = result.out.splitlines()
    assert lines[0] == "Idle"
    assert lines[1].startswith(f"  {live[:8]}  work")
    assert lines[3] == "Recent"
    assert lines[4].startswith(f"  {stored[:8]}  old")
    rows = json.loads(ask("list", "--json").out)
    assert [row["id"] for row in rows] == [live, stored]


def test_at_a_terminal_it_is_said_how_to_answer(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = daemon.create("work", live=True)
    monkeypatch.setattr(daemon, "_state", lambda id: "needs_you")
    assert ask("list").err == ""
    monkeypatch.setattr("ask.commands.layout.find_columns", lambda: 80)
    for command in ("list", "ps"):
        result = ask(command)
        assert result.out.startswith("Needs you\n")
        assert result.err == f"\nTo answer: ask attach {waiting[:8]}\n"
    assert ask("list", "--json").err == ""


def test_an_empty_list_says_how_to_begin(daemon: FakeDaemon, ask: Ask) -> None:
    assert ask("list").out == 'No saved conversations.\nCreate one: ask "..."\n'
    assert ask("list", "--json").out == "[]\n"


def test_ps_lists_the_live_ones_alone(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.create("old")
    assert ask("ps").out == "No live conversations.\n"
    daemon.create("work", live=True)
    assert "work" in ask("ps").out
    assert "old" not in ask("ps").out


def test_ps_starts_no_daemon(ask: Ask) -> None:
    assert ask("ps") == (result := ask("ps"))
    assert (result.code, result.out) == (0, "No live conversations.\n")
    assert ask("ps", "--json").out == "[]\n"


def test_new_prints_the_id_and_continues_here(daemon: FakeDaemon, ask: Ask) -> None:
    result = ask("new", "work", "-m", "fake/echo", "-S", "Be brief.")
    assert result.code == 0
    (conversation_id,) = daemon.events
    assert result.out == conversation_id + "\n"
    assert daemon.terminals == {"name:here": conversation_id}
    (params,) = daemon.called("conversation/create")
    assert (params["model"], params["system"]) == ("fake/echo", "Be brief.")
    assert json.loads(ask("new", "--json").out)["name"] is None


def test_a_taken_name_is_an_error(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.create("work")
    result = ask("new", "work")
    assert (result.code, result.out) == (2, "")
    assert "taken" in result.err


def test_resume_says_three_lines_and_binds_the_terminal(daemon: FakeDaemon, ask: Ask) -> None:
    conversation_id = daemon.create("work")
    result = ask("resume", "work")
    assert (result.code, result.out) == (0, "")
    assert result.err.splitlines() == [
        f"Resumed conversation: {conversation_id}",
        "Provider: fake, model: echo",
        'Continue chatting: ask -c "..."',
    ]
    assert daemon.terminals == {"name:here": conversation_id}
    assert json.loads(ask("resume", conversation_id[:6], "--json").out)["id"] == conversation_id


def test_an_unknown_conversation_is_not_found(daemon: FakeDaemon, ask: Ask) -> None:
    result = ask("resume", "nobody")
    assert result.code == 3
    assert "Conversation not found: id=nobody" in result.err
    error = json.loads(ask("resume", "nobody", "--json").out)
    assert (error["type"], error["code"]) == ("error", 3)
    assert error["data"]["reason"] == "conversation_not_found"


def test_without_a_terminal_nothing_is_resumed(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon.create("work")
    monkeypatch.setattr("ask.commands.calls.find_terminal", lambda environ: None)
    result = ask("resume", "work")
    assert result.code == 3
    assert "terminal" in result.err
    assert daemon.calls == []


def test_rename_and_take_the_name_away(daemon: FakeDaemon, ask: Ask) -> None:
    conversation_id = daemon.create("work")
    assert ask("rename", "work", "play").code == 0
    assert daemon.names[conversation_id] == "play"
    renamed = json.loads(ask("rename", "play", "--remove", "--json").out)
    assert renamed["name"] is None
    assert ask("rename", conversation_id).code == 2
    assert ask("rename", conversation_id, "x", "--remove").code == 2


def test_clear_keeps_the_conversation(daemon: FakeDaemon, ask: Ask) -> None:
    conversation_id = daemon.create("work")
    result = ask("clear", "work")
    assert (result.code, result.out) == (0, "")
    assert result.err.startswith("Cleared: work.")
    assert daemon.events[conversation_id][-1]["kind"] == "clear"
    assert json.loads(ask("clear", "work", "--json").out) == {"conversation_id": conversation_id}


def test_clear_alone_means_this_terminals_conversation(daemon: FakeDaemon, ask: Ask) -> None:
    assert ask("clear").code == 3
    conversation_id = ask("new").out.strip()
    assert ask("clear").code == 0
    assert daemon.called("conversation/clear") == [{"conversation_id": conversation_id}]


def test_a_closed_pipe_is_141_and_a_full_disk_74(daemon: FakeDaemon, home: Path) -> None:
    for number in range(300):
        daemon.create(f"c{number}")
    line = f"{shlex.quote(sys.executable)} -m ask history list"
    closed = subprocess.run(
        ["bash", "-c", f"{line} | true; exit ${{PIPESTATUS[0]}}"], capture_output=True, check=False
    )
    assert (closed.returncode, closed.stderr) == (141, b"")
    full = subprocess.run(["sh", "-c", f"{line} > /dev/full"], capture_output=True, check=False)
    sentence = b"Standard output cannot be written: No space left on device.\n"
    assert (full.returncode, full.stderr) == (74, sentence)
