"""`ask dial-stdio` where the short way gives up: a daemon is started, or it is said why not."""

import os
import subprocess
import sys
from pathlib import Path

import msgpack

from tests.client.commands.conftest import Ask
from tests.fakes.daemon import FakeDaemon

LIMIT_S = 60.0
COMMAND = [sys.executable, "-c", "from ask.__main__ import main; main()", "dial-stdio"]


def dial(*words: str, stdin: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        [*COMMAND, *words],
        input=stdin,
        env=dict(os.environ),
        capture_output=True,
        timeout=LIMIT_S,
        check=False,
    )


def test_where_none_runs_and_none_is_wanted(lone_home: Path) -> None:
    done = dial("--no-start")
    assert (done.returncode, done.stdout, done.stderr) == (69, b"", b"No daemon is running.\n")
    assert not lone_home.parent.exists()


def test_one_that_the_owners_note_names_is_found(lone_home: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.sock"
    note = lone_home.parents[1] / "data" / "owner.json"
    note.parent.mkdir(parents=True)
    note.write_text(f'{{"socket": "{elsewhere}", "pid": 1}}')
    hello = {"client": "x", "version": "1", "protocol": 1}
    with FakeDaemon(elsewhere) as daemon:
        done = dial("--no-start", stdin=msgpack.packb([0, 1, "hello", [hello]]))
        assert done.returncode == 0
    assert msgpack.unpackb(done.stdout)[3]["pid"] == 4711
    assert daemon.asked("hello") == [hello]


def test_what_is_wrong_is_said(lone_home: Path) -> None:
    home = lone_home.parents[1]
    home.mkdir(parents=True)
    (home / "state").write_text("a file")
    done = dial()
    assert done.returncode == 74
    assert b"cannot be written" in done.stderr


def test_a_person_at_a_terminal_is_told_what_it_is_for(lone_home: Path) -> None:
    master, terminal = os.openpty()
    try:
        with FakeDaemon(lone_home) as daemon:
            done = subprocess.run(
                COMMAND, stdin=terminal, capture_output=True, timeout=LIMIT_S, check=False
            )
            assert daemon.requests == []
    finally:
        os.close(master)
        os.close(terminal)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"You do not need it: ask -H ssh://user@host" in done.stderr


def test_it_takes_no_words(ask: Ask) -> None:
    assert ask("dial-stdio", "x").code == 2
    assert "--no-start" in ask("dial-stdio", "--help").out
