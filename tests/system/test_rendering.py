"""Answers in a real terminal: painted while they come, all of it once, and plain where wished."""

import json
import re

import pytest

from tests.client.markdown.texts import ANSWER
from tests.system.panes import Pane, open_pane, write_script
from tests.system.world import ASK, World

LONG = "".join(f"- **w{number}** and `c{number}`\n" for number in range(60))
END = re.compile(r"code=(\d+)")


@pytest.fixture
def models(world: World) -> World:
    """The model is named, so that nothing is said about which one is used."""
    world.env["ASK_MODEL"] = "openai/fake"
    world.ok("warm")
    return world


def ask(pane: Pane, world: World, pieces: list[str | None], more: str = "-q") -> None:
    """Ask for an answer of these pieces in the pane."""
    write_script(world, "prompt", f"SAY:{json.dumps(pieces)}")
    run(pane, world, f'{ASK} {more} -- "$(cat prompt)"')


def run(pane: Pane, world: World, line: str) -> None:
    """Run a line of a shell's between two marks."""
    write_script(world, "go", f"trap : INT\necho BEGIN\n{line}\necho code=$?\n")
    pane.run("sh go")


def read(pane: Pane, code: int = 0, runs: int = 1) -> str:
    """What stands between the marks of the last run when it is over."""
    text = pane.wait_until(lambda shown: len(END.findall(shown)) == runs)
    assert int(END.findall(text)[-1]) == code, text
    return END.split(text.rpartition("BEGIN\n")[2])[0]


def cut(text: str, size: int) -> list[str | None]:
    return [text[place : place + size] for place in range(0, len(text), size)]


def said(text: str) -> str:
    return re.sub(r"[\W_]", "", text)


@pytest.mark.parametrize(("columns", "lines"), [(40, 60), (80, 60), (300, 60)])
def test_an_answer_is_painted(models: World, columns: int, lines: int) -> None:
    with open_pane(models, columns, lines) as pane:
        ask(pane, models, cut(ANSWER, 7))
        text = read(pane)
        styled = pane.show(colors=True)
    assert "Title it" in text
    assert "• two\n  • nested b" in text
    assert "│ quote a" in text
    assert "┌───┬───┐" in text
    assert "**" not in text
    assert said(text).count("Setext") == 1
    assert "\x1b[1m" in styled
    assert "\x1b[35m" in styled


@pytest.mark.parametrize(
    ("columns", "lines", "size"), [(40, 10, 3), (80, 24, 400), (60, 15, 10_000)]
)
def test_what_scrolls_away_stands_there_once(
    models: World, columns: int, lines: int, size: int
) -> None:
    with open_pane(models, columns, lines) as pane:
        ask(pane, models, cut(LONG, size))
        text = read(pane)
    assert said(text).endswith(said(LONG))
    assert said(text).count("w0and") == 1


def test_text_is_there_before_its_block_ends(models: World) -> None:
    with open_pane(models) as pane:
        ask(pane, models, ["Some **bo", None, "ld**.\n\nEnd"])
        pane.wait_for("Some **bo")
        assert models.model is not None
        models.model.release()
        assert "Some bold.\n\nEnd\n" in read(pane)


@pytest.mark.parametrize(("columns", "lines"), [(40, 24), (120, 24), (80, 40), (50, 9)])
def test_a_window_may_change_in_the_middle(models: World, columns: int, lines: int) -> None:
    pieces: list[str | None] = [LONG[:700], "half a **wo", None, "rd** more\n\n# Last\n\n*end*\n"]
    with open_pane(models, 80, 24) as pane:
        ask(pane, models, pieces)
        pane.wait_for("half a **wo")
        pane.resize(columns, lines)
        assert models.model is not None
        models.model.release()
        text = read(pane)
    whole = "".join(piece for piece in pieces if piece)
    assert said(text).endswith(said(whole))
    assert "\nLast\n" in text
    assert "\nend\n" in text


def test_ctrl_c_keeps_what_came(models: World) -> None:
    with open_pane(models) as pane:
        ask(pane, models, ["# Head\n\nsome **words** and", None, " more"])
        pane.wait_for("some **words** and")
        pane.press("C-c")
        text = read(pane, 130)
    assert "Head\n\nsome words and" in text
    assert "more" not in text.partition("Head")[2]


@pytest.mark.parametrize(
    ("env", "more"),
    [
        ({"NO_COLOR": "1"}, "-q"),
        ({"TERM": "dumb"}, "-q"),
        ({"ASK_RENDER": "plain"}, "-q"),
        ({"ASK_RENDER": "plain"}, "-q --temperature 0"),
        ({}, "-q --raw"),
        ({}, "-q --raw --temperature 0"),
    ],
)
def test_who_wants_it_plain_has_it_plain(models: World, env: dict[str, str], more: str) -> None:
    text = ANSWER.replace("\t", "    ")
    with open_pane(models, 80, 60, **env) as pane:
        ask(pane, models, cut(text, 50), more)
        assert read(pane) == text
        assert "\x1b[" not in pane.show(colors=True)


def test_pipes_and_files_get_the_text_as_it_came(models: World) -> None:
    prompt = f"SAY:{json.dumps(cut(ANSWER, 50))}"
    assert models.ok("-q", "--", prompt).out == ANSWER
    with open_pane(models, 80, 60) as pane:
        write_script(models, "prompt", prompt)
        run(pane, models, f'{ASK} -q -- "$(cat prompt)" | head -1')
        assert read(pane) == "# Title *it*\n"
        run(pane, models, f'{ASK} -q -- "$(cat prompt)" > out 2> err')
        assert read(pane, runs=2) == ""
        run(pane, models, f'{ASK} -o answer.md -- "$(cat prompt)" 2> err')
        assert "Title it\n\nSome bold" in read(pane, runs=3)
    assert (models.home / "out").read_text() == ANSWER
    assert (models.home / "answer.md").read_text() == ANSWER


@pytest.mark.parametrize("more", ["-q --temperature 0", "--usage"])
def test_the_long_way_paints_too(models: World, more: str) -> None:
    with open_pane(models, 80, 60) as pane:
        ask(pane, models, cut(ANSWER, 11), more)
        text = read(pane)
    assert "Title it" in text
    assert "• two\n  • nested b" in text


def test_a_program_gets_no_painting(models: World) -> None:
    with open_pane(models, 80, 60) as pane:
        ask(pane, models, ["```python\n# *a*\n```\n"], "-q -x")
        assert read(pane) == "# *a*\n"
        ask(pane, models, ["**a**"], "-q --json")
        assert '"text": "**a**"' in read(pane, runs=2)


def test_a_model_moves_no_cursor(models: World) -> None:
    evil = "a\x1b[2J\x1b]0;owned\x07 &#x1b;[5A **b**\n\n```sh\necho \x1b[8A\n```\n"
    with open_pane(models) as pane:
        ask(pane, models, cut(evil, 3))
        text = read(pane)
    assert text == "a \ufffd[5A b\n\n```sh\necho \n```\n"


def test_reasoning_and_answer_share_the_terminal(models: World) -> None:
    with open_pane(models) as pane:
        run(pane, models, f"{ASK} THINK")
        thought, answer, short_id = read(pane).splitlines()
    assert (thought, answer) == ("Let me think.", "Done.")
    assert len(short_id) == 8


def test_what_tools_do_is_told_between_two_painted_answers(models: World) -> None:
    call = json.dumps([["read_file", {"path": "notes.md"}]])
    (models.home / "notes.md").write_text("old\n")
    with open_pane(models) as pane:
        run(pane, models, f"{ASK} -T read_file -- 'CALLS:{call}'")
        text = read(pane)
    assert text.count("[read_file] notes.md") == 1
    assert text.count("done\n") == 1


def test_wide_letters_stay_in_their_places(models: World) -> None:
    text = "".join(
        f"- **日本語{number}** 👩\u200d💻 e\u0301 🇩🇪 ❤\ufe0f 한글 " * 3 + "\n"
        for number in range(9)
    )
    with open_pane(models, 41, 30) as pane:
        ask(pane, models, cut(text, 5))
        shown = read(pane)
    for number in range(9):
        assert re.sub(r"\s", "", shown).count(f"日本語{number}") == 3
