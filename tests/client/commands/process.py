"""A real `ask` process whose output is waited for, and which is sent what a person types."""

import os
import signal
import subprocess
import sys
import threading
from typing import IO, Any

LIMIT_S = 20
"""A test that waits in vain ends after this long."""


class Process:
    """One `ask` in a process of its own.

    Attributes:
        out, err: what has been read of its outputs so far.
    """

    def __init__(
        self, *words: str, stdin: Any = subprocess.DEVNULL, stderr: int = subprocess.PIPE
    ) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ask", *words],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=stderr,
        )
        self.out = self.err = ""
        # Whoever waits in vain must end: the process is ended, and with it the reading.
        self._limit = threading.Timer(LIMIT_S, self.process.kill)
        self._limit.start()

    def wait_for(self, text: str) -> str:
        """Read until `text` has come; everything so far."""
        stream: IO[bytes] | None = self.process.stdout
        assert stream is not None
        while text not in self.out:
            data = os.read(stream.fileno(), 65536)
            assert data, f"{text!r} never came: ...{self.out[-500:]!r}"
            self.out += data.decode()
        return self.out

    def press_ctrl_c(self) -> None:
        """What Ctrl-C sends to the process in the foreground."""
        self.process.send_signal(signal.SIGINT)

    def leave(self) -> tuple[int, str]:
        """Press Ctrl-C; the exit code and everything on stdout."""
        self.press_ctrl_c()
        return self.end()

    def end(self) -> tuple[int, str]:
        """Wait for its end; the exit code and everything on stdout."""
        assert self.process.stdout is not None
        if self.process.stdout.closed:  # it was waited for already
            return self.process.returncode, self.out
        out, err = self.process.communicate()
        self._limit.cancel()
        self.out += out.decode()
        self.err += (err or b"").decode()
        return self.process.returncode, self.out
