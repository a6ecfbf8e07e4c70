"""A chat whose daemon, connection, terminal or patience goes: nothing is lost, nothing hangs."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from tests.system.chats import Panes, outcomes, prompts
from tests.system.relays import open_relay
from tests.system.test_terminal import Terminal
from tests.system.world import ASK, LIMIT_S, World

FLOOD_WORDS = 15_000
FLOODS = 2
"""Each is more than a terminal takes that nobody reads: 64 KiB and a little."""


@contextmanager
def held(world: World) -> Iterator[None]:
    """The daemon does nothing while the block runs, and is there."""
    pid = world.daemon_pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


# ---- the daemon ------------------------------------------------------------------------


def test_killed_in_mid_answer_what_came_is_kept_and_what_waits_is_answered(
    talks: World, panes: Panes
) -> None:
    panes.chat("-s", "work")
    panes.type("HOLD")
    panes.wait_for("tok2")
    panes.type("ECHO:it waited")
    panes.wait_for("queued 1: ECHO:it waited")
    panes.keys("ECHO:half typed")
    panes.wait_for("> ECHO:half typed")
    talks.wait_saved("tok2")
    talks.kill_daemon()
    shown = panes.wait_idle("\nit waited\n")
    assert shown.count("tok2") == 1
    assert shown.index("tok2") < shown.index("(interrupted)") < shown.index("\nit waited\n")
    assert "connection lost" not in shown
    panes.type(", whole")
    panes.wait_idle("\nhalf typed, whole\n")
    panes.leave()
    assert prompts(talks) == ["HOLD", "ECHO:it waited", "ECHO:half typed, whole"]
    assert outcomes(talks) == ["interrupted", "completed", "completed"]


def test_restarted_while_nobody_asks_it_is_found_again(talks: World, panes: Panes) -> None:
    panes.chat("-s", "work")
    panes.type("ECHO:before")
    panes.wait_idle("\nbefore\n")
    killed = talks.daemon_pid()
    talks.ok("daemon", "restart")
    assert talks.daemon_pid() != killed
    talks.ok("-s", "work", "ECHO:said elsewhere")
    shown = panes.wait_idle("\nsaid elsewhere\n")
    assert shown.count("\nbefore\n") == 1
    panes.type("ECHO:after")
    panes.wait_idle("\nafter\n")
    panes.leave()
    assert prompts(talks) == ["ECHO:before", "ECHO:said elsewhere", "ECHO:after"]


def test_a_second_ctrl_c_leaves_a_daemon_that_does_not_hear(talks: World, panes: Panes) -> None:
    panes.chat("-s", "work")
    panes.type("HOLD")
    panes.wait_for("tok2")
    with held(talks):
        panes.press("C-c")
        panes.press("C-c")
        panes.wait_code(0)
        assert "The turn is told to stop: ask attach " in panes.screen()
    # The first one was meant, too.
    panes.type(f"{ASK} attach work --until-idle --no-input")
    panes.wait_code(0)
    assert outcomes(talks) == ["interrupted"]


# ---- the connection --------------------------------------------------------------------


def test_a_connection_that_drops_is_made_again_and_nothing_is_missed(
    talks: World, panes: Panes
) -> None:
    talks.ok("-s", "work", "ECHO:hi")
    note = talks.owner()
    assert note is not None
    assert talks.model is not None
    with open_relay(talks.home / "relay.sock", str(note["socket"])) as relay:
        panes.chat("-s", "work", env=f"ASK_SOCKET={relay.path} ")
        panes.type("HOLD:10")
        panes.wait_for("tok9")
        assert relay.cut() == 1
        panes.type("ECHO:typed meanwhile")
        panes.wait_for("queued 1: ECHO:typed meanwhile")
        talks.model.release()
        shown = panes.wait_idle("\ntyped meanwhile\n")
        answer = shown.partition("> HOLD:10")[2].partition("> ECHO:")[0]
        assert answer.split() == [f"tok{number}" for number in range(20)]
        assert "connection lost" not in shown
        panes.leave()
        # The same of a prompt by itself.
        panes.type("clear")
        panes.wait_gone("tok9")
        panes.type(f"ASK_SOCKET={relay.path} {ASK} -q -s work HOLD:10")
        panes.wait_for("tok9")
        assert relay.cut() == 1
        talks.model.release()
        panes.wait_code(0)
        shown = panes.screen().partition("HOLD:10\n")[2]
        assert shown.split()[:20] == [f"tok{number}" for number in range(20)]
    assert talks.daemon_pid() == note["pid"]
    assert outcomes(talks) == ["completed"] * 4


# ---- the terminal ----------------------------------------------------------------------


def test_a_closed_window_leaves_and_the_turn_goes_on(talks: World) -> None:
    terminal = Terminal(talks, "chat", "-s", "work", env={"ASK_TERMINAL": "closed"})
    terminal.wait_for("work\x1b")
    terminal.type("HOLD\r")
    terminal.wait_for("tok2")
    terminal.hang_up()
    assert terminal.process.wait(LIMIT_S) in (141, 143)  # nobody reads it; it was told so
    assert talks.model is not None
    talks.model.release()
    talks.ok("attach", "work", "--until-idle", "--no-input")
    assert outcomes(talks) == ["completed"]


def test_suspended_and_taken_up_again(talks: World, panes: Panes) -> None:
    panes.chat("-s", "work")
    panes.type("HOLD")
    panes.wait_for("tok2")
    panes.keys("ECHO:half")
    panes.wait_for("> ECHO:half")
    panes.press("C-z")
    panes.wait_shell()
    panes.type("stty -a | grep -c ' echo '")
    panes.wait_for("\n1\n")
    assert talks.model is not None
    talks.model.release()
    talks.ok("-s", "work", "ECHO:said meanwhile")
    panes.type("fg")
    shown = panes.wait_idle("\nsaid meanwhile\n")
    for number in (2, 3, 19):
        assert shown.count(f"tok{number} ") + shown.count(f"tok{number}\n") >= 1
    panes.type(", whole")
    panes.wait_idle("\nhalf, whole\n")
    panes.leave()


def test_a_terminal_that_takes_nothing_holds_nobody_up(talks: World) -> None:
    """Nobody reads what the chat writes, while a large answer comes; then all of it is there."""
    large = ("-s", "work", "-m", "here/fake-large")
    slow = Terminal(talks, "chat", *large, env={"ASK_TERMINAL": "slow"})
    slow.wait_for("work\x1b")
    words = " ".join(f"w{number}" for number in range(FLOOD_WORDS))
    flood = f"SAY:{json.dumps([words, chr(10) * 2, 'the very end'])}".encode()
    for _ in range(FLOODS):
        answered = talks.ok(*large, stdin=flood)
        assert answered.out.endswith("the very end\n")
    other = talks.start("attach", "work", "--no-input", "--until-idle")
    assert other.finish().code == 0
    assert talks.ok("-s", "elsewhere", "ECHO:quick").out == "quick\n"
    assert slow.process.poll() is None
    for _ in range(FLOODS):
        slow.wait_for(f" w{FLOOD_WORDS - 1}\r")
        slow.wait_for("the very end\r")
        slow.screen = slow.screen.partition("the very end\r")[2]
    slow.type("ECHO:still here\r")
    slow.wait_for("\nstill here\r")
    slow.type("\x04")
    assert slow.finish() == 0
    assert talks.ask("history", "delete", "elsewhere", "--yes").code == 0
