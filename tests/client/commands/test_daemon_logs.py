"""The daemon's log by the command: its end, as records, and where else it may stand."""

import json
from pathlib import Path

from ask.commands import daemon_logs as command
from tests.client.commands.conftest import Ask

RECORD = "2026-11-22T08:00:00.123+00:00 WARNING askd.host: The file is bad.\n    line 2\n"


def write(home: Path, text: bytes) -> Path:
    path = home / "state" / "askd.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)
    return path


def test_logs_are_the_last_lines(home: Path, ask: Ask) -> None:
    missing = ask("daemon", "logs")
    assert (missing.code, missing.out) == (0, "")
    assert str(home / "state" / "askd.log") in missing.err
    write(home, b"".join(b"line %d\n" % number for number in range(100)) + b"\xff\n")
    assert ask("daemon", "logs", "-n", "2").out == "line 99\n\ufffd\n"
    assert len(ask("daemon", "logs").out.splitlines()) == command.LOG_LINES
    assert ask("daemon", "logs", "-n", "0").out == ""


def test_records_are_one_object_a_line(home: Path, ask: Ask) -> None:
    write(home, (RECORD + "askd: a last word\n").encode())
    first, last = map(json.loads, ask("daemon", "logs", "--json").out.splitlines())
    assert first == {
        "at": "2026-11-22T08:00:00.123+00:00",
        "level": "warning",
        "name": "askd.host",
        "message": "The file is bad.\nline 2",
    }
    assert last == {"at": None, "level": None, "name": None, "message": "askd: a last word"}


def test_where_systemd_runs_it_the_journal_is_named(home: Path, ask: Ask, units: Path) -> None:
    write(home, RECORD.encode())
    assert ask("daemon", "logs").err == ""
    units.mkdir(parents=True)
    (units / "askd.socket").write_text("[Socket]\n")
    result = ask("daemon", "logs")
    assert command.JOURNAL in result.err
    assert result.out == RECORD, "what is there is shown all the same"
