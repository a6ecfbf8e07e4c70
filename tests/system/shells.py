"""Real shells on a pseudo-terminal, with a person who presses Tab.

What a completed line means is asked of the shell itself: the line is run, with `show` before
it, which prints every word as the shell read it.
"""

import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.system.world import ASK, LIMIT_S, World

SHELLS = ("bash", "zsh", "fish")
COLUMNS, LINES = 200, 60
"""Room for every list: a shell that would not fit one asks whether it is to be shown."""
TAB, HOME, END_LINE, ABANDON = "\t", "\x01", "\x05", "\x03"
READY = "ready> "
TRIES = 8
SETTLED_S = 0.25
"""A shell that has said nothing for so long has drawn what it draws at a Tab."""
STARTS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
SET_UP = {
    "bash": (
        "PS1='ready> '; show() { printf '<%s>\\n' \"$@\"; echo shown; }; "
        "bind 'set show-all-if-ambiguous on'; bind 'set completion-query-items 0'; "
        "bind 'set page-completions off'; bind 'set enable-bracketed-paste off'; "
        'eval "$(ask completion bash)"'
    ),
    "zsh": (
        "PS1='ready> '; show() { printf '<%s>\\n' \"$@\"; echo shown }; "
        "unsetopt zle_bracketed_paste beep prompt_sp; unset zle_bracketed_paste; "
        "autoload -Uz compinit && compinit -D; LISTMAX=0; source <(ask completion zsh)"
    ),
    "fish": (
        "function fish_prompt; printf 'ready> '; end; function fish_greeting; end; "
        "function show; printf '<%s>\\n' $argv; echo shown; end; "
        "set -g fish_autosuggestion_enabled 0; ask completion fish | source"
    ),
}
CONTROLS = re.compile(
    r"\x1b\[[0-9;?<>=]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b[=>78M]|\x1b\][^\x07]*\x07|\r"
)


class Shell:
    """An interactive shell whose `ask` is ours; use it as a context manager."""

    def __init__(self, kind: str, world: World, cwd: Path) -> None:
        self.kind = kind
        self.screen = ""
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", LINES, COLUMNS, 0, 0))
        env = {name: value for name, value in world.env.items() if "COVERAGE" not in name}
        env |= {"PATH": f"{Path(ASK).parent}:{env['PATH']}", "TERM": "xterm"}
        self.process = subprocess.Popen(
            STARTS[kind],
            env=env,  # without coverage, which takes a part of the time that a Tab has
            cwd=cwd,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=lambda: _take_terminal(slave),
        )
        os.close(slave)

    def __enter__(self) -> "Shell":
        self.read_until(lambda: bool(self.screen))
        self.settle()
        self.type(f"{SET_UP[self.kind]}; echo set-''up\n")
        self.read_until(lambda: "set-up" in self.screen)
        self.settle()
        return self

    def __exit__(self, *_: object) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(LIMIT_S)
        os.close(self._master)

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._master, text.encode())

    def read_until(self, is_there: Callable[[], bool]) -> None:
        """Read until the screen shows it."""
        until = time.monotonic() + LIMIT_S
        while not is_there():
            assert self._read(max(0.0, until - time.monotonic())), self.screen

    def settle(self) -> None:
        """Read until nothing more comes."""
        while self._read(SETTLED_S):
            pass

    def list_words(self, line: str) -> str:
        """What the shell draws at a Tab behind a line, which is then abandoned."""
        self.type(line)
        self.settle()
        self.screen = ""
        self.type(TAB)
        self.settle()
        drawn = CONTROLS.sub("", self.screen)
        self.type(ABANDON)
        self.settle()
        return drawn

    def complete(self, line: str, *, more: str = "") -> list[str]:
        """The words of the line after a Tab at its end and what is typed then, as it would run.

        All keys are pressed at once: what is typed ahead is nobody's but the shell's.
        """
        self.screen = ""
        self.type(f"{line}{TAB}{more}{HOME}show {END_LINE}\n")
        self.read_until(lambda: READY in CONTROLS.sub("", self.screen).partition("\nshown")[2])
        return re.findall(r"^<(.*)>$", CONTROLS.sub("", self.screen), re.MULTILINE)

    def expect(self, line: str, words: list[str], *, more: str = "") -> None:
        """A Tab makes these words of the line: at once, or at a further one.

        On a machine that does much else a daemon may not answer in the time that it has.
        """
        found: list[str] = []
        for _ in range(TRIES):
            found = self.complete(line, more=more)
            if found == words:
                return
        assert found == words, self.screen

    def expect_listed(self, line: str, *shown: str) -> str:
        """A Tab lists all of these, at once or at a further one; what was drawn."""
        drawn = ""
        for _ in range(TRIES):
            drawn = self.list_words(line)
            if all(each in drawn for each in shown):
                break
        assert all(each in drawn for each in shown), drawn
        return drawn

    def _read(self, limit_s: float) -> bool:
        if not select.select([self._master], [], [], limit_s)[0]:
            return False
        try:
            chunk = os.read(self._master, 65536)
        except OSError:
            return False
        self.screen += chunk.decode(errors="replace")
        return bool(chunk)


@contextmanager
def open_shell(kind: str, world: World, cwd: Path | None = None) -> Iterator[Shell]:
    """A shell of this kind, or the test is skipped where there is none."""
    if shutil.which(kind) is None:
        pytest.skip(f"{kind} is not installed")
    with Shell(kind, world, world.home if cwd is None else cwd) as shell:
        yield shell


def _take_terminal(slave: int) -> None:
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
