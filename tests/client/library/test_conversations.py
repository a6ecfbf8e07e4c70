"""Conversations: each method asks for what it says, and answers values."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import ask
from ask.library.conversations import Conversations
from ask.library.link import Link
from ask.protocol.limits import BLOB_CHUNK_BYTES
from tests.fakes.daemon import FakeDaemon, Refusal

Map = dict[str, Any]
ID = "c0ffee00-0000-4000-8000-000000000000"
ROW: Map = {
    "id": ID,
    "name": "work",
    "title": None,
    "model": None,
    "state": "idle",
    "message_count": 2,
    "last_seq": 7,
    "created_at": 1.0,
    "updated_at": 2.0,
    "of_the_future": 1,
}


@contextmanager
def opened(lone_home: Path, **results: Any) -> Iterator[tuple[Conversations, FakeDaemon]]:
    """The conversations of a daemon that knows one, `work`, and answers what is said here."""
    known = {"conversation/resolve": ROW}
    known |= {f"conversation/{verb}": each for verb, each in results.items()}
    with FakeDaemon(lone_home, results=known) as daemon:
        link = Link(os.environ, start=False)
        yield Conversations(link), daemon
        link.close()


def test_they_are_listed_and_found(lone_home: Path) -> None:
    page = {"data": [ROW], "total": 1, "next_cursor": None}
    with opened(lone_home, list=page) as (conversations, daemon):
        (listed,) = conversations.list(live=True)
        found = conversations.find("work")
        assert conversations.find(found) == listed == found
    assert (found.id, found.name, found.last_seq) == (ID, "work", 7)
    assert daemon.asked("conversation/list")[0]["live"] is True
    asked = [each["target"] for each in daemon.asked("conversation/resolve")]
    assert asked == [
        {"kind": "session", "value": "work", "create": False},
        {"kind": "id", "value": ID},
    ]


def test_one_is_made_and_named_and_forked(lone_home: Path) -> None:
    with opened(lone_home, create=ROW, rename=ROW, fork=ROW) as (conversations, daemon):
        made = conversations.create("work", model="p/m", system="Be brief.")
        conversations.rename(made, None)
        conversations.fork(made, at_seq=3, name="other")
    (created,) = daemon.asked("conversation/create")
    assert (created["name"], created["model"], created["system"]) == ("work", "p/m", "Be brief.")
    assert daemon.asked("conversation/rename") == [{"conversation_id": ID, "name": None}]
    assert daemon.asked("conversation/fork") == [
        {"conversation_id": ID, "at_seq": 3, "name": "other"}
    ]
    assert daemon.asked("conversation/resolve") == [], "a value is known already"


def test_its_log_is_read_page_by_page(lone_home: Path) -> None:
    def page(params: Map) -> Map:
        seq = params["after_seq"] + 1
        event = {"conversation_id": ID, "seq": seq, "at": 1.0, "type": "titled", "version": 1}
        return {"data": [event], "next_after_seq": seq if seq < 4 else None}

    with opened(lone_home, read=page) as (conversations, _):
        events = list(conversations.read("work", since=1))
    assert [event.seq for event in events] == [2, 3, 4]
    assert all(isinstance(event, ask.Other) for event in events)


def test_it_is_shrunk_and_that_is_taken_back(lone_home: Path) -> None:
    compacted = {"conversation_id": ID, "state": "pending", "text": "Not over."}
    results = {
        "compact": compacted,
        "prune": {"conversation_id": ID, "pruned": True},
        "undo": {"conversation_id": ID, "undone": "prune"},
    }
    with opened(lone_home, **results) as (conversations, daemon):
        made = conversations.compact("work", model="p/m", timeout_s=1.0)
        assert (made.state, made.text) == ("pending", "Not over.")
        assert conversations.prune("work") is True
        assert conversations.undo("work") == "prune"
        conversations.clear("work")
    assert daemon.asked("conversation/compact")[0]["timeout_s"] == 1.0
    assert "env" in daemon.asked("conversation/prune")[0]
    assert daemon.asked("conversation/clear") == [{"conversation_id": ID}]


def test_what_is_to_be_kept_and_noted(lone_home: Path) -> None:
    with opened(lone_home, pin=ROW, unpin=ROW) as (conversations, daemon):
        conversations.pin("work", "item-1")
        conversations.pin("work", pinned=False)
        conversations.note("work", "Looked at.")
    assert daemon.asked("conversation/pin") == [{"conversation_id": ID, "item_id": "item-1"}]
    assert daemon.asked("conversation/unpin") == [{"conversation_id": ID, "item_id": None}]
    assert daemon.asked("conversation/note")[0]["text"] == "Looked at."


def test_words_are_found(lone_home: Path) -> None:
    hit = {
        "conversation_id": ID,
        "name": None,
        "title": None,
        "seq": 2,
        "at": 1.0,
        "role": "user",
        "item_id": None,
        "snippet": "a fox",
        "marks": [[2, 5]],
    }
    page = {"data": [hit], "next_cursor": None}
    with opened(lone_home, search=page) as (conversations, daemon):
        (everywhere,) = conversations.search("fox", role="user")
        conversations.search("fox", conversation="work")
    assert everywhere.marks == ((2, 5),)
    first, second = daemon.asked("conversation/search")
    assert (first["role"], "conversation_id" in first) == ("user", False)
    assert second["conversation_id"] == ID


def test_it_is_moved_as_a_file(lone_home: Path) -> None:
    content = bytes(range(256)) * (BLOB_CHUNK_BYTES // 256) + b"rest"

    def send(params: Map) -> Map:
        end = params["offset"] + BLOB_CHUNK_BYTES
        chunk = content[params["offset"] : end]
        return {"bytes": chunk, "next_offset": end if end < len(content) else None}

    def receive(params: Map) -> Map:
        received = params["offset"] + len(params["bytes"])
        return {"conversation_id": ID if received == params["size"] else None}

    results = {"export": send, "import": receive}
    with opened(lone_home, **results) as (conversations, daemon):
        assert conversations.export("work", "codex") == content
        assert conversations.load(content, label="work.json").id == ID
    chunks = [each["bytes"] for each in daemon.asked("conversation/import")]
    assert b"".join(chunks) == content
    assert len(chunks) == 2


def test_a_file_that_is_nothing(lone_home: Path) -> None:
    with (
        opened(lone_home, **{"import": {"conversation_id": None}}) as (conversations, daemon),
        pytest.raises(ask.TurnFailed) as caught,
    ):
        conversations.load(b"")
    assert caught.value.reason == "bad_import"
    assert len(daemon.asked("conversation/import")) == 1, "the daemon says what is wrong with it"


def test_it_is_deleted(lone_home: Path) -> None:
    with opened(lone_home) as (conversations, daemon):
        conversations.delete("work", interrupt=True)
        daemon.refuse["conversation/resolve"] = [
            Refusal(3, "conversation_not_found", "Conversation not found: id=x")
        ]
        with pytest.raises(ask.NotFound, match="not found"):
            conversations.delete("x")
    assert daemon.asked("conversation/delete") == [{"conversation_id": ID, "interrupt": True}]
