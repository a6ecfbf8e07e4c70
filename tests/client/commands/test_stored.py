"""What is said of the database, its records, the rollouts and the backups."""

import os
from pathlib import Path
from typing import Any

import pytest

from ask.commands import stored
from ask.paths import Paths
from tests.client.commands.conftest import Ask
from tests.client.commands.fake_daemon import SOUND, FakeDaemon
from tests.client.commands.fake_log import Refusal


@pytest.mark.parametrize(
    ("found", "state", "text"),
    [
        ({}, "ok", "1 conversation, 45 kB, sound"),
        ({"wal_bytes": 1000}, "ok", "1 conversation, 45 kB, a log of 1 kB, sound"),
        ({"problems": ["page 3"]}, "fail", "damaged: page 3"),
        ({"problems": ["page 3", "x", "y"]}, "fail", "damaged: page 3 (and 2 more)"),
        ({"strays": 2}, "warn", "2 rows refer to what is not there."),
        ({"complete": False}, "warn", "there was no time to look at all of it."),
    ],
)
def test_the_store(found: dict[str, Any], state: str, text: str) -> None:
    finding = stored.judge_store({**SOUND, "conversations": 1, **found})
    assert (finding.check, finding.state) == ("store", state)
    assert finding.text.endswith(text)
    assert bool(finding.hint) == (state != "ok")
    assert ("--rebuild" in finding.hint) == bool(found.get("problems") or found.get("strays"))


def test_the_records() -> None:
    assert stored.judge_records(SOUND).text == "9 records can be read"
    first = {"conversation_id": "c1", "first": "seq 3 (titled): no", "unreadable": 1, "lost": 0}
    found = stored.judge_records({**SOUND, "unreadable": 1, "damaged": [first]})
    assert found.state == "warn"
    assert found.text == (
        "1 record cannot be read, of 9 records; the first in c1: seq 3 (titled): no"
    )
    assert "ask doctor --rebuild" in found.hint
    gone = stored.judge_records({**SOUND, "unreadable": 1, "recoverable": False})
    assert gone.hint.startswith("The rollouts do not hold them either.")
    holes = stored.judge_records({**SOUND, "unreadable": 1, "lost": 1, "recoverable": False})
    assert "ask doctor --rebuild" in holes.hint, "a rebuild marks what is lost"
    assert stored.judge_records({**SOUND, "lost": 2}).state == "fail"


def test_the_rollouts() -> None:
    status: dict[str, Any] = {"directory": "/r", "mirrored": 2, "behind": 0, "trouble": None}
    assert stored.judge_rollouts(status).text == "/r: 2 conversations"
    assert stored.judge_rollouts({**status, "behind": 3}).text == "/r: 2 conversations, 3 to come"
    troubled = stored.judge_rollouts({**status, "trouble": "No room."})
    assert (troubled.state, troubled.text) == ("warn", "/r: 2 conversations. No room.")
    assert stored.judge_rollouts({**status, "directory": None}).state == "ok"
    stray = stored.judge_rollouts({**status, "strays": 2})
    assert stray.state == "warn"
    assert stray.text.endswith("2 conversations; 2 rollouts belong to no conversation here.")
    assert stray.hint == "Bring them back: ask doctor --rebuild"
    gone = stored.judge_rollouts({**status, "missing": 1})
    assert (gone.state, gone.text) == (
        "warn",
        "/r: 2 conversations; 1 file not there, written again now.",
    )
    assert stored.judge_rollouts(None).state == "warn"


def test_backups_are_listed_the_newest_first(home: Path) -> None:
    paths = Paths.of(os.environ)
    assert stored.list_backups(paths).text == "none"
    paths.data.mkdir(parents=True)
    for number in range(7):
        path = paths.data / f"ask.db.backup-{number}"
        path.write_bytes(b"x" * 2000)
        os.utime(path, (1000.0 + number * 3600,) * 2)
    for name in ("ask.db.backup-1-wal", "ask.db.backup-9.partial", "ask.db"):
        (paths.data / name).write_bytes(b"")
    text = stored.list_backups(paths, now=1000.0 + 9 * 3600).text
    assert text.startswith("ask.db.backup-6 (2 kB, 3 hours), ask.db.backup-5 (2 kB, 4 hours)")
    assert text.endswith(f", 2 more in {paths.data}")


def test_rollouts_that_were_put_aside_are_listed(home: Path) -> None:
    paths = Paths.of(os.environ)
    mirror = home / "mine"
    for directory in (paths.rollouts, mirror):
        aside = directory.with_name(f"{directory.name}.backup-before-restore-20260102T030405Z")
        (aside / "2026").mkdir(parents=True)
        (aside / "2026" / "rollout.jsonl").write_bytes(b"x" * 3000)
    assert "rollouts.backup-before-restore-20260102T030405Z (3 kB" in (
        stored.list_backups(paths).text
    )
    paths.config.mkdir(parents=True)
    paths.config_file.write_text(f'[rollouts]\ndirectory = "{mirror}"\n')
    assert "mine.backup-before-restore-20260102T030405Z (3 kB" in stored.list_backups(paths).text
    paths.config_file.write_text("rollouts = 1")
    assert stored.find_mirror(paths) == paths.rollouts


def test_rollouts_without_a_database_are_no_empty_store(ask: Ask, home: Path) -> None:
    paths = Paths.of(os.environ)
    assert stored.find_stranded(paths) is None
    (paths.rollouts / "2026").mkdir(parents=True)
    (paths.rollouts / "2026" / "rollout-1.jsonl").write_bytes(b'{"ask":{}}\n')
    (paths.rollouts / "2026" / "rollout-2.jsonl").write_bytes(b'{"codex":{}}\n')
    result = ask("doctor")
    assert f"warn  store: There is no database, but 1 rollout in {paths.rollouts}." in result.out
    assert "Bring them back: ask doctor --rebuild" in result.out


def test_an_older_daemon_is_not_asked_twice(daemon: FakeDaemon, ask: Ask, home: Path) -> None:
    daemon.refusals["daemon/check"] = Refusal("unknown_method", "no")
    assert "warn  store: This daemon is too old to check it." in ask("doctor").out


def test_what_the_daemon_found_is_shown(daemon: FakeDaemon, ask: Ask, home: Path) -> None:
    daemon.check = {"problems": ["btree page 7"]}
    result = ask("doctor")
    assert "fail  store: damaged: btree page 7" in result.out
    assert result.code == 1
