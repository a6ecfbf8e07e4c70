"""Pins by name: of a conversation, and of a message by the number that people see."""

import json

from tests.client.commands.conftest import Ask
from tests.client.commands.fake_daemon import FakeDaemon
from tests.client.commands.fake_log import Refusal


def test_a_conversation_is_pinned_and_marked(daemon: FakeDaemon, ask: Ask) -> None:
    conversation_id = daemon.create("work")
    result = ask("pin", "work")
    assert (result.code, result.out, result.err) == (0, "", "Pinned: work.\n")
    assert daemon.called("conversation/pin") == [
        {"conversation_id": conversation_id, "item_id": None}
    ]
    assert ask("history", "list").out.splitlines()[0].endswith("  pinned")
    assert json.loads(ask("unpin", "work", "--json").out)["pinned"] is False
    assert "pinned" not in ask("list").out
    assert ask("unpin", "work").err == "Was not pinned: work.\n"
    ask("pin", "work")
    assert ask("unpin", "work").err == "No longer pinned: work.\n"


def test_a_message_is_meant_by_its_number(daemon: FakeDaemon, ask: Ask) -> None:
    conversation_id = daemon.create("work")
    turn_id = daemon.say(conversation_id, "one")
    result = ask("pin", "work", "2")
    assert result.err == "Pinned: message 2 of work.\n"
    (asked,) = daemon.called("conversation/pin")
    assert asked["item_id"] == f"{turn_id}.1"
    out = ask("history", "show", "work").out
    assert "[1] USER\n" in out
    assert "[2] ASSISTANT (pinned)\n" in out
    messages = json.loads(ask("history", "show", "work", "--raw").out)["messages"]
    assert [each.get("pinned") for each in messages] == [None, True]
    for told in ("No longer pinned", "Was not pinned"):
        result = ask("unpin", "work", f"{turn_id}.1")
        assert result.err == f"{told}: message {turn_id}.1 of work.\n"
    ask("pin", "work", "2")
    before = len(daemon.called("conversation/read"))
    assert ask("unpin", "work", "2").err == "No longer pinned: message 2 of work.\n"
    assert len(daemon.called("conversation/read")) == before + 1  # it is read once
    assert "pinned" not in ask("history", "show", "work").out


def test_a_number_that_no_message_has(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.say(daemon.create("work"), "one")
    for number in ("0", "3", "9" * 5000):
        result = ask("pin", "work", number)
        assert result.code == 3
        assert "work has 2 messages" in result.err
    assert ask("pin", "nobody").code == 3
    assert daemon.called("conversation/pin") == []
    daemon.refusals["conversation/pin"] = Refusal("item_not_found", "Message not found: id=x")
    result = ask("pin", "work", "x")
    assert (result.code, result.err.splitlines()[0]) == (
        3,
        "There is no message x: work has 2 messages.",
    )
    assert "See them: ask history show" in result.err
