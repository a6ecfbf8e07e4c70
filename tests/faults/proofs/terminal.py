"""What a model sends, cut anywhere, through the client's screen into a terminal."""

import fcntl
import itertools
import json
import os
import pty
import random
import secrets
import struct
import subprocess
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.faults.programmes import Outcome
from tests.faults.terminal_screen import FORGETFUL
from tests.faults.terminal_strings import PAINTED, Showing, Text, judge, make_texts, plan

CLAIM = (
    "Of control sequences in what a model says, cut between any two characters, shown plainly, "
    "painted or as a thought, not one byte reaches the terminal."
)
CONTROL = "The filter takes each piece of an answer for a text of its own."
UNIT = "strings"
CI = 2_000
FULL = 100_000

ENOUGH = 20
"""Harms after which the control has shown what it has to show."""
AT_ONCE = 20
"""Strings that are sent in one line."""
SIZE = (24, 80)
"""Rows and columns of the terminal."""
READ_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Shown:
    """A client's screen and its terminal."""

    process: subprocess.Popen[bytes]
    terminal: int
    token: bytes

    def show(self, showings: list[Showing]) -> list[str]:
        """What the terminal got of each."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(showings).encode() + b"\n")
        self.process.stdin.flush()
        came = bytearray()
        parts = 0
        while parts < len(showings):
            # A token may come in two reads; so much of it may be there already.
            begin = max(len(came) - len(self.token) + 1, 0)
            came += os.read(self.terminal, READ_BYTES)
            parts += came.count(self.token, begin)
        return [each.decode("utf-8", "replace") for each in bytes(came).split(self.token)[:-1]]


@contextmanager
def open_screen(way: str) -> Iterator[Shown]:
    """The program on a terminal of its own, which leaves every byte as it is."""
    master, slave = pty.openpty()
    token = f"<{secrets.token_hex(12)}>"
    try:
        tty.setraw(slave)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))
        with subprocess.Popen(
            [sys.executable, "-m", "tests.faults.terminal_screen", token, way],
            stdin=subprocess.PIPE,
            stdout=slave,
            stderr=slave,
        ) as process:
            try:
                yield Shown(process, master, token.encode())
            finally:
                assert process.stdin is not None
                process.stdin.close()
                process.kill()
    finally:
        os.close(slave)
        os.close(master)


def run(texts: Iterator[Text], seed: int, way: str, *, enough: int | None = None) -> Outcome:
    """Show all of them; `enough`: stop behind so many harms."""
    dice = random.Random(seed)
    cases = count = painted = size = 0
    harms: list[str] = []
    with open_screen(way) as screen:
        while batch := list(itertools.islice(texts, AT_ONCE)):
            plans = [plan(text, dice) for text in batch]
            came = iter(screen.show([each for one in plans for each in one]))
            for text, showings in zip(batch, plans, strict=True):
                shown = [next(came) for _ in showings]
                pairs = [*zip(showings, shown, strict=True)]
                found = (judge(text, each, said, shown[0]) for each, said in pairs)
                harms += [harm for harm in found if harm is not None][:1]
                count += len(showings)
                painted += sum(how == PAINTED and "\x1b[" in said for (how, _), said in pairs)
                size += sum(map(len, shown))
            cases += len(batch)
            if enough is not None and len(harms) >= enough:
                break
    figures = {
        "showings": f"{count:,}, of which {painted:,} were painted with attributes of our own",
        "characters on the terminal": f"{size:,}",
    }
    return Outcome(cases, tuple(harms), figures)


def prove(size: int, seed: int, directory: Path) -> Outcome:
    """The client as it is."""
    return run(make_texts(size, seed), seed, "as it is")


def control(size: int, seed: int, directory: Path) -> Outcome:
    """A client whose filter forgets."""
    return run(make_texts(size, seed), seed, FORGETFUL, enough=ENOUGH)
