"""tmux as the terminal: a pane of a size, what stands in it and above it, and a person at it.

Each pane has a server of its own on a socket in the test's home, and ends with it.
"""

import os
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.system.world import LIMIT_S, World

PROMPT = "$ "


class Pane:
    """A shell in a pane of tmux, with the environment of a world."""

    def __init__(
        self, world: World, columns: int, lines: int, env: dict[str, str] | None = None
    ) -> None:
        self._socket = str(world.home / "tmux.sock")
        start = world.home / "pane.sh"
        given = {**world.env, "PS1": PROMPT, "ENV": "", **(env or {})}
        start.write_text(
            "".join(f"export {name}={shlex.quote(text)}\n" for name, text in given.items())
            + f"cd {shlex.quote(str(world.home))}\nexec sh -i\n"
        )
        self._tmux(
            *("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(lines)),
            f"env -u NO_COLOR -u ASK_RENDER sh {shlex.quote(str(start))}",
        )
        self.wait_until(lambda text: text.startswith(PROMPT.strip()))

    def _tmux(self, *arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", self._socket, *arguments],
            env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TERM": "xterm-256color"},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=True,
        )
        return done.stdout

    def run(self, line: str) -> None:
        """Type a command, and enter."""
        self._tmux("send-keys", "-l", line)
        self._tmux("send-keys", "Enter")

    def press(self, key: str) -> None:
        """One key by tmux's name, `C-c`."""
        self._tmux("send-keys", key)

    def resize(self, columns: int, lines: int) -> None:
        """Another size of the window."""
        self._tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def show(self, *, colors: bool = False) -> str:
        """All that stands there, its history too, rows that were broken by tmux joined."""
        styled = ["-e"] if colors else []
        return self._tmux("capture-pane", "-p", "-J", "-S", "-", *styled).rstrip() + "\n"

    def wait_until(self, holds: Callable[[str], bool]) -> str:
        """Wait for what stands there to be as it should."""
        until = time.monotonic() + LIMIT_S
        while not holds(text := self.show()):
            assert time.monotonic() < until, text
            time.sleep(0.02)
        return text

    def wait_for(self, text: str) -> str:
        """Wait for some text to stand there."""
        return self.wait_until(lambda shown: text in shown)

    def close(self) -> None:
        """End the pane and its server."""
        self._tmux("kill-server")


@contextmanager
def open_pane(world: World, columns: int = 80, lines: int = 24, **env: str) -> Iterator[Pane]:
    """A pane while the block runs."""
    pane = Pane(world, columns, lines, env)
    try:
        yield pane
    finally:
        pane.close()


def write_script(world: World, name: str, text: str) -> Path:
    """A file that a shell in a pane can read, for what would be too long to type."""
    path = world.home / name
    path.write_text(text)
    return path
