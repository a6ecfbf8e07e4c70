"""Who is attached, in real terminals: seen in the status within a moment, and in the lists."""

import json
import re
import shlex

import pytest

from tests.system.chats import ALLOW, Panes
from tests.system.world import ASK, World

WRITE = "CALLS:" + json.dumps([["write_file", {"path": "notes.md", "content": "new\n"}]])
STATUS = "here/fake | "


@pytest.fixture
def world(talks: World) -> World:
    """One for all."""
    return talks


def find_tty(panes: Panes, pane: str) -> str:
    """What the kernel calls the terminal of a pane."""
    panes.type("tty", pane)
    shown = panes.wait_until(
        lambda shown: re.search("^/dev/pts/[0-9]+$", shown, re.M) is not None, pane
    )
    return shown.partition("/dev/")[2].split()[0]


def attach(panes: Panes, pane: str, *words: str) -> None:
    panes.type(shlex.join([ASK, "attach", "work", *words]), pane)


def test_who_comes_is_seen_and_who_leaves_is_gone(world: World, panes: Panes) -> None:
    assert world.model is not None
    second, third = panes.open(), panes.open()
    first_tty, second_tty, third_tty = (find_tty(panes, each) for each in ("%0", second, third))
    panes.chat("-s", "work")
    panes.type("ECHO:hi")
    assert "also" not in panes.wait_for(STATUS)
    attach(panes, second)
    panes.wait_for(f"| also {second_tty} |")
    panes.wait_for(f"| also {first_tty} |", second)
    attach(panes, third, "-r")
    panes.wait_for(f"| also {second_tty}, {third_tty} |")
    (row,) = json.loads(world.ok("ps", "--json").out)
    assert row["attached"] == 3
    assert [(each["client"], each["tty"], each["interactive"]) for each in row["clients"]] == [
        ("ask chat", first_tty, True),
        ("ask attach", second_tty, True),
        ("ask attach", third_tty, False),
    ]
    assert "  3 attached" in world.ok("list").out
    panes.press("C-c", pane=third)
    panes.wait_for(f"| also {second_tty} |")
    assert f"  at {first_tty}, {second_tty}" in world.ok("ps").out
    panes.press("C-d", pane=second)
    panes.wait_gone("also")
    panes.leave()
    assert "at pts" not in world.ok("list").out


def test_a_script_that_asks_is_seen_while_it_waits(world: World, panes: Panes) -> None:
    assert world.model is not None
    panes.chat("-s", "work")
    panes.type("ECHO:hi")
    panes.wait_idle("\nhi\n")
    script = world.start("-s", "work", "HOLD")
    panes.wait_for("| also ask |")
    world.model.release()
    assert script.finish().code == 0
    panes.wait_gone("also ask")
    panes.leave()


def test_a_daemon_that_is_started_anew_knows_who_is_there(world: World, panes: Panes) -> None:
    second = panes.open()
    tty = find_tty(panes, second)
    panes.chat("-s", "work")
    panes.type("ECHO:hi")
    panes.wait_idle("\nhi\n")
    attach(panes, second)
    panes.wait_for(f"| also {tty} |")
    assert world.ok("daemon", "restart").code == 0
    panes.wait_for(f"| also {tty} |")
    panes.type("ECHO:again")
    panes.wait_idle("\nagain\n")
    panes.wait_for(f"| also {tty} |")
    panes.press("C-d", pane=second)
    panes.wait_gone("also")
    panes.leave()


def test_lists_fit_a_narrow_terminal_and_say_what_waits_for_whom(
    world: World, panes: Panes
) -> None:
    second = panes.open()
    panes.chat("-s", "work", "-T", "all", "--approve", "ask")
    panes.type(WRITE)
    panes.wait_for(ALLOW)
    job = world.ok("--detach", "-T", "all", "--approve", "ask", "-s", "apart", WRITE).out[:8]
    try:
        panes.type(f"until {ASK} jobs list | grep -q 'needs you'; do :; done; echo as''ked", second)
        panes.wait_for("\nasked", second)
        for columns in (40, 80, 200):
            panes.resize(columns, 30, second)
            panes.type(f"clear; {ASK} list; {ASK} jobs list; echo at''{columns}", second)
            shown = panes.wait_for(f"\nat{columns}", second)
            rows = shown.split("\n")
            assert max(map(len, rows)) <= columns
            assert "Needs you" in rows
            assert any(re.match("  [0-9a-f]{8}  work .*at pts/[0-9]+", row) for row in rows)
            assert any(row.startswith(f"{job}  needs you  turn") for row in rows)
            assert sum(row.startswith("To answer: ask attach ") for row in rows) == 2
    finally:
        world.ok("history", "delete", "apart", "--yes")
    panes.press("C-c")
    panes.wait_for("(interrupted)")
    panes.leave()
