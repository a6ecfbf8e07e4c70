"""`ask attach` in real terminals: beside a chat, taking part, watching, asked, lost, narrow."""

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.system.chats import ALLOW, Panes, outcomes, prompts
from tests.system.world import ASK, World

LEAVES = re.compile(r" leaves( \||$)", re.MULTILINE)
"""In the status."""
WRITE = "CALLS:" + json.dumps([["write_file", {"path": "notes.md", "content": "new\n"}]])


@pytest.fixture
def world(talks: World) -> World:
    """One for all: a daemon that a test ends is started again by the next."""
    return talks


def empty(panes: Panes, pane: str = "%0") -> None:
    """Nothing stands in a pane any more."""
    panes._run("send-keys", "-R", "-t", pane)
    panes._run("clear-history", "-t", pane)


def attach(panes: Panes, *words: str, pane: str = "%0", env: str = "") -> None:
    """Attach to `work` in a pane, which is emptied before."""
    empty(panes, pane)
    panes.type(f"{env}{shlex.join([ASK, 'attach', 'work', *words])}", pane)


def enter(panes: Panes, *words: str, pane: str = "%0") -> str:
    """The same, until something can be typed or seen; the screen."""
    attach(panes, *words, pane=pane)
    panes.wait_for("Watching work." if "-r" in words else "Attached to work.", pane)
    return wait_ready(panes, pane)


def wait_ready(panes: Panes, pane: str = "%0") -> str:
    """Wait for the status; the screen."""
    return panes.wait_until(lambda shown: LEAVES.search(shown) is not None, pane)


def count_rows(shown: str, row: str) -> int:
    """How often a row stands on a screen."""
    return shown.split("\n").count(row)


# ---- together --------------------------------------------------------------------------


def test_two_terminals_and_a_chat_share_a_conversation(world: World, panes: Panes) -> None:
    assert world.model is not None
    panes.chat("-s", "work")
    second, third = panes.open(), panes.open()
    panes.type("ECHO:first")
    panes.wait_idle("\nfirst\n")
    enter(panes, pane=second)
    enter(panes, "-r", pane=third)
    panes.type("HOLD")
    for pane in (second, third):
        shown = panes.wait_for("tok2", pane)
        assert "> (from another terminal) HOLD" in shown
        assert count_rows(shown, "first") == 1
    panes.type("ECHO:second", second)
    panes.wait_for("queued 1: (another terminal) ECHO:second")
    panes.wait_for("queued 1: ECHO:second", second)
    world.model.release()
    for pane in ("%0", second, third):
        panes.wait_for("\nsecond\n", pane)
        shown = panes.screen(pane, past=True)
        assert count_rows(shown, "second") == 1
        assert shown.count("tok7 ") == 1
    assert "> (from another terminal) ECHO:second" in panes.screen()
    assert "\n> ECHO:second" in panes.screen(second)
    for pane in (second, third):
        panes.press("C-c", pane=pane)
        panes.wait_code(0, pane)
        assert "[detached]" in panes.screen(pane)
    panes.leave()
    assert prompts(world) == ["ECHO:first", "HOLD", "ECHO:second"]


def test_who_leaves_stops_nothing(world: World, panes: Panes) -> None:
    assert world.model is not None
    world.ok("-s", "work", "ECHO:hi")
    enter(panes)
    panes.type("HOLD")
    panes.wait_for("tok2")
    panes.keys("half a line")
    panes.wait_for("> half a line")
    panes.press("C-c")
    panes.wait_code(0)
    assert "The turn goes on: ask attach " in panes.screen()
    enter(panes)
    shown = panes.wait_for("tok2")
    assert shown.count("> (from another terminal) HOLD") == 1
    world.model.release()
    panes.wait_for("tok19")
    panes.wait_gone("...")
    panes.leave()
    assert outcomes(world) == ["completed", "completed"]


def test_commands_are_those_of_a_chat(world: World, panes: Panes) -> None:
    world.ok("-s", "work", "ECHO:hi")
    enter(panes)
    panes.type("/help")
    panes.wait_for("Ctrl-C leaves, and")
    panes.keys("/mode")
    panes.press("Tab")
    panes.wait_for("the models that could answer")
    panes.press("Escape")
    panes.press("C-u")
    panes.press("Up")
    panes.wait_for("> /help")
    panes.press("C-u")
    panes.type("ECHO:**bold**")
    panes.wait_for("\nbold\n")
    panes.type("/exit")
    panes.wait_code(0)


# ---- what was said before --------------------------------------------------------------


def test_the_last_messages_are_painted(world: World, panes: Panes) -> None:
    for number in range(8):
        world.ok("-s", "work", f"ECHO:**answer** {number}")
    shown = enter(panes)
    assert "\n> ECHO:**answer** 7\n\nanswer 7\n" in shown
    shown = panes.screen(past=True)
    assert shown.count("\nanswer ") == 5
    assert "(from another terminal)" not in shown
    panes.leave()
    shown = enter(panes, "-n", "1")
    assert "ECHO:" not in shown.partition("Attached")[2]
    assert "\nanswer 7\n" in shown
    panes.leave()
    attach(panes, "-n", "all", "--until-idle")
    panes.wait_code(0)
    assert panes.screen(past=True).count("\nanswer ") == 8
    panes.chat("-s", "work")
    panes.wait_for("\n> ECHO:**answer** 7\n\nanswer 7\n")
    panes.leave()


def test_stored_answers_look_as_live_ones(world: World, panes: Panes) -> None:
    world.ok("-s", "work", "ECHO:**bold** words")
    shown = f"{ASK} history show work"
    panes.type(shown)
    panes.wait_for("  Content:\n    bold words\n")
    for plain in (f"NO_COLOR=1 {shown}", f"TERM=dumb {shown}", f"{shown} | cat"):
        empty(panes)
        panes.type(plain)
        panes.wait_for("  Content: **bold** words\n")
        panes.wait_shell()
    assert "**bold** words" in world.ok("history", "show", "work", "--raw").out


@pytest.mark.parametrize("words", [(), ("-r",)])
def test_until_idle_stays_for_what_goes_on(
    world: World, panes: Panes, words: tuple[str, ...]
) -> None:
    assert world.model is not None
    asked = world.start("-s", "work", "HOLD")
    asked.wait_for("tok2")
    attach(panes, "--until-idle", *words)
    panes.wait_for("tok2")
    wait_ready(panes)
    world.model.release()
    panes.wait_code(0)
    shown = panes.screen(past=True)
    assert shown.count("tok19") == 1
    assert "| work" not in shown  # nothing is left of the windows
    assert asked.finish().code == 0


# ---- asked -----------------------------------------------------------------------------


def test_a_question_from_before_is_answered_where_one_is_attached(
    world: World, panes: Panes
) -> None:
    notes = world.home / "notes.md"
    notes.write_text("old\n")
    panes.chat("-s", "work", "-T", "all")
    panes.type(WRITE)
    panes.wait_for(ALLOW)
    second, third = panes.open(), panes.open()
    enter(panes, "-r", pane=third)
    shown = panes.wait_for("No\n", third)
    assert "  | -old" in shown
    assert "Allow it?" not in shown
    enter(panes, pane=second)
    shown = panes.wait_for(ALLOW, second)
    assert "  | -old" in shown
    panes.press("y", pane=third)  # it only watches
    panes.choose("y", second)
    for pane in ("%0", third):
        panes.wait_for("Answered elsewhere: Yes", pane)
    for pane in ("%0", second, third):
        panes.wait_for("\ndone\n", pane)
    assert notes.read_text() == "new\n"
    panes.press("q", pane=third)
    panes.wait_code(0, third)
    panes.leave(second)
    panes.leave()


def test_a_parked_turn_is_answered_where_one_is_attached(world: World, panes: Panes) -> None:
    notes = world.home / "notes.md"
    notes.write_text("old\n")
    job = world.ok("--detach", "-s", "work", "-T", "all", "--approve", "ask", WRITE).out.strip()
    enter(panes)
    panes.wait_for(ALLOW)
    panes.type("n")
    panes.wait_for("\ndone\n")
    assert notes.read_text() == "old\n"
    panes.leave()
    assert world.ask("jobs", "wait", job).code == 0


# ---- watching --------------------------------------------------------------------------


def test_who_only_watches_has_no_line(world: World, panes: Panes) -> None:
    world.ok("-s", "work", "ECHO:hi")
    shown = enter(panes, "-r")
    assert not shown.rstrip().rpartition("\n")[0].endswith(">")
    panes.type("/exit")
    world.ok("-s", "work", "ECHO:from elsewhere")
    shown = panes.wait_for("\nfrom elsewhere\n")
    assert "/exit" not in shown
    panes.press("q")
    panes.wait_code(0)
    assert prompts(world) == ["ECHO:hi", "ECHO:from elsewhere"]


# ---- where -----------------------------------------------------------------------------


@pytest.mark.parametrize("words", [(), ("-r",)])
def test_40_columns(world: World, panes: Panes, words: tuple[str, ...]) -> None:
    panes.resize(40, 20)
    world.ok("-s", "work", "ECHO:" + "\u4e2d\u6587 and words " * 12 + "the end")
    attach(panes, *words)
    panes.wait_for("the end")
    wait_ready(panes)
    assert panes.screen(past=True).count("the end") == 2
    world.ok("-s", "work", "ECHO:more")
    panes.wait_for("\nmore\n")
    panes.press("C-c")
    panes.wait_code(0)


def test_without_colours_and_at_a_dumb_terminal(world: World, panes: Panes) -> None:
    world.ok("-s", "work", "ECHO:**bold**")
    attach(panes, env="NO_COLOR=1 ")
    panes.wait_for("\nbold\n")
    wait_ready(panes)
    assert re.search(r"\x1b\[(3[0-7]|9[0-7])m", panes.screen(coloured=True)) is None
    panes.leave()
    attach(panes, env="TERM=dumb ")
    panes.wait_for("\n**bold**\n")
    panes.type("ECHO:**plain**")
    panes.wait_for("\n**plain**\n\n")
    panes.press("C-c")
    panes.wait_code(0)


def test_in_a_pipe_it_is_as_ever(world: World, panes: Panes, tmp_path: Path) -> None:
    world.ok("-s", "work", "ECHO:**bold**")
    attach(panes, "--until-idle", env="")
    panes.wait_code(0)
    piped = world.ok("attach", "work", "--until-idle", "-r")
    assert piped.out == "> ECHO:**bold**\n\n**bold**\n\n"


# ---- lost ------------------------------------------------------------------------------


def test_a_daemon_that_is_killed_and_comes_back(world: World, panes: Panes) -> None:
    world.ok("-s", "work", "ECHO:before")
    second = panes.open()
    enter(panes)
    enter(panes, "-r", pane=second)
    killed = world.daemon_pid()
    world.kill_daemon()
    for pane in ("%0", second):
        panes.wait_for("connection lost", pane)
    assert world.daemon_pid() == killed  # nobody asks anything: none is started
    panes.type("ECHO:after")
    for pane in ("%0", second):
        panes.wait_for("\nafter\n", pane)
        panes.wait_gone("connection lost", pane)
        shown = panes.screen(pane, past=True)
        assert (count_rows(shown, "before"), count_rows(shown, "after")) == (1, 1)
    world.ok("daemon", "restart")
    world.ok("-s", "work", "ECHO:again")
    for pane in ("%0", second):
        panes.wait_for("\nagain\n", pane)
        assert count_rows(panes.screen(pane, past=True), "after") == 1
        panes.press("C-d", pane=pane)
        panes.wait_code(0, pane)


def test_a_conversation_that_is_deleted(world: World, panes: Panes) -> None:
    world.ok("-s", "work", "ECHO:hi")
    enter(panes, "-r")
    world.ok("history", "delete", "work", "--yes")
    panes.wait_for("This conversation has been deleted.")
    panes.wait_code(3)
