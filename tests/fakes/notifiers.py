"""A notifier that keeps what it is told, and a program that does, for the daemon to run."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import trio

from askd.core.notifications import Notification
from askd.jobs.base import GaveUp
from askd.jobs.notifier import Road

READY = Road("ready", "with /usr/bin/notify-send", ("/usr/bin/notify-send",))


@dataclass
class FakeNotifier:
    """Tells nobody. `failing`: the sentence with which it gives up.

    What it is told is one line and a hint at the most, and shows nothing that is not there.
    """

    road: Road = READY
    failing: str | None = None
    told: list[Notification] = field(default_factory=list)

    def find_road(self) -> Road:
        return self.road

    async def send(self, told: Notification) -> None:
        await trio.lowlevel.checkpoint()
        assert told.title.isprintable()
        assert len(told.body.splitlines()) <= 2
        assert all(line.isprintable() for line in told.body.splitlines())
        if self.failing is not None:
            raise GaveUp(self.failing)
        self.told.append(told)


PROGRAM = """\
#!{python}
import json, os, sys
mode = {mode!r}
if mode == "deaf":
    said = ""
else:
    said = sys.stdin.read()
heard = {{"argv": sys.argv[1:], "said": said, "environ": dict(os.environ)}}
with open({path!r}, "a") as file:
    file.write(json.dumps(heard) + "\\n")
if mode == "hangs":
    import time
    time.sleep(600)
if mode == "fails":
    sys.exit("no such desktop\\x1b[31m \\n and more")
if mode == "floods":
    while True:
        os.write(1, b"x" * 65536)
        os.write(2, b"y" * 65536)
"""


@dataclass(frozen=True)
class Program:
    """A program that writes down how it was run, one line of JSON a time."""

    path: Path
    record: Path

    def read(self) -> list[dict[str, Any]]:
        """Every run so far: `argv` without its own name, `said` on standard input, `environ`."""
        if not self.record.exists():
            return []
        whole = self.record.read_text().splitlines()
        return [json.loads(line) for line in whole]


def write_program(directory: Path, mode: str = "works", *, name: str = "notifier") -> Program:
    """The program; `mode`: `works`, `deaf` (reads nothing), `hangs`, `fails`, `floods`."""
    path, record = directory / name, directory / f"{name}.heard"
    path.write_text(PROGRAM.format(python=sys.executable, mode=mode, path=str(record)))
    path.chmod(0o755)
    return Program(path, record)


def name_command(words: Sequence[str]) -> str:
    """The line of `config.toml` for a command."""
    return f"[notify]\ncommand = {json.dumps(list(words))}\n"
