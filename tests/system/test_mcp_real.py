"""Servers of tools that others wrote, through the real daemon: a whole turn with each.

Two are Python programs, two are for Node.js; the model is scripted, everything else is real.
"""

import json
import os
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.system.test_bad_input import assert_sentence
from tests.system.test_prompt_options import images_in
from tests.system.test_terminal import Terminal
from tests.system.tool_servers import Tools, find_program, wait_until
from tests.system.world import LIMIT_S, World, open_world

LONG = "everything__trigger-long-running-operation"
FORM = "everything__trigger-elicitation-request"
DOCUMENT = "demo://resource/static/document/architecture.md"


@contextmanager
def open_everything(home: Path) -> Iterator[Tools]:
    """A world with the reference server of the protocol's makers, as a program."""
    program = find_program("mcp-server-everything")
    with open_world(home) as world:
        tools = Tools(world, {"everything": {"command": program}})
        yield tools
        world.close()
        wait_until(lambda: not tools.find_processes())


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tools]:
    """One for all tests that may find it running."""
    with open_everything(tmp_path_factory.mktemp("everything")) as tools:
        yield tools


@pytest.fixture
def unstarted(tmp_path: Path) -> Iterator[Tools]:
    """One that nothing is known of, and that a test's own first words start."""
    with open_everything(tmp_path) as tools:
        yield tools


def sit(tools: Tools, name: str, arguments: Mapping[str, int]) -> Terminal:
    """A prompt at a terminal, whose model makes this call."""
    words = "CALLS:" + json.dumps([(name, arguments)])
    return Terminal(tools.world, "-T", "all", "--approve", "auto", words, cwd=tools.project)


def test_time_tells_the_time(world: World) -> None:
    program = find_program("mcp-server-time")
    tools = Tools(world, {"time": {"command": program, "args": ["--local-timezone", "UTC"]}})
    arguments = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Kathmandu"}
    answer = json.loads(tools.run("time__convert_time", arguments))
    assert answer["target"]["datetime"].endswith("T17:45:00+05:45")
    assert {"time__get_current_time", "time__convert_time"} <= set(tools.offered())
    wrong = tools.run("time__convert_time", {**arguments, "time": "noon"})
    assert "Invalid time format" in wrong


def test_git_reads_a_repository(world: World) -> None:
    tools = Tools(world, {"git": {"command": find_program("mcp-server-git")}})
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(tools.project)]
    (tools.project / "poem.txt").write_text("the sea is grey\n")
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "A grey sea"]):
        subprocess.run([*git, *words], check=True, timeout=LIMIT_S)
    assert "A grey sea" in tools.run("git__git_log", {"repo_path": str(tools.project)})
    nowhere = tools.run("git__git_log", {"repo_path": str(world.home)})
    assert str(world.home) in nowhere, "an error for the model, and no end of the turn"


def test_filesystem_serves_each_caller_its_own_directory(world: World) -> None:
    tools = Tools(world, {"files": {"command": find_program("mcp-server-filesystem")}})
    other = world.home / "other"
    other.mkdir()
    for directory in (tools.project, other):
        (directory / "name.txt").write_text(f"this is {directory.name}\n")
    for directory, stranger in ((tools.project, other), (other, tools.project)):
        own = tools.run(
            "files__read_text_file", {"path": str(directory / "name.txt")}, cwd=directory
        )
        assert f"this is {directory.name}" in own
        theirs = tools.run(
            "files__read_text_file", {"path": str(stranger / "name.txt")}, cwd=directory
        )
        assert f"this is {stranger.name}" not in theirs
        assert "outside allowed directories" in theirs
    allowed = tools.run("files__list_allowed_directories", cwd=other)
    assert str(other) in allowed
    assert str(tools.project) not in allowed
    assert len(tools.find_processes()) == 2, "one for each"


def test_everything_echoes_and_shows_an_image(everything: Tools) -> None:
    assert everything.run("everything__echo", {"message": "hello"}) == "Echo: hello"
    assert "The sum of 20 and 22 is 42" in everything.run("everything__get-sum", {"a": 20, "b": 22})
    weather = everything.run("everything__get-structured-content", {"location": "Chicago"})
    assert "temperature" in weather
    result, told = everything.call("everything__get-tiny-image")
    assert result.code == 0
    assert "Here's the image you requested" in told
    assert everything.world.model is not None
    pictures = everything.world.model.requests()[-1]["messages"][-1]
    assert [image[:8] for image in images_in(pictures)] == [b"\x89PNG\r\n\x1a\n"]


def test_everything_reports_how_far_it_is(everything: Tools) -> None:
    terminal = sit(everything, LONG, {"duration": 2, "steps": 4})
    terminal.wait_for("2 of 4")
    assert terminal.finish() == 0
    assert "Duration: 2 seconds, Steps: 4" in everything.told()


def test_ctrl_c_ends_a_long_call_and_the_server_goes_on(everything: Tools) -> None:
    everything.run("everything__echo", {"message": "warm"})
    servers = everything.find_processes()
    began = time.monotonic()
    terminal = sit(everything, LONG, {"duration": 60, "steps": 600})
    terminal.wait_for("of 600")
    os.kill(terminal.process.pid, signal.SIGINT)
    assert terminal.finish() == 130
    assert time.monotonic() - began < 30
    assert everything.run("everything__echo", {"message": "still here"}) == "Echo: still here"
    assert everything.find_processes() == servers, "the same process"


def test_everything_asks_a_person_in_the_middle_of_a_call(everything: Tools) -> None:
    terminal = sit(everything, FORM, {})
    terminal.wait_for('Asked by the server "everything"')
    terminal.wait_for("Field 1 of ")
    terminal.type("Ada\n")
    (count,) = set(re.findall(r"Field 1 of (\d+)", terminal.screen))
    for number in range(2, int(count) + 1):
        terminal.wait_for(f"Field {number} of {count}")
        terminal.type("\n")
    terminal.wait_for("Send it? ")
    terminal.type("y\n")
    assert terminal.finish() == 0
    assert "Ada" in everything.told()


def test_a_resource_is_mentioned_by_its_servers_name(unstarted: Tools) -> None:
    world = unstarted.world
    listed = json.loads(world.ok("mcp", "resources", "everything", "--json").out)
    assert DOCUMENT in [row["uri"] for row in listed]
    assert any("{" in row["uri"] for row in listed), "templates, too"
    result = world.ok("ECHO:explain", f"@everything:{DOCUMENT}", "@user:host a@b:c")
    assert result.out == f"explain everything:{DOCUMENT} @user:host a@b:c\n"
    assert world.model is not None
    content = world.model.requests()[-1]["messages"][-1]["content"]
    assert content.startswith(f'<file path="everything:{DOCUMENT}">\n# Everything Server')
    blob = world.ok("ECHO:see @everything:demo://resource/dynamic/blob/1.")
    assert blob.out == "see everything:demo://resource/dynamic/blob/1.\n"
    assert "This is a base64 blob" in world.model.requests()[-1]["messages"][-1]["content"]


def test_a_resource_is_mentioned_in_a_chat(unstarted: Tools) -> None:
    world = unstarted.world
    chat = Terminal(world, "chat", "-s", "talk", env={"TERM": "dumb"})
    chat.wait_for("> ")
    chat.type(f"ECHO:explain @everything:{DOCUMENT}\n")
    chat.wait_for(f"explain everything:{DOCUMENT}\r\n")
    chat.type("/exit\n")
    assert chat.finish() == 0
    assert world.model is not None
    content = world.model.requests()[-1]["messages"][-1]["content"]
    assert content.startswith(f'<file path="everything:{DOCUMENT}">\n# Everything Server')


def test_a_resource_that_cannot_be_read_ends_it_before_anything_is_asked(
    everything: Tools,
) -> None:
    world = everything.world
    assert world.model is not None
    before = world.model.requests()
    result = world.ask("see @everything:demo://resource/nothing/7")
    assert_sentence(result, 2, "everything:demo://resource/nothing/7 cannot be read:")
    assert world.model.requests() == before


def test_prompts_are_listed_filled_in_and_asked(unstarted: Tools) -> None:
    world = unstarted.world
    listed = world.ok("mcp", "prompt", "everything").out
    assert "args-prompt" in listed
    assert "  city=...  Name of the city" in listed
    printed = world.ok("mcp", "prompt", "everything", "args-prompt", "city=Rome")
    assert printed.out == "What's weather in Rome?\n"
    missing = world.ask("mcp", "prompt", "everything", "args-prompt")
    assert_sentence(missing, 2, "The prompt 'args-prompt' needs city.")
    embedded = world.ok(
        *("mcp", "prompt", "everything", "resource-prompt", "resourceType=Text", "resourceId=1")
    )
    assert "Resource 1: This is a plaintext resource" in embedded.out
    sent = world.ok("mcp", "prompt", "everything", "args-prompt", "city=Rome", "--send")
    assert sent.out
    assert world.model is not None
    assert world.model.requests()[-1]["messages"][-1]["content"] == "What's weather in Rome?"


@contextmanager
def serve_everything() -> Iterator[str]:
    """The same server at an address on loopback, until the block ends."""
    program = find_program("mcp-server-everything")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [program, "streamableHttp"],
        env={**os.environ, "PORT": str(port)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}/mcp"
    try:
        wait_until(lambda: _answers(url))
        yield url
    finally:
        process.kill()
        process.wait(LIMIT_S)


def _answers(url: str) -> bool:
    try:
        urllib.request.urlopen(url, timeout=LIMIT_S).close()
    except urllib.error.HTTPError:
        return True  # it wants a session, so it is there
    except OSError:
        return False
    return True


def test_everything_at_an_address(world: World) -> None:
    with serve_everything() as url:
        tools = Tools(world, {"everything": {"url": url}})
        assert tools.run("everything__echo", {"message": "far"}) == "Echo: far"
        terminal = sit(tools, LONG, {"duration": 1, "steps": 2})
        terminal.wait_for("1 of 2")
        assert terminal.finish() == 0
        result = world.ok(f"ECHO:see @everything:{DOCUMENT}")
        assert result.out == f"see everything:{DOCUMENT}\n"
        printed = world.ok("mcp", "prompt", "everything", "args-prompt", "city=Rome")
        assert printed.out == "What's weather in Rome?\n"
        terminal = sit(tools, FORM, {})
        terminal.wait_for("A text: ")
        terminal.type("/decline\n")
        assert terminal.finish() == 0
        assert "declined" in tools.told()
    result, told = tools.call("everything__echo", {"message": "gone"})
    assert result.code == 0, "a dead server costs a call, and no turn"
    assert "Echo" not in told
