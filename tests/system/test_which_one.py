"""Every command that takes a conversation says the same of one that is not there, or not clear."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.system.world import World, open_world

COMMANDS = (
    ("history", "show", "{}"),
    ("history", "show", "{}", "--raw"),
    ("history", "show", "{}", "--context"),
    ("history", "delete", "{}", "--yes"),
    ("history", "export", "{}"),
    ("history", "search", "x", "-s", "{}"),
    ("rename", "{}", "other"),
    ("fork", "{}"),
    ("clear", "{}"),
    ("pin", "{}"),
    ("unpin", "{}", "1"),
    ("attach", "{}"),
    ("resume", "{}"),
    ("-s", "{}", "hi"),
    ("-q", "-s", "{}", "--json", "hi"),
    ("chat", "-s", "{}"),
)


def test_one_that_is_not_there_and_one_that_may_be_several(tmp_path: Path) -> None:
    with open_world(tmp_path, model=False) as world:
        ids = share_a_beginning(world)
        shown = f"{ids[0][:8]} (work), {ids[1][:8]}"
        for command in COMMANDS:
            check(
                world,
                [word.format("abcd9999") for word in command],
                "Conversation not found: id=abcd9999\nList them: ask list\n",
            )
            check(
                world,
                [word.format("abcd") for word in command],
                f"More than one conversation begins with abcd: {shown}. "
                "Give more characters of the id.\n",
            )
        left = json.loads(world.ok("history", "list", "--json").out)
        assert sorted(row["id"] for row in left) == ids, "nothing was made, nothing is gone"
        listed = json.loads(world.ask("history", "export", "abcd", "-o", "x.json").out or "{}")
        assert listed == {}
        assert not (world.home / "x.json").exists()


def check(world: World, words: list[str], text: str) -> None:
    result = world.ask(*words)
    assert (result.code, result.err) == (3, text), words
    if "--json" in words:
        record = json.loads(result.out)
        assert (record["type"], record["code"]) == ("error", 3)
        assert record["data"]["reason"].startswith("conversation_")


def share_a_beginning(world: World) -> list[str]:
    """Two conversations whose ids begin alike, which chance does not bring."""
    made = [world.ok("new", "work").out.strip(), world.ok("new").out.strip()]
    world.ok("daemon", "stop")
    wanted = [f"abcd{number}{id[5:]}" for number, id in enumerate(made)]
    with closing(sqlite3.connect(world.ask_home / "data" / "ask.db")) as database, database:
        for old, new in zip(made, wanted, strict=True):
            for table in ("events", "terminals", "rollouts"):
                database.execute(
                    f"UPDATE {table} SET conversation_id = ? WHERE conversation_id = ?", (new, old)
                )
            database.execute("UPDATE conversations SET id = ? WHERE id = ?", (new, old))
    return wanted


@pytest.mark.parametrize("command", [("-c", "hi"), ("clear",), ("chat", "-c")])
def test_a_terminal_without_a_conversation(tmp_path: Path, command: tuple[str, ...]) -> None:
    with open_world(tmp_path, model=False) as world:
        result = world.ask(*command)
        assert result.code == 3, result
        assert result.err == 'This terminal has no conversation yet. Start one: ask "..."\n'
