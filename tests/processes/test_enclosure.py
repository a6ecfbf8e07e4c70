"""Confining the process itself: whole, or an error and nothing executed."""

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from askd.processes.confinement import Confinement
from tests.fakes import unconfinable

SCRIPT = """
import json, os, socket, sys
from askd.processes import enclosure
try:
    print(enclosure.enter(json.loads(sys.argv[1])))
except OSError as error:
    print(error.filename, error.strerror)
else:
    for path in sys.argv[2:]:
        try:
            open(path, "w")
        except PermissionError:
            print("refused")
        else:
            print("written")
    try:
        socket.socket()
    except PermissionError:
        print("no socket")
"""


def enter(confinement: Confinement, *argv: str, before: list[str] | None = None) -> list[str]:
    """What a process says that confined itself and then tried to write."""
    said = json.dumps(asdict(confinement))
    done = subprocess.run(
        [*(before or []), sys.executable, "-c", SCRIPT, said, *argv],
        capture_output=True,
        check=True,
    )
    return done.stdout.decode().splitlines()


def test_what_is_said_holds(tmp_path: Path) -> None:
    for each in ("may", "may/kept", "not"):
        (tmp_path / each).mkdir()
    (tmp_path / "may/file").touch()
    confinement = Confinement(
        writable=[str(tmp_path / "may")], read_only=[str(tmp_path / "may/kept")]
    )
    paths = [str(tmp_path / each) for each in ("may/file", "may/kept/x", "not/x", "may/new")]
    assert enter(confinement, *paths) == ["0", "written", *["refused"] * 3, "no socket"]


def test_without_landlock_nothing_is_entered() -> None:
    before = [sys.executable, unconfinable.__file__]
    assert enter(Confinement(), before=before) == ["confinement Landlock 6 and seccomp are needed"]
