"""A program on a pseudo-terminal, driven by hand: what it shows is read byte for byte.

Nothing draws here, so that nothing but the program is measured.
"""

import os
import pty
import select
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

COLUMNS, LINES = 80, 24
LIMIT_S = 30.0
"""For anything at all; a measurement that waits longer is an error."""
LOOK_S = 0.0005
"""How often it is looked whether a program reads keys."""


class Terminal:
    """The other end of a program's terminal.

    Attributes:
        started: when the program was, of the same clock as `time.perf_counter`.
        shown: all that has been read.
    """

    def __init__(self, master: int, started: float) -> None:
        self._master = master
        self.started = started
        self.shown = b""

    def read(self) -> bytes:
        """The next bytes that it shows; none at its end."""
        if not select.select([self._master], [], [], LIMIT_S)[0]:
            raise RuntimeError(f"nothing is shown any more after {self.shown!r}")
        try:
            chunk = os.read(self._master, 65536)
        except OSError:  # Linux's way to say that nobody holds the terminal any more
            return b""
        self.shown += chunk
        return chunk

    def read_until(self, wanted: bytes) -> None:
        """Read until this has been shown."""
        while wanted not in self.shown:
            if not self.read():
                raise RuntimeError(f"never shown: {wanted!r} in {self.shown!r}")

    def wait_raw(self) -> None:
        """Wait until the program reads keys one by one: before, the terminal echoes them."""
        until = time.perf_counter() + LIMIT_S
        while termios.tcgetattr(self._master)[3] & termios.ICANON:
            if time.perf_counter() > until:
                raise RuntimeError("it never reads keys")
            time.sleep(LOOK_S)

    def type(self, keys: str) -> None:
        """As a person does, only faster."""
        os.write(self._master, keys.encode())


@contextmanager
def open_terminal(argv: Sequence[str], env: Mapping[str, str]) -> Iterator[Terminal]:
    """A program on a terminal of its own; after the block it is waited for, and must end well.

    It is started as one in a pipe would be: a fork of all that measures would take longer.
    """
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (LINES, COLUMNS))
    started = time.perf_counter()
    process = subprocess.Popen(
        argv,
        env={**env, "TERM": "xterm-256color"},
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    terminal = Terminal(master, started)
    try:
        yield terminal
        while terminal.read():
            pass
        if process.wait(LIMIT_S):
            raise RuntimeError(f"{argv}: exit code {process.returncode}, {terminal.shown!r}")
    finally:
        process.kill()
        process.wait()
        os.close(master)
