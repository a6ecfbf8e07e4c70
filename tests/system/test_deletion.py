"""What is deleted is nowhere: every file of a home is searched; what is old goes by itself."""

import json
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from tests.system.world import LIMIT_S, World

CANARY = "zyqqvanary"
"""Begins like no other word, so that no index can shorten it to its end."""
DAY_S = 86_400.0


def find(world: World) -> list[str]:
    """Every file of the home that holds the canary, whatever its case; also in a name."""
    return [
        str(path.relative_to(world.ask_home))
        for path in world.ask_home.rglob("*")
        if CANARY in path.name or (path.is_file() and CANARY.encode() in path.read_bytes().lower())
    ]


def wait_until(done: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + LIMIT_S
    while not done():
        assert time.monotonic() < until, what
        time.sleep(0.05)


def configure(world: World, text: str) -> None:
    file = world.ask_home / "config" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def say_it_everywhere(world: World) -> None:
    """The canary in a name, a title, prompts, answers, a file, a notice, a key; and looked for."""
    configure(world, '[models."openai/fake"]\ncontext_window = 1000000\n')
    large = world.home / "large.txt"
    large.write_text(f"{CANARY} and more\n" * 30_000)
    world.ok("-s", CANARY, "--key", f"{CANARY}-key", f"ECHO:{CANARY} the first")
    world.ok("-s", CANARY, "-f", str(large), "ECHO:what is in it?")
    world.ok("-s", CANARY, "-S", f"Say {CANARY}.", f"ECHO:{CANARY}")
    note = {"conversation_id": world.events(CANARY)[0]["id"], "text": f"/help {CANARY}"}
    world.ok("api", "conversation/note", json.dumps(note))
    assert world.ok("history", "search", CANARY).out.count(CANARY) > 3
    world.ok("rename", CANARY, "--remove")
    world.ok("rename", note["conversation_id"], f"{CANARY}2")
    world.ok("-s", "other", "ECHO:what stays")


def delete_it(world: World) -> None:
    result = world.ok("history", "delete", f"{CANARY}2", "--yes")
    assert result.err == "Deleted 1 conversation.\n"


def test_what_is_deleted_is_in_no_file(world: World) -> None:
    say_it_everywhere(world)
    wait_until(lambda: any("rollout" in name for name in find(world)), "no mirror")
    assert any(name.startswith("data/ask.db") for name in find(world))
    delete_it(world)
    held = {name for name in find(world) if "rollout" not in name}
    assert held == set(), "what is answered is true at once"
    wait_until(lambda: not find(world), "the mirror stays")
    assert json.loads(world.ok("history", "search", "stays", "--json").out)
    assert len(list((world.ask_home / "data" / "rollouts").rglob("*.jsonl"))) == 1
    world.ok("daemon", "stop")
    assert find(world) == []
    with closing(sqlite3.connect(world.ask_home / "data" / "ask.db")) as database:
        keys = database.execute("SELECT key, seq FROM keys").fetchall()
        assert len([key for key, seq in keys if seq == 0 and key.startswith("deleted:")]) == 3
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_key_of_what_was_deleted_is_known_all_the_same(world: World) -> None:
    world.ok("-s", "work", "--key", CANARY, "ECHO:hi")
    world.ok("history", "delete", "work", "--yes")
    again = world.ask("-s", "work", "--key", CANARY, "ECHO:hi")
    assert again.code != 0, "it is not asked twice"
    assert world.model is not None
    assert len(world.model.requests()) == 1


def test_what_a_reader_holds_goes_when_it_ends(world: World) -> None:
    world.ok("-s", f"{CANARY}2", f"ECHO:{CANARY}")
    database = world.ask_home / "data" / "ask.db"
    reader = sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True, isolation_level=None)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM conversations").fetchone() == (1,)
    delete_it(world)
    assert json.loads(world.ok("history", "list", "--json").out) == []
    assert reader.execute("SELECT name FROM conversations").fetchone() == (f"{CANARY}2",)
    wait_until(lambda: all(name.startswith("data/ask.db") for name in find(world)), "the mirror")
    assert find(world) != [], "the log of the database still holds it, for this reader"
    reader.close()
    wait_until(lambda: not find(world), "it is tried again while nobody writes")


def test_copies_go_when_that_is_asked(world: World) -> None:
    world.ok("-s", f"{CANARY}2", f"ECHO:{CANARY}")
    world.ok("-s", "other", "ECHO:hi")
    data = world.ask_home / "data"
    for label, wanted in (("4", ""), ("before-restore", "WHERE name = 'other'")):
        with closing(sqlite3.connect(f"file:{data / 'ask.db'}?mode=ro", uri=True)) as source:
            source.execute("VACUUM INTO ?", (str(data / f"ask.db.backup-{label}"),))
        if wanted:
            with closing(sqlite3.connect(data / f"ask.db.backup-{label}")) as copy, copy:
                copy.execute(f"DELETE FROM conversations {wanted}")
    told = world.ok("history", "delete", "other", "--yes").err
    assert "1 copy of the database still holds what was deleted." in told
    told = world.ok("history", "delete", f"{CANARY}2", "--backups", "--yes").err
    assert told == "Deleted 1 conversation.\nDeleted 2 copies of the database.\n"
    wait_until(lambda: not find(world), "a copy is left")
    assert not list(data.glob("*backup*"))


def grow_old(world: World, names: list[str], *, days: float) -> None:
    """Move what was said into the past; no daemon may run."""
    with closing(sqlite3.connect(world.ask_home / "data" / "ask.db")) as database, database:
        for name in names:
            database.execute(
                "UPDATE conversations SET updated_at = updated_at - ? WHERE title LIKE ?",
                (days * DAY_S, f"%{name}%"),
            )


def titles(world: World) -> set[str]:
    return {row["title"] for row in json.loads(world.ok("history", "list", "--json").out)}


def rollouts(world: World, place: str) -> list[Path]:
    return sorted((world.ask_home / "data" / place).rglob("*.jsonl"))


def test_what_is_old_goes_to_the_archive_and_comes_back(world: World) -> None:
    world.ok("ECHO:lion")
    world.ok("-s", "kept", "ECHO:zebra")
    world.ok("ECHO:giraffe")
    wait_until(lambda: len(titles(world) - {None}) == 3, "no titles")
    before = json.loads(world.ok("history", "show", find_id(world, "lion"), "--raw").out)
    world.ok("daemon", "stop")
    (file,) = [path for path in rollouts(world, "rollouts") if before["id"] in path.name]
    grow_old(world, ["lion", "zebra"], days=31)
    configure(world, "[history]\nkeep_days = 30\narchive = true\n")
    world.ok("history", "list")
    wait_until(lambda: bool(rollouts(world, "archive")), "it is not in the archive")
    (archived,) = rollouts(world, "archive")
    assert archived.name == file.name
    line = "Removed conversations of more than 30 days: removed=1, archived=yes, stayed=0"
    wait_until(lambda: line in world.log() and not file.exists(), "it is not told")
    assert {title for title in titles(world) if "lion" in title} == set()
    assert len(titles(world)) == 2
    assert world.ask("history", "show", before["id"]).code == 3
    back = world.ok("history", "import", str(archived)).out.strip()
    again = json.loads(world.ok("history", "show", back, "--raw").out)
    assert again["messages"] == before["messages"]
    looked = world.ask_home / "state" / "retention.json"
    looked.unlink()
    world.ok("daemon", "restart")
    wait_until(looked.exists, "it never looked again")
    # It has judged the clock; what it removes goes within moments, so that this one is last.
    world.ok("ECHO:later")
    assert len(titles(world) | {"ECHO:later"}) == 4, "what came back today is not too old"


def find_id(world: World, word: str) -> str:
    rows = json.loads(world.ok("history", "list", "--json").out)
    return next(str(row["id"]) for row in rows if word in str(row["title"]))


def test_what_is_old_goes_and_leaves_nothing(world: World) -> None:
    world.ok(f"ECHO:{CANARY} is old")
    world.ok("ECHO:giraffe")
    wait_until(lambda: len(titles(world) - {None}) == 2, "no titles")
    world.ok("daemon", "stop")
    grow_old(world, [CANARY], days=8)
    configure(world, "[history]\nkeep_days = 7\n")
    world.ok("history", "list")
    wait_until(lambda: not find(world), "it is still there")
    assert not (world.ask_home / "data" / "archive").exists()
    assert len(titles(world)) == 1
