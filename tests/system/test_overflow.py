"""A conversation that does not fit any more: asked at a real terminal, decided without one."""

import json
import select
import signal
import time
from typing import Any

import pytest

from tests.system.test_terminal import Terminal
from tests.system.world import LIMIT_S, World

QUESTION = """\
⚠️  Your conversation history is getting too large.
Choose how you'd like to proceed:

1. Compact - Summarize the history and continue
2. Reset - Clear the history and start fresh
3. Continue - Keep the history as is (may cause issues)

Enter your choice (1-3): """
LONG = "so it goes on and on " * 100
"""Five hundred tokens and a few."""


@pytest.fixture
def full(world: World) -> World:
    """A conversation `work` that one more long prompt fills; nothing is summarised by itself."""
    file = world.ask_home / "config" / "config.toml"
    file.parent.mkdir(parents=True)
    assert world.model is not None
    # A server that wants no key: what the caller lends dies with the daemon.
    file.write_text(
        "[context]\ncompaction = false\n"
        f'[providers.here]\ndialect = "openai-chat"\nbase_url = "{world.model.base_url}"\n'
        '[models."here/fake"]\ncontext_window = 1600\nmax_output_tokens = 100\n'
    )
    world.env["ASK_MODEL"] = "here/fake"
    del world.env["OPENAI_API_KEY"]
    del world.env["OPENAI_BASE_URL"]
    for _ in range(2):
        world.ok("-s", "work", f"{LONG} ECHO:ok")
    return world


def requests(world: World) -> list[list[dict[str, Any]]]:
    """The messages of every request so far."""
    assert world.model is not None
    return [each["messages"] for each in world.model.requests()]


def events(world: World, kind: str) -> list[dict[str, Any]]:
    return [event for event in world.events("work") if event["type"] == kind]


def ends(world: World) -> list[tuple[str, int]]:
    return [(event["outcome"], event["code"]) for event in events(world, "turn_finished")]


def decided(world: World) -> list[str]:
    """The changes of the view that an overflow caused; pruning may follow by itself."""
    found = events(world, "view_changed")
    return [event["kind"] for event in found if event.get("reason") == "overflow"]


def ask_at(world: World, *options: str) -> Terminal:
    """A terminal at which the prompt that does not fit is asked."""
    return Terminal(world, "-s", "work", *options, f"{LONG} ECHO:done")


def as_shown(text: str) -> str:
    """A text as a terminal has it."""
    return text.replace("\n", "\r\n")


def is_quiet(terminal: Terminal) -> bool:
    """Whether nothing comes for a moment."""
    return not select.select([terminal.descriptor], [], [], 0.3)[0]


# ---- a terminal ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "said", "kinds"),
    [
        ("1", "Summarizing conversation...", ["compact"]),
        ("2", "Clearing conversation history...", ["clear"]),
        ("3", "Warning: the history is sent as it is", []),
    ],
)
def test_the_choice_in_these_words_and_what_follows(
    full: World, key: str, said: str, kinds: list[str]
) -> None:
    terminal = ask_at(full)
    terminal.wait_for(as_shown(QUESTION))
    assert is_quiet(terminal)
    assert len(requests(full)) == 2
    terminal.type(f"{key}\n")
    terminal.wait_for(said)
    terminal.wait_for("done")
    assert terminal.finish() == 0
    assert terminal.screen.count("Enter your choice (1-3): ") == 1
    assert decided(full) == kinds
    last = requests(full)[-1]
    if key == "2":
        assert len(last) <= 2  # neighbours of one role may have been merged
        assert "was cleared because it had become too large" in json.dumps(last)
    if key == "3":
        assert len(last) == 5


def test_other_input_asks_again(full: World) -> None:
    terminal = ask_at(full)
    terminal.wait_for(as_shown(QUESTION))
    for count, wrong in enumerate(["4", "yes", "", "1 2"], start=2):
        terminal.type(f"{wrong}\n")
        terminal.wait_for("Enter your choice (1-3): " * count)
    terminal.type("2\n")
    terminal.wait_for("Clearing conversation history...")
    assert terminal.finish() == 0


def test_the_end_of_the_input_is_no_answer(full: World) -> None:
    terminal = ask_at(full)
    terminal.wait_for(as_shown(QUESTION))
    terminal.type("\x04")
    terminal.wait_for("No answer; the question stays open for other terminals: ask attach ")
    assert is_quiet(terminal)
    assert events(full, "question_answered") == []
    other = Terminal(full, "attach", "work", env={"TERM": "dumb"})
    other.wait_for(as_shown(QUESTION))
    other.type("3\n")
    terminal.wait_for("Answered elsewhere: Continue - Keep the history as is (may cause issues)")
    terminal.wait_for("done")
    assert terminal.finish() == 0
    other.wait_for("done")
    other.type("\x04")
    assert other.finish() == 0


def test_it_is_asked_also_of_a_quiet_prompt(full: World) -> None:
    terminal = ask_at(full, "-q")
    terminal.wait_for(as_shown(QUESTION))
    terminal.type("2\n")
    terminal.wait_for("done")
    assert terminal.finish() == 0
    assert "Clearing" not in terminal.screen


def test_a_second_terminal_answers_and_the_first_hears_it(full: World) -> None:
    first = ask_at(full)
    first.wait_for(as_shown(QUESTION))
    second = Terminal(full, "attach", "work", env={"TERM": "dumb"})
    second.wait_for(as_shown(QUESTION))
    second.type("2\n")
    second.wait_for("Clearing conversation history...")
    first.wait_for(
        "\r\nAnswered elsewhere: Reset - Clear the history and start fresh (in test-terminal)\r\n"
        "Clearing conversation history...\r\n"
    )
    first.wait_for("done")
    assert first.finish() == 0
    second.type("\x04")
    assert second.finish() == 0
    assert "Answered elsewhere" not in second.screen
    (answered,) = events(full, "question_answered")
    assert answered["decision"] == "reset"


def test_a_chat_asks_for_its_own_turn(full: World) -> None:
    terminal = Terminal(full, "chat", "work", env={"TERM": "dumb"})
    terminal.wait_for("> ")
    # A terminal takes lines of 4095 bytes and no longer ones.
    terminal.type(f"{LONG} ECHO:done\n")
    terminal.wait_for(as_shown(QUESTION))
    terminal.type("1\n")
    terminal.wait_for("Summarizing conversation...")
    terminal.wait_for("done")
    terminal.type("/exit\n")
    assert terminal.finish() == 0


def test_a_chat_is_asked_what_another_turn_waits_for(full: World) -> None:
    first = ask_at(full)
    first.wait_for(as_shown(QUESTION))
    chat = Terminal(full, "chat", "work", env={"TERM": "dumb"})
    # It is told at its next line: nothing is written over what is being typed.
    chat.wait_for(as_shown(QUESTION))
    chat.type("9\n")
    chat.wait_for("Enter your choice (1-3): " * 2)
    chat.type("2\n")
    first.wait_for("Answered elsewhere: Reset")
    assert first.finish() == 0
    chat.type("/exit\n")
    assert chat.finish() == 0


def test_ctrl_c_ends_the_turn_and_its_question(full: World) -> None:
    terminal = ask_at(full)
    terminal.wait_for(as_shown(QUESTION))
    terminal.type("\x03")
    assert terminal.finish() == 130
    assert ends(full)[-1][0] == "interrupted"
    full.ok("-s", "work", "--overflow", "reset", f"{LONG} ECHO:next")


# ---- a daemon that ends --------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_it_survives_a_restart_of_the_daemon(full: World, number: int) -> None:
    terminal = ask_at(full)
    terminal.wait_for(as_shown(QUESTION))
    full.kill_daemon(number)
    full.ok("list")  # whoever comes next starts another one
    assert events(full, "turn_finished")[-1]["seq"] < events(full, "question_asked")[-1]["seq"]
    terminal.type("2\n")
    terminal.wait_for("Clearing conversation history...")
    terminal.wait_for("done")
    assert terminal.finish() == 0
    assert len(events(full, "question_asked")) == 1
    assert len(events(full, "question_answered")) == 1
    assert ends(full)[-1] == ("completed", 0)


def test_nobody_has_to_wait_at_the_terminal(full: World) -> None:
    """The window is closed, the daemon ends, and the answer comes from elsewhere."""
    first = ask_at(full)
    first.wait_for(as_shown(QUESTION))
    first.hang_up()
    first.process.wait(LIMIT_S)
    full.kill_daemon()
    second = Terminal(full, "attach", "work", env={"TERM": "dumb"})
    second.wait_for(as_shown(QUESTION))
    second.type("3\n")
    second.wait_for("done")
    second.type("\x04")
    assert second.finish() == 0
    assert ends(full)[-1] == ("completed", 0)


# ---- no terminal ---------------------------------------------------------------------


def test_without_a_terminal_it_is_compacted(full: World) -> None:
    result = full.ok("-s", "work", f"{LONG} ECHO:done")
    assert result.out == "done\n"
    assert "Summarizing conversation..." in result.err
    assert decided(full) == ["compact"]
    assert events(full, "question_asked") == []


def test_asking_without_a_terminal_ends_with_7_at_once(full: World) -> None:
    begun = time.monotonic()
    result = full.ask("-s", "work", "--overflow", "ask", f"{LONG} ECHO:done")
    assert time.monotonic() - begun < LIMIT_S / 4
    assert (result.code, result.out) == (7, "")
    assert "there is nobody to ask what to do about it" in result.err
    assert "--overflow compact, reset or continue" in result.err
    assert events(full, "question_asked") == []
    # The setting says the same, and the option goes before it.
    file = full.ask_home / "config" / "config.toml"
    file.write_text(file.read_text().replace("[context]", '[context]\noverflow = "ask"'))
    assert full.ask("-s", "work", f"{LONG} ECHO:done").code == 7
    assert full.ok("-s", "work", "--overflow", "reset", f"{LONG} ECHO:done").out == "done\n"
    assert len(requests(full)) == 3


def test_a_policy_of_the_prompt(full: World) -> None:
    result = full.ok("-s", "work", "--overflow", "continue", f"{LONG} ECHO:done")
    assert "Warning: the history is sent as it is" in result.err
    assert len(requests(full)[-1]) == 5
    result = full.ok("-s", "work", "--overflow", "reset", "-q", f"{LONG} ECHO:done")
    assert (result.out, result.err) == ("done\n", "")
    shown = json.loads(full.ok("history", "show", "work", "--context", "--json").out)
    assert "was cleared because it had become too large" in json.dumps(shown)


def test_json_is_for_programs_and_asks_nobody(full: World) -> None:
    refused = ask_at(full, "--json", "--overflow", "ask")
    assert refused.finish() == 7
    assert '"code": 7' in refused.screen
    decided = ask_at(full, "--json")
    assert decided.finish() == 0
    for terminal in (refused, decided):
        assert "Enter your choice" not in terminal.screen
        assert "question_asked" not in terminal.screen
    assert '"kind": "overflow", "text": "Summarizing conversation..."' in decided.screen


def test_a_policy_that_is_none(full: World) -> None:
    result = full.ask("--overflow", "maybe", "hello")
    assert result.code == 2
    assert "'maybe'" in result.err
