"""A database that was lost, damaged or regretted comes back: the real commands, real kills."""

import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path

from tests.system.world import World

DAMAGE = b"\xff" * 6000
ASKD = (sys.executable, "-m", "askd")


def data(world: World) -> Path:
    return world.ask_home / "data"


def wait_mirrored(world: World, conversations: int) -> None:
    """Wait until the files hold everything."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        rollouts = json.loads(world.ok("api", "daemon/check", "{}").out)["rollouts"]
        if (rollouts["mirrored"], rollouts["behind"]) == (conversations, 0):
            return
    raise AssertionError(rollouts)


def asides(world: World, kind: str) -> list[Path]:
    return sorted(data(world).glob(f"ask.db.backup-before-{kind}-*"))


def damage(world: World) -> None:
    """Write over the beginning of the database, as a bad disk might."""
    with (data(world) / "ask.db").open("r+b") as stream:
        stream.write(DAMAGE)


def lose(world: World) -> None:
    for path in data(world).glob("ask.db*"):
        path.unlink()


def test_a_lost_database_comes_back_and_goes_on(world: World) -> None:
    assert world.model is not None
    world.ok("-s", "work", "ECHO:one zebra")
    world.ok("-s", "work", "--key", "once", "ECHO:two")
    world.ok("-s", "play", "ECHO:three")
    wait_mirrored(world, 2)
    before = {name: world.events(name) for name in ("work", "play")}
    world.kill_daemon()
    lose(world)
    rebuilt = world.ok("doctor", "--rebuild", "--yes")
    assert "2 conversations" in rebuilt.out
    assert "There was no old database" in rebuilt.out
    assert {name: world.events(name) for name in ("work", "play")} == before
    hits = json.loads(world.ok("history", "search", "zebra", "--json").out)
    assert len(hits) == 2
    asked = len(world.model.requests())
    assert world.ok("-s", "work", "--key", "once", "ECHO:two").out == "two\n"
    assert len(world.model.requests()) == asked, "the key is known"
    assert world.ok("-s", "work", "ECHO:four").out == "four\n"
    sent = [each["content"] for each in world.model.requests()[-1]["messages"]]
    assert sent == ["ECHO:one zebra", "one zebra", "ECHO:two", "two", "ECHO:four"]
    wait_mirrored(world, 2)
    world.ok("daemon", "stop")
    lose(world)
    world.ok("doctor", "--rebuild", "--yes")
    assert len(world.events("work")) > len(before["work"]), "the file went on where it was"


def test_a_damaged_database_says_so_and_what_to_do(world: World) -> None:
    world.ok("-s", "work", "ECHO:one")
    wait_mirrored(world, 1)
    before = world.events("work")
    world.ok("daemon", "stop")
    damage(world)
    failed = world.ask("-s", "work", "ECHO:two")
    assert failed.code == 74
    assert "is damaged" in failed.err
    seen = world.ask("doctor")
    assert seen.code == 1
    assert "ask doctor --rebuild, or ask doctor --restore BACKUP" in seen.out
    assert "backups: none" in seen.out
    world.ok("doctor", "--rebuild", "--yes")
    (aside,) = asides(world, "rebuild")
    assert aside.read_bytes().startswith(DAMAGE)
    assert world.events("work") == before
    assert world.ok("doctor").code == 0
    assert aside.name in world.ok("doctor").out


def test_a_prompt_that_had_not_ended_is_dealt_with_after_a_rebuild(world: World) -> None:
    running = world.start("-s", "work", "HOLD:1 words")
    running.wait_for("tok0")
    world.wait_saved("tok0")
    running.process.kill()  # first: it would start another daemon in place of the lost one
    running.process.wait()
    world.kill_daemon()
    world.ok("doctor", "--rebuild", "--yes")
    events = world.events("work")
    ends = [each for each in events if each["type"] == "turn_finished"]
    assert [each["outcome"] for each in ends] == ["interrupted"]
    assert any("tok0" in json.dumps(each) for each in events if each["type"] == "item_added")


def test_what_was_put_aside_does_not_keep_what_is_deleted(world: World) -> None:
    for name in ("work", "play"):
        world.ok("-s", name, "ECHO:one zyqqvanary")
    wait_mirrored(world, 2)
    world.ok("daemon", "stop")
    shutil.copy(data(world) / "ask.db", data(world) / "ask.db.backup-4")
    world.ok("doctor", "--restore", "ask.db.backup-4", "--yes")
    (aside,) = data(world).glob("rollouts.backup-before-restore-*")
    assert aside.name in world.ok("doctor").out
    wait_mirrored(world, 2)
    told = world.ok("history", "delete", "work", "--yes").err
    assert (
        "2 copies of the database and 1 copy of the rollouts still hold what was deleted." in told
    )
    assert "Deleted 2 copies of the database and 1 copy of the rollouts." in (
        world.ok("history", "delete", "play", "--backups", "--yes").err
    )
    world.ok("daemon", "stop")
    held = [
        path
        for path in data(world).rglob("*")
        if path.is_file() and b"zyqqvanary" in path.read_bytes()
    ]
    assert held == []


def test_a_lost_database_is_no_empty_one(world: World) -> None:
    world.ok("-s", "work", "ECHO:one")
    wait_mirrored(world, 1)
    world.ok("daemon", "stop")
    lose(world)
    leftover = data(world) / "ask.db.rebuilding"
    leftover.write_bytes(b"what a killed rebuild left")
    assert "warn  store: There is no database, but 1 rollout in" in world.ok("doctor").out
    world.ok("history", "list")
    assert not leftover.exists()
    seen = world.ok("doctor").out
    assert "1 rollout belongs to no conversation here." in seen
    assert "Bring them back: ask doctor --rebuild" in seen
    world.ok("doctor", "--rebuild", "--yes")
    assert world.events("work")
    assert "belongs to no conversation" not in world.ok("doctor").out


def test_a_typo_stops_no_daemon(world: World) -> None:
    world.ok("-s", "work", "ECHO:one")
    pid = world.ok("daemon", "status").out.splitlines()[0]
    failed = world.ask("doctor", "--restore", "typo", "--yes")
    assert (failed.code, "No such backup: typo" in failed.err) == (3, True)
    assert world.ok("daemon", "status").out.splitlines()[0] == pid


def test_a_backup_comes_back_with_its_rollouts_and_what_came_later_too(world: World) -> None:
    world.ok("-s", "work", "ECHO:one")
    world.ok("daemon", "stop")
    shutil.copy(data(world) / "ask.db", data(world) / "ask.db.backup-4")
    world.ok("-s", "work", "ECHO:two")
    wait_mirrored(world, 1)
    newer = world.events("work")
    restored = world.ok("doctor", "--restore", "ask.db.backup-4", "--yes")
    hint = restored.out.splitlines()[-1].partition("ask ")[2].split()
    assert len(world.events("work")) < len(newer)
    wait_mirrored(world, 1)
    assert world.ok(*hint, "--yes").code == 0
    assert world.events("work") == newer
    (aside,) = asides(world, "restore")
    assert world.ok("doctor", "--restore", str(aside), "--yes").code == 0
    assert world.events("work") == newer


def test_what_is_no_backup_is_refused_and_the_daemon_comes_back(world: World) -> None:
    world.ok("-s", "work", "ECHO:one")
    before = world.events("work")
    bad = world.home / "bad"
    bad.write_bytes(b"no database")
    refused = world.ask("doctor", "--restore", str(bad), "--yes")
    assert refused.code == 74
    assert "Nothing was changed" in refused.err
    assert world.ask("doctor", "--restore", "nobody", "--yes").code == 3
    assert world.events("work") == before
    assert asides(world, "restore") == []


def test_a_running_daemon_keeps_its_database(world: World) -> None:
    world.ok("-s", "work", "ECHO:one")
    refused = world.ask("rebuild", command=ASKD)
    assert refused.code == 8
    assert "Stop it first: ask daemon stop" in refused.err
    assert world.ask("rebuild", "--hard", command=ASKD).code == 2


def test_without_a_yes_nothing_happens(world: World) -> None:
    world.ok("-s", "work", "ECHO:one")
    pid = world.daemon_pid()
    assert world.ask("doctor", "--rebuild").code == 2
    assert world.daemon_pid() == pid


def test_a_look_makes_nothing(world: World) -> None:
    looked = world.ok("doctor")
    assert "none is running, and nothing is stored yet" in looked.out
    assert not world.ask_home.exists()


def test_killed_while_it_rebuilds_the_old_one_is_in_place(world: World) -> None:
    """Kills at moments that nobody chose; `tests/store/recovery` kills at each step."""
    world.ok("-s", "work", "ECHO:" + "word " * 200)
    wait_mirrored(world, 1)
    world.ok("daemon", "stop")
    (file,) = data(world).glob("rollouts/*/*/*/*.jsonl")
    content = file.read_bytes()
    old = json.loads(content.splitlines()[0])["payload"]["id"]
    for number in range(300):
        new = f"{number:08x}-0000-4000-8000-000000000000"
        copy = file.with_name(file.name.replace(old, new))
        copy.write_bytes(content.replace(old.encode(), new.encode()))
    unfinished = data(world) / "ask.db.rebuilding"
    killed = 0
    for pause_s in (0.0, 0.02, 0.05, 0.1):
        running = world.start("rebuild", command=ASKD)
        deadline = time.monotonic() + 30
        while not unfinished.exists() and running.process.poll() is None:
            assert time.monotonic() < deadline
        time.sleep(pause_s)
        if running.process.poll() is None:
            os.kill(running.process.pid, signal.SIGKILL)
            killed += 1
        running.finish()
        assert (data(world) / "ask.db").stat().st_nlink <= 2
        shown = world.ok("history", "list", "--json", "-n", "1000")
        assert len(json.loads(shown.out)) in (1, 301)
        world.ok("daemon", "stop")
    assert killed >= 2
    world.ok("doctor", "--rebuild", "--yes")
    assert not unfinished.exists()
    assert len(json.loads(world.ok("history", "list", "--json", "-n", "1000").out)) == 301
