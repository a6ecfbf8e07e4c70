"""Whatever a model, a tool or another terminal says: the terminal of a chat obeys none of it."""

import json

import pytest

from tests.system.chats import ALLOW, Panes
from tests.system.painted import check_written
from tests.system.test_tool_text_at_a_terminal import CORPUS, MARKS
from tests.system.world import World

MARK = "attacker"
HOSTILE = [
    "\x1b]0;attacker\x07", "\x1b]2;attacker\x1b\\", "\x9d0;attacker\x9c",
    "\x1b]52;c;YXR0YWNrZXI=\x07", "\x1b]8;;http://attacker/\x1b\\link\x1b]8;;\x1b\\",
    "\x1b[2J\x1b[H", "\x1b[?1049h", "\x1b[31;41m", "\x1b[6n", "\x1b[c", "\x1b[20t", "\x1bc",
    "\x1bP$qm\x1b\\", "\x1b_Gi=1;AAAA\x1b\\", "\x1b^attacker\x1b\\", "\x9b2J", "\x1b[?1000h",
    "one\rtwo", "\b\b\b", "\x07", "\x0e", "\x1b[3;9r", "\u202etxt.exe\u2066", "&#27;[2J", "\x7f",
]  # fmt: skip


def test_the_check_finds_every_one_of_them() -> None:
    for each in HOSTILE:
        if each in ("one\rtwo", "\b\b\b", "&#27;[2J"):
            continue  # the editor does the same; these are seen on the screen
        with pytest.raises(AssertionError):
            check_written(each)


def pieces(texts: list[str]) -> str:
    """A prompt whose answer is these texts, in pieces that cut each of them."""
    whole = "".join(f"a{number}{text}z{number} \n\n" for number, text in enumerate(texts))
    return f"SAY:{json.dumps([whole[at : at + 5] for at in range(0, len(whole), 5)])}"


def test_an_answer_moves_colours_names_and_copies_nothing(talks: World, panes: Panes) -> None:
    panes.resize(120, 50)
    panes.chat("-s", "work")
    path = panes.record()
    (talks.home / "hostile").write_text(pieces(HOSTILE))
    talks.ok("-s", "work", stdin=(talks.home / "hostile").read_bytes())
    shown = panes.wait_idle(f"z{len(HOSTILE) - 1}")
    for number in range(len(HOSTILE)):
        assert f"a{number}" in shown.partition("SAY:")[2]
    assert "onetwo" in shown or "one two" in shown or "one\ntwo" in shown
    assert panes._run("display-message", "-p", "-t", "%0", "#{alternate_on}") == "0\n"
    assert MARK not in panes._run("display-message", "-p", "-t", "%0", "#{pane_title}")
    assert MARK not in panes._run("list-buffers")
    panes.leave()
    check_written(path.read_bytes().decode(), allowed=MARKS)


def test_of_the_whole_corpus_nothing_gets_through(talks: World, panes: Panes) -> None:
    panes.chat("-s", "work")
    path = panes.record()
    (talks.home / "corpus").write_text(f"{pieces(CORPUS)}")
    large = ("-s", "work", "-m", "here/fake-large")
    talks.ok(*large, stdin=(talks.home / "corpus").read_bytes())
    panes.wait_idle(f"z{len(CORPUS) - 1}")
    panes.leave()
    check_written(path.read_bytes().decode(), allowed=MARKS)


def test_calls_questions_and_prompts_of_others(talks: World, panes: Panes) -> None:
    panes.resize(120, 50)
    panes.chat("-s", "work", "-T", "all")
    path = panes.record()
    evil = "".join(HOSTILE)
    (talks.home / "asked").write_text(
        f"{evil}\nCALLS:{json.dumps([['run_command', {'command': f'true {evil}'}]])}"
    )
    options = ("-s", "work", "-T", "all", "--approve", "ask", "--detach")
    talks.ok(*options, stdin=(talks.home / "asked").read_bytes())
    panes.wait_for(ALLOW)
    panes.keys("n because of ")
    panes.wait_for("n because of")
    panes.paste(evil.replace("\r", ""))
    panes.press("Enter")
    panes.wait_idle("\ndone\n")
    panes.type("/history 9")
    panes.wait_for("Messages: ")
    panes.paste(f"/model {HOSTILE[0]}")
    panes.wait_for("/model")
    panes.press("Enter")
    panes.wait_for("Further prompts go to")
    panes.leave()
    check_written(path.read_bytes().decode(), allowed=MARKS)
