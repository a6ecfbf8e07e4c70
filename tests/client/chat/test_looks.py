"""Slash commands that show something, or change what the model sees."""

import json
from pathlib import Path

import pytest

from ask.chat.slash import run_line
from ask.exits import NOT_FOUND, USAGE, Failed
from tests.client.chat.conftest import Seat
from tests.client.commands.fake_daemon import FakeDaemon


def test_models_are_listed_with_what_could_not_be_asked(daemon: FakeDaemon, seat: Seat) -> None:
    daemon.warnings = ["work: no answer\x1b[2J"]
    run_line(seat.desk, "/models list")
    assert "fake/echo" in seat.shown[0]
    assert seat.told == ["work: no answer"]
    assert daemon.called("conversation/note")[-1]["text"] == "Command result: 1 model available"


def test_the_view_is_shrunk_and_cleared(daemon: FakeDaemon, seat: Seat) -> None:
    changes: list[int] = []
    seat.desk.expect_change = lambda: changes.append(1)
    sizes = {"tokens_before": 90, "tokens_after": 40}
    daemon.shrunk = [
        {"state": "finished", "text": "Compacted: 90 -> 40 tokens.", **sizes},
        {"pruned": False},
    ]
    run_line(seat.desk, "/compact")
    run_line(seat.desk, "/prune")
    run_line(seat.desk, "/clear")
    assert seat.told[-2:] == ["Compacted: 90 -> 40 tokens.", "There is nothing to prune."]
    assert seat.shown == ["The next prompt starts afresh; the history is kept."]
    assert len(changes) == 2
    assert len(daemon.called("conversation/clear")) == 1


def test_the_last_messages_have_their_numbers(daemon: FakeDaemon, seat: Seat) -> None:
    conversation_id = seat.desk.begin()
    daemon.settings["persist_special_commands"] = False
    for number in range(8):
        daemon.say(conversation_id, f"prompt {number}")
    run_line(seat.desk, "/history 3")
    run_line(seat.desk, "/history")
    short, usual = seat.shown
    assert short.startswith("Messages: 16 total\n\n[14] ASSISTANT")
    assert "prompt 7" in short
    assert "prompt 5" not in short.replace("You said: prompt 6", "").split("[15]")[1]
    assert "\n[7] USER" in usual
    for wrong in ("/history 0", "/history -1", "/history ten"):
        with pytest.raises(Failed) as failed:
            run_line(seat.desk, wrong)
        assert failed.value.code == USAGE


def test_usage_is_of_this_conversation(daemon: FakeDaemon, seat: Seat) -> None:
    run_line(seat.desk, "/usage")
    assert seat.shown == ["No answers have been counted."]
    row = {
        "group": seat.desk.conversation_id, "label": None, "answers": 2, "input_tokens": 1200,
        "cached_tokens": 0, "output_tokens": 34, "reasoning_tokens": 0, "cost_usd": 0.25,
        "unpriced": 0,
    }  # fmt: skip
    daemon.usage = [{**row, "group": "another", "answers": 99}, row]
    run_line(seat.desk, "/usage")
    assert "1,200" in seat.shown[1]
    assert "99" not in seat.shown[1]


def test_a_message_or_the_conversation_is_pinned(daemon: FakeDaemon, seat: Seat) -> None:
    conversation_id = seat.desk.begin()
    turn_id = daemon.say(conversation_id, "hi")
    run_line(seat.desk, "/pin")
    run_line(seat.desk, "/pin 2")
    asked = [each["item_id"] for each in daemon.called("conversation/pin")]
    assert asked[0] is None
    assert asked[1] in (f"{turn_id}.1",)
    assert seat.told == ["Pinned: this conversation.", "Pinned: message 2."]
    with pytest.raises(Failed) as failed:
        run_line(seat.desk, "/pin 99")
    assert failed.value.code == NOT_FOUND


def test_a_conversation_is_saved_once(
    daemon: FakeDaemon, seat: Seat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    daemon.say(seat.desk.begin(), "hi")
    run_line(seat.desk, "/save ~/our talk.json")
    written = tmp_path / "our talk.json"
    assert json.loads(written.read_bytes()) == {}
    assert written.stat().st_mode & 0o777 == 0o600
    with pytest.raises(Failed, match="is there already; nothing was written"):
        run_line(seat.desk, "/save ~/our talk.json")
    with pytest.raises(Failed, match=r"The name's ending says it: \.md"):
        run_line(seat.desk, "/save ~/talk")
    with pytest.raises(Failed, match="cannot be written: No such file"):
        run_line(seat.desk, "/save ~/none/talk.md")
