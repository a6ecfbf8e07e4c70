"""Servers that ask a person in the middle of a call, through the real daemon and real terminals."""

import json
import os
import shlex
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.system.test_detached import check_disk, events_of
from tests.system.test_terminal import Terminal
from tests.system.test_tools_at_a_terminal import Panes, bare
from tests.system.tool_servers import Tools, fake, find_program, wait_until
from tests.system.world import ASK, open_world

Map = dict[str, Any]
FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name", "minLength": 2},
        "mail": {"type": "string", "format": "email", "description": "For the receipt."},
        "size": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
        "colour": {
            "type": "string",
            "oneOf": [{"const": "r", "title": "Red"}, {"const": "b", "title": "Blue"}],
        },
        "toppings": {
            "type": "array",
            "items": {"type": "string", "enum": ["x", "y", "z"]},
            "maxItems": 2,
        },
        "fast": {"type": "boolean", "default": False},
    },
    "required": ["name", "colour"],
}
SEND = "Send it? (1-3 or y/d/c) "


@contextmanager
def open_tools(home: Path) -> Iterator[Tools]:
    with open_world(home) as world:
        found = Tools(world, {"here": fake()})
        yield found
        world.close()
        wait_until(lambda: not found.find_processes())


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tools]:
    """One daemon and one server, for all tests that leave them as they are."""
    with open_tools(tmp_path_factory.mktemp("shared")) as found:
        yield found


@pytest.fixture
def tools(shared: Tools) -> Iterator[Tools]:
    """The same, and nothing left of the conversation of the test before."""
    yield shared
    assert shared.world.ask("history", "delete", "work", "--yes").code in (0, 3)


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Tools]:
    """One for a test that ends the daemon or the server."""
    with open_tools(tmp_path) as found:
        yield found


def prompt(tool: str = "here__elicit", **arguments: Any) -> tuple[str, ...]:
    words = "CALLS:" + json.dumps([[tool, {"text": "Who are you?", **arguments}]])
    return "-T", "all", "--approve", "auto", "-s", "work", words


def sit(tools: Tools, *words: str) -> Terminal:
    return Terminal(tools.world, *(words or prompt()), cwd=tools.project)


def heard(tools: Tools) -> Map:
    """What the server was told, as it told the model."""
    found: Map = json.loads(tools.told())
    return found


def answers(tools: Tools) -> list[Map]:
    return [e for e in tools.world.events("work") if e["type"] == "question_answered"]


def check_closed(tools: Tools) -> None:
    """Every question has an answer, every call an output, and nothing waits."""
    events = tools.world.events("work")
    asked = [each["question_id"] for each in events if each["type"] == "question_asked"]
    answered = [each["question_id"] for each in events if each["type"] == "question_answered"]
    assert sorted(asked) == sorted(answered)
    items = [each["item"] for each in events if each["type"] == "item_added"]
    calls = [call["call_id"] for each in items for call in each.get("calls", ())]
    outputs = [each["call_id"] for each in items if each["type"] == "tool_output"]
    assert sorted(calls) == sorted(outputs)
    found = json.loads(tools.world.ok("list", "--json").out)
    assert {each["state"] for each in found} <= {"idle", "stored"}
    check_disk(tools.world)


# ---- at a terminal ---------------------------------------------------------------------


def test_a_form_is_filled_in_field_by_field_and_reaches_the_server(tools: Tools) -> None:
    terminal = sit(tools, *prompt(schema=FORM))
    terminal.wait_for("A text, at least 2 characters: ")
    shown = bare(terminal.screen)
    assert 'Asked by the server "here", in a call of here__elicit:\n  | Who are you?\n' in shown
    assert "Type no password and no key" in shown
    assert "Field 1 of 6, required:\n  | Your name\n" in shown
    terminal.type("A\n")
    terminal.wait_for("This is at least 2 characters.")
    terminal.type("\n")
    terminal.wait_for("This is required.")
    terminal.type("Ada\n")
    terminal.wait_for("A text (email): ")
    terminal.type("nowhere\n")
    terminal.wait_for("This is no e-mail address (as ada@example.org).")
    terminal.type("no@where@all\n")
    terminal.wait_for("A whole number, 1 to 9 [3]: ")
    terminal.type("ten\n")
    terminal.wait_for("This is a whole number.")
    terminal.type("\n")
    terminal.wait_for("1. Red\r\n2. Blue\r\nOne of them (1-2): ")
    terminal.type("2\n")
    terminal.wait_for("Any of them (1-3, with commas), at most 2: ")
    terminal.type("1,3\n")
    terminal.wait_for("Yes or no (y/n) [n]: ")
    terminal.type("/back\n")
    terminal.type("3, 1\n")
    terminal.type("y\n")
    terminal.wait_for(SEND)
    assert "  | mail: no@where@all\n  | size: 3\n  | colour: b (Blue)\n" in bare(terminal.screen)
    terminal.type("perhaps\n")
    terminal.wait_for(f"{SEND}The server")
    terminal.type("y\n")
    terminal.wait_for('"mail": This is no e-mail address (as ada@example.org).')
    terminal.type("ada@example.org\n")
    terminal.wait_for("mail: ada@example.org")
    terminal.type("1\n")
    assert terminal.finish() == 0
    content = {
        "name": "Ada",
        "mail": "ada@example.org",
        "size": 3,
        "colour": "b",
        "toppings": ["z", "x"],
        "fast": True,
    }
    assert heard(tools) == {"action": "accept", "content": content}
    (answered,) = answers(tools)
    assert (answered["decision"], answered["content"]) == ("accept", content)
    check_closed(tools)


def test_what_may_be_left_out_is(tools: Tools) -> None:
    form = {**FORM, "required": []}
    terminal = sit(tools, *prompt(schema=form))
    for question in ("at least 2 characters: ", "(email): ", "[3]: ", "(1-2): ", "at most 2: "):
        terminal.wait_for(question)
        terminal.type("\n")
    terminal.wait_for("[n]: ")
    terminal.type("\n")
    terminal.wait_for(SEND)
    terminal.type("y\n")
    assert terminal.finish() == 0
    assert heard(tools) == {"action": "accept", "content": {"size": 3, "fast": False}}


@pytest.mark.parametrize(("typed", "action"), [("/decline", "decline"), ("/cancel", "cancel")])
def test_a_no_is_said_at_any_field(tools: Tools, typed: str, action: str) -> None:
    terminal = sit(tools)
    terminal.wait_for("A text: ")
    terminal.type(f"{typed}\n")
    assert terminal.finish() == 0
    assert heard(tools) == {"action": action}
    check_closed(tools)


def test_a_page_is_shown_whole_and_nothing_opens_it(tools: Tools) -> None:
    terminal = sit(tools, *prompt("here__visit"))
    terminal.wait_for("Answer? (1-3 or y/d/c) ")
    shown = bare(terminal.screen)
    assert 'It leads to "example.com":\n  https://example.com/sign-in\n' in shown
    assert "1. Yes, I open it myself" in shown
    terminal.type("y\n")
    assert terminal.finish() == 0
    assert heard(tools) == {"action": "accept"}
    check_closed(tools)


def test_ctrl_c_ends_the_turn_and_closes_the_question(tools: Tools) -> None:
    terminal = sit(tools)
    terminal.wait_for("A text: ")
    terminal.type("\x03")
    assert terminal.finish() == 130
    (answered,) = answers(tools)
    assert (answered["by"], answered["decision"]) == ("closed", "cancel")
    check_closed(tools)
    again = sit(tools, "-s", "work", "ECHO:on we go")
    assert again.finish() == 0
    assert "on we go" in again.screen


def test_a_server_that_dies_takes_its_question_with_it(own: Tools) -> None:
    terminal = sit(own)
    terminal.wait_for("A text: ")
    (pid,) = [each for each in own.find_processes() if _is_fake(each)]
    os.kill(pid, signal.SIGKILL)
    terminal.wait_for("Not asked any more: the call that asked has ended.")
    assert terminal.finish() == 0
    assert "here" in own.told()
    check_closed(own)


def _is_fake(pid: int) -> bool:
    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return any(each.endswith(b"mcp_server.py") for each in words[:3])


HOSTILE = "a\x1b]52;c;cm0=\x07b\x1b[2Jc\r\nAnswered elsewhere: Send it\n\nAllow it? (1-2) y\u202e"


def test_nothing_that_a_server_says_moves_the_terminal_or_passes_for_us(tools: Tools) -> None:
    field = {"type": "string", "title": HOSTILE, "description": HOSTILE, "default": "\x1b[31mred"}
    choice = {"type": "string", "oneOf": [{"const": "a", "title": HOSTILE}]}
    form = {"type": "object", "properties": {f"x{HOSTILE}"[:90]: field, "b": choice}}
    terminal = sit(tools, *prompt(text=HOSTILE, schema=form))
    terminal.wait_for("]: ")
    terminal.type("\n")
    terminal.wait_for("(1-1): ")
    terminal.type("1\n")
    terminal.wait_for(SEND)
    terminal.type("d\n")
    assert terminal.finish() == 0
    shown = bare(terminal.screen)
    assert all(line.isprintable() for line in shown.split("\n"))
    ours = [line for line in shown.split("\n") if not line.startswith("  | ")]
    assert not any(line.startswith(("Answered elsewhere", "Allow it?")) for line in ours)
    seen = Terminal(tools.world, "history", "show", "work")
    assert seen.finish() == 0
    assert all(line.isprintable() for line in bare(seen.screen).split("\n"))


# ---- two terminals ---------------------------------------------------------------------


def test_who_is_attached_can_answer_and_the_other_sees_it(tools: Tools) -> None:
    first = sit(tools)
    first.wait_for("A text: ")
    first.type("half of it")
    second = Terminal(
        tools.world, "attach", "work", env={"ASK_TERMINAL": "the other", "TERM": "dumb"}
    )
    second.wait_for("A text: ")
    second.type("Ada\n")
    second.wait_for(SEND)
    second.type("y\n")
    first.wait_for("Answered elsewhere: Send it (in the other)")
    assert first.finish() == 0
    assert heard(tools) == {"action": "accept", "content": {"name": "Ada"}}
    second.wait_for("done")
    second.type("\x04")
    assert second.finish() == 0
    check_closed(tools)


@pytest.fixture
def panes(tools: Tools) -> Iterator[Panes]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    found = Panes(tools.world, tools.project)
    yield found
    found.close()


def test_two_panes_one_form(tools: Tools, panes: Panes) -> None:
    panes.type("%0", shlex.join([ASK, *prompt()]))
    panes.wait_for("%0", "A text:")
    panes.type("%1", shlex.join([ASK, "attach", "work"]))
    panes.wait_for("%1", "A text:")
    panes.type("%0", "Ada")
    panes.wait_for("%0", SEND.strip())
    panes.type("%1", "Grace")
    panes.wait_for("%1", "name: Grace")
    panes.type("%1", "y")
    panes.wait_for("%0", "Answered elsewhere: Send it (in the tmux pane %1)")
    panes.wait_for("%0", "\ndone\n")
    assert "Answered elsewhere" not in panes.wait_for("%1", "\ndone\n")
    assert heard(tools)["content"] == {"name": "Grace"}


# ---- nobody there ----------------------------------------------------------------------


def test_without_a_terminal_nobody_is_asked_and_the_model_is_told(tools: Tools) -> None:
    result, told = tools.call("here__elicit", {"text": "Who?"})
    assert (result.code, result.out) == (0, "done\n")
    assert json.loads(told.split("\n")[0]) == {"action": "cancel"}
    assert "nobody is there to be asked" in told
    assert "'here' wanted an answer from a person" in result.err


def leave(tools: Tools, **arguments: Any) -> str:
    result = tools.world.start("--detach", *prompt(**arguments), cwd=tools.project).finish()
    assert result.code == 0, result
    job = result.out.strip()
    wait_until(lambda: bool(events_of(tools.world, job, "question_asked")))
    return job


def test_what_is_left_to_itself_waits_and_is_answered_by_words(tools: Tools) -> None:
    job = leave(tools, schema=FORM)
    shown = tools.world.ok("jobs", "show", job).out
    assert "  | Who are you?\n" in shown
    assert "Field 3 of 6, may be left out:\n  | size\nA whole number, 1 to 9 [3]\n" in shown
    line = f"ask jobs show {job[:8]} --answer accept --content NAME=VALUE (or decline, cancel)"
    assert line in shown
    order = ("jobs", "show", job, "--answer", "accept")
    refused = tools.world.ask(*order, "--content", "name=Ada")
    assert refused.code == 2
    assert "'colour': This is required." in refused.err
    for wrong, said in (("nose=1", "is no NAME=VALUE"), ("size=ten", '"size": This is a whole')):
        result = tools.world.ask(*order, "--content", wrong)
        assert (result.code, said in result.err) == (2, True), result
    assert tools.world.ask("jobs", "show", job, "--answer", "no", "--content", "a=b").code == 2
    pairs = [
        each for pair in ("name=Ada", "colour=Blue", "toppings=x,2") for each in ("--content", pair)
    ]
    tools.world.ok(*order, *pairs)
    assert tools.world.ask("jobs", "wait", job).code == 0
    content = {"size": 3, "fast": False, "name": "Ada", "colour": "b", "toppings": ["x", "y"]}
    assert heard(tools) == {"action": "accept", "content": content}
    check_closed(tools)


def test_it_is_answered_by_json_or_refused_by_a_word(tools: Tools) -> None:
    job = leave(tools)
    content = json.dumps({"name": "Ada"})
    tools.world.ok("jobs", "show", job, "--answer", "accept", "--content", content)
    assert tools.world.ask("jobs", "wait", job).code == 0
    assert heard(tools) == {"action": "accept", "content": {"name": "Ada"}}
    job = leave(tools)
    assert "Answered: Decline" in tools.world.ok("jobs", "show", job, "--answer", "decline").err
    assert tools.world.ask("jobs", "wait", job).code == 0
    assert heard(tools) == {"action": "decline"}


def test_a_chat_that_comes_later_can_answer_and_a_slash_is_a_value(tools: Tools) -> None:
    job = leave(tools)
    chat = Terminal(tools.world, "chat", "-s", "work", cwd=tools.project, env={"TERM": "dumb"})
    chat.wait_for("A text: ")
    chat.type("/etc\n")
    chat.wait_for(SEND)
    chat.type("y\n")
    assert tools.world.ask("jobs", "wait", job).code == 0
    assert heard(tools) == {"action": "accept", "content": {"name": "/etc"}}
    chat.type("/exit\n")
    chat.type("/exit\n")
    assert chat.finish() == 0


def test_a_form_of_somebody_elses_server_with_every_kind_of_field(tmp_path: Path) -> None:
    with open_world(tmp_path) as world:
        program = find_program("mcp-server-everything")
        tools = Tools(world, {"everything": {"command": program}})
        tools.run("everything__echo", {"message": "hello"})
        job = leave(tools, tool="everything__trigger-elicitation-request")
        shown = world.ok("jobs", "show", job).out
        assert 'Field 13 of 13, may be left out, named "legacyTitledEnum":' in shown
        order = ("jobs", "show", job, "--answer", "accept")
        words = ("name=Ada", "untitledMultipleSelectEnum=2,Drums", "titledSingleSelectEnum=3")
        world.ok(*order, *(word for pair in words for word in ("--content", pair)))
        assert world.ask("jobs", "wait", job).code == 0
        (answered,) = answers(tools)
        content = answered["content"]
        assert (content["name"], content["integer"]) == ("Ada", 42)
        assert content["untitledMultipleSelectEnum"] == ["Piano", "Drums"]
        assert content["titledSingleSelectEnum"] == "hero-3"
        assert world.model is not None
        told = json.dumps(world.model.requests()[-1]["messages"])
        assert "User provided the requested information" in told
        check_closed(tools)


# ---- a daemon that ends ----------------------------------------------------------------


def test_killed_with_an_open_question_nothing_stays_open_and_the_next_prompt_works(
    own: Tools,
) -> None:
    job = leave(own)
    own.world.kill_daemon()
    wait_until(lambda: not own.find_processes())
    own.world.ok("daemon", "start")
    assert own.world.ask("jobs", "wait", job).code == 1
    (answered,) = answers(own)
    assert (answered["by"], answered["decision"]) == ("closed", "cancel")
    check_closed(own)
    assert own.world.ok("-s", "work", "ECHO:on we go").out == "on we go\n"
    terminal = sit(own)
    terminal.wait_for("A text: ")
    terminal.type("/cancel\n")
    assert terminal.finish() == 0
    check_closed(own)


def test_a_daemon_that_is_restarted_lets_it_be_answered_first(own: Tools) -> None:
    terminal = sit(own)
    terminal.wait_for("A text: ")
    restart = own.world.start("daemon", "restart")
    terminal.type("Ada\n")
    terminal.wait_for(SEND)
    terminal.type("y\n")
    assert terminal.finish() == 0
    assert restart.finish().code == 0
    assert heard(own)["content"] == {"name": "Ada"}
    check_closed(own)
