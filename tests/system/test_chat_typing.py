"""What is typed in a chat, at a real terminal: pasted, long, wide, looked up, completed.

What the model got is asked of the model, byte for byte.
"""

import json
from pathlib import Path

from tests.system.chats import Panes, find_line, heard, prompts
from tests.system.world import World

CODE = """\
    if x:
\treturn  'y'\x20\x20

    # \u4e2d\u6587 \U0001f469\u200d\U0001f4bb e\u0301 \\ end
"""


def pasted() -> str:
    """200 lines of a program, with all that is lost where somebody tidies up."""
    lines = [f"    line {number}\t{'x' * (number % 90)}  " for number in range(194)]
    text = CODE + "\n".join(lines) + "\n\nECHO:the whole was read\n"
    assert text.count("\n") == 200
    return text


def test_200_pasted_lines_are_one_prompt_byte_for_byte(talks: World, panes: Panes) -> None:
    text = pasted()
    panes.chat("-s", "work")
    panes.paste(text)
    panes.wait_for("ECHO:the whole was read")
    assert talks.model is not None
    before = len(talks.model.requests())
    panes.press("Enter")
    panes.wait_idle("\nthe whole was read\n")
    assert heard(talks) == text
    assert len(talks.model.requests()) == before + 1
    # And once more in the middle of a line, between what was typed by hand.
    panes.keys("Look: ")
    panes.paste(text)
    panes.keys("ECHO:twice")
    panes.wait_for("ECHO:twice")
    panes.press("Enter")
    panes.wait_idle("\ntwice\n")
    assert heard(talks) == f"Look: {text}ECHO:twice"
    panes.leave()
    assert prompts(talks) == [text, f"Look: {text}ECHO:twice"]


def test_a_pasted_text_that_begins_with_a_slash_is_no_command(talks: World, panes: Panes) -> None:
    panes.chat("-s", "work")
    panes.paste("/usr/bin/env\n/exit\nECHO:only text")
    panes.wait_for("ECHO:only text")
    panes.press("Enter")
    panes.wait_idle("\nonly text\n")
    assert heard(talks) == "/usr/bin/env\n/exit\nECHO:only text"
    panes.leave()


def test_lines_by_every_key_that_makes_one(talks: World, panes: Panes) -> None:
    panes.chat("-s", "work")
    for number, keys in enumerate((("M-Enter",), ("Escape", "Enter"), ("C-j",))):
        panes.keys(f"line {number}")
        panes.press(*keys)
        panes.wait_for(f"line {number}")
    panes.type("ECHO:four")
    panes.wait_idle("\nfour\n")
    assert heard(talks) == "line 0\nline 1\nline 2\nECHO:four"
    panes.leave()


def test_a_line_longer_than_the_window_arrives_whole(talks: World, panes: Panes) -> None:
    words = " ".join(f"word{number}" for number in range(500))
    panes.resize(40, 12)
    panes.chat("-s", "work")
    panes.keys(words)
    panes.wait_for("word499")
    panes.type(" ECHO:all of it")
    panes.wait_idle("\nall of it\n")
    assert heard(talks) == f"{words} ECHO:all of it"
    panes.press("Up")  # and can be had again, its end in sight
    panes.wait_until(lambda shown: find_line(shown).endswith("all of it"))
    panes.press("C-c")
    panes.leave()


def test_wide_letters_and_emoji_on_the_line(talks: World, panes: Panes) -> None:
    said = "\u65e5\u672c\u8a9e \ud55c\uae00 \U0001f600 e\u0301"
    panes.resize(40, 20)
    panes.chat("-s", "work")
    panes.keys(f"ECHO:{said}\u6f22x")
    panes.wait_for("\u6f22x")
    panes.press("BSpace", "BSpace")
    panes.wait_gone("\u6f22")
    panes.keys(".")
    panes.press("Home")
    panes.keys("> ")
    panes.wait_for(f"> > ECHO:{said}.")
    panes.press("Enter")
    panes.wait_until(lambda shown: shown.count(f"{said}.") == 2)
    assert heard(talks) == f"> ECHO:{said}."
    # Terminals disagree on how wide these are; what is sent is what was typed.
    people = "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea \u2764\ufe0f"
    panes.type(f"{people} ECHO:seen")
    panes.wait_idle("\nseen\n")
    assert heard(talks) == f"{people} ECHO:seen"
    panes.leave()


def test_what_was_typed_is_found_in_the_next_chat(talks: World, panes: Panes) -> None:
    panes.chat("-s", "work")
    panes.type("ECHO:an older one")
    panes.wait_idle("\nan older one\n")
    panes.paste("ECHO:a newer\nof two lines")
    panes.wait_for("of two lines")
    panes.press("Enter")
    panes.wait_idle("\na newer\n")
    panes.leave()
    panes.chat("-s", "other")
    panes.press("Up")
    panes.wait_line("of two lines")
    panes.press("Up", "Up")
    panes.wait_line("> ECHO:an older one")
    panes.press("Down")
    panes.wait_line("of two lines")
    panes.press("C-c")
    panes.wait_line(">")
    panes.press("C-r")
    panes.wait_for("I-search")
    panes.keys("an old")
    panes.wait_for("> ECHO:an older one")
    panes.press("Enter")  # ends the search
    panes.wait_gone("I-search")
    panes.press("End")
    panes.type(", again")
    panes.wait_idle("\nan older one, again\n")
    panes.leave()
    assert prompts(talks, "other") == ["ECHO:an older one, again"]
    path = talks.ask_home / "state" / "chat_history"
    assert path.stat().st_mode & 0o777 == 0o600
    assert talks.ask("history", "delete", "other", "--yes").code == 0


def test_tab_completes_commands_models_and_paths(talks: World, panes: Panes) -> None:
    for name in ("some file.py", "only.py"):
        (talks.home / name).write_text(f"# {name}\n")
    panes.chat("-s", "work")
    panes.type("/models")  # a Tab offers what is known, and waits for no provider
    panes.wait_for("here/fake-large")
    panes.keys("/mo")
    panes.wait_for("> /mo")
    panes.press("Tab")
    panes.wait_for("the models that could answer")
    panes.press("C-u")
    panes.wait_line(">")
    for typed, completed in (
        ("/compact --u", "> /compact --undo"),
        ("/model here/", "> /model here/fake"),
        ("/tools write_", "> /tools write_file"),
        ("/attach onl", "> /attach only.py"),
        ("look at @onl", "> look at @only.py"),
    ):
        panes.keys(typed)
        panes.wait_line(f"> {typed}")
        panes.press("Tab")
        panes.wait_for(completed)
        panes.press("C-u")
        panes.wait_line(">")
    panes.keys("ECHO:look at @onl")
    panes.wait_for("@onl")
    panes.press("Tab")
    panes.wait_for("@only.py")
    panes.press("Enter")
    panes.wait_idle("\nlook at only.py\n")
    assert "# only.py\n" in heard(talks)
    panes.leave()


def test_a_draft_stays_while_others_talk(talks: World, panes: Panes) -> None:
    panes.chat("-s", "work")
    panes.type("ECHO:mine")
    panes.wait_idle("\nmine\n")
    panes.keys("ECHO:half a thou")
    panes.wait_line("> ECHO:half a thou")
    said = json.dumps(["# Some\n\n", *(f"- **item{number}**\n" for number in range(60))])
    talks.ok("-s", "work", f"SAY:{said}")
    shown = panes.wait_idle("item59\n")
    assert shown.count("item7\n") == 1
    assert "> ECHO:half a thou" in shown.rpartition("item59")[2]
    panes.type("ght")
    panes.wait_idle("\nhalf a thought\n")
    panes.leave()


def test_files_that_are_attached_reach_the_model(talks: World, panes: Panes) -> None:
    Path(talks.home / "a b.txt").write_text("what is in it\n")
    panes.chat("-s", "work")
    panes.type("/attach 'a b.txt'")
    panes.wait_for("With the next prompt: a b.txt (14 bytes)")
    panes.type("ECHO:read")
    panes.wait_idle("\nread\n")
    assert "what is in it\n" in heard(talks)
    panes.type("ECHO:and now without")
    panes.wait_idle("\nand now without\n")
    assert heard(talks) == "ECHO:and now without"
    panes.leave()
