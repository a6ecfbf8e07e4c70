"""Tab in a chat: what a real server of tools offers behind an `@`, and what is made of it."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.system.chats import Panes, heard
from tests.system.tool_servers import Tools, find_program, wait_until
from tests.system.world import open_world

FOLDER = "@everything:demo://resource/static/document/"


@pytest.fixture
def everything(tmp_path: Path) -> Iterator[Tools]:
    """The reference server of the protocol's makers."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    program = find_program("mcp-server-everything")
    with open_world(tmp_path) as world:
        tools = Tools(world, {"everything": {"command": program}})
        world.env.pop("ASK_TERMINAL", None)
        yield tools
        world.close()
        wait_until(lambda: not tools.find_processes())


def test_what_a_server_has_is_offered_and_attached(everything: Tools) -> None:
    # A Tab waits for a moment and not for a server that has to be started: this one runs.
    assert FOLDER[12:] in everything.world.ok("mcp", "resources", "everything").out
    panes = Panes(everything.world, columns=120)
    try:
        panes.chat("-s", "work")
        panes.keys("ECHO:seen @ev")
        panes.press("Tab")
        panes.wait_for("> ECHO:seen @everything:")
        panes.press("Tab")
        panes.wait_for("architecture.md")
        shown = panes.wait_for(f"> ECHO:seen {FOLDER[:20]}")
        assert "connection lost" not in shown
        panes.press("C-u")
        panes.wait_gone("@everything:")
        panes.keys(f"ECHO:seen {FOLDER}arch")
        panes.press("Tab")
        panes.wait_for(f"> ECHO:seen {FOLDER}architecture.md")
        panes.press("Enter")
        panes.wait_idle("\nseen")
        assert "Everything Server" in heard(everything.world)
        panes.leave()
    finally:
        panes.close()


def test_nothing_is_offered_for_a_server_that_is_not_there(everything: Tools) -> None:
    panes = Panes(everything.world)
    try:
        panes.chat("-s", "work")
        panes.keys("look at @nobody:x")
        panes.press("Tab")
        panes.keys(" and go on")
        shown = panes.wait_for("> look at @nobody:x and go on")
        assert "Failed" not in shown
        panes.press("C-u")
        panes.wait_gone("@nobody")
        panes.leave()
    finally:
        panes.close()
