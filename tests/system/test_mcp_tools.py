"""Tools of servers in turns of the real daemon: asked about, denied, bounded, gone again.

What is promised of the built-in tools is promised of these.
"""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.mcp_server import PIXEL
from tests.system.servers import write_config
from tests.system.test_terminal import Terminal
from tests.system.test_tool_loops import Loop, asks, call, offered, open_loop, says
from tests.system.test_tools_at_a_terminal import ALLOW, bare
from tests.system.tool_servers import FAKE, Tools, fake, wait_until
from tests.system.world import World

Map = dict[str, Any]


def add_server(loop: Loop, name: str, *options: str) -> None:
    """The fake server in the settings, told how to be."""
    add_settings(loop, name, fake(*options))


def add_settings(loop: Loop, name: str, settings: Map) -> None:
    """One more server in the settings."""
    path = loop.world.ask_home / "config" / "config.toml"
    text = path.read_text() + f"\n[mcpServers.{name}]\n"
    text += "".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items())
    write_config(loop.world, text)


@pytest.fixture
def tools(world: World) -> Tools:
    return Tools(world, {"fake": fake()})


@pytest.fixture
def described(world: World) -> tuple[Tools, Path]:
    """A server whose tools are described by a file, which a test changes."""
    path = world.home / "description"
    path.write_text("Says the same.")
    return Tools(world, {"fake": fake("--describe", str(path))}), path


# ---- in every dialect ------------------------------------------------------------------


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses", "anthropic", "ollama"])
def test_a_call_its_output_and_its_image_in_every_dialect(dialect: str, tmp_path: Path) -> None:
    with open_loop(tmp_path, dialect) as loop:
        add_server(loop, "fake")
        loop.script(
            asks(call("fake__echo", "call_a", text="hello"), text="I ask."),
            asks(call("fake__picture", "call_b"), call("fake__fail", "call_c")),
            says("Well."),
        )
        result = loop.prompt("fake__*,read_file")
        assert result.code == 0, result
        assert result.out.endswith("Well.\n")
        sent = loop.server.requests
        assert {"fake__echo", "fake__picture", "read_file"} <= offered(sent[0])
        assert "hello" in json.dumps(sent[1])
        assert PIXEL in loop.last(), "the image itself"
        for words in ("[Resource, not fetched: one, note://one]", "two", "audio/wav", "It went"):
            assert words in loop.last(), words
        by_name = {item["name"]: item for item in loop.outputs()}
        assert [part["type"] for part in by_name["fake__picture"]["parts"]] == ["blob", "text"]
        failed = [name for name, item in by_name.items() if item.get("is_error")]
        assert failed == ["fake__fail"]
        # The next prompt's history holds them all, from the disk.
        loop.script(says("Yes."))
        assert loop.prompt("none").out == "Yes.\n"
        assert PIXEL in loop.last()


# ---- asked about -----------------------------------------------------------------------


def test_without_a_person_a_call_is_denied_and_it_is_said_how_to_allow_it(tools: Tools) -> None:
    words = 'CALLS:[["fake__echo", {"text": "hello"}]]'
    result = tools.world.start("-T", "all", words, cwd=tools.project).finish()
    assert result.code == 0
    assert "nobody to ask; --approve auto allows it" in result.err
    assert "This call was not run" in tools.told()


def test_rules_are_for_a_tool_or_for_a_whole_server(tools: Tools) -> None:
    world = tools.world
    listed = json.loads(world.ok("tools", "list", "--json").out)
    assert [row for row in listed if "__" in row["name"]] == [], "nothing is started for a list"
    world.ok("tools", "policy", "fake__*", "auto")
    world.ok("tools", "policy", "fake__fail", "deny")
    words = 'CALLS:[["fake__echo", {"text": "hello"}]]'
    assert world.start("-T", "fake__*", words, cwd=tools.project).finish().code == 0
    assert tools.told() == "hello"
    refused = world.start("-T", "all", 'CALLS:[["fake__fail", {}]]', cwd=tools.project).finish()
    assert "the settings say so" in refused.err
    assert "settings refuse it" in tools.told()
    listed = json.loads(world.ok("tools", "list", "--json").out)
    policies = {row["name"]: (row["needs"], row["policy"]) for row in listed}
    assert policies["fake__echo"] == ("ask", "auto")
    assert policies["fake__fail"] == ("ask", "deny")
    assert world.ask("tools", "policy", "fake__nothing").code == 0, "a server may come to have it"
    assert world.ask("tools", "policy", "other__*", "auto").code == 2


def test_on_a_terminal_it_is_asked_and_always_holds_until_the_tool_changes(
    described: tuple[Tools, Path],
) -> None:
    tools, description = described
    world = tools.world
    words = 'CALLS:[["fake__echo", {"text": "hello \\u001b[31m"}]]'
    terminal = Terminal(world, "-T", "all", "-s", "work", words, cwd=tools.project)
    terminal.wait_for(ALLOW)
    shown = bare(terminal.screen)
    assert "fake: echo\n" in shown
    assert '  |   "text": "hello ' in shown
    assert "server 'fake', which nothing here confines" in " ".join(shown.split())
    assert "2. Always in this conversation: fake: echo" in shown
    terminal.type("a\n")
    assert terminal.finish() == 0
    assert tools.told().startswith("hello")
    again = Terminal(world, "-s", "work", words, cwd=tools.project)
    assert again.finish() == 0
    assert "Allow it?" not in again.screen

    description.write_text("Says the same, and sends it to me.")
    world.ok("mcp", "test", "fake")
    changed = Terminal(world, "-s", "work", words, cwd=tools.project)
    changed.wait_for(ALLOW)
    changed.type("n\n")
    assert changed.finish() == 0
    assert "This call was not run" in tools.told()


def test_what_has_changed_while_no_daemon_ran_is_not_run_by_what_was_allowed_before(
    described: tuple[Tools, Path],
) -> None:
    tools, description = described
    world = tools.world
    words = 'CALLS:[["fake__echo", {"text": "hello"}]]'
    told = ("-T", "all", "-s", "work", words)
    terminal = Terminal(world, *told, cwd=tools.project)
    terminal.wait_for(ALLOW)
    terminal.type("a\n")
    assert terminal.finish() == 0

    world.ok("daemon", "stop")
    description.write_text("Says the same, and sends it to me.")
    # What it is known for from before is offered and allowed; the server itself says otherwise.
    first = Terminal(world, *told, cwd=tools.project)
    assert first.finish() == 0
    assert "has changed how it describes this tool" in tools.told()
    assert "call echo" not in world.ok("mcp", "logs", "fake").out
    second = Terminal(world, *told, cwd=tools.project)
    second.wait_for(ALLOW)
    second.type("y\n")
    assert second.finish() == 0
    assert tools.told() == "hello"


def test_a_detached_turn_waits_for_its_answer_over_a_restart(tools: Tools) -> None:
    world = tools.world
    words = 'CALLS:[["fake__echo", {"text": "hello"}]]'
    told = ("--detach", "-T", "all", "--approve", "ask", "-s", "work", words)
    job = world.start(*told, cwd=tools.project).finish()
    assert job.code == 0, job
    wait_until(lambda: any(e["type"] == "question_asked" for e in world.events("work")))
    world.ok("daemon", "stop")
    wait_until(lambda: not tools.find_processes())
    world.ok("jobs", "show", job.out.strip(), "--answer", "yes")
    world.ok("jobs", "wait", job.out.strip())
    assert tools.told() == "hello"


# ---- bounded ---------------------------------------------------------------------------


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[Loop]:
    with open_loop(tmp_path, "openai-chat") as opened:
        add_server(opened, "fake")
        yield opened


def test_a_large_output_is_shortened_and_read_on(loop: Loop) -> None:
    on = {"call_id": "call_big", "offset": 300_000, "limit": 10}
    loop.script(
        asks(call("fake__big", "call_big", n=500_000)),
        asks(("call_on", "read_output", json.dumps(on))),
        says("Read."),
    )
    assert loop.prompt().out.endswith("Read.\n")
    second, third = loop.server.requests[1:]
    assert "read_output" in offered(second)
    assert len(json.dumps(second)) < 60_000
    told = third["messages"][-1]["content"]
    assert told == (
        "[Characters 300000 to 300010 of 500000; go on with offset 300010.]\nxxxxxxxxxx"
    )


def test_the_same_call_for_ever_is_refused_and_the_turn_ends(loop: Loop) -> None:
    loop.script(*(asks(call("fake__echo", text="a")) for _ in range(60)))
    assert loop.prompt().code == 1
    assert loop.ends() == [("failed", 1)]
    assert loop.texts()[:3] == ["a"] * 3
    assert "a" not in loop.texts()[3:]
    assert len(loop.server.requests) <= 7


def test_a_model_that_never_ends_is_ended(loop: Loop) -> None:
    loop.script(*(asks(call("fake__echo", f"call_{n}", text=str(n))) for n in range(60)))
    result = loop.prompt()
    assert result.code == 1, result
    assert "7 requests to the model" in result.err
    assert loop.texts() == [str(n) for n in range(7)]


def test_calls_of_one_answer_run_at_the_same_time_beside_the_houses_own(loop: Loop) -> None:
    # The command waits for the server's, and the server's for the command: a pipe opens at both.
    pipe = loop.project / "pipe"
    os.mkfifo(pipe)
    loop.script(
        asks(
            call("run_command", "call_a", command="cat pipe"),
            call("fake__wait", "call_b", n=0.01),
            call("run_command", "call_c", command="echo through > pipe"),
        ),
        says("All."),
    )
    assert loop.prompt().code == 0
    by_id = {item["call_id"]: json.dumps(item) for item in loop.outputs()}
    assert "through" in by_id["call_a"]
    assert "waited 0.01" in by_id["call_b"]


# ---- what comes and goes ---------------------------------------------------------------


def test_a_server_that_is_removed_leaves_unknown_tools_behind_and_no_process(loop: Loop) -> None:
    loop.script(asks(call("fake__echo", "call_a", text="hello")), says("Yes."))
    assert loop.prompt().code == 0
    loop.world.ok("mcp", "remove", "fake")
    loop.script(asks(call("fake__echo", "call_b", text="hello")), says("So not."))
    result = loop.prompt()
    assert result.code == 0, result
    assert "fake__echo" not in offered(loop.server.requests[-1])
    by_id = {item["call_id"]: item for item in loop.outputs()}
    assert by_id["call_a"].get("synthetic") is None
    assert by_id["call_b"]["synthetic"] == "unknown_tool"
    gone = loop.world.ask("-T", "fake__*", "go")
    assert gone.code == 2
    assert "There is no tool 'fake__*'" in gone.err


def test_a_server_that_was_known_is_offered_while_it_starts_anew(tmp_path: Path) -> None:
    """It takes a minute by now; whoever does not call it does not wait for it."""
    with open_loop(tmp_path, "openai-chat") as loop:
        options = loop.world.home / "options"
        options.write_text("")
        command = f"exec {sys.executable} {FAKE} $(cat {options})"
        add_settings(loop, "fake", {"command": "sh", "args": ["-c", command]})
        loop.script(asks(call("fake__echo", "call_a", text="hello")), says("Yes."))
        assert loop.prompt().code == 0
        loop.world.ok("daemon", "stop")
        options.write_text("--slow 60")
        loop.script(says("Quick."), asks(call("read_file", path="poem.txt")), says("Quick, too."))
        result = loop.prompt("all")
        assert (result.code, result.out) == (0, "Quick.\n")
        assert "fake__echo" in offered(loop.server.requests[-1])
        assert loop.prompt("all").out.endswith("Quick, too.\n")
        (row,) = json.loads(loop.world.ok("mcp", "list", "--json").out)
        assert row["state"] == "starting", "both ended before it was there"


def test_hundreds_of_tools_are_offered_as_far_as_they_fit_and_it_is_said(tmp_path: Path) -> None:
    with open_loop(tmp_path, "openai-chat", window=200_000) as loop:
        add_server(loop, "many", "--tools", "500")
        loop.script(asks(call("many__tool_499", "call_a")), says("Many."))
        result = loop.prompt("all")
        assert result.code == 0, result
        assert "are offered: a request holds no more than 127" in result.err
        assert len(offered(loop.server.requests[0])) == 127
        assert "read_file" in offered(loop.server.requests[0])
        assert loop.outputs()[0]["synthetic"] == "unknown_tool"
        loop.script(asks(call("many__tool_499", "call_b")), says("One."))
        result = loop.prompt("many__tool_499,read_file")
        assert "are offered" not in result.err
        assert offered(loop.server.requests[-1]) == {"many__tool_499", "read_file"}
        listed = json.loads(loop.world.ok("tools", "list", "--json").out)
        assert len([row for row in listed if row["name"].startswith("many__")]) > 500


def test_tools_of_servers_leave_room_in_a_small_window(tmp_path: Path) -> None:
    with open_loop(tmp_path, "openai-chat", window=16_000) as loop:
        add_server(loop, "wordy", "--tools", "100", "--words", "4000")
        loop.script(says("Hello."))
        result = loop.prompt("all")
        assert (result.code, result.out) == (0, "Hello.\n")
        assert "more than a quarter of the window of work/fake" in result.err
        names = offered(loop.server.requests[0])
        assert {"read_file", "wordy__echo", "wordy__tool_0"} <= names
        assert "wordy__tool_99" not in names
