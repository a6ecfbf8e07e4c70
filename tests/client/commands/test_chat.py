"""A chat from a script's lines: prompts are answered, commands are kept as notices."""

import io
import os
import pty
import select
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ask.commands.chat import MISSING
from tests.client.commands.conftest import Ask, Result, Run, Typed
from tests.client.commands.fake_daemon import FakeDaemon
from tests.client.commands.fake_log import Refusal
from tests.client.commands.process import LIMIT_S


@pytest.fixture
def chat(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run `ask chat` with these lines on standard input."""

    def run(typed: str | bytes, *words: str) -> Result:
        data = typed.encode() if isinstance(typed, str) else typed
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))
        return ask("chat", *words)

    return run


def notices(daemon: FakeDaemon) -> list[tuple[str, str]]:
    return [(call["level"], call["text"]) for call in daemon.called("conversation/note")]


def test_lines_are_prompts_of_one_conversation(daemon: FakeDaemon, chat: Any) -> None:
    result = chat("my name is Alice\n\nwho am I?\n")
    assert result.code == 0
    assert result.out == "You said: my name is Alice\nYou said: who am I?\n"
    assert len(daemon.events) == 1
    first, second = daemon.called("turn/start")
    assert first["target"] == {"kind": "new"}
    assert second["target"]["kind"] == "id"
    assert first["key"] != second["key"]
    assert first["terminal"] == "name:here"


def test_the_view_is_made_smaller_and_that_is_kept(daemon: FakeDaemon, chat: Any) -> None:
    sizes = {"tokens_before": 90, "tokens_after": 40}
    daemon.shrunk = [
        {"state": "finished", "text": "Compacted: 90 -> 40 tokens.", **sizes},
        {"undone": "compact", **sizes},
        {"pruned": False},
        {"state": "failed", "text": "Compression failed, conversation may hit limits soon"},
    ]
    result = chat("/compact\n/compact --undo\n/prune\n/compact\n/exit\n", "-s", "talk")
    assert result.code == 1
    assert result.err.splitlines()[:3] == [
        "Compacted: 90 -> 40 tokens.",
        "Taken back: the compaction (90 -> 40 tokens).",
        "There is nothing to prune.",
    ]
    assert "Compression failed, conversation may hit limits soon" in result.err
    assert notices(daemon)[:2] == [
        ("command", "User executed command: /compact"),
        ("result", "Command result: Compacted: 90 -> 40 tokens."),
    ]
    assert daemon.called("turn/start") == []


def test_commands_are_kept_and_never_sent(daemon: FakeDaemon, chat: Any) -> None:
    result = chat("/models list\n/help\n/clear\n/exit\nnever reached\n", "-s", "talk")
    assert result.code == 0
    assert "fake/echo      8k  default" in result.out
    assert "/exit         leave" in result.out
    assert notices(daemon) == [
        ("command", "User executed command: /models list"),
        ("result", "Command result: 1 model available"),
        ("command", "User executed command: /help"),
        ("result", "User viewed help"),
        ("command", "User executed command: /clear"),
        ("result", "Command result: view cleared"),
        ("command", "User executed command: /exit"),
    ]
    assert daemon.called("turn/start") == []
    (conversation_id,) = daemon.events
    assert len(daemon.called("conversation/clear")) == 1
    assert daemon.names[conversation_id] == "talk"
    assert daemon.terminals == {"name:here": conversation_id}


def test_commands_alone_make_a_conversation_and_exit_alone_none(
    daemon: FakeDaemon, chat: Any
) -> None:
    assert chat("exit\n").code == 0
    assert daemon.events == {}
    chat("/models\nexit\n", "-m", "fake/x", "-S", "Be brief.")
    (created,) = daemon.called("conversation/create")
    assert (created["model"], created["system"]) == ("fake/x", "Be brief.")
    assert notices(daemon)[-1] == ("command", "User executed command: exit")


def test_the_settings_may_say_to_keep_no_notices(daemon: FakeDaemon, chat: Any) -> None:
    daemon.settings["persist_special_commands"] = False
    result = chat("/help\n/models\n/exit\n", "-s", "talk")
    assert "leave" in result.out
    assert notices(daemon) == []
    assert len(daemon.called("config/read")) == 2  # for notices once; for the keys of a list


def test_an_unknown_command_is_an_error_and_a_path_is_a_prompt(
    daemon: FakeDaemon, chat: Any
) -> None:
    result = chat("/modles\n/help me\n")
    assert result.code == 2
    assert "Unknown command: /modles" in result.err
    assert "Usage: /help, and nothing else" in result.err
    assert daemon.events == {}
    assert chat("/etc/passwd is what?\n").out == "You said: /etc/passwd is what?\n"


def test_options_hold_for_every_prompt(daemon: FakeDaemon, chat: Any) -> None:
    chat("one\ntwo\n", "-m", "fake/x")
    assert [call["options"] for call in daemon.called("turn/start")] == [{"model": "fake/x"}] * 2


def test_tools_are_said_with_every_prompt(daemon: FakeDaemon, chat: Any) -> None:
    """And with prompts alone: no conversation is made with them."""
    result = chat("/help\nhi\n", "-T", "read,time__*", "--approve", "deny")
    assert result.code == 0
    (said,) = [call["options"] for call in daemon.called("turn/start")]
    assert said == {"tools": ["read", "time__*"], "approve": "deny"}


def test_a_chat_goes_on_where_it_is_told(daemon: FakeDaemon, chat: Any) -> None:
    conversation_id = daemon.create("work")
    chat("one\n", conversation_id[:6])
    chat("two\n", "-c")
    assert {call["target"]["value"] for call in daemon.called("turn/start")} == {conversation_id}
    assert chat("x\n", "nobody").code == 3
    assert chat("x\n", "work", "-c").code == 2


def test_a_refused_prompt_does_not_end_the_chat(daemon: FakeDaemon, chat: Any) -> None:
    daemon.refusals["turn/start"] = Refusal("not_configured", "No model.", hint="Set a key.")
    result = chat("one\n/help\n", "-s", "talk")
    assert result.code == 4
    assert result.err.splitlines() == ["No model.", "Set a key."]
    assert ("result", "User viewed help") in notices(daemon)


def test_a_failed_turn_is_said_and_the_chat_goes_on(daemon: FakeDaemon, chat: Any) -> None:
    daemon.outcome = lambda text: (
        {"outcome": "failed", "code": 5, "message": "Slow down."} if text == "fast" else {}
    )
    result = chat("fast\nslow\n")
    assert result.code == 5
    assert "Slow down." in result.err
    assert "You said: slow" in result.out


def test_a_line_that_is_no_text_is_refused(daemon: FakeDaemon, chat: Any) -> None:
    result = chat(b"\xff\xfe\nfine\n")
    assert result.code == 2
    assert "UTF-8" in result.err


def test_ctrl_c_interrupts_the_turn_alone(
    daemon: FakeDaemon, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon.hold.clear()
    before = daemon._turn_interrupt

    def interrupted(params: dict[str, Any]) -> dict[str, Any]:
        daemon.outcome = lambda text: {"outcome": "interrupted", "code": 1} if text == "a" else {}
        daemon.hold.set()
        return before(params)

    monkeypatch.setattr(daemon, "_turn_interrupt", interrupted)
    chat = run("chat", stdin=subprocess.PIPE)
    assert chat.process.stdin is not None
    chat.process.stdin.write(b"a\nb\n")
    chat.process.stdin.flush()
    chat.wait_for("You said: ")
    chat.press_ctrl_c()
    chat.wait_for("You said: b")
    code, _ = chat.end()
    assert len(daemon.called("turn/interrupt")) == 1
    assert "(interrupted)" in chat.err
    assert code == 130


class Person:
    """Somebody at a terminal in a chat."""

    def __init__(self, *words: str) -> None:
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.environ["TERM"] = "dumb"  # another terminal has an editor: see tests/client/chat
            os.execv(sys.executable, [sys.executable, "-m", "ask", "chat", *words])
        self.shown = ""
        self._watchdog = threading.Timer(LIMIT_S, os.kill, (self.pid, signal.SIGKILL))
        self._watchdog.start()

    def __enter__(self) -> "Person":
        return self

    def __exit__(self, *_: object) -> None:
        self._watchdog.cancel()
        os.close(self.terminal)

    def wait_for(self, text: str) -> str:
        """Read until it is shown; what came before it."""
        while text not in self.shown:
            self.shown += os.read(self.terminal, 65536).decode().replace("\r\n", "\n")
        before, _, self.shown = self.shown.partition(text)
        return before

    def type(self, text: str) -> None:
        os.write(self.terminal, text.encode())

    def leave(self) -> int:
        """Press Ctrl-D; the exit code."""
        self.type("\x04")
        with suppress(OSError):  # EIO: the terminal is closed
            while data := os.read(self.terminal, 65536):
                self.shown += data.decode().replace("\r\n", "\n")
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def test_a_person_is_prompted_and_leaves_with_ctrl_d(daemon: FakeDaemon, home: Path) -> None:
    with Person("-s", "talk") as person:
        person.wait_for("Chat in talk.")
        person.wait_for("> ")
        person.type("half a li")
        person.wait_for("half a li")
        # Python loses one that comes while it handles a key; a person presses it again.
        while True:
            person.type("\x03")
            if select.select([person.terminal], [], [], 1)[0]:
                break
        person.wait_for("(/exit or Ctrl-D leaves)")
        person.wait_for("> ")
        person.type("hello\n")
        person.wait_for("You said: hello")
        person.wait_for("> ")
        person.type("/nonsense\n")
        person.wait_for("Unknown command: /nonsense")
        person.wait_for("> ")
        assert person.leave() == 0
    assert [call["parts"][0]["text"] for call in daemon.called("turn/start")] == ["hello"]


def test_a_person_may_mention_a_file(daemon: FakeDaemon, home: Path, tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("pass\n")
    with Person("-s", "talk") as person:
        person.wait_for("> ")
        person.type(f"fix @{tmp_path}/x.py\n")
        person.wait_for(f"You said: fix {tmp_path}/x.py")
        person.wait_for("> ")
        person.type(f"fix @{tmp_path}/nope.py\n")
        person.wait_for(f"There is no file {tmp_path}/nope.py to attach.")
        person.wait_for("> ")
        assert person.leave() == 0
    (call,) = daemon.called("turn/start")
    assert call["parts"][1:] == [
        {"type": "text", "text": "pass\n", "name": f"{tmp_path}/x.py"},
    ]
    with Person("-s", "talk", "--no-mentions") as person:
        person.wait_for("> ")
        person.type(f"fix @{tmp_path}/nope.py\n")
        person.wait_for(f"You said: fix @{tmp_path}/nope.py")
        person.wait_for("> ")
        assert person.leave() == 0


def test_a_scripts_lines_are_content(daemon: FakeDaemon, chat: Any) -> None:
    assert chat("see @./nope.py\n").out == "You said: see @./nope.py\n"


def test_a_person_sees_once_what_others_say_meanwhile(daemon: FakeDaemon, home: Path) -> None:
    conversation_id = daemon.create("talk", live=True)
    daemon.say(conversation_id, "long ago")
    with Person("talk") as person:
        person.wait_for("Chat in talk.")
        assert "long ago" not in person.wait_for("> ")
        daemon.say(conversation_id, "from elsewhere")
        person.type("\n")
        person.wait_for("> from elsewhere\n\nYou said: from elsewhere\n\n")
        person.wait_for("> ")
        daemon.say(conversation_id, "once more")
        person.type("mine\n")
        person.wait_for("> once more\n\nYou said: once more\n\n")
        person.wait_for("You said: mine\n")
        person.wait_for("> ")
        person.type("/help\n")
        assert person.wait_for("/help    ").strip() == "/help"
        person.wait_for("Ctrl-C stops an answer.\n> ")
        assert person.leave() == 0
        assert "You said" not in person.shown
        assert "User" not in person.shown
        assert conversation_id[:8] not in person.shown


def test_a_new_chat_says_its_id_at_the_end(daemon: FakeDaemon, chat: Any, home: Path) -> None:
    with Person() as person:
        person.wait_for("Chat in a new conversation.")
        person.type("hello\n")
        person.wait_for("You said: hello\n> ")
        assert person.leave() == 0
        (conversation_id,) = daemon.events
        assert person.shown.endswith(f"\n{conversation_id[:8]}\n")
    assert chat("exit\n").err == ""


def test_a_lost_daemon_ends_the_chat(ask: Ask, chat: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    result = chat("hello\n")
    assert result.code == 69
    assert "askd is not installed" in result.err


@pytest.mark.parametrize("line", ["hi", "/clear", "/help", "/exit"])
def test_a_chat_whose_conversation_is_deleted_says_so_once_and_ends(
    daemon: FakeDaemon, chat: Any, line: str
) -> None:
    daemon.create("work")
    for method in ("conversation/note", "conversation/clear", "turn/start"):
        daemon.refusals[method] = Refusal("conversation_not_found", "Conversation not found: id=x")
    result = chat(f"{line}\n{line}\n", "-s", "work")
    assert (result.code, result.out) == (3, "")
    assert result.err.splitlines() == [
        "This conversation has been deleted, so the chat ends.",
        "Begin another: ask chat",
    ]


def test_without_the_extra_a_person_is_told_of_it(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ask.commands.chat.can_draw", lambda environ: True)
    monkeypatch.setattr("ask.chat.means.NEEDED", ("no_such_module",))
    monkeypatch.setattr(sys, "stdin", Typed("/exit\n"))
    result = ask("chat")
    assert result.code == 0
    assert MISSING in result.err
