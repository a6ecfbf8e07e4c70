"""How a chat at a terminal is put together: what is shown first, last, and offered at a Tab."""

from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input

from ask.chat import begin
from ask.chat.begin import find_history, find_names, run_chat
from ask.chat.reader import Reader
from ask.connection import Client
from ask.exits import DONE
from ask.paths import Paths
from ask.terminal import strip_controls
from tests.client.chat.terminal import Paper
from tests.client.commands.fake_daemon import FakeDaemon


def test_a_chat_from_its_first_to_its_last_word(
    daemon: FakeDaemon, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paper = Paper()
    with create_pipe_input() as keyboard, create_app_session(input=keyboard, output=paper):
        keyboard.send_text("/usage\r")
        keyboard.send_text("/exit\r")
        assert run_chat(None, {"model": "fake/x"}, mentions=True) == DONE
    (conversation_id,) = daemon.events
    assert "No answers have been counted." in paper.above
    assert capsys.readouterr().err == (
        f"Chat in a new conversation. /help lists the commands.\n{conversation_id[:8]}\n"
    )
    kept = find_history(Paths.of({"ASK_HOME": str(home)}))
    assert kept.read_text() == '"/usage"\n"/exit"\n'
    assert kept.stat().st_mode & 0o777 == 0o600


def test_what_was_said_last_is_shown_and_what_still_goes_on(daemon: FakeDaemon) -> None:
    conversation_id = daemon.create("talk", live=True)
    daemon.say(conversation_id, "long ago")
    turn_id = daemon.accept(conversation_id, "at work")
    daemon.append(conversation_id, "turn_started", turn_id=turn_id, attempt=1)
    paper = Paper()
    with create_pipe_input() as keyboard, create_app_session(input=keyboard, output=paper):
        keyboard.send_text("\x04")
        assert run_chat(daemon.summary(conversation_id), {}, mentions=True) == DONE
    said, other = "> long ago\n\nYou said: long ago\n", "> (from another terminal) at work\n"
    assert strip_controls(paper.above).startswith(f"{said}\n{other}")


def test_an_ephemeral_one_leaves_no_history(
    daemon: FakeDaemon, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(begin, "HISTORY_NAME", "h")
    found = {**daemon.summary(daemon.create("talk", live=True)), "ephemeral": True}
    paper = Paper()
    with create_pipe_input() as keyboard, create_app_session(input=keyboard, output=paper):
        keyboard.send_text("/exit\r")
        run_chat(found, {}, mentions=True)
    assert not (home / "state" / "h").exists()


def test_a_tab_asks_the_daemon(daemon: FakeDaemon) -> None:
    daemon.settings["mcpServers"] = {"time": {}}
    daemon.models[0]["aliases"] = ["quick"]
    reader = Reader(lambda start: Client.connect(start=False), lambda: None)
    reader.start(Client.connect(start=False))
    assert find_names(reader, "/model") == [("quick", "fake/echo"), ("fake/echo", "")]
    assert [name for name, _ in find_names(reader, "/tools")] == [
        "all", "read", "none", "read_file", "write_file",
    ]  # fmt: skip
    assert find_names(reader, "@") == [("time", "a server")]
    reader.close()
