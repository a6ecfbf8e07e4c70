"""What is asked in a chat at a real terminal: forms of servers, calls, and who answers them."""

import json
import shlex
import shutil
from collections.abc import Iterator

import pytest

from tests.system.chats import ALLOW, Panes, find_line, heard, prompts
from tests.system.test_elicitation import FORM, SEND, answers, check_closed, open_tools, prompt
from tests.system.test_elicitation import heard as told
from tests.system.tool_servers import Tools
from tests.system.world import ASK


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tools]:
    """One daemon and one server that asks, for all tests here."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    with open_tools(tmp_path_factory.mktemp("forms")) as found:
        del found.world.env["ASK_TERMINAL"]
        yield found


@pytest.fixture
def tools(shared: Tools) -> Iterator[Tools]:
    """The same, and nothing left of the conversation of the test before."""
    yield shared
    assert shared.world.ask("history", "delete", "work", "--yes").code in (0, 3)


@pytest.fixture
def panes(tools: Tools) -> Iterator[Panes]:
    found = Panes(tools.world, columns=100, rows=60, cwd=tools.project)
    yield found
    found.close()


def sit(panes: Panes) -> None:
    panes.chat("-s", "work", "-T", "all", "--approve", "auto")


def ask(panes: Panes, tool: str = "here__elicit", **arguments: object) -> None:
    panes.type("CALLS:" + json.dumps([[tool, {"text": "Who are you?", **arguments}]]))


def answer(panes: Panes, typed: str, said: str, pane: str = "%0") -> None:
    """Type what a field is filled with; wait for what is said of it, and for the next line."""
    before = panes.screen(pane, past=True).count(said)
    panes.type(typed, pane)
    panes.wait_until(lambda now: now.count(said) > before, pane, past=True)
    panes.wait_until(lambda now: find_line(now).endswith((":", ")")), pane)


def test_a_form_is_filled_in_field_by_field(tools: Tools, panes: Panes) -> None:
    sit(panes)
    # It is long, and may come as several lines.
    ask(panes, schema=FORM)
    panes.wait_line("A text, at least 2 characters:")
    shown = panes.screen(past=True)
    assert 'Asked by the server "here", in a call of here__elicit:' in shown
    assert "  | Who are you?" in shown
    assert "Type no password and no key" in shown
    for typed, said in (
        ("A", "This is at least 2 characters."),
        ("Ada", "A text (email):"),
        ("nowhere", "This is no e-mail address (as ada@example.org)."),
        ("ada@example.org", "A whole number, 1 to 9 [3]:"),
        ("ten", "This is a whole number."),
        ("", "One of them (1-2):"),
        ("2", "Any of them (1-3, with commas), at most 2:"),
        ("1,3", "Yes or no (y/n) [n]:"),
        ("/back", "at most 2:"),
        ("3, 1", "Yes or no (y/n) [n]:"),
        ("y", SEND.strip()),
    ):
        answer(panes, typed, said)
    shown = panes.screen(past=True)
    assert "  | size: 3\n  | colour: b (Blue)\n" in shown
    answer(panes, "perhaps", SEND.strip())
    panes.type("1")
    panes.wait_idle("\ndone\n")
    content = {
        "name": "Ada",
        "mail": "ada@example.org",
        "size": 3,
        "colour": "b",
        "toppings": ["z", "x"],
        "fast": True,
    }
    assert told(tools) == {"action": "accept", "content": content}
    panes.type("ECHO:on we go")
    panes.wait_idle("\non we go\n")
    panes.leave()
    assert len(prompts(tools.world)) == 2  # no field was taken for a prompt
    check_closed(tools)


@pytest.mark.parametrize(("typed", "action"), [("/decline", "decline"), ("/cancel", "cancel")])
def test_a_no_is_said_at_any_field(tools: Tools, panes: Panes, typed: str, action: str) -> None:
    sit(panes)
    ask(panes)
    panes.wait_line("A text:")
    panes.type(typed)
    panes.wait_idle("\ndone\n")
    assert told(tools) == {"action": action}
    panes.leave()
    check_closed(tools)


def test_what_was_half_typed_is_there_again_after_a_question(tools: Tools, panes: Panes) -> None:
    sit(panes)
    ask(panes)
    panes.wait_line("A text:")
    answer(panes, "Ada", SEND.strip())
    panes.type("y")
    panes.wait_idle("\ndone\n")
    panes.keys("ECHO:half a thou")
    panes.wait_line("> ECHO:half a thou")
    asked = tools.world.start(*prompt(), cwd=tools.project)
    panes.wait_line("A text:")
    answer(panes, "Grace", "name: Grace")
    panes.wait_line(SEND.strip())
    panes.type("y")
    panes.wait_line("> ECHO:half a thou")
    assert asked.finish().code == 0
    panes.type("ght")
    panes.wait_idle("\nhalf a thought\n")
    assert heard(tools.world) == "ECHO:half a thought"
    assert [each["content"]["name"] for each in answers(tools)] == ["Ada", "Grace"]
    panes.leave()


def test_two_terminals_one_form(tools: Tools, panes: Panes) -> None:
    sit(panes)
    ask(panes)
    panes.wait_line("A text:")
    panes.keys("half of it")
    panes.wait_line("A text: half of it")
    other = panes.open()
    panes.type(shlex.join([ASK, "attach", "work"]), other)
    panes.wait_line("A text:", other)
    answer(panes, "Grace", "name: Grace", other)
    panes.type("y", other)
    shown = panes.wait_idle("\ndone\n")
    assert f"Answered elsewhere: Send it (in the tmux pane {other})" in shown
    assert told(tools)["content"] == {"name": "Grace"}
    panes.wait_for("\ndone\n", other)
    assert "Answered elsewhere" not in panes.screen(other, past=True)
    panes.press("C-d", pane=other)
    panes.wait_code(0, other)
    panes.press("C-u")
    panes.leave()


def test_ctrl_c_ends_the_turn_and_the_question_with_it(tools: Tools, panes: Panes) -> None:
    sit(panes)
    ask(panes)
    panes.wait_line("A text:")
    panes.press("C-c")
    panes.wait_idle("(interrupted)")
    panes.type("ECHO:on we go")
    panes.wait_idle("\non we go\n")
    (answered,) = answers(tools)
    assert (answered["by"], answered["decision"]) == ("closed", "cancel")
    panes.leave()
    check_closed(tools)


def test_several_calls_are_answered_by_keys_and_a_no_says_why(tools: Tools, panes: Panes) -> None:
    panes.chat("-s", "work", "-T", "all")
    calls = [["write_file", {"path": f"{name}.txt", "content": "x\n"}] for name in "abc"]
    panes.type(f"CALLS:{json.dumps(calls)}")
    panes.wait_for("Write a.txt")
    panes.choose("y")
    panes.wait_until(lambda shown: "Write b.txt" in shown and shown.count(ALLOW) == 2)
    panes.type("n because it is mine")
    panes.wait_until(lambda shown: "Write c.txt" in shown and shown.count(ALLOW) == 3)
    panes.choose("3")
    panes.wait_idle("\ndone\n")
    assert (tools.project / "a.txt").exists()
    assert not (tools.project / "b.txt").exists()
    assert not (tools.project / "c.txt").exists()
    said = [(each["decision"], each.get("reason")) for each in answers(tools)]
    assert said == [("yes", None), ("no", "it is mine"), ("no", None)]
    panes.leave()
    check_closed(tools)
