"""What the bench calls `ask` starts this installation."""

import subprocess

from ask import __version__
from tests.bench.program import find_ask


def test_what_is_measured_is_ask_by_its_launcher() -> None:
    said = subprocess.run([find_ask(), "--version"], capture_output=True, check=True, text=True)
    assert said.stdout == f"ask {__version__}\n"
    with open(find_ask(), encoding="utf-8") as stream:
        assert stream.readline().endswith(" -IS\n")
