"""The link to another machine, with an `ssh` that does what a test says."""

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ask import links
from ask.connection import Client, ConnectionLost
from ask.hosts import read_host
from ask.links import dial, explain_end
from ask.listener import NoDaemon, Unreachable
from tests.fakes.daemon import FakeDaemon, Stage, answer
from tests.fakes.ssh import FakeSsh

LIMIT_S = 30.0
FAR = read_host("ssh://me@far")
PROMPT = {
    "target": {"kind": "new"},
    "key": "k",
    "parts": [{"type": "text", "text": "x"}],
    "follow": True,
}


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lone_home: Path) -> FakeSsh:
    """On the PATH; and `ASK_HOST` is set."""
    fake = FakeSsh(tmp_path / "bin")
    monkeypatch.setenv("PATH", fake.path)
    monkeypatch.setenv("ASK_HOST", "ssh://me@far:22")
    monkeypatch.setattr(links, "TERMINAL", "/dev/null/none")
    return fake


@pytest.fixture
def far(tmp_path: Path) -> Path:
    """Where the daemon of the other machine listens."""
    return tmp_path / "far" / "askd.sock"


def wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_daemon_over_there_answers_as_one_of_here(ssh: FakeSsh, far: Path) -> None:
    ssh.leads_to(far)
    listed = {"conversation/list": {"data": [], "total": 0}}
    with FakeDaemon(far, results=listed) as daemon:
        with Client.connect() as client:
            assert client.hello["pid"] == 4711
            assert client.call("conversation/list", {}) == listed["conversation/list"]
        assert "data" not in daemon.asked("hello")[0]  # that of here is not meant
    (words,) = ssh.calls
    assert words[-7:] == ["-l", "me", "-p", "22", "--", "far", "ask dial-stdio"]
    assert "-oBatchMode=yes" in words


def test_keys_are_not_even_in_its_environment(
    ssh: FakeSsh, far: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/tmp/agent")
    ssh.leads_to(far)
    with FakeDaemon(far), Client.connect():
        pass
    assert "sk-canary" not in ssh.environ
    assert "SSH_AUTH_SOCK=/tmp/agent" in ssh.environ


def test_no_daemon_is_started_where_none_is_wanted(ssh: FakeSsh) -> None:
    ssh.fails(69, "No daemon is running.\n")
    with pytest.raises(Unreachable, match="No daemon is running on me@far") as refused:
        Client.connect(start=False)
    assert refused.value.absent
    assert not refused.value.lasting
    (words,) = ssh.calls
    assert words[-1] == "ask dial-stdio --no-start"


def test_a_link_that_does_not_come_about_says_why(ssh: FakeSsh) -> None:
    ssh.fails(255, "me@far: Permission denied (publickey).\r\n")
    with pytest.raises(Unreachable) as refused:
        Client.connect()
    assert refused.value.message == (
        "me@far cannot be reached: me@far: Permission denied (publickey)."
    )
    assert refused.value.hint == "Try it by hand: ssh -p 22 me@far"


def test_there_is_no_ssh(ssh: FakeSsh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unreachable, match="There is no ssh here"):
        Client.connect()
    ssh.program.write_text("")
    monkeypatch.setenv("PATH", str(ssh.program.parent))
    with pytest.raises(Unreachable, match="ssh cannot be started: Permission denied"):
        Client.connect()


def test_a_shell_that_greets_is_told_from_a_daemon(ssh: FakeSsh) -> None:
    ssh.does("printf 'Welcome \\033[31mhome\\nto you\\n'; exec sleep 30")
    with pytest.raises(Unreachable, match="something else than a daemon: 'Welcome home'"):
        Client.connect()


@pytest.mark.parametrize("greeting", ["ňadra", "Ělko", "\udcc5"])
def test_a_greeting_that_names_a_length_is_not_waited_for(ssh: FakeSsh, greeting: str) -> None:
    """As MessagePack it would be the beginning of a long text, which never comes."""
    (ssh.program.parent / "greeting").write_bytes(greeting.encode(errors="surrogateescape"))
    ssh.does("cat greeting; exec sleep 600")
    with pytest.raises(Unreachable, match="something else than a daemon"):
        Client.connect()


def test_a_greeting_that_begins_as_a_message_does_is_told_in_the_end(
    ssh: FakeSsh, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Client.greet, "__kwdefaults__", {"limit_s": 0.5, "about": None})
    ssh.does("printf '\\224ab'; exec sleep 600")
    with pytest.raises(Unreachable, match="something else than a daemon: '\ufffdab'"):
        Client.connect()


def test_a_daemon_of_another_protocol_is_left_alone(ssh: FakeSsh, far: Path) -> None:
    ssh.leads_to(far)
    with FakeDaemon(far, protocol=0) as daemon:
        with pytest.raises(Unreachable, match=r"on me@far speaks protocol 0 \(version 0.1.0\)"):
            Client.connect()
        assert daemon.asked("daemon/drain") == []
    with (
        FakeDaemon(far, protocol=7),
        pytest.raises(NoDaemon, match="The daemon speaks protocol 7, this ask speaks 1"),
    ):
        Client.connect()


def test_who_does_not_answer_is_not_waited_for_for_ever(
    ssh: FakeSsh, monkeypatch: pytest.MonkeyPatch
) -> None:
    ssh.does("exec sleep 600")
    monkeypatch.setattr(links, "ALONE_LIMIT_S", 0.3)
    begun: list[int] = []
    spawn = os.posix_spawnp

    def begin(*how: Any, **more: Any) -> int:
        begun.append(spawn(*how, **more))
        return begun[-1]

    monkeypatch.setattr(os, "posix_spawnp", begin)
    with pytest.raises(Unreachable, match="me@far did not answer in time") as refused:
        Client.connect()
    assert not refused.value.lasting
    (pid,) = begun
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)  # ended, and reaped


def test_a_link_that_breaks_says_so_in_its_own_words(ssh: FakeSsh, far: Path) -> None:
    ssh.leads_to(far)
    script = ssh.program.read_text().replace("exec ", "")
    ssh.program.write_text(
        script + "\necho 'Connection to far closed by remote host.' >&2; exit 255"
    )
    with FakeDaemon(far, lambda stage: stage.drop()):
        client = Client.connect()
        client.send("turn/start", PROMPT)
        lost: NoDaemon | None = None
        while lost is None:
            try:
                client.receive()
            except NoDaemon as error:
                lost = error
        client.close()
    assert isinstance(lost, ConnectionLost)  # connecting again may help
    assert "Connection to far closed by remote host." in lost.message


def test_a_way_that_is_dead_is_cut(ssh: FakeSsh, far: Path) -> None:
    ssh.leads_to(far)

    def stall(stage: Stage) -> None:
        ssh_pid = int((ssh.program.parent / "pid").read_text())
        os.kill(ssh_pid, signal.SIGSTOP)

    ssh.program.write_text(ssh.program.read_text().replace("exec ", "echo $$ > pid\nexec "))
    with FakeDaemon(far, stall) as daemon:
        client = Client.connect()
        client.send("turn/start", PROMPT)
        wait_until(lambda: bool(daemon.asked("turn/start")))
        pid = int((ssh.program.parent / "pid").read_text())
        wait_until(lambda: " T " in Path(f"/proc/{pid}/stat").read_text())
        with pytest.raises(ConnectionLost, match="does not answer"):
            client.call("daemon/status", limit_s=0.2)
        with pytest.raises(ConnectionLost):
            client.call("daemon/status")
        client.close()
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_what_was_sent_arrives_though_we_leave_at_once(ssh: FakeSsh, far: Path) -> None:
    ssh.leads_to(far)
    with FakeDaemon(far) as daemon:
        client = Client.connect()
        client.send("turn/interrupt", {"conversation_id": "c", "turn_id": "t"})
        client.close()
        wait_until(lambda: bool(daemon.asked("turn/interrupt")))

    def is_reaped() -> bool:
        links._reap()
        return links._left == []

    wait_until(is_reaped)


# ---- whoever sits at a terminal ------------------------------------------------------

CONNECT = """\
import sys
from ask.connection import Client
from ask.listener import NoDaemon
try:
    with Client.connect() as client:
        print("pid", client.hello["pid"], flush=True)
except NoDaemon as error:
    print(error.message, flush=True)
"""


def run_at_terminal(typed: bytes) -> str:
    """Connect in a process that has a terminal of its own; what is shown there."""
    child, terminal = pty.fork()
    if child == 0:
        os.execve(sys.executable, [sys.executable, "-c", CONNECT], dict(os.environ))
    shown = b""
    try:
        if typed:
            while b"word:" not in shown:
                shown += os.read(terminal, 4096)
            os.write(terminal, typed)
        while True:
            try:
                data = os.read(terminal, 4096)
            except OSError:
                break
            if not data:
                break
            shown += data
    finally:
        os.close(terminal)
        os.waitpid(child, 0)
    return shown.decode().replace("\r", "")


def test_ssh_asks_at_the_terminal_by_itself(ssh: FakeSsh, far: Path) -> None:
    ssh.leads_to(far)
    asks = 'printf "password: " > /dev/tty; read word < /dev/tty; echo "$word" > typed\nexport'
    ssh.program.write_text(ssh.program.read_text().replace("export", asks))
    with FakeDaemon(far):
        shown = run_at_terminal(b"open sesame\n")
    assert "pid 4711" in shown
    assert (ssh.program.parent / "typed").read_text() == "open sesame\n"
    (words,) = ssh.calls
    assert "-oBatchMode=yes" not in words


def test_what_ssh_says_before_it_goes_on_is_shown(ssh: FakeSsh, far: Path) -> None:
    ssh.leads_to(far)
    says = "printf 'Touch your \\033]0;x\\007key.\\n' >&2; sleep 0.6\nexport"
    ssh.program.write_text(ssh.program.read_text().replace("export", says))
    with FakeDaemon(far):
        shown = run_at_terminal(b"")
    assert "Touch your key.\n" in shown
    assert "\033]0" not in shown


def test_its_last_words_are_told_once(ssh: FakeSsh) -> None:
    ssh.fails(255, "Host key verification failed.\n")
    assert run_at_terminal(b"").count("Host key verification failed.") == 1


def test_who_is_in_the_background_is_asked_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "TERMINAL", "/dev/null")
    assert not links.can_ask()  # no terminal


# ---- what an end means ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "said", "message", "lasting"),
    [
        (255, "x\ny\nz\nHost key verification failed.", "y z Host key verification", True),
        (255, "ssh: Could not resolve hostname far", "Could not resolve", False),
        (255, "Warning: Permanently added 'far'\n", "ssh does not say why.", False),
        (
            127,
            "sh: ask: not found",
            "no ask on me@far that ssh could run: sh: ask: not found",
            True,
        ),
        (126, "", "no ask on me@far that ssh could run.", True),
        (0, "", "closed the connection", False),
        (None, "", "it still runs", False),
        (-9, "", "signal 9 ended it", False),
        (2, "Error: No such command 'dial-stdio'.", "ask on me@far cannot be reached", True),
        (74, "The directory /x cannot be written.", "On me@far: The directory /x", True),
        (1, "", "ended with code 1 and said nothing", True),
    ],
)
def test_why_a_link_ended(code: int | None, said: str, message: str, lasting: bool) -> None:
    why = explain_end(FAR, code, said)
    assert message in why.message
    assert why.lasting is lasting
    assert why.code == (code if code in (74, 1) else 69)


def test_no_word_from_there_reaches_a_terminal_as_it_is() -> None:
    said = "\033[2Jgone\033]52;c;eA==\007\n"
    assert "\033" not in explain_end(FAR, 255, said).message


def test_a_process_that_another_has_reaped_is_gone(ssh: FakeSsh, far: Path) -> None:
    ssh.leads_to(far)
    link = dial(FAR, dict(os.environ))
    assert link._pid is not None
    os.kill(link._pid, signal.SIGKILL)
    os.waitpid(link._pid, 0)
    link.close()


def test_answers_are_followed_to_their_end_through_it(
    ssh: FakeSsh, far: Path, tmp_path: Path
) -> None:
    ssh.leads_to(far)
    with FakeDaemon(far, answer("over there")) as daemon:
        done = subprocess.run(
            [sys.executable, "-c", "from ask.__main__ import main; main()", "hi"],
            env=dict(os.environ),
            input=b"piped",
            capture_output=True,
            timeout=LIMIT_S,
            check=False,
        )
        assert (done.returncode, done.stdout) == (0, b"over there\n"), done.stderr
        (asked,) = daemon.asked("turn/start")
    assert asked["far"]
    assert asked["options"] == {"toolless": True}
    assert not {"cwd", "env", "secrets"} & set(asked)
