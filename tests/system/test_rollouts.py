"""Rollouts of the real daemon: after each turn, after a kill, where nothing may be written."""

import json
import sqlite3
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.system.world import LIMIT_S, World

THEIRS = b'{"timestamp":"2026-01-01T00:00:00.000Z","type":"theirs","payload":{}}'


def wait_until(condition: Callable[[], bool]) -> None:
    """For what the daemon does when nobody waits for it."""
    until = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < until, "it never came"
        time.sleep(0.01)


def find_files(world: World, directory: str = "data/rollouts") -> list[Path]:
    return sorted((world.ask_home / directory).rglob("*.jsonl"))


def read(path: Path) -> list[dict[str, Any]]:
    """Every line; each is whole and valid."""
    content = path.read_bytes()
    assert content.endswith(b"\n")
    return [json.loads(line) for line in content.splitlines()]


def holds(path: Path, events: list[dict[str, Any]]) -> bool:
    """Whether the file tells all of these events, each once."""
    seqs = [each["payload"]["seq"] for each in read(path) if each["type"] == "ask_event"]
    return seqs == [event["seq"] for event in events]


def wait_mirrored(world: World, conversation: str, directory: str = "data/rollouts") -> Path:
    """Wait until the file of the only conversation is up to date."""
    wait_until(lambda: len(find_files(world, directory)) == 1)
    (path,) = find_files(world, directory)
    wait_until(lambda: holds(path, world.events(conversation)))
    return path


def kinds(path: Path) -> list[str]:
    """What is there for Codex."""
    return [
        each["payload"]["type"] if each["type"] == "event_msg" else each["type"]
        for each in read(path)
        if each["type"] != "ask_event"
    ]


TURN = ["turn_context", "user_message", "response_item", "agent_message", "response_item"]


def test_each_turn_is_in_the_file(world: World) -> None:
    world.ok("-s", "work", "ECHO:one")
    path = wait_mirrored(world, "work")
    assert kinds(path) == ["session_meta", *TURN, "token_count"]
    first, size = read(path)[0], path.stat().st_size
    assert first["payload"]["model_provider"] == "openai"
    assert path.stem.endswith(first["payload"]["id"])
    assert path.stat().st_mode & 0o777 == 0o600
    (context,) = [each["payload"] for each in read(path) if each["type"] == "turn_context"]
    assert context["model"] == "fake"
    world.ok("-s", "work", "ECHO:two")
    wait_mirrored(world, "work")
    assert kinds(path) == ["session_meta", *TURN, "token_count", *TURN, "token_count"]
    assert path.stat().st_size > size
    imported = world.ok("history", "import", str(path)).out.strip()
    shown = [json.loads(world.ok("history", "show", c, "--raw").out) for c in ("work", imported)]
    assert shown[0]["messages"] == shown[1]["messages"]


def test_a_killed_daemon_goes_on_with_its_file_and_with_what_others_wrote(world: World) -> None:
    world.ok("-s", "work", "ECHO:one")
    path = wait_mirrored(world, "work")
    world.kill_daemon()  # the table does not know yet how far the file is, or it does
    world.ok("-s", "work", "ECHO:two")
    wait_mirrored(world, "work")
    world.ok("daemon", "stop")  # in order: the table knows
    database = world.ask_home / "data" / "ask.db"
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as reader:
        (size,) = reader.execute("SELECT bytes FROM rollouts").fetchone()
    assert size == path.stat().st_size
    with path.open("ab") as stream:
        stream.write(THEIRS)  # without its line's end
    world.ok("-s", "work", "ECHO:three")
    wait_mirrored(world, "work")
    assert path.read_bytes().count(THEIRS + b"\n") == 1
    assert "Rollouts" not in world.log()


def test_what_is_ephemeral_leaves_no_file_and_what_is_deleted_none(world: World) -> None:
    world.ok("--ephemeral", "ECHO:a secret of a moment")
    world.ok("-s", "work", "ECHO:one")
    path = wait_mirrored(world, "work")
    assert b"a secret" not in path.read_bytes()
    world.ok("history", "delete", "work", "--yes")
    wait_until(lambda: not list((world.ask_home / "data" / "rollouts").iterdir()))


def test_settings_apply_at_once(world: World) -> None:
    world.ok("-s", "work", "ECHO:one")
    old = wait_mirrored(world, "work")
    other = world.ask_home / "elsewhere"
    config = world.ask_home / "config" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text(f'[rollouts]\ndirectory = "{other}"\n')
    new = wait_mirrored(world, "work", "elsewhere")
    wait_until(lambda: not old.exists())
    config.write_text(f'[rollouts]\ndirectory = "{other}"\nenabled = false\n')
    world.ok("-s", "work", "ECHO:two")
    size = new.stat().st_size
    config.write_text(f'[rollouts]\ndirectory = "{other}"\n')
    wait_mirrored(world, "work", "elsewhere")
    assert new.stat().st_size > size


POWERLESS = """
import ctypes, os, sys
PR_CAPBSET_DROP, POWERS = 24, (1, 2, 3)
if os.geteuid() == 0:
    # Root may write everything, by these: without them it is a user like others.
    libc = ctypes.CDLL(None, use_errno=True)
    for power in POWERS:
        assert libc.prctl(PR_CAPBSET_DROP, power, 0, 0, 0) == 0
os.execv(sys.executable, [sys.executable, "-m", "askd", "run"])
"""
"""Runs the daemon without CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH and CAP_FOWNER."""


def test_a_directory_that_cannot_be_written_costs_a_warning_only(world: World) -> None:
    closed = world.home / "closed"
    closed.mkdir(mode=0o500)
    config = world.ask_home / "config" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'[rollouts]\ndirectory = "{closed}"\n')
    daemon = world.start(command=(sys.executable, "-c", POWERLESS))
    daemon.wait_for("Ready", where="err")
    for number in range(3):
        assert world.ok("-s", "work", f"ECHO:{number}").out == f"{number}\n"
    daemon.wait_for("Rollouts cannot be written: ", where="err")
    assert find_files(world, "../closed") == []
    closed.chmod(0o700)
    assert world.ok("-s", "work", "ECHO:again").out == "again\n"
    wait_mirrored(world, "work", "../closed")
    world.ok("daemon", "stop")
    assert daemon.finish().code == 0
    assert daemon.err.count("Rollouts cannot be written") == 1
    assert f"{closed}" in daemon.err
    assert "Permission denied. The conversations are safe" in daemon.err
