"""`ask chat` in a real terminal: streamed, queued, steered, stopped, asked, lost, resized."""

import json
import re
import shlex

import pytest

from tests.system.chats import ALLOW, Panes, outcomes, prompts
from tests.system.world import ASK, World

WRITE = "CALLS:" + json.dumps([["write_file", {"path": "notes.md", "content": "new\n"}]])


@pytest.fixture
def world(talks: World) -> World:
    """One for all: a daemon that a test ends is started again by the next."""
    return talks


# ---- talking ---------------------------------------------------------------------------


def test_an_answer_grows_below_and_stands_above_once(world: World, panes: Panes) -> None:
    panes.chat("-s", "work")
    panes.type("SLOW:0.05")
    panes.wait_for("tok3")
    panes.wait_for("tok19")
    shown = panes.wait_idle("tok19")
    assert shown.count("tok7 ") == 1
    panes.wait_for("of 30k (")
    assert shown.count("> SLOW:0.05") == 1
    panes.leave()
    assert panes.screen(past=True).count("tok7 ") == 1


def test_markdown_is_painted(world: World, panes: Panes) -> None:
    panes.chat("-s", "work")
    panes.type("ECHO:**bold** and `code`")
    shown = panes.wait_for("\nbold and code")
    assert "**bold**" in shown  # in the prompt, as it was typed
    panes.leave()


def test_one_types_on_while_an_answer_comes(world: World, panes: Panes) -> None:
    panes.chat("-s", "work")
    panes.type("HOLD")
    panes.wait_for("tok2")
    panes.type("ECHO:second")
    panes.wait_for("queued 1: ECHO:second")
    panes.type("ECHO:third")
    panes.wait_for("queued 2: ECHO:third")
    panes.wait_for("2 queued")
    assert world.model is not None
    world.model.release()
    shown = panes.wait_for("\nthird\n")
    assert shown.index("\nsecond\n") < shown.index("> ECHO:third")
    panes.leave()
    assert prompts(world) == ["HOLD", "ECHO:second", "ECHO:third"]


def test_steering_redirects(world: World, panes: Panes) -> None:
    panes.chat("-s", "work")
    panes.type("HOLD")
    panes.wait_for("tok2")
    panes.type("/steer ECHO:the other way")
    shown = panes.wait_for("\nthe other way\n")
    assert "(interrupted)" in shown
    assert shown.count("tok2") == 1
    panes.leave()


def test_ctrl_c_once_and_twice(world: World, panes: Panes) -> None:
    panes.chat("-s", "work")
    panes.press("C-c")
    panes.wait_for("(/exit or Ctrl-D leaves)")
    panes.type("HOLD")
    panes.wait_for("tok2")
    panes.press("C-c")
    panes.wait_for("(interrupted)")
    panes.type("ECHO:again")
    panes.wait_for("\nagain\n")
    panes.leave()
    assert outcomes(world) == ["interrupted", "completed"]


def test_who_leaves_lets_the_turn_go_on(world: World, panes: Panes) -> None:
    panes.chat("-s", "work")
    panes.type("HOLD")
    panes.wait_for("tok2")
    panes.leave()
    assert "The turn goes on: ask attach " in panes.screen()
    assert world.model is not None
    world.model.release()
    panes.chat("-s", "work")
    panes.type("ECHO:more")
    panes.wait_for("\nmore\n")
    panes.leave()


def test_200_pasted_lines_are_one_prompt(world: World, panes: Panes) -> None:
    panes.chat("-s", "work")
    text = "ECHO:pasted\n" + "\n".join(f"line {number}" for number in range(199))
    panes.paste(text)
    panes.wait_for("line 198")
    assert prompts(world) == []
    panes.press("Enter")
    shown = panes.wait_idle("\npasted\n")
    assert "line 198" not in shown.partition("> ECHO:pasted")[2]  # shown shortened
    panes.press("Up")
    panes.wait_for("line 198")
    panes.press("C-c")
    panes.wait_gone("line 198")
    panes.leave()
    assert prompts(world) == [text]


def test_several_lines_by_hand(world: World, panes: Panes) -> None:
    panes.chat("-s", "work")
    panes.keys("ECHO:first")
    panes.press("M-Enter")
    panes.type("of two")
    panes.wait_for("\nfirst\n")
    panes.leave()
    assert prompts(world) == ["ECHO:first\nof two"]


# ---- where ----------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [40, 200])
def test_any_width(world: World, panes: Panes, columns: int) -> None:
    panes.resize(columns, 24)
    panes.chat("-s", "work")
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    panes.type("ECHO:" + f"\u4e2d\u6587 words {family} " * 12 + "the end")
    panes.wait_until(lambda shown: shown.count("the end") == 2, past=True)
    panes.wait_until(lambda shown: "Ctrl-C stops" not in shown and "here/fake" in shown)
    panes.type("/help")
    # Its last line, which is broken where the terminal is narrow, and then all that is below.
    panes.wait_until(lambda shown: "Ctrl-C" in shown and shown.rstrip().endswith("work"))
    shown = panes.screen(past=True).partition("> /help")[2]
    assert all(len(line) < columns for line in shown.split("\n")), shown
    panes.leave()


def test_a_resize_loses_nothing(world: World, panes: Panes) -> None:
    panes.chat("-s", "work")
    panes.type("HOLD:15")
    panes.wait_for("tok14")
    for columns, rows in ((200, 20), (40, 20), (120, 40)):
        panes.resize(columns, rows)
        panes.wait_for("Ctrl-C stops")
    assert world.model is not None
    world.model.release()
    panes.wait_idle("tok19")
    panes.type("ECHO:after")
    shown = panes.wait_idle("\nafter\n")
    assert shown.count("> HOLD:15") == 1
    answer = shown.rpartition("> HOLD:15")[2].partition("> ECHO:after")[0]
    assert answer.split() == [f"tok{number}" for number in range(20)]
    panes.leave()


def test_no_colour_is_plain_and_a_dumb_terminal_has_lines(world: World, panes: Panes) -> None:
    panes.chat("-s", "work", env="NO_COLOR=1 ")
    panes.type("ECHO:**bold**")
    panes.wait_for("\nbold\n")
    coloured = panes.screen(coloured=True)
    assert re.search(r"\x1b\[(3[0-7]|9[0-7])m", coloured) is None
    panes.leave()
    panes.chat("-s", "work", env="TERM=dumb ")
    panes.type("ECHO:**plain**")
    panes.wait_for("\n**plain**\n>")
    panes.leave()


def test_without_the_extra_one_sentence_says_so_and_it_is_plain(world: World, panes: Panes) -> None:
    """Both packages are away, as far as the process can tell."""
    away = world.home / "away"
    away.mkdir(exist_ok=True)
    (away / "sitecustomize.py").write_text(
        "import sys\nsys.modules['prompt_toolkit'] = sys.modules['rich'] = None\n"
    )
    panes.chat("-s", "work", env=f"PYTHONPATH={away} ")
    panes.wait_for("\nAn editor, and answers painted: pip install 'askd[chat]'\n")
    panes.type("ECHO:**plain**")
    panes.wait_for("\n**plain**\n>")
    panes.type("/help")
    # A Ctrl-D that comes before the reader has the terminal is none when it takes over.
    panes.wait_for("Ctrl-C stops an answer.\n>")
    panes.leave()
    # A prompt by itself is answered as it came, and nothing is said.
    panes.type(f"clear; PYTHONPATH={away} {ASK} -q 'ECHO:**plain too**'")
    panes.wait_for("**plain too**\n$")


# ---- others ---------------------------------------------------------------------------


def test_an_approval_here_and_from_another_terminal(world: World, panes: Panes) -> None:
    notes = world.home / "notes.md"
    notes.write_text("old\n")
    panes.chat("-s", "work", "-T", "all")
    panes.type(WRITE)
    shown = panes.wait_for(ALLOW)
    assert "  | -old" in shown
    panes.choose("y")
    panes.wait_idle("\ndone\n")
    assert notes.read_text() == "new\n"
    notes.write_text("old\n")
    panes.type(WRITE)
    panes.wait_until(lambda shown: shown.count("Allow it?") == 2)
    other = panes.open()
    panes.type(shlex.join([ASK, "attach", "work"]), other)
    panes.wait_for("Allow it?", other)
    panes.type("n because of lunch", other)
    panes.wait_for("Answered elsewhere: No")
    panes.wait_until(lambda shown: shown.count("\ndone\n") == 2)
    panes.wait_gone("Ctrl-C stops")
    assert notes.read_text() == "old\n"
    panes.leave()


def test_what_another_terminal_asks_is_seen_live(world: World, panes: Panes) -> None:
    panes.chat("-s", "work")
    panes.type("ECHO:mine")
    panes.wait_for("\nmine\n")
    asked = world.start("-s", "work", "HOLD")
    asked.wait_for("tok2")
    shown = panes.wait_for("tok2")
    assert "> (from another terminal) HOLD" in shown
    assert world.model is not None
    world.model.release()
    assert asked.finish().code == 0
    panes.wait_idle("tok19")
    panes.leave()


# ---- lost -----------------------------------------------------------------------------


def test_a_daemon_that_dies_is_found_again(world: World, panes: Panes) -> None:
    panes.chat("-s", "work")
    panes.type("ECHO:before")
    panes.wait_idle("\nbefore\n")
    killed = world.daemon_pid()
    world.kill_daemon()
    panes.wait_for("connection lost")
    assert world.daemon_pid() == killed  # nobody asks anything: none is started
    panes.type("ECHO:after")
    shown = panes.wait_idle("\nafter\n")
    assert "connection lost" not in shown
    assert shown.count("\nbefore\n") == 1
    panes.leave()
    assert prompts(world) == ["ECHO:before", "ECHO:after"]


def test_a_daemon_that_dies_while_it_answers(world: World, panes: Panes) -> None:
    panes.chat("-s", "work")
    panes.type("HOLD")
    panes.wait_for("tok2")
    world.wait_saved("tok2")
    world.kill_daemon()
    panes.wait_for("(interrupted)")
    panes.type("ECHO:after")
    shown = panes.wait_for("\nafter\n")
    assert shown.count("tok2") == 1
    panes.leave()


def test_a_conversation_that_is_deleted_elsewhere(world: World, panes: Panes) -> None:
    panes.chat("-s", "work")
    panes.type("ECHO:hi")
    panes.wait_for("\nhi\n")
    world.ok("history", "delete", "work", "--yes")
    panes.wait_for("This conversation has been deleted, so the chat ends.")
    panes.wait_code(3)


# ---- commands --------------------------------------------------------------------------


def test_each_slash_command_once(world: World, panes: Panes) -> None:
    (world.home / "a.txt").write_text("attached\n")
    panes.chat("-s", "work")
    panes.type("ECHO:hi")
    panes.wait_for("\nhi\n")
    for line, shown in (
        ("/help", "Ctrl-C stops an"),
        ("/models", "here/fake"),
        ("/model here/fake", "Further prompts go to here/fake."),
        ("/system Be brief.", "Further prompts have this system prompt."),
        ("/tools read", "Further prompts offer: read"),
        ("/approve deny", "Approval: deny"),
        ("/usage", "Total"),
        ("/attach a.txt", "With the next prompt: a.txt (9 bytes)"),
        ("/pin", "Pinned: this conversation."),
        ("/save talk.md", "Saved to talk.md"),
        ("/history 1", "Messages: "),
        ("/prune", "There is nothing to prune."),
        ("/compact", "There is nothing to compact"),
        ("/clear", "The next prompt starts afresh"),
        ("/steer on", "Nothing is being answered: just ask."),
        ("/modle", "Did you mean /model?"),
        ("//slashed", "> /slashed"),
    ):
        panes.type(line)
        panes.wait_for(shown)
    panes.wait_idle("tok19")
    panes.type("/exit")
    panes.wait_code(0)
    assert "hi" in (world.home / "talk.md").read_text()
    sent = [e for e in world.events("work") if e["type"] == "prompt_accepted"][-1]
    assert [part["text"] for part in sent["items"][0]["parts"]] == ["/slashed", "attached\n"]
    assert sent["options"]["system"] == "Be brief."
    notices = [
        e["item"]["text"]
        for e in world.events("work")
        if e["type"] == "item_added" and e["item"]["type"] == "notice"
    ]
    assert "User executed command: /exit" in notices
    assert world.model is not None
    assert "User executed" not in json.dumps(world.model.requests())
