"""The table of slash commands: which line is one, what each takes, what is kept of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ask.chat.keys import IN_WORDS
from ask.chat.slash import BY_NAME, COMMANDS, is_command, lay_out_help, read_prompt, run_line
from ask.exits import USAGE, Failed
from tests.client.chat.conftest import Seat
from tests.client.commands.fake_daemon import FakeDaemon

DESIGNED = (
    "help models model system compact prune clear history tools approve usage attach pin save "
    "exit steer"
)


def test_every_command_is_there_and_in_the_help() -> None:
    assert sorted(BY_NAME) == sorted(f"/{each}" for each in DESIGNED.split())
    shown = lay_out_help()
    assert all(f"\n{each.name}" in f"\n{shown}" and each.text in shown for each in COMMANDS)
    assert max(map(len, shown.split("\n"))) < 100
    assert IN_WORDS not in shown
    assert f"\n{IN_WORDS}\nAny other line" in lay_out_help(keys=IN_WORDS)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("/help", True),
        ("/modles now", True),
        ("/", True),
        ("/etc/passwd is what?", False),
        ("//help", False),
        (" /help", False),
        ("what is /help", False),
        ("/help\nme/too", True),
        ("/* a program */\nint x;", False),
    ],
)
def test_which_line_is_a_command(line: str, expected: bool) -> None:
    assert is_command(line) is expected


def test_a_line_that_begins_with_a_slash_can_be_sent() -> None:
    assert read_prompt("//help") == "/help"
    assert read_prompt(" /help ") == "/help"
    assert read_prompt("/etc/passwd") == "/etc/passwd"


@pytest.mark.parametrize(
    "text", ["    if x:\n\treturn y\n", "// a program\nint x;\n\n", "\n\none\ntwo  "]
)
def test_several_lines_are_sent_as_they_are(text: str) -> None:
    assert read_prompt(text) == text


@given(st.text())
def test_every_line_is_a_command_or_a_prompt_that_can_be_typed(words: str) -> None:
    line = words if is_command(words) else read_prompt(words)
    assert is_command(words) or not words.strip() or line.strip()
    assert not is_command(f"/{words}") or not words.startswith("/")


def test_what_is_done_is_kept_before_and_after(daemon: FakeDaemon, seat: Seat) -> None:
    assert run_line(seat.desk, "/help ")
    assert seat.shown == [lay_out_help()]
    kept = [(each["level"], each["text"]) for each in daemon.called("conversation/note")]
    assert kept == [("command", "User executed command: /help"), ("result", "User viewed help")]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("/modles", "Unknown command: /modles (Did you mean /models? /help lists them)"),
        ("/qqq", "Unknown command: /qqq (/help lists them)"),
        ("/help me", "Usage: /help, and nothing else (/help lists the commands)"),
        ("/approve maybe", "Usage: /approve [deny|ask|auto] (/help lists the commands)"),
        ("/steer", "Usage: /steer TEXT (/help lists the commands)"),
        ("/pin 1 2", "Usage: /pin [N] (/help lists the commands)"),
    ],
)
def test_what_is_no_command_says_so_and_is_not_kept(
    daemon: FakeDaemon, seat: Seat, line: str, said: str
) -> None:
    with pytest.raises(Failed) as failed:
        run_line(seat.desk, line)
    assert failed.value.code == USAGE
    assert said in failed.value.message
    assert daemon.events == {}


def test_leaving_is_kept_where_there_was_something_to_leave(daemon: FakeDaemon, seat: Seat) -> None:
    assert not run_line(seat.desk, "/exit")
    assert daemon.events == {}
    seat.desk.begin()
    assert not run_line(seat.desk, "/exit")
    (kept,) = daemon.called("conversation/note")
    assert kept["text"] == "User executed command: /exit"
