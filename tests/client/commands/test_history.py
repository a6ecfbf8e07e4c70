"""What is stored: listed, and shown in both forms."""

import hashlib
import json
from typing import Any

import pytest

from ask.commands.calls import PAGE
from tests.client.commands.conftest import Ask
from tests.client.commands.fake_daemon import FakeDaemon


def test_list_ends_with_the_total(daemon: FakeDaemon, ask: Ask) -> None:
    first, second = daemon.create("one"), daemon.create("two")
    lines = ask("history", "list").out.splitlines()
    assert [line[:8] for line in lines[:-1]] == [second[:8], first[:8]]
    assert "fake (echo)" in lines[0]
    assert lines[-1] == "Total: 2 conversation(s)"
    assert [row["name"] for row in json.loads(ask("history", "list", "--json").out)] == [
        "two",
        "one",
    ]


def test_list_reads_every_page_and_no_more_than_asked(daemon: FakeDaemon, ask: Ask) -> None:
    for number in range(450):
        daemon.create(f"c{number}")
    lines = ask("history", "list").out.splitlines()
    assert len(lines) == 451
    assert lines[-1] == "Total: 450 conversation(s)"
    daemon.calls.clear()
    few = ask("history", "list", "-n", "3").out.splitlines()
    assert len(few) == 4
    assert few[-1] == "Total: 450 conversation(s)"
    assert len(daemon.called("conversation/list")) == 1


def test_an_empty_history(daemon: FakeDaemon, ask: Ask) -> None:
    empty = 'No saved conversations.\nCreate one: ask "..."\n'
    assert ask("history", "list").out == empty
    assert ask("history", "list", "--json").out == "[]\n"


def test_show_reads_all_pages_and_keeps_indices(daemon: FakeDaemon, ask: Ask) -> None:
    conversation_id = daemon.create("work")
    for number in range(120):
        daemon.say(conversation_id, f"question {number}")
    out = ask("history", "show", "work", "-n", "2").out
    assert "Messages: 240 total\nShowing: last 2 messages\n" in out
    assert "[239] USER\n    Content: question 119\n" in out
    assert "[240] ASSISTANT\n    Content: You said: question 119\n" in out
    assert "[238]" not in out
    daemon.calls.clear()
    whole = ask("history", "show", "work").out
    assert whole.split("=\n")[1].endswith(out.split("=\n")[1])
    assert len(daemon.called("conversation/read")) > 2


def test_the_last_messages_are_read_from_the_end_of_the_log(daemon: FakeDaemon, ask: Ask) -> None:
    conversation_id = daemon.create("work")
    for number in range(500):
        daemon.say(conversation_id, f"question {number}")
    out = ask("history", "show", "work", "-n", "20").out
    assert "Messages: 1000 total\nShowing: last 20 messages\n" in out
    assert [line for line in out.splitlines() if line.startswith("[")] == [
        f"[{n}] {'USER' if n % 2 else 'ASSISTANT'}" for n in range(981, 1001)
    ]
    (page,) = daemon.called("conversation/read")
    assert (page["after_seq"], page["limit"]) == (2001 - PAGE, PAGE)
    daemon.calls.clear()
    record = json.loads(ask("history", "show", "work", "--raw", "-n", "120").out)
    assert record["message_count"] == 1000
    assert record["messages"][0]["content"] == "question 440"
    assert sum(page["limit"] for page in daemon.called("conversation/read")) == 360


def test_the_last_messages_of_a_turn_that_began_long_ago(daemon: FakeDaemon, ask: Ask) -> None:
    conversation_id = daemon.create("work")
    daemon.say(conversation_id, "before")
    turn_id = daemon.accept(conversation_id, "work on")
    daemon.append(conversation_id, "turn_started", turn_id=turn_id, attempt=1)
    waiting = daemon.accept(conversation_id, "and then")
    gone = daemon.accept(conversation_id, "not that")
    for number in range(300):
        item = {"type": "assistant_message", "id": f"i{number}", "parts": []}
        daemon.append(conversation_id, "item_added", turn_id=turn_id, completion=1, item=item)
    daemon.append(conversation_id, "prompt_withdrawn", turn_id=gone)
    daemon.append(conversation_id, "turn_finished", turn_id=gone, outcome="withdrawn", code=1)
    out = ask("history", "show", "work", "-n", "2").out
    assert "Messages: 304 total" in out
    assert out.endswith(
        "[303] ASSISTANT\n    Content: (empty)\n\n[304] USER\n    Content: and then\n"
    )
    daemon.say(conversation_id, "and then", turn_id=waiting)
    daemon.calls.clear()
    out = ask("history", "show", "work", "-n", "1").out
    assert out.endswith("[305] ASSISTANT\n    Content: You said: and then\n")
    assert len(daemon.called("conversation/read")) == 1


def test_what_cannot_be_read_near_the_end_is_numbered_by_the_whole(
    daemon: FakeDaemon, ask: Ask
) -> None:
    conversation_id = daemon.create("work")
    for number in range(100):
        daemon.say(conversation_id, f"question {number}")
    daemon.append(conversation_id, "unreadable", of_type="titled", why="bad", text="{")
    daemon.say(conversation_id, "last")
    out = ask("history", "show", "work", "-n", "1").out
    assert "Unreadable records: 1 (" in out
    assert "[202] ASSISTANT\n    Content: You said: last\n" in out


def test_what_is_said_while_the_end_is_read_is_not_in_it(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation_id = daemon.create("work")
    for number in range(200):
        daemon.say(conversation_id, f"question {number}")
    resolve = daemon._conversation_resolve

    def resolve_and_go_on(params: Any) -> Any:
        found = resolve(params)
        daemon.say(conversation_id, "meanwhile")
        return found

    monkeypatch.setattr(daemon, "_conversation_resolve", resolve_and_go_on)
    out = ask("history", "show", "work", "-n", "1").out
    assert out.endswith("[400] ASSISTANT\n    Content: You said: question 199\n")


def test_show_takes_the_id_and_the_limit_by_name_too(daemon: FakeDaemon, ask: Ask) -> None:
    conversation_id = daemon.create("work")
    daemon.say(conversation_id, "hello")
    plain = ask("history", "show", conversation_id, "-n", "1").out
    assert ask("history", "show", "--id", conversation_id, "--limit", "1").out == plain
    assert ask("history", "show").code == 2
    assert ask("history", "show", "work", "--id", "work").code == 2
    assert ask("history", "show", "").err.startswith("Conversation not found: id=\n")
    assert ask("history", "show", "work", "--id", "").code == 2


def test_show_raw_is_one_object_with_everything(daemon: FakeDaemon, ask: Ask) -> None:
    conversation_id = daemon.create("work")
    content = ("lang " * 1000).encode()
    digest = hashlib.sha256(content).hexdigest()
    daemon.blobs[digest] = content
    parts = [
        {"type": "text", "text": "see"},
        {"type": "blob", "sha256": digest, "bytes": len(content), "media_type": "text/plain"},
        {"type": "blob", "sha256": "0" * 64, "bytes": 9, "media_type": "image/png"},
    ]
    item = {"type": "user_message", "id": "a.0", "parts": parts}
    daemon.append(conversation_id, "prompt_accepted", turn_id="a", key="k", items=[item])
    daemon.say(conversation_id, "x" * 700)
    record = json.loads(ask("history", "show", "work", "--raw").out)
    assert set(record) == {"id", "title", "name", "model", "message_count", "messages"}
    assert (record["id"], record["name"]) == (conversation_id, "work")
    first, prompt, answer = record["messages"]
    assert first["content"] == f"see\n\n{content.decode()}\n\n[image image/png, 9 bytes]"
    assert (prompt["role"], prompt["content"]) == ("user", "x" * 700)
    assert (answer["role"], answer["content"]) == ("assistant", "You said: " + "x" * 700)
    last = json.loads(ask("history", "show", "work", "--raw", "-n", "1").out)
    assert (last["message_count"], len(last["messages"])) == (3, 1)
    short = ask("history", "show", "work").out
    assert "[file text/plain, 5000 bytes]" in short
    assert "... (700 chars total)" in short


def test_show_names_what_cannot_be_read(daemon: FakeDaemon, ask: Ask) -> None:
    conversation_id = daemon.create("work")
    daemon.append(conversation_id, "unreadable", of_type="titled", why="bad", text="{")
    daemon.say(conversation_id, "hello")
    record = json.loads(ask("history", "show", "work", "--raw", "-n", "1").out)
    assert record["unreadable"] == [{"seq": 2, "type": "titled", "why": "bad"}]
    assert (record["message_count"], len(record["messages"])) == (2, 1)
    shown = ask("history", "show", "work").out
    assert "Unreadable records: 1 (kept, not shown to the model)\n" in shown
    assert "\n[!] UNREADABLE (seq 2, titled)\n    Reason: bad\n\n[1] USER\n" in shown


def test_show_takes_control_sequences_out(daemon: FakeDaemon, ask: Ask) -> None:
    conversation_id = daemon.create("work")
    daemon.say(conversation_id, "\x1b]0;owned\x07\x1b[31mred")
    out = ask("history", "show", "work").out
    assert "\x1b" not in out
    assert "owned" not in out
    assert "red" in out
