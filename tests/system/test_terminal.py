"""A real terminal: a pseudo-terminal with a person at it."""

import fcntl
import os
import pty
import select
import signal
import subprocess
import termios
import time
from pathlib import Path

from tests.system.world import ASK, LIMIT_S, World


class Terminal:
    """`ask` on a pseudo-terminal of its own, in a session of its own.

    `stdin`: what is piped into it there.
    """

    def __init__(
        self,
        world: World,
        *arguments: str,
        env: dict[str, str] | None = None,
        cwd: Path | None = None,
        stdin: int | None = None,
    ) -> None:
        self._master, slave = pty.openpty()
        attributes = termios.tcgetattr(slave)
        attributes[3] &= ~termios.ECHO
        termios.tcsetattr(slave, termios.TCSANOW, attributes)
        self.process = subprocess.Popen(
            [ASK, *arguments],
            env={**world.env, "TERM": "xterm", **(env or {})},
            cwd=cwd or world.home,
            stdin=slave if stdin is None else stdin,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=lambda: _take_terminal(slave),
        )
        os.close(slave)
        self.screen = ""

    def _read(self, limit_s: float) -> bool:
        if not select.select([self._master], [], [], limit_s)[0]:
            return False
        try:
            chunk = os.read(self._master, 65536)
        except OSError:
            return False
        self.screen += chunk.decode(errors="replace")
        return bool(chunk)

    @property
    def descriptor(self) -> int:
        """What can be waited on for more to come."""
        return self._master

    def wait_for(self, text: str) -> None:
        """Wait until the screen holds the text."""
        until = time.monotonic() + LIMIT_S
        while text not in self.screen:
            assert self._read(max(0.0, until - time.monotonic())), self.screen

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._master, text.encode())

    def hang_up(self) -> None:
        """Close the window."""
        os.close(self._master)
        self._master = -1

    def finish(self) -> int:
        """Wait for the end; answer the exit code."""
        if self._master >= 0:
            until = time.monotonic() + LIMIT_S
            while self._read(max(0.0, until - time.monotonic())):
                pass
            os.close(self._master)
            self._master = -1
        return self.process.wait(LIMIT_S)


def _take_terminal(slave: int) -> None:
    # As in a new window: it hears when that is closed, also where the tests run under `nohup`.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)


def outcomes(world: World, name: str) -> list[str]:
    return [e["outcome"] for e in world.events(name) if e["type"] == "turn_finished"]


def test_ctrl_c_on_a_terminal_interrupts(world: World) -> None:
    terminal = Terminal(world, "-s", "work", "HOLD:3")
    terminal.wait_for("tok2")
    terminal.type("\x03")
    assert terminal.finish() == 130
    assert outcomes(world, "work") == ["interrupted"]


def test_a_second_ctrl_c_leaves_a_daemon_that_does_not_hear(world: World) -> None:
    terminal = Terminal(world, "-s", "work", "HOLD:3")
    terminal.wait_for("tok2")
    pid = world.daemon_pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        while terminal.process.poll() is None:  # two that come at once are one
            terminal.type("\x03")
            terminal._read(0.05)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert terminal.finish() in (130, -signal.SIGINT)  # a third may end it; to a shell it is 130
    world.ok("attach", "work", "--until-idle", "--no-input")
    assert outcomes(world, "work") == ["interrupted"]  # the first one was meant, too


def test_a_closed_window_only_detaches(world: World) -> None:
    assert world.model is not None
    terminal = Terminal(world, "-s", "work", "HOLD:3")
    terminal.wait_for("tok2")
    terminal.hang_up()
    terminal.process.wait(LIMIT_S)
    world.model.release()
    watcher = world.start("attach", "work", "--json", "--no-input")
    watcher.wait_for('"turn_finished"')
    watcher.signal(signal.SIGINT)
    watcher.finish()
    assert outcomes(world, "work") == ["completed"]


def test_a_model_cannot_drive_the_terminal(world: World) -> None:
    terminal = Terminal(world, "--raw", "ESC")
    assert terminal.finish() == 0
    assert "\x1b]" not in terminal.screen
    assert "\x9b2J" not in terminal.screen
    assert "\x07" not in terminal.screen


def test_chat_on_a_terminal(world: World) -> None:
    # Line by line: what the editor shows is `test_chat_terminal`'s.
    terminal = Terminal(world, "chat", "-s", "talk", env={"TERM": "dumb"})
    terminal.wait_for("> ")
    terminal.type("ECHO:good evening\n")
    terminal.wait_for("good evening\r\n> ")
    terminal.type("HOLD:2\n")
    terminal.wait_for("tok1")
    terminal.type("\x03")
    terminal.wait_for("(interrupted)\r\n> ")
    terminal.type("/exit\n")
    assert terminal.finish() == 0
    assert outcomes(world, "talk") == ["completed", "interrupted"]


def test_the_last_conversation_belongs_to_the_terminal(world: World) -> None:
    without = {name: value for name, value in world.env.items() if name != "ASK_TERMINAL"}
    world.env.clear()
    world.env.update(without)
    first = Terminal(world, "ECHO:one")
    assert first.finish() == 0
    second = Terminal(world, "-c", "ECHO:two")
    assert second.finish() == 3, second.screen
