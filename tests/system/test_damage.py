"""A record, or a page of the file, is damaged while nobody looks: what is left is shown."""

import json
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.system.world import Result, World


def find_database(world: World) -> Path:
    return world.ask_home / "data" / "ask.db"


def stop(world: World) -> None:
    """End the daemon, and put all that is in the write-ahead log into the file."""
    world.kill_daemon(signal.SIGTERM)
    with closing(sqlite3.connect(find_database(world), isolation_level=None)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def damage(world: World, name: str, setting: str, number: int = 1, **event: str) -> int:
    """Change the n-th such record of a conversation, by another program; answer its seq."""
    (kind,) = event.values()
    with closing(sqlite3.connect(find_database(world), isolation_level=None)) as connection:
        found = connection.execute(
            "SELECT conversation_id, seq FROM events JOIN conversations ON id = conversation_id"
            " WHERE name = ? AND type = ? ORDER BY seq",
            (name, kind),
        ).fetchall()
        place = found[number - 1]
        connection.execute(
            f"UPDATE events SET {setting} WHERE conversation_id = ? AND seq = ?", place
        )
        return int(place[1])


def sent(world: World) -> list[str]:
    assert world.model is not None
    messages = world.model.requests()[-1]["messages"]
    return [each["content"] for each in messages if each["role"] != "system"]


def test_a_record_that_cannot_be_read_is_shown_kept_and_not_sent(world: World) -> None:
    for word in ("one", "two"):
        world.ok("-s", "work", f"ECHO:{word}")
    healthy = json.loads(world.ok("history", "show", "work", "--raw").out)
    assert "unreadable" not in healthy
    assert "Unreadable" not in world.ok("history", "show", "work").out
    stop(world)
    seq = damage(world, "work", "body = x'00ff'", type="item_added")

    shown = world.ok("history", "show", "work").out.splitlines()
    assert shown[3:5] == [
        "Messages: 3 total",
        "Unreadable records: 1 (kept, not shown to the model)",
    ]
    place = shown.index(f"[!] UNREADABLE (seq {seq}, item_added)")
    assert shown[place - 3 : place + 4] == [
        "[1] USER",
        "    Content: ECHO:one",
        "",
        f"[!] UNREADABLE (seq {seq}, item_added)",
        "    Reason: its content is no text in UTF-8",
        "",
        "[2] USER",
    ]
    raw = json.loads(world.ok("history", "show", "work", "--raw").out)
    why = "its content is no text in UTF-8"
    assert raw["unreadable"] == [{"seq": seq, "type": "item_added", "why": why}]
    assert [each["content"] for each in raw["messages"]] == ["ECHO:one", "ECHO:two", "two"]

    assert world.ok("-s", "work", "ECHO:three").out == "three\n"
    assert sent(world) == ["ECHO:one\n\nECHO:two", "two", "ECHO:three"]
    assert "Records cannot be read and are passed over: id=" in world.log()
    exported = json.loads(world.ok("history", "export", "work").out)
    (kept,) = [each for each in exported["events"] if each["event"]["type"] == "unreadable"]
    assert (kept["seq"], kept["event"]["base64"]) == (seq, "AP8=")
    file = world.home / "work.json"
    world.ok("history", "export", "work", "-o", str(file))
    copy = world.ok("history", "import", str(file)).out.strip()
    again = json.loads(world.ok("history", "show", copy, "--raw").out)
    assert again["unreadable"] == raw["unreadable"], "what cannot be read stays what it is"
    with closing(sqlite3.connect(f"file:{find_database(world)}?mode=ro", uri=True)) as connection:
        bodies = connection.execute("SELECT body FROM events WHERE seq = ?", (seq,)).fetchall()
    assert (b"\x00\xff",) in bodies, "where it was, as it was"


@pytest.mark.parametrize("kind", ["conversation_created", "prompt_accepted", "turn_started",
                                  "turn_finished", "settings_changed"])  # fmt: skip
def test_whatever_the_record_was_the_conversation_goes_on(world: World, kind: str) -> None:
    assert world.model is not None
    world.ok("-s", "work", "ECHO:one")
    asked = len(world.model.requests())
    stop(world)
    damage(world, "work", "body = '{'", type=kind)
    assert world.ok("-s", "work", "ECHO:two").out == "two\n"
    assert len(world.model.requests()) == asked + 1, "nothing was asked again"
    assert sent(world)[-1].endswith("ECHO:two")
    assert "one" in sent(world), "what can be read is there"
    listed = json.loads(world.ok("history", "list", "--json").out)
    assert [each["name"] for each in listed] == ["work"]


def break_page(path: Path, mark: bytes) -> None:
    """Overwrite the beginning of the page of the log that holds this."""
    content = path.read_bytes()
    size = int.from_bytes(content[16:18], "big")
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'events'"
        ).fetchone()
    pages = [content[n : n + size] for n in range(0, len(content), size)]
    # 10 is a leaf of an index, which is what a table without a rowid is made of.
    (page, *_) = [n for n, page in enumerate(pages) if mark in page and page[0] == 10]
    assert page != root - 1
    with path.open("r+b") as file:
        file.seek(page * size)
        file.write(b"\xde\xad" * 50)


def assert_refused(result: Result) -> None:
    assert (result.code, result.out) == (74, "")
    assert result.err.startswith("Failed to load conversation: "), result.err
    assert "cannot be read" in result.err
    assert "ask doctor --rebuild" in result.err


def test_a_damaged_page_costs_no_other_conversation_and_takes_no_new_turn(world: World) -> None:
    assert world.model is not None
    words = {number: f"{number:02} " + "x" * 700 for number in range(12)}
    for word in words.values():
        world.ok("-s", "work", f"ECHO:{word}")
    world.ok("-s", "other", "ECHO:whole")
    stop(world)
    break_page(find_database(world), b'"text":"06 x')

    assert world.ok("-s", "other", "ECHO:still").out == "still\n"
    asked = len(world.model.requests())
    assert_refused(world.ask("-s", "work", "ECHO:more"))
    assert_refused(world.ask("history", "export", "work"))
    assert len(world.model.requests()) == asked
    pid = world.daemon_pid()

    raw = json.loads(world.ok("history", "show", "work", "--raw").out)
    said = {each["content"].removeprefix("ECHO:") for each in raw["messages"]}
    assert words[0] in said, "what is before it"
    assert words[11] in said, "what is behind it"
    assert words[6] not in said or len(raw["messages"]) < 24
    lost = [each["seq"] for each in raw["unreadable"]]
    assert lost == list(range(lost[0], lost[-1] + 1))
    shown = world.ok("history", "show", "work").out
    assert f"Unreadable records: {len(lost)} (kept, not shown to the model)" in shown
    assert f"[!] UNREADABLE (seq {lost[0]} to {lost[-1]}, unknown)" in shown
    assert "or the database is damaged there" in shown
    assert world.daemon_pid() == pid
    world.ok("daemon", "restart")
    assert world.ok("-s", "other", "ECHO:again").out == "again\n"
    assert_refused(world.ask("-s", "work", "ECHO:more"))
