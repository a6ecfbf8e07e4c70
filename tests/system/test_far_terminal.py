"""`ask -H` where a person sits: a chat on another machine's daemon, and what `ssh` asks for."""

import shutil
import subprocess
from collections.abc import Iterator

import pytest

from tests.system.chats import Panes
from tests.system.pairs import Pair, needs_sshd, pair, wait_until
from tests.system.sshd import NAME, make_key
from tests.system.world import ASK, LIMIT_S

__all__ = ["pair"]
pytestmark = [needs_sshd, pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux")]


@pytest.fixture
def panes(pair: Pair) -> Iterator[Panes]:
    """A terminal on the near side."""
    del pair.near.env["ASK_TERMINAL"]
    found = Panes(pair.near)
    yield found
    found.close()


def test_a_chat_goes_on_when_the_link_breaks(pair: Pair, panes: Panes) -> None:
    panes.chat("-s", "work")
    panes.type("SLOW:0.1")
    panes.wait_for("tok3")
    pair.server.cut()
    panes.wait_for("tok19")
    panes.type("ECHO:still here")
    panes.wait_for("\nstill here")
    panes.leave()
    shown = panes.screen(past=True)
    assert shown.count("tok7 ") == 1
    asked = [e for e in pair.far.events("work") if e["type"] == "prompt_accepted"]
    assert len(asked) == 2


def test_one_may_leave_a_chat_whose_machine_is_away(pair: Pair, panes: Panes) -> None:
    panes.chat("-s", "work")
    pair.server.vanish()
    panes.wait_for("connection lost, looking for it")
    panes.leave()


def test_this_terminals_conversation_is_known_over_there(pair: Pair, panes: Panes) -> None:
    panes.type(f"{ASK} ECHO:first")
    panes.wait_for("\nfirst")
    panes.wait_shell()
    panes.type(f"{ASK} -c ECHO:second")
    panes.wait_for("\nsecond")
    panes.wait_shell()
    (found,) = pair.near.ok("list", "--json").out.split('"message_count": 4')[1:]
    assert found


def test_ssh_asks_for_a_passphrase_and_the_answer_comes(pair: Pair, panes: Panes) -> None:
    key = pair.server.directory / "key"
    subprocess.run(
        ["ssh-keygen", "-q", "-p", "-P", "", "-N", "open sesame", "-f", str(key)],
        check=True,
        capture_output=True,
        timeout=LIMIT_S,
    )
    panes.type(f"{ASK} -q ECHO:opened")
    panes.wait_for("Enter passphrase for key")
    panes.type("open sesame")
    panes.wait_for("\nopened")
    assert "sesame" not in panes.screen(past=True)
    # Nobody is there to be asked: it fails, and at once.
    result = pair.near.ask("ECHO:x", command=("setsid", "-w", ASK))
    assert result.code == 69
    assert "Permission denied" in result.err


def test_ctrl_c_while_it_asks_leaves_a_terminal_that_echoes(pair: Pair, panes: Panes) -> None:
    key = pair.server.directory / "key"
    subprocess.run(
        ["ssh-keygen", "-q", "-p", "-P", "", "-N", "open sesame", "-f", str(key)],
        check=True,
        capture_output=True,
        timeout=LIMIT_S,
    )
    panes.type(f"{ASK} -q ECHO:x; echo code $?")
    panes.wait_for("Enter passphrase for key")
    panes.press("C-c")
    panes.wait_for("code 130")
    panes.type("echo 'one sees this' | tr a-z A-Z")
    panes.wait_for("ONE SEES THIS")
    assert "echo 'one sees this'" in panes.screen()
    wait_until(lambda: pair.server.list_sessions() == [])


def test_an_unknown_host_is_shown_and_may_be_taken(pair: Pair, panes: Panes) -> None:
    (pair.server.directory / "known_hosts").write_text("")
    config = pair.server.client_config
    config.write_text(
        config.read_text().replace("StrictHostKeyChecking yes", "StrictHostKeyChecking ask")
    )
    panes.type(f"{ASK} -q ECHO:welcome")
    panes.wait_for("Are you sure you want to continue connecting")
    panes.type("yes")
    panes.wait_for("\nwelcome")
    assert NAME in (pair.server.directory / "ssh_config").read_text()
    make_key(pair.server.directory / "another")
