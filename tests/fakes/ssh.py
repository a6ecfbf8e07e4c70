"""An `ssh` for a PATH: it notes how it was called, and does what a test says.

What it cannot do is lie about its words: a call with any that `ssh` might read as an option
that nobody meant fails its test.
"""

import os
import sys
from pathlib import Path

DIAL = (
    "import os, sys; sys.argv = ['ask', 'dial-stdio']; os.environ.pop('ASK_HOST', None); "
    "from ask.__main__ import main; main()"
)
OPTIONS = ("-T", "-a", "-x", "-l", "-p", "--")


class FakeSsh:
    """The program, in a directory of its own.

    Attributes:
        path: for a PATH; what else is needed of the system is behind it.
    """

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self.path = f"{directory}:{os.environ['PATH']}"
        self.program = directory / "ssh"

    def does(self, script: str) -> None:
        """Do this, as `sh`, when it is called; `$words` is what the far shell would get."""
        self.program.write_text(
            f"#!/bin/sh\ncd {self._directory}\n"
            'printf "%s\\n" "$@" > words.$$ && mv words.$$ call.$$\nenv > environ\n'
            f"for words; do :; done\n{script}\n"
        )
        self.program.chmod(0o755)

    def leads_to(self, socket: Path) -> None:
        """Lead to the daemon that listens there, through the real relay."""
        self.does(f'export ASK_SOCKET={socket}\nexec {sys.executable} -P -c "{DIAL}"')

    def fails(self, code: int, said: str) -> None:
        """Say something on standard error, and end."""
        (self._directory / "said").write_text(said)
        self.does(f"cat said >&2\nexit {code}")

    @property
    def calls(self) -> list[list[str]]:
        """The words of every call so far, in no order; they are checked."""
        found = [path.read_text().splitlines() for path in self._directory.glob("call.*")]
        for words in found:
            check_words(words)
        return found

    @property
    def environ(self) -> str:
        """The environment of the last call."""
        return (self._directory / "environ").read_text()


def check_words(words: list[str]) -> None:
    """Whether they are options that are known, `--`, a host, and one command."""
    end = words.index("--")
    rest = iter(words[:end])
    for word in rest:
        assert word in OPTIONS or word.startswith("-o"), words
        if word in ("-l", "-p"):
            assert not next(rest).startswith("-"), words
    host, command = words[end + 1 :]
    assert not host.startswith("-")
    assert "dial-stdio" in command
